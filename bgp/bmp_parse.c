/* SPDX-License-Identifier: BSD-2-Clause */
#include "bmp_parse.h"

#include <errno.h>
#include <string.h>

#include "base/address.h"

enum {
	PEER_TYPE_GLOBAL = 0,
	PEER_FLAG_IPV6 = 0x80,
	PEER_FLAG_POST_POLICY = 0x40,
	PEER_FLAG_TWO_OCTET_AS = 0x20,
	PEER_FLAG_ADJ_RIB_OUT = 0x10, /* RFC 8671 */
	TLV_DESCRIPTION = 1,
	TLV_NAME = 2,
	TLV_TERMINATION_REASON = 1,
};

int bmp_parse_length(const uint8_t *data, size_t length, size_t *out_bytes,
		     struct octets_error *error)
{
	uint8_t version;
	uint32_t bytes;
	struct octets o;

	octets_init(&o, data, length);
	if (octets_u8(&o, &version))
		return -EAGAIN;
	if (version != 3)
		return octets_fail(&o, error, "not BMP version 3");
	if (length < BMP_PARSE_HEADER_BYTES || octets_u32(&o, &bytes))
		return -EAGAIN;
	if (bytes < BMP_PARSE_HEADER_BYTES)
		return octets_fail(&o, error, "BMP length is smaller than its header");
	if (bytes > BMP_PARSE_MAX_BYTES)
		return octets_fail(&o, error, "BMP length is beyond any message that can be");
	*out_bytes = bytes;
	return 0;
}

/* The 16-byte address field: IPv4 sits in its last four bytes. */
static int bmp_parse_address(struct octets *o, bool ipv6, struct in6_addr *out)
{
	if (octets_copy(o, out->s6_addr, 16))
		return -EBADMSG;
	if (!ipv6)
		*out = address_of_v4(out->s6_addr + 12);
	return 0;
}

static int bmp_parse_peer(struct octets *o, struct bmp_peer *out, struct octets_error *error)
{
	uint32_t seconds, microseconds;
	uint64_t distinguisher;
	uint8_t type, flags;

	if (octets_u8(o, &type) || octets_u8(o, &flags) || octets_u64(o, &distinguisher) ||
	    bmp_parse_address(o, flags & PEER_FLAG_IPV6, &out->address) ||
	    octets_u32(o, &out->as) || octets_u32(o, &out->router_id) || octets_u32(o, &seconds) ||
	    octets_u32(o, &microseconds))
		return octets_fail(o, error, "per-peer header is cut short");
	out->timestamp_us = (uint64_t)seconds * 1000000 + microseconds;
	out->two_octet_as_path = flags & PEER_FLAG_TWO_OCTET_AS;
	out->pre_policy_global = type == PEER_TYPE_GLOBAL && distinguisher == 0 &&
				 !(flags & (PEER_FLAG_POST_POLICY | PEER_FLAG_ADJ_RIB_OUT));
	return 0;
}

static int bmp_parse_open(struct octets *o, struct bgp_open *out, struct octets_error *error)
{
	struct octets body;
	uint8_t type;

	if (bgp_message_take(o, &type, &body, error))
		return -EBADMSG;
	if (type != BGP_MESSAGE_OPEN)
		return octets_fail(o, error, "Peer Up holds something else than an OPEN");
	return bgp_open_parse(body, out, error);
}

static int bmp_parse_peer_up(struct octets *o, struct bmp_message *out, struct octets_error *error)
{
	struct bmp_connection *c = &out->peer_up.connection;

	if (bmp_parse_address(o, !IN6_IS_ADDR_V4MAPPED(&out->peer.address), &c->local) ||
	    octets_u16(o, &c->local_port) || octets_u16(o, &c->remote_port))
		return octets_fail(o, error, "Peer Up is cut short");
	if (bmp_parse_open(o, &out->peer_up.sent, error))
		return -EBADMSG;
	return bmp_parse_open(o, &out->peer_up.received, error);
	/* information TLVs may follow; none matters here */
}

static int bmp_parse_peer_down(struct octets *o, struct bmp_peer_down *out,
			       struct octets_error *error)
{
	struct octets body;
	uint8_t type;

