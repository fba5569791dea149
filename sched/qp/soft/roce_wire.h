/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * roce_wire.h - the bytes of RoCEv2 packets: BTH and the extension headers that this provider
 * speaks.
 *
 * Owns the layout and nothing else. In: a UDP payload, or the fields of a packet. Out: the fields,
 * with pointers into the payload, or the bytes. Pure: no state, no allocation, no clock; any
 * thread.
 *
 * Spoken (IBTA 9.2, 9.4): RC SEND and RDMA WRITE in their six forms each, RDMA READ and its
 * responses, RC acknowledge, UD SEND ONLY, and the CNP (A17.9.3). Other RC requests are recognised,
 * so that a responder can refuse them in sequence.
 *
 * From the range that the standard leaves to vendors (BTH opcodes 0xc0..0xff) come three of our
 * own, for QPs whose both ends agreed to place packets in any order (docs/order-free.md):
 *   0xca PLACE           RETH, payload: belongs at remote_addr; dma_bytes is the length of the
 *                        whole message
 *   0xcb PLACE LAST IMM  RETH, ImmDt, payload: the last packet; the notification is due
 *   0xd1 SELECTIVE ACK   AETH, bitmap: bit i of byte i / 8 says that PSN + 2 + i was placed
 * The ICRC is of roce_icrc.h.
 */
#ifndef ROCE_WIRE_H
#define ROCE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROCE_PKEY	   0xffff
#define ROCE_PSN_MASK	   0xffffffu
#define ROCE_BTH_BYTES	   12
#define ROCE_ICRC_BYTES	   4
#define ROCE_HEADER_MAX	   32 /* BTH, RETH, ImmDt */
#define ROCE_TRAILER_MAX   7  /* up to 3 pad bytes, ICRC */
#define ROCE_MAX_DMA_BYTES 0x80000000u
#define ROCE_CNP_BYTES	   16 /* payload of a CNP */

enum roce_opcode {
	ROCE_SEND_FIRST = 0x00,
	ROCE_SEND_MIDDLE = 0x01,
	ROCE_SEND_LAST = 0x02,
	ROCE_SEND_LAST_IMM = 0x03,
	ROCE_SEND_ONLY = 0x04,
	ROCE_SEND_ONLY_IMM = 0x05,
	ROCE_WRITE_FIRST = 0x06,
	ROCE_WRITE_MIDDLE = 0x07,
	ROCE_WRITE_LAST = 0x08,
	ROCE_WRITE_LAST_IMM = 0x09,
	ROCE_WRITE_ONLY = 0x0a,
	ROCE_WRITE_ONLY_IMM = 0x0b,
	ROCE_READ_REQUEST = 0x0c,
	ROCE_READ_RESPONSE_FIRST = 0x0d,
	ROCE_READ_RESPONSE_MIDDLE = 0x0e,
	ROCE_READ_RESPONSE_LAST = 0x0f,
	ROCE_READ_RESPONSE_ONLY = 0x10,
	ROCE_ACK = 0x11,
	ROCE_UD_SEND_ONLY = 0x64,
	ROCE_CNP = 0x81, /* congestion notification: 16 bytes of zeros */
	ROCE_PLACE = 0xca,
	ROCE_PLACE_LAST_IMM = 0xcb,
	ROCE_SELECTIVE_ACK = 0xd1,
};

/*
 * AETH syndromes (IBTA 9.7.5.2.1): credits are not used; receiver not ready, its timer in the low
 * five bits; NAKs.
 */
enum roce_syndrome {
	ROCE_SYNDROME_ACK = 0x1f,
	ROCE_SYNDROME_RNR = 0x20,
	ROCE_SYNDROME_NAK_SEQUENCE = 0x60,
	ROCE_SYNDROME_NAK_INVALID_REQUEST = 0x61,
	ROCE_SYNDROME_NAK_REMOTE_ACCESS = 0x62,
	ROCE_SYNDROME_NAK_REMOTE_OPERATION = 0x63,
};

struct roce_packet {
	uint8_t opcode;
	bool ack_req;
	uint32_t dest_qpn; /* 24 bits */
	uint32_t psn;	   /* 24 bits */
	/* RETH: WRITE FIRST and ONLY, READ REQUEST, PLACE */
	uint64_t remote_addr;
	uint32_t rkey;
	uint32_t dma_bytes;
	uint32_t imm; /* ImmDt: the _IMM forms */
	/* AETH: acknowledgements, READ RESPONSE but MIDDLE */
	uint8_t syndrome;
	uint32_t msn; /* 24 bits */
	/* DETH: UD SEND */
	uint32_t qkey;
	uint32_t src_qpn;	/* 24 bits */
	const uint8_t *payload; /* borrowed; without pad bytes */
	uint32_t payload_bytes;
};

/* Why a packet was refused, and where in the UDP payload. reason is a static string. */
struct roce_wire_error {
	const char *reason;
	size_t offset;
};

/*
 * Reads one UDP payload, ICRC included (its value is not checked here). out borrows from data. 0,
 * or -EBADMSG with error filled (error may be NULL) and out unspecified.
 */
int roce_wire_parse(const uint8_t *data, size_t bytes, struct roce_packet *out,
		    struct roce_wire_error *error);

/* Writes BTH and extension headers to header (ROCE_HEADER_MAX bytes of room); returns how many
 * bytes. */
size_t roce_wire_build(const struct roce_packet *packet, uint8_t *header);

/* Bytes of headers that an opcode carries, BTH included; 0: not an opcode of ours. */
size_t roce_wire_header_bytes(uint8_t opcode);

static inline uint32_t roce_wire_pad_bytes(uint32_t payload_bytes)
{
	return -payload_bytes & 3u;
}

/* Bytes of UDP payload that a packet becomes: headers, payload, pad, ICRC. */
size_t roce_wire_packet_bytes(const struct roce_packet *packet);

/* What an opcode carries. False for opcodes not of ours. */
bool roce_wire_has_reth(uint8_t opcode);
bool roce_wire_has_imm(uint8_t opcode);
bool roce_wire_has_aeth(uint8_t opcode);
bool roce_wire_is_send(uint8_t opcode);
bool roce_wire_is_request(uint8_t opcode); /* an RC request, also of a kind that is only refused */
static inline bool roce_wire_is_read_response(uint8_t opcode)
{
	return opcode >= ROCE_READ_RESPONSE_FIRST && opcode <= ROCE_READ_RESPONSE_ONLY;
}

/* How long an RNR syndrome asks to wait (IBTA table 45). */
uint64_t roce_wire_rnr_ns(uint8_t syndrome);

#endif
