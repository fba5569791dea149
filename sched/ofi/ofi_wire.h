/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_wire.h - the messages that two libfabric endpoints exchange over a group (pure).
 *
 * Each record is one fare_group_send(): a header, and for OFI_EAGER, OFI_MORE, OFI_ATOMIC and
 * OFI_RESULT payload behind it (of the last two: ofi_atomic_op.h).
 * A long eager message is several records, one behind the other by the same link. Big-endian:
 *
 *   kind (1) | flags (1) | source endpoint (2) | destination endpoint (2) | 0 (2) |
 *   tag (8) | data (8) | credit (4) | cookie (4) | status (4)
 *   OFI_RTS, OFI_WRITTEN, OFI_FOUND: | length (8) | address (8) | rkey (4)
 *
 * The peer is not trusted: ofi_wire_decode() takes nothing that is not exactly this, and what a
 * cookie or an endpoint's number names is for the receiver to check.
 */
#ifndef OFI_WIRE_H
#define OFI_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "fare.h"

enum ofi_wire_kind {
	OFI_EAGER = 1, /* a message, or the first record of one */
	OFI_RTS,       /* a message that the receiver reads from the sender's memory */
	OFI_FIN,       /* to the sender of cookie: received, or why not (status) */
	OFI_CREDIT,    /* nothing but credit */
	OFI_WRITTEN,   /* RMA write with remote CQ data: it is placed */
	OFI_FIND,      /* which region has the key in tag? */
	OFI_FOUND,     /* to the sender of cookie: the region, or why there is none (status) */
	OFI_FORGET,    /* the region with the key in tag is closed, or any may be (status) */
	OFI_MORE,      /* a further record of the link's eager message: length left and payload */
	OFI_ATOMIC,    /* an atomic operation */
	OFI_RESULT,    /* to the sender of cookie: what the operation gave, or why not (status) */
};

#define OFI_FORGET_ALL 1u /* status of OFI_FORGET: so many were closed that none is named */

#define OFI_WIRE_TAGGED 1u
#define OFI_WIRE_DATA	2u /* data is the application's remote CQ data */
#define OFI_WIRE_ACK	4u /* OFI_EAGER: answer with OFI_FIN once it is in the receiver's buffer */

struct ofi_wire {
	uint8_t kind, flags;
	uint16_t src_ep, dst_ep;
	uint64_t tag, data;
	uint32_t credit; /* bytes that the sender of this keeps no longer (ofi_wire_cost()) */
	uint32_t cookie; /* names the sender's operation, for OFI_FIN */
	/*
	 * OFI_FIN, OFI_FOUND, OFI_RESULT: 0 or an errno; OFI_EAGER, OFI_MORE: bytes that are to
	 * follow; OFI_ATOMIC: bytes of the result
	 */
	uint32_t status;
	/* OFI_RTS, OFI_FOUND: where the message or the region is; OFI_WRITTEN: how long it was */
	uint64_t length, address;
	uint32_t rkey;
};

#define OFI_WIRE_BYTES	   36u
#define OFI_WIRE_RTS_BYTES 56u
#define OFI_RECORD_BYTES   FARE_MESSAGE_PACKET
#define OFI_RECORD_MAX	   (OFI_RECORD_BYTES - OFI_WIRE_BYTES) /* payload of one record */
#define OFI_EAGER_MAX	   (16 * OFI_RECORD_MAX)
#define OFI_KEPT_BYTES	   160u /* what a record that is kept takes besides its payload */
/* Announcements and remote CQ data may take so much beyond the window, which is eager messages'. */
#define OFI_RESERVE_BYTES (1024 * OFI_KEPT_BYTES)

/*
 * What the receiver has to keep of a record, until the application takes it: bytes of the window.
 * Of an OFI_ATOMIC it is the answer, until that is sent, which is all the credit that it gives.
 * Sender and receiver count alike. length: of an OFI_EAGER's whole payload, of an OFI_ATOMIC's
 * result.
 */
static inline uint64_t ofi_wire_cost(uint8_t kind, uint64_t length)
{
	if (kind == OFI_EAGER || kind == OFI_ATOMIC)
		return length + OFI_KEPT_BYTES;
	return kind == OFI_RTS || kind == OFI_WRITTEN ? OFI_KEPT_BYTES : 0;
}

