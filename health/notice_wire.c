/* SPDX-License-Identifier: BSD-2-Clause */
#include "notice_wire.h"

#include <errno.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <string.h>

#include "base/octets.h"

#define HEAD_BYTES 8u
#define VERSION	   1

/* 6, 8 and 9 are retired: older releases sent other things in them, and no new element may. */
enum element {
	ELEMENT_STAMP = 1,
	ELEMENT_ARRIVAL = 2,
	ELEMENT_CAPACITY = 3,
	ELEMENT_ACK = 4,
	ELEMENT_HMAC = 5,
	ELEMENT_RECEIVED = 7,
	ELEMENT_HELD = 10,
	ELEMENT_RECEIVER = 12,
	ELEMENT_SIZE = 13,
	ELEMENT_PADDING = 14,
	ELEMENT_REPORT = 15,
};

#define STAMP_BYTES	    12u
#define ARRIVAL_BYTES	    3u
#define CAPACITY_HEAD_BYTES 17u
#define ACK_BYTES	    12u
#define RECEIVED_BYTES	    0u
#define HELD_BYTES	    4u
#define RECEIVER_BYTES	    8u
#define SIZE_BYTES	    2u

static const uint8_t head[HEAD_BYTES] = {'F', 'A', 'R', 'E', VERSION, 0, 0, 0};

static uint8_t *begin(uint8_t *p, enum element type, size_t length)
{
	*p++ = (uint8_t)type;
	*p++ = (uint8_t)length;
	return p;
}

static void sign(const struct notice_key *key, const struct notice_ends *ends, const uint8_t *bytes,
		 size_t length, uint8_t digest[SHA256_DIGEST_SIZE])
{
	struct hmac_sha256_ctx ctx;

	hmac_sha256_set_key(&ctx, key->length, key->bytes);
	hmac_sha256_update(&ctx, sizeof(ends->from), ends->from.s6_addr);
	hmac_sha256_update(&ctx, sizeof(ends->to), ends->to.s6_addr);
	hmac_sha256_update(&ctx, length, bytes);
	hmac_sha256_digest(&ctx, SHA256_DIGEST_SIZE, digest);
}

static uint8_t *put_capacity(uint8_t *p, const struct notice_capacity *c)
{
	unsigned n = c->n_planes < NOTICE_WIRE_MAX_PLANES ? c->n_planes : NOTICE_WIRE_MAX_PLANES;

	p = begin(p, ELEMENT_CAPACITY, CAPACITY_HEAD_BYTES + 8 * n);
	p = octets_store(p, c->incarnation, 8);
	p = octets_store(p, c->sequence, 4);
	p = octets_store(p, c->expiry_ms, 4);
	p = octets_store(p, n, 1);
	for (unsigned i = 0; i < n; i++)
		p = octets_store(p, c->bps[i], 8);
	return p;
}

static bool is_to_be_signed(const struct notice_trailer *t)
{
	return t->has_capacity || t->has_ack ||
	       (t->has_report && report_wire_has_flags(&t->report));
}

size_t notice_wire_encode(const struct notice_trailer *t, const struct notice_key *key,
			  const struct notice_ends *ends, uint8_t *out)
{
	uint8_t *p = out + SBFD_WIRE_BYTES;

	memcpy(p, head, HEAD_BYTES);
	p += HEAD_BYTES;
	if (t->has_stamp) {
		p = octets_store(begin(p, ELEMENT_STAMP, STAMP_BYTES), t->stamp.sequence, 4);
		p = octets_store(p, t->stamp.nonce, 8);
	}
	if (t->has_arrival) {
		p = octets_store(begin(p, ELEMENT_ARRIVAL, ARRIVAL_BYTES), t->arrival.plane, 1);
		p = octets_store(octets_store(p, t->arrival.sub_port, 1), t->arrival.n_sub_ports,
				 1);
	}
	if (t->has_held)
		p = octets_store(begin(p, ELEMENT_HELD, HELD_BYTES), t->held_us, 4);
	if (t->has_received)
		p = begin(p, ELEMENT_RECEIVED, RECEIVED_BYTES);
	if (t->has_receiver)
		p = octets_store(begin(p, ELEMENT_RECEIVER, RECEIVER_BYTES), t->receiver, 8);
	if (t->has_size)
		p = octets_store(begin(p, ELEMENT_SIZE, SIZE_BYTES), t->size.bytes, 2);
	if (t->has_report) {
		uint8_t *value = p + 2, *end = report_wire_encode(&t->report, value);

		begin(p, ELEMENT_REPORT, (size_t)(end - value));
		p = end;
	}
	if (t->has_capacity)
		p = put_capacity(p, &t->capacity);
	if (t->has_ack) {
		p = octets_store(begin(p, ELEMENT_ACK, ACK_BYTES), t->ack.incarnation, 8);
		p = octets_store(p, t->ack.sequence, 4);
	}
	if (key->length && is_to_be_signed(t)) {
		uint8_t *digest = p + 2; /* the element's head is not covered: it cannot vary */

		sign(key, ends, out, (size_t)(p - out), digest);
		p = begin(p, ELEMENT_HMAC, SHA256_DIGEST_SIZE) + SHA256_DIGEST_SIZE;
	}
	return (size_t)(p - out);
}

size_t notice_wire_pad(uint8_t *bytes, size_t length, size_t wanted)
{
	while (length + 2 <= wanted) {
		size_t room = wanted - length - 2, n = room < UINT8_MAX ? room : UINT8_MAX;

		if (room - n == 1) /* less than an element would be left */
			n--;
		memset(begin(bytes + length, ELEMENT_PADDING, n), 0, n);
		length += 2 + n;
	}
	return length;
}