	if (octets_u8(o, &out->reason))
		return octets_fail(o, error, "Peer Down is cut short");
	if (out->reason == BMP_DOWN_LOCAL_FSM)
		return octets_u16(o, &out->fsm_event)
			       ? octets_fail(o, error, "Peer Down lacks its FSM event")
			       : 0;
	/* Some routers say "NOTIFICATION" and append none: the reason alone still means something.
	 */
	if ((out->reason != BMP_DOWN_LOCAL_NOTIFICATION &&
	     out->reason != BMP_DOWN_REMOTE_NOTIFICATION) ||
	    o->left == 0)
		return 0;
	if (bgp_message_take(o, &type, &body, error))
		return -EBADMSG;
	if (type != BGP_MESSAGE_NOTIFICATION || octets_u8(&body, &out->code) ||
	    octets_u8(&body, &out->subcode))
		return octets_fail(&body, error, "Peer Down holds no whole NOTIFICATION");
	return 0;
}

static int bmp_parse_route_monitoring(struct octets *o, struct bmp_message *out,
				      struct octets_error *error)
{
	struct octets body;
	uint8_t type;

	if (bgp_message_take(o, &type, &body, error))
		return -EBADMSG;
	if (o->left > 0)
		return octets_fail(o, error, "Route Monitoring has bytes after its BGP message");
	if (type == BGP_MESSAGE_UPDATE)
		out->update = body;
	return 0;
}

/* The next TLV of an initiation or termination; false at the end, *bad set if the end is ragged. */
static bool bmp_parse_tlv(struct octets *o, uint16_t *type, struct octets *value, bool *bad)
{
	uint16_t length;

	if (o->left == 0)
		return false;
	*bad = octets_u16(o, type) || octets_u16(o, &length) || octets_take(o, length, value);
	return !*bad;
}

static int bmp_parse_initiation(struct octets *o, struct bmp_message *out,
				struct octets_error *error)
{
	struct bmp_text *text;
	struct octets value;
	bool bad = false;
	uint16_t type;

	while (bmp_parse_tlv(o, &type, &value, &bad)) {
		if (type != TLV_NAME && type != TLV_DESCRIPTION)
			continue;
		text = type == TLV_NAME ? &out->initiation.name : &out->initiation.description;
		text->p = (const char *)value.p;
		text->length = value.left;
	}
	return bad ? octets_fail(o, error, "initiation TLV exceeds its message") : 0;
}

static int bmp_parse_termination(struct octets *o, struct bmp_message *out,
				 struct octets_error *error)
{
	struct octets value;
	bool bad = false;
	uint16_t type;

	while (bmp_parse_tlv(o, &type, &value, &bad)) {
		if (type != TLV_TERMINATION_REASON)
			continue;
		if (octets_u16(&value, &out->termination.reason))
			return octets_fail(&value, error, "termination reason is cut short");
		out->termination.has_reason = true;
	}
	return bad ? octets_fail(o, error, "termination TLV exceeds its message") : 0;
}

int bmp_parse(const uint8_t *data, size_t length, struct bmp_message *out,
	      struct octets_error *error)
{
	struct octets o;
	size_t bytes;

	memset(out, 0, sizeof(*out));
	octets_init(&o, data, length);
	if (bmp_parse_length(data, length, &bytes, error) || bytes != length)
		return octets_fail(&o, error, "BMP message is not of the length that it says");
	out->type = data[5];
	octets_skip(&o, BMP_PARSE_HEADER_BYTES);
	if (out->type == BMP_INITIATION)
		return bmp_parse_initiation(&o, out, error);
	if (out->type == BMP_TERMINATION)
		return bmp_parse_termination(&o, out, error);
	if (out->type > BMP_ROUTE_MIRRORING) /* to be skipped, RFC 7854 4.1 */
		return 0;
	if (bmp_parse_peer(&o, &out->peer, error))
		return -EBADMSG;
	if (!out->peer.pre_policy_global)
		return 0;
	switch (out->type) {
	case BMP_PEER_UP:
		return bmp_parse_peer_up(&o, out, error);
	case BMP_PEER_DOWN:
		return bmp_parse_peer_down(&o, &out->peer_down, error);
	case BMP_ROUTE_MONITORING:
		return bmp_parse_route_monitoring(&o, out, error);
	default: /* statistics and mirroring say nothing about paths */
		return 0;
	}
}
