/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce_wire.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define BTH_PAD_SHIFT 4
#define BTH_MIGRATION                                                                              \
	0x40 /* MigReq: the path is the migrated one, what a QP without path migration says */
#define BTH_ACK_REQ 0x80
#define BTH_BECN    0x40

static void put24(uint8_t *at, uint32_t v)
{
	at[0] = (uint8_t)(v >> 16);
	at[1] = (uint8_t)(v >> 8);
	at[2] = (uint8_t)v;
}

static uint32_t get24(const uint8_t *at)
{
	return (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2];
}

static void put32(uint8_t *at, uint32_t v)
{
	v = htobe32(v);
	memcpy(at, &v, sizeof(v));
}

static uint32_t get32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return be32toh(v);
}

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
	 * atomics, SEND with invalidate: a peer may ask for them, and is told that the request is
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
	uint8_t *at = header + ROCE_BTH_BYTES;
	uint64_t addr = htobe64(packet->remote_addr);

	header[0] = packet->opcode;
	header[1] = (uint8_t)((packet->opcode == ROCE_CNP ? 0 : BTH_MIGRATION) |
			      roce_wire_pad_bytes(packet->payload_bytes) << BTH_PAD_SHIFT);
	header[2] = ROCE_PKEY >> 8;
	header[3] = ROCE_PKEY & 0xff;
	header[4] = packet->opcode == ROCE_CNP ? BTH_BECN : 0;
	put24(header + 5, packet->dest_qpn);
	header[8] = packet->ack_req ? BTH_ACK_REQ : 0;
	put24(header + 9, packet->psn);

	if (roce_wire_has_reth(packet->opcode)) {
		memcpy(at, &addr, sizeof(addr));
		put32(at + 8, packet->rkey);
		put32(at + 12, packet->dma_bytes);
		at += 16;
	}
	if (roce_wire_has_imm(packet->opcode)) {
		put32(at, packet->imm);
		at += 4;
	}
	if (roce_wire_has_aeth(packet->opcode)) {
		at[0] = packet->syndrome;
		put24(at + 1, packet->msn);
		at += 4;
	}
	if (packet->opcode == ROCE_UD_SEND_ONLY) {
		put32(at, packet->qkey);
		at[4] = 0;
		put24(at + 5, packet->src_qpn);
		at += 8;
	}
	return (size_t)(at - header);
}

static int refuse(struct roce_wire_error *error, const char *reason, size_t offset)
{
	if (error)
		*error = (struct roce_wire_error){.reason = reason, .offset = offset};
	return -EBADMSG;
}

static void parse_extensions(const uint8_t *at, struct roce_packet *out)
{
	uint64_t addr;

	if (roce_wire_has_reth(out->opcode)) {
		memcpy(&addr, at, sizeof(addr));
		out->remote_addr = be64toh(addr);
		out->rkey = get32(at + 8);
		out->dma_bytes = get32(at + 12);
		at += 16;
	}
	if (roce_wire_has_imm(out->opcode))
		out->imm = get32(at);
	if (roce_wire_has_aeth(out->opcode)) {
		out->syndrome = at[0];
		out->msn = get24(at + 1);
	}
	if (out->opcode == ROCE_UD_SEND_ONLY) {
		out->qkey = get32(at);
		out->src_qpn = get24(at + 5);
	}
}

int roce_wire_parse(const uint8_t *data, size_t bytes, struct roce_packet *out,
		    struct roce_wire_error *error)
{
	size_t header, pad;

	if (bytes < ROCE_BTH_BYTES + ROCE_ICRC_BYTES)
		return refuse(error, "shorter than BTH and ICRC", bytes);
	if (bytes > UINT16_MAX)
		return refuse(error, "longer than a UDP datagram", UINT16_MAX);
	if (bytes & 3)
		return refuse(error, "not a multiple of four bytes", bytes);
	memset(out, 0, sizeof(*out));
	out->opcode = data[0];
	header = roce_wire_header_bytes(out->opcode);
	if (!header && roce_wire_is_request(out->opcode))
		header = ROCE_BTH_BYTES;
	if (!header)
		return refuse(error, "unknown opcode", 0);
	if (data[1] & 0x0f)
		return refuse(error, "unknown transport version", 1);
	if (data[2] != ROCE_PKEY >> 8 || data[3] != (ROCE_PKEY & 0xff))
		return refuse(error, "foreign P_Key", 2);
	if (bytes < header + ROCE_ICRC_BYTES)
		return refuse(error, "truncated extension header", bytes);
	pad = data[1] >> BTH_PAD_SHIFT & 3;
	if (bytes - header - ROCE_ICRC_BYTES < pad)
		return refuse(error, "more pad than payload", 1);

	out->dest_qpn = get24(data + 5);
	out->ack_req = data[8] & BTH_ACK_REQ;
	out->psn = get24(data + 9);
	parse_extensions(data + ROCE_BTH_BYTES, out);
	out->payload = data + header;
	out->payload_bytes = (uint32_t)(bytes - header - ROCE_ICRC_BYTES - pad);
	if (out->opcode == ROCE_ACK && out->payload_bytes)
		return refuse(error, "payload behind an acknowledgement", header);
	if (out->opcode == ROCE_CNP && out->payload_bytes != ROCE_CNP_BYTES)
		return refuse(error, "a CNP of another length", bytes);
	return 0;
}
