/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bmp_parse.h - one BMP version 3 message (RFC 7854) from bytes to a struct.
 *
 * Owns nothing; pure. In: bytes from a monitored router, hostile until parsed. Out: struct
 * bmp_message, whose pointers borrow those bytes. Any thread.
 */
#ifndef BMP_PARSE_H
#define BMP_PARSE_H

#include <netinet/in.h>

#include "bgp_open.h"

#define BMP_PARSE_HEADER_BYTES 6
/*
 * Largest message taken: a Peer Up carries two BGP messages of at most 64 KiB each, and nothing
 * that fared reads is longer. A longer one is a framing error: there is no way to find the next
 * message behind it.
 */
#define BMP_PARSE_MAX_BYTES (192u * 1024)

enum bmp_type {
	BMP_ROUTE_MONITORING = 0,
	BMP_STATISTICS = 1,
	BMP_PEER_DOWN = 2,
	BMP_PEER_UP = 3,
	BMP_INITIATION = 4,
	BMP_TERMINATION = 5,
	BMP_ROUTE_MIRRORING = 6,
};

/* The per-peer header (RFC 7854 4.2). */
struct bmp_peer {
	struct in6_addr address; /* IPv4 as ::ffff:a.b.c.d */
	uint32_t as;
	uint32_t router_id; /* host order */
	uint64_t timestamp_us;
	bool pre_policy_global; /* a global-instance peer's adj-rib-in before policy: all that fared
				   uses */
	bool two_octet_as_path; /* A flag */
};

enum bmp_down_reason {
	BMP_DOWN_LOCAL_NOTIFICATION = 1,
	BMP_DOWN_LOCAL_FSM = 2,
	BMP_DOWN_REMOTE_NOTIFICATION = 3,
	BMP_DOWN_REMOTE_CLOSED = 4,
	BMP_DOWN_DECONFIGURED = 5,
};

struct bmp_peer_down {
	uint8_t reason;	    /* enum bmp_down_reason, or one not known here */
	uint16_t fsm_event; /* if LOCAL_FSM */
	uint8_t code;	    /* if a NOTIFICATION: its error code and subcode */
	uint8_t subcode;
};

struct bmp_text { /* not terminated; may hold any byte */
	const char *p;
	size_t length;
};

/* The connection that a session runs over, as its Peer Up has it; the far address is the peer's. */
struct bmp_connection {
	struct in6_addr local; /* IPv4 as ::ffff:a.b.c.d */
	uint16_t local_port, remote_port;
};

struct bmp_message {
	uint8_t type;	      /* enum bmp_type, or one not known here (to be skipped) */
	struct bmp_peer peer; /* all types but initiation and termination */
	union {
		struct {
			struct bmp_connection connection;
			struct bgp_open sent;
			struct bgp_open received;
		} peer_up;
		struct bmp_peer_down peer_down;
		struct octets update; /* body of a BGP UPDATE; left == 0 and p == NULL: another BGP
					 message */
		struct {
			struct bmp_text name;
			struct bmp_text description;
		} initiation;
		struct {
			bool has_reason;
			uint16_t reason;
		} termination;
	};
};

/*
 * How long the message at the front of data is: 0 and *out_bytes; -EAGAIN if the header is not
 * whole yet; -EBADMSG if this is not BMP version 3 or the length cannot be.
 */
int bmp_parse_length(const uint8_t *data, size_t length, size_t *out_bytes,
		     struct octets_error *error);

/*
 * Parses exactly one message of the length that bmp_parse_length() said. 0 or -EBADMSG; the framing
 * holds either way. A message from another sort of peer (VRF, Loc-RIB, adj-rib-out, post-policy) is
 * parsed no deeper than its per-peer header: peer.pre_policy_global is then false.
 */
int bmp_parse(const uint8_t *data, size_t length, struct bmp_message *out,
	      struct octets_error *error);

#endif
