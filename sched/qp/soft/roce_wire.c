/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce_wire.h"

#include <errno.h>
#include <string.h>

#include "base/octets.h"

#define BTH_PAD_SHIFT 4
/* MigReq: the path is the migrated one, what a QP without path migration says */
#define BTH_MIGRATION 0x40
#define BTH_ACK_REQ   0x80
#define BTH_BECN      0x40

enum { RETH = 1, IMM = 2, AETH = 4, DETH = 8, SEND = 16, REQUEST = 32, KNOWN = 64 };

/* What follows the BTH, and of which kind the packet is. */
static unsigned traits(uint8_t opcode)
{
	switch (opcode) {
	case ROCE_SEND_FIRST:
	case ROCE_SEND_MIDDLE:
	case ROCE_SEND_LAST:
	case ROCE_SEND_ONLY:
		return KNOWN | REQUEST | SEND;
	case ROCE_SEND_LAST_IMM:
	case ROCE_SEND_ONLY_IMM:
		return KNOWN | REQUEST | SEND | IMM;
	case ROCE_WRITE_MIDDLE:
	case ROCE_WRITE_LAST:
		return KNOWN | REQUEST;
	case ROCE_WRITE_LAST_IMM:
		return KNOWN | REQUEST | IMM;
	case ROCE_WRITE_FIRST:
	case ROCE_WRITE_ONLY:
	case ROCE_READ_REQUEST:
	case ROCE_PLACE:
		return KNOWN | REQUEST | RETH;
	case ROCE_WRITE_ONLY_IMM:
	case ROCE_PLACE_LAST_IMM:
		return KNOWN | REQUEST | RETH | IMM;
	case ROCE_READ_RESPONSE_MIDDLE:
	case ROCE_CNP:
		return KNOWN;
	case ROCE_READ_RESPONSE_FIRST:
	case ROCE_READ_RESPONSE_LAST:
	case ROCE_READ_RESPONSE_ONLY:
	case ROCE_ACK:
	case ROCE_SELECTIVE_ACK:
		return KNOWN | AETH;
	case ROCE_UD_SEND_ONLY:
		return KNOWN | DETH;
	/*
	 * atomics, SEND with invalidate: a peer may ask for them, and gets a NAK: the request is
	 * invalid
	 */
	case 0x13:
	case 0x14:
	case 0x16:
	case 0x17:
		return REQUEST;
	default:
		return 0;
	}
}

bool roce_wire_has_reth(uint8_t opcode)
{
	return traits(opcode) & RETH;
}

bool roce_wire_has_imm(uint8_t opcode)
{
	return traits(opcode) & IMM;
}

bool roce_wire_has_aeth(uint8_t opcode)
{
	return traits(opcode) & AETH;
}

bool roce_wire_is_send(uint8_t opcode)
{
	return traits(opcode) & SEND;
}

bool roce_wire_is_request(uint8_t opcode)
{
	return traits(opcode) & REQUEST;
}

size_t roce_wire_header_bytes(uint8_t opcode)
{
	unsigned t = traits(opcode);

	if (!(t & KNOWN))
		return 0;
	return ROCE_BTH_BYTES + (t & RETH ? 16u : 0) + (t & IMM ? 4u : 0) + (t & AETH ? 4u : 0) +
	       (t & DETH ? 8u : 0);
}

uint64_t roce_wire_rnr_ns(uint8_t syndrome)
{
	unsigned timer = syndrome & 31;

	if (!timer)
		timer = 32; /* the longest */
	if (timer == 1)
		return 10000;
	return (timer & 1 ? UINT64_C(30000) << (timer - 3) / 2
			  : UINT64_C(20000) << (timer - 2) / 2);
}

size_t roce_wire_packet_bytes(const struct roce_packet *packet)
{
	return roce_wire_header_bytes(packet->opcode) + packet->payload_bytes +
	       roce_wire_pad_bytes(packet->payload_bytes) + ROCE_ICRC_BYTES;
}

