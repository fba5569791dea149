/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bgp_open.h - BGP OPEN (RFC 4271 4.2) and the capabilities that change how a session's routes are
 * read or kept.
 *
 * Owns nothing; pure. In: the body of one OPEN. Out: struct bgp_open. Any thread.
 */
#ifndef BGP_OPEN_H
#define BGP_OPEN_H

#include "bgp_message.h"

enum { BGP_OPEN_ADD_PATH_RECEIVE = 1, BGP_OPEN_ADD_PATH_SEND = 2 };

struct bgp_open {
	uint32_t as;	    /* from the 4-octet capability where there is one (RFC 6793) */
	uint32_t router_id; /* host order */
	uint16_t hold_time_s;
	bool four_octet_as;
	bool multiprotocol[BGP_FAMILY_COUNT]; /* unicast; IPv4 if the OPEN lists no family */
	uint8_t add_path[BGP_FAMILY_COUNT];   /* BGP_OPEN_ADD_PATH_* bits (RFC 7911) */
	bool graceful_restart;		      /* RFC 4724; what follows is then valid */
	bool restarting;		      /* R bit */
	bool notification;		      /* N bit (RFC 8538): NOTIFICATIONs are covered too */
	uint16_t restart_time_s;	      /* 0..4095 */
	bool forwarding[BGP_FAMILY_COUNT];    /* F bit of a listed family */
};

/* body: an OPEN without its header. Unknown capabilities are skipped. 0 or -EBADMSG. */
int bgp_open_parse(struct octets body, struct bgp_open *out, struct octets_error *error);

#endif