/* How much of all may be kept for a record of that kind to be sent. */
static inline uint64_t ofi_wire_room(uint8_t kind, uint32_t window_bytes)
{
	return kind == OFI_EAGER ? window_bytes : (uint64_t)window_bytes + OFI_RESERVE_BYTES;
}

/* Bytes of the header of that kind. */
size_t ofi_wire_bytes(uint8_t kind);
/* Writes ofi_wire_bytes(w->kind) bytes. */
void ofi_wire_encode(const struct ofi_wire *w, uint8_t *out);
/* Bytes of an eager message's records. */
size_t ofi_wire_eager_bytes(uint64_t payload);
/*
 * Writes them, one behind the other, each but the last of OFI_RECORD_BYTES: w, an OFI_EAGER,
 * and so many bytes of iov, which has no fewer.
 */
void ofi_wire_encode_eager(const struct ofi_wire *w, const struct iovec *iov, uint64_t payload,
			   uint8_t *out);
/* In place, of an encoded record. */
void ofi_wire_set_credit(uint8_t *message, uint32_t credit);
static inline uint8_t ofi_wire_kind(const uint8_t *message)
{
	return message[0];
}
/* *payload: where the payload of an OFI_EAGER begins. 0 or -EBADMSG. */
int ofi_wire_decode(const uint8_t *in, size_t bytes, struct ofi_wire *out, size_t *payload);

/* Operations of this process that wait for answers: eight endpoints' (OFI_TX_SIZE). 2^n. */
#define OFI_COOKIES_MAX (1u << 13)

/*
 * What a peer may make this process keep, counted at the receiver: bytes of what it has sent and
 * the application has not taken (messages that no receive has taken; entries of a CQ that are not
 * read and that no posted receive bounds: remote CQ data, messages in a buffer for several; results
 * of atomic operations that are not sent), and answers that are due to it (OFI_FIN, OFI_FOUND,
 * OFI_RESULT). A peer that keeps to the protocol stays below both limits by itself: its window
 * counts the same bytes until it has credit for them, and a cookie is not used again before its
 * answer. One that does not is cut off.
 *
 * The receiver allows twice what a sender allows itself: a sender counts from 0 again when its link
 * has ended, and what came by it may still be here.
 */
struct ofi_limits {
	uint64_t bytes; /* arrived, not taken: ofi_wire_cost() */
	uint32_t due;	/* answers */
};

/* Counts a record that has arrived; length: of its message's payload. False: it is beyond a limit,
 * and not counted. */
bool ofi_limits_admit(struct ofi_limits *l, uint32_t window_bytes, const struct ofi_wire *w,
		      uint64_t length);
/* So many bytes are kept no longer. */
void ofi_limits_taken(struct ofi_limits *l, uint64_t bytes);
/* An answer was given to libfare, or will never be. */
void ofi_limits_answered(struct ofi_limits *l);

/*
 * What both ends of a group say of themselves: "fareofi", version (1), window (4). Who they are is
 * not theirs to say: that is fare_group_peer_address().
 */
#define OFI_WIRE_VERSION '6'
struct ofi_greeting {
	char version;
	uint32_t window_bytes; /* the same at both, because the receiver holds the sender to it */
};
#define OFI_GREETING_BYTES 12u
void ofi_greeting_encode(const struct ofi_greeting *g, uint8_t out[OFI_GREETING_BYTES]);
/*
 * 0; -EPROTONOSUPPORT: this protocol in another version, of which nothing but out->version is
 * known; -EBADMSG: not this protocol.
 */
int ofi_greeting_decode(const void *in, size_t bytes, struct ofi_greeting *out);

/* An endpoint's address, as fi_getname() gives and fi_av_insert() takes it. */
struct ofi_address {
	struct fare_address process;
	uint16_t ep;
};
#define OFI_ADDRESS_BYTES (FARE_ADDRESS_BYTES + 8u)
void ofi_address_encode(const struct ofi_address *address, uint8_t out[OFI_ADDRESS_BYTES]);
/* 0, or -EINVAL: no such address. */
int ofi_address_decode(const uint8_t in[OFI_ADDRESS_BYTES], struct ofi_address *out);

#endif