/* One element's value; the caller has checked that length bytes are there. */
static const char *take(enum element type, const uint8_t *v, size_t length,
			struct notice_trailer *out)
{
	struct notice_capacity *c = &out->capacity;

	switch (type) {
	case ELEMENT_STAMP:
		if (length != STAMP_BYTES || out->has_stamp)
			return "a stamp of wrong length, or a second one";
		out->has_stamp = true;
		out->stamp =
			(struct notice_stamp){(uint32_t)octets_load(v, 4), octets_load(v + 4, 8)};
		return NULL;
	case ELEMENT_ARRIVAL:
		if (length != ARRIVAL_BYTES || out->has_arrival)
			return "an arrival report of wrong length, or a second one";
		if (v[1] >= v[2] || v[2] > NOTICE_WIRE_MAX_SUB_PORTS)
			return "an arrival on a sub-port that the plane does not have";
		out->has_arrival = true;
		out->arrival = (struct notice_arrival){v[0], v[1], v[2]};
		return NULL;
	case ELEMENT_CAPACITY:
		if (length < CAPACITY_HEAD_BYTES || out->has_capacity)
			return "a capacity notice of wrong length, or a second one";
		*c = (struct notice_capacity){octets_load(v, 8),
					      (uint32_t)octets_load(v + 8, 4),
					      (uint32_t)octets_load(v + 12, 4),
					      v[16],
					      {0}};
		if (!c->n_planes || c->n_planes > NOTICE_WIRE_MAX_PLANES ||
		    length != CAPACITY_HEAD_BYTES + 8u * c->n_planes)
			return "a capacity notice whose planes do not fit its length";
		for (unsigned i = 0; i < c->n_planes; i++)
			c->bps[i] = octets_load(v + CAPACITY_HEAD_BYTES + 8 * i, 8);
		out->has_capacity = true;
		return NULL;
	case ELEMENT_ACK:
		if (length != ACK_BYTES || out->has_ack)
			return "an acknowledgement of wrong length, or a second one";
		out->has_ack = true;
		out->ack = (struct notice_ack){octets_load(v, 8), (uint32_t)octets_load(v + 8, 4)};
		return NULL;
	case ELEMENT_RECEIVED:
		if (length != RECEIVED_BYTES || out->has_received)
			return "a HEARD element that is not empty, or a second one";
		out->has_received = true;
		return NULL;
	case ELEMENT_HELD:
		if (length != HELD_BYTES || out->has_held)
			return "a time held of wrong length, or a second one";
		out->has_held = true;
		out->held_us = (uint32_t)octets_load(v, 4);
		return NULL;
	case ELEMENT_RECEIVER:
		if (length != RECEIVER_BYTES || out->has_receiver)
			return "a receiver's nonce of wrong length, or a second one";
		out->has_receiver = true;
		out->receiver = octets_load(v, 8);
		return NULL;
	case ELEMENT_SIZE:
		if (length != SIZE_BYTES || out->has_size)
			return "a size of wrong length, or a second one";
		out->has_size = true;
		out->size.bytes = (uint16_t)octets_load(v, 2);
		return NULL;
	case ELEMENT_REPORT:
		if (out->has_report)
			return "a second report";
		return report_wire_decode(v, length, &out->report, &out->has_report);
	case ELEMENT_PADDING:
		return NULL;
	case ELEMENT_HMAC:
		return length != SHA256_DIGEST_SIZE ? "an HMAC of wrong length" : NULL;
	}
	return NULL; /* of a newer version */
}

/* Is that the digest of the bytes before it, by that key? */
static bool is_signed(const struct notice_key *key, const struct notice_ends *ends,
		      const uint8_t *bytes, size_t length, const uint8_t *digest)
{
	uint8_t right[SHA256_DIGEST_SIZE];

	if (!key->length)
		return false;
	sign(key, ends, bytes, length, right);
	return memeql_sec(right, digest, SHA256_DIGEST_SIZE);
}

int notice_wire_decode(const uint8_t *b, size_t length, const struct notice_keys *keys,
		       const struct notice_ends *ends, struct notice_trailer *out,
		       struct sbfd_wire_error *error)
{
	size_t at = SBFD_WIRE_BYTES + HEAD_BYTES;
	const char *reason;

	memset(out, 0, sizeof(*out));
	if (length < at || memcmp(b + SBFD_WIRE_BYTES, head, HEAD_BYTES))
		return 0;
	while (at < length) {
		if (length - at < 2 || length - at - 2 < b[at + 1]) {
			*error = (struct sbfd_wire_error){"an element runs past the end", at};
			goto bad;
		}
		reason = take((enum element)b[at], b + at + 2, b[at + 1], out);
		if (!reason && b[at] == ELEMENT_HMAC && at + 2 + b[at + 1] != length)
			reason = "something follows the HMAC";
		if (reason) {
			*error = (struct sbfd_wire_error){reason, at};
			goto bad;
		}
		if (b[at] == ELEMENT_HMAC) {
			out->authentic = is_signed(&keys->own, ends, b, at, b + at + 2);
			out->second_key = !out->authentic &&
					  is_signed(&keys->second, ends, b, at, b + at + 2);
			out->authentic |= out->second_key;
		}
		at += 2u + b[at + 1];
	}
	return 0;
bad:
	memset(out, 0, sizeof(*out));
	return -EBADMSG;
}
