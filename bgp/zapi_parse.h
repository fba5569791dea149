/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * zapi_parse.h - zebra's client protocol (zapi version 6), as far as receiving BGP routes needs it.
 *
 * Owns nothing; pure. In: FRR's version, bytes from zebra. Out: routes; the messages that a
 * listener sends. Any thread. The protocol's own version number never changed while its layout did:
 * FRR's version decides.
 */
#ifndef ZAPI_PARSE_H
#define ZAPI_PARSE_H

#include "bgp_message.h"
#include "bgp_source.h"

#define ZAPI_PARSE_HEADER_BYTES 10
#define ZAPI_PARSE_MAX_NEXTHOPS 256
#define ZAPI_PARSE_MAX_WRITE	32 /* longest message that zapi_write_*() makes */

/* What changed between FRR 8.4 and 10.x. */
struct zapi_layout {
	/* 804: FRR 8.4; 0: not known */
	uint16_t release;
	uint16_t redistribute_add, hello, route_add, route_del; /* commands */
	uint16_t install, uninstall; /* those of a client's own routes (zapi_route.h) */
	uint8_t bgp, sharp;	     /* route types: what is received, what fared claims */
	uint8_t weight_bytes;	     /* of a nexthop: 4, 8 from 10.1 */
	bool hello_sync;	     /* HELLO ends with a sync octet: until 10.1 */
};

struct zapi_nexthop {
	struct in6_addr address; /* if has_address; IPv4 as ::ffff:a.b.c.d */
	bool has_address;
	uint32_t ifindex; /* 0: none */
	uint64_t weight;  /* 0: none */
};

enum zapi_kind { ZAPI_OTHER, ZAPI_ROUTE_ADD, ZAPI_ROUTE_DEL };

struct zapi_message {
	enum zapi_kind kind; /* OTHER: nothing below is set */
	bool bgp;	     /* route of BGP, unicast, in the default VRF, without source prefix */
	struct bgp_prefix prefix;
	unsigned n_nexthops; /* of a ROUTE_ADD */
	struct zapi_nexthop nexthops[ZAPI_PARSE_MAX_NEXTHOPS];
};

/* text: "8.4.4", "FRRouting 10.1-dev" and the like. 0, or -EPROTONOSUPPORT: none of 8.4 to 10.x in
 * it. */
int zapi_parse_version(const char *text, struct zapi_layout *out);

/* How long the message at the front is: 0 and *out_bytes, -EAGAIN, or -EBADMSG; as
 * bmp_parse_length(). */
int zapi_parse_length(const uint8_t *data, size_t length, size_t *out_bytes,
		      struct octets_error *error);

/* Parses exactly one message. 0 or -EBADMSG; the framing holds either way. */
int zapi_parse(const struct zapi_layout *layout, const uint8_t *data, size_t length,
	       struct zapi_message *out, struct octets_error *error);

/*
 * Each writes one message and returns its length. instance: a listener has 0, and no routes that
 * zebra would remove at the end of its connection.
 */
size_t zapi_write_hello(const struct zapi_layout *layout, uint16_t instance,
			uint8_t out[ZAPI_PARSE_MAX_WRITE]);
size_t zapi_write_redistribute(const struct zapi_layout *layout, enum bgp_family family,
			       uint8_t out[ZAPI_PARSE_MAX_WRITE]);
/* The header, in the default VRF, with a length of 0: who knows it stores it at the front. */
void zapi_write_header(struct octets_out *o, uint16_t command);

#endif