size_t roce_wire_build(const struct roce_packet *packet, uint8_t *header)
{
	const unsigned follows = traits(packet->opcode);
	const bool is_cnp = packet->opcode == ROCE_CNP;
	uint8_t *at = octets_store(header, packet->opcode, 1);

	at = octets_store(at,
			  (is_cnp ? 0 : BTH_MIGRATION) | roce_wire_pad_bytes(packet->payload_bytes)
								 << BTH_PAD_SHIFT,
			  1);
	at = octets_store(at, ROCE_PKEY, 2);
	at = octets_store(at, is_cnp ? BTH_BECN : 0, 1);
	at = octets_store(at, packet->dest_qpn, 3);
	at = octets_store(at, packet->ack_req ? BTH_ACK_REQ : 0, 1);
	at = octets_store(at, packet->psn, 3);
	if (follows & RETH) {
		at = octets_store(at, packet->remote_addr, 8);
		at = octets_store(at, packet->rkey, 4);
		at = octets_store(at, packet->dma_bytes, 4);
	}
	if (follows & IMM)
		at = octets_store(at, packet->imm, 4);
	if (follows & AETH) {
		at = octets_store(at, packet->syndrome, 1);
		at = octets_store(at, packet->msn, 3);
	}
	if (follows & DETH) {
		at = octets_store(at, packet->qkey, 4);
		at = octets_store(at, packet->src_qpn, 4);
	}
	return (size_t)(at - header);
}

static int roce_wire_refuse(struct roce_wire_error *error, const char *reason, size_t offset)
{
	if (error)
		*error = (struct roce_wire_error){.reason = reason, .offset = offset};
	return -EBADMSG;
}

static void parse_extensions(const uint8_t *at, unsigned follows, struct roce_packet *out)
{
	if (follows & RETH) {
		out->remote_addr = octets_load(at, 8);
		out->rkey = (uint32_t)octets_load(at + 8, 4);
		out->dma_bytes = (uint32_t)octets_load(at + 12, 4);
		at += 16;
	}
	if (follows & IMM)
		out->imm = (uint32_t)octets_load(at, 4);
	if (follows & AETH) {
		out->syndrome = at[0];
		out->msn = (uint32_t)octets_load(at + 1, 3);
	}
	if (follows & DETH) {
		out->qkey = (uint32_t)octets_load(at, 4);
		out->src_qpn = (uint32_t)octets_load(at + 5, 3);
	}
}

int roce_wire_parse(const uint8_t *data, size_t bytes, struct roce_packet *out,
		    struct roce_wire_error *error)
{
	size_t header, pad;

	if (bytes < ROCE_BTH_BYTES + ROCE_ICRC_BYTES)
		return roce_wire_refuse(error, "shorter than BTH and ICRC", bytes);
	if (bytes > UINT16_MAX)
		return roce_wire_refuse(error, "longer than a UDP datagram", UINT16_MAX);
	if (bytes & 3)
		return roce_wire_refuse(error, "not a multiple of four bytes", bytes);
	memset(out, 0, sizeof(*out));
	out->opcode = data[0];
	header = roce_wire_header_bytes(out->opcode);
	if (!header && roce_wire_is_request(out->opcode))
		header = ROCE_BTH_BYTES;
	if (!header)
		return roce_wire_refuse(error, "unknown opcode", 0);
	if (data[1] & 0x0f)
		return roce_wire_refuse(error, "unknown transport version", 1);
	if (octets_load(data + 2, 2) != ROCE_PKEY)
		return roce_wire_refuse(error, "foreign P_Key", 2);
	if (bytes < header + ROCE_ICRC_BYTES)
		return roce_wire_refuse(error, "truncated extension header", bytes);
	pad = data[1] >> BTH_PAD_SHIFT & 3;
	if (bytes - header - ROCE_ICRC_BYTES < pad)
		return roce_wire_refuse(error, "more pad than payload", 1);

	out->dest_qpn = (uint32_t)octets_load(data + 5, 3);
	out->ack_req = data[8] & BTH_ACK_REQ;
	out->psn = (uint32_t)octets_load(data + 9, 3);
	parse_extensions(data + ROCE_BTH_BYTES, traits(out->opcode), out);
	out->payload = data + header;
	out->payload_bytes = (uint32_t)(bytes - header - ROCE_ICRC_BYTES - pad);
	if (out->opcode == ROCE_ACK && out->payload_bytes)
		return roce_wire_refuse(error, "payload behind an acknowledgement", header);
	if (out->opcode == ROCE_CNP && out->payload_bytes != ROCE_CNP_BYTES)
		return roce_wire_refuse(error, "a CNP of another length", bytes);
	return 0;
}
