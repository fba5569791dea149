/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_wire.h"

#include <errno.h>
#include <string.h>

#include "base/octets.h"

#define GREETING      "fareofi"
#define GREETING_LEN  7
#define CREDIT_OFFSET 24
#define MAGIC	      UINT32_C(0x666f6669)

static int has_payload(uint8_t kind)
{
	return kind == OFI_EAGER || kind == OFI_MORE || kind == OFI_ATOMIC || kind == OFI_RESULT;
}

static int has_place(uint8_t kind)
{
	return kind == OFI_RTS || kind == OFI_WRITTEN || kind == OFI_FOUND;
}

/* Where it is a length: the longest there is. */
static uint32_t most_status(uint8_t kind)
{
	if (kind == OFI_EAGER || kind == OFI_MORE)
		return OFI_EAGER_MAX;
	return kind == OFI_ATOMIC ? OFI_RECORD_MAX : UINT32_MAX;
}

size_t ofi_wire_bytes(uint8_t kind)
{
	return has_place(kind) ? OFI_WIRE_RTS_BYTES : OFI_WIRE_BYTES;
}

void ofi_wire_encode(const struct ofi_wire *w, uint8_t *out)
{
	out = octets_store(out, w->kind, 1);
	out = octets_store(out, w->flags, 1);
	out = octets_store(out, w->src_ep, 2);
	out = octets_store(out, w->dst_ep, 2);
	out = octets_store(out, 0, 2);
	out = octets_store(out, w->tag, 8);
	out = octets_store(out, w->data, 8);
	out = octets_store(out, w->credit, 4);
	out = octets_store(out, w->cookie, 4);
	out = octets_store(out, w->status, 4);
	if (!has_place(w->kind))
		return;
	out = octets_store(out, w->length, 8);
	out = octets_store(out, w->address, 8);
	octets_store(out, w->rkey, 4);
}

/* A message without payload is one record, too. */
static uint64_t records_of(uint64_t payload)
{
	return payload ? (payload + OFI_RECORD_MAX - 1) / OFI_RECORD_MAX : 1;
}

size_t ofi_wire_eager_bytes(uint64_t payload)
{
	return records_of(payload) * OFI_WIRE_BYTES + payload;
}

/* Copies so many bytes of *iov, from *at of its first piece on, and moves both on. */
static void wire_gather(uint8_t *out, uint64_t bytes, const struct iovec **iov, size_t *at)
{
	while (bytes) {
		uint64_t left = (*iov)->iov_len - *at, n = left < bytes ? left : bytes;

		if (n)
			memcpy(out, (const uint8_t *)(*iov)->iov_base + *at, n);
		out += n;
		bytes -= n;
		*at += n;
		if (*at == (*iov)->iov_len) {
			*at = 0;
			(*iov)++;
		}
	}
}

void ofi_wire_encode_eager(const struct ofi_wire *w, const struct iovec *iov, uint64_t payload,
			   uint8_t *out)
{
	uint64_t records = records_of(payload);
	struct ofi_wire record = *w;
	size_t at = 0;

	for (uint64_t i = 0; i < records; i++) {
		uint64_t n = payload < OFI_RECORD_MAX ? payload : OFI_RECORD_MAX;

		payload -= n;
		record.status = (uint32_t)payload;
		ofi_wire_encode(&record, out);
		wire_gather(out + OFI_WIRE_BYTES, n, &iov, &at);
		out += OFI_WIRE_BYTES + n;
		record = (struct ofi_wire){
			.kind = OFI_MORE, .src_ep = w->src_ep, .dst_ep = w->dst_ep};
	}
}

void ofi_wire_set_credit(uint8_t *message, uint32_t credit)
{
	octets_store(message + CREDIT_OFFSET, credit, 4);
}

int ofi_wire_decode(const uint8_t *in, size_t bytes, struct ofi_wire *out, size_t *payload)
{
	struct octets o;

	memset(out, 0, sizeof(*out));
	if (bytes < OFI_WIRE_BYTES)
		return -EBADMSG;
	*payload = ofi_wire_bytes(in[0]);
	if (in[0] < OFI_EAGER || in[0] > OFI_RESULT || bytes < *payload ||
	    (!has_payload(in[0]) && bytes != *payload))
		return -EBADMSG;
	octets_init(&o, in, bytes);
	out->kind = (uint8_t)octets_get(&o, 1);
	out->flags = (uint8_t)octets_get(&o, 1);
	out->src_ep = (uint16_t)octets_get(&o, 2);
	out->dst_ep = (uint16_t)octets_get(&o, 2);
	if (octets_get(&o, 2))
		return -EBADMSG;
	out->tag = octets_get(&o, 8);
	out->data = octets_get(&o, 8);
	out->credit = (uint32_t)octets_get(&o, 4);
	out->cookie = (uint32_t)octets_get(&o, 4);
	out->status = (uint32_t)octets_get(&o, 4);
	if (out->flags > (OFI_WIRE_TAGGED | OFI_WIRE_DATA | OFI_WIRE_ACK))
		return -EBADMSG;
	if (out->status > most_status(out->kind))
		return -EBADMSG;
	if (!has_place(out->kind))
		return 0;
	out->length = octets_get(&o, 8);
	out->address = octets_get(&o, 8);
	out->rkey = (uint32_t)octets_get(&o, 4);
	return 0;
}

void ofi_greeting_encode(const struct ofi_greeting *g, uint8_t out[OFI_GREETING_BYTES])
{
	memcpy(out, GREETING, GREETING_LEN);
	out[GREETING_LEN] = (uint8_t)g->version;
	octets_store(out + GREETING_LEN + 1, g->window_bytes, 4);
}

int ofi_greeting_decode(const void *in, size_t bytes, struct ofi_greeting *out)
{
	const uint8_t *text = in;

	*out = (struct ofi_greeting){0};
	if (!in || bytes <= GREETING_LEN || memcmp(in, GREETING, GREETING_LEN))
		return -EBADMSG;
	out->version = (char)text[GREETING_LEN];
	if (out->version != OFI_WIRE_VERSION)
		return -EPROTONOSUPPORT;
	if (bytes != OFI_GREETING_BYTES)
		return -EBADMSG;
	out->window_bytes = (uint32_t)octets_load(text + GREETING_LEN + 1, 4);
	return 0;
}

void ofi_address_encode(const struct ofi_address *address, uint8_t out[OFI_ADDRESS_BYTES])
{
	memcpy(out, address->process.bytes, FARE_ADDRESS_BYTES);
	out = octets_store(out + FARE_ADDRESS_BYTES, MAGIC, 4);
	out = octets_store(out, address->ep, 2);
	octets_store(out, 0, 2);
}

int ofi_address_decode(const uint8_t in[OFI_ADDRESS_BYTES], struct ofi_address *out)
{
	struct octets o;
	bool right;

	octets_init(&o, in, OFI_ADDRESS_BYTES);
	memset(out, 0, sizeof(*out));
	octets_copy(&o, out->process.bytes, FARE_ADDRESS_BYTES);
	right = octets_get(&o, 4) == MAGIC;
	out->ep = (uint16_t)octets_get(&o, 2);
	return right && !octets_get(&o, 2) ? 0 : -EINVAL;
}

/* ---- limits ---- */

#define LENIENCE 2

static bool wants_answer(const struct ofi_wire *w)
{
	return w->kind == OFI_RTS || w->kind == OFI_FIND || w->kind == OFI_ATOMIC ||
	       (w->kind == OFI_EAGER && w->flags & OFI_WIRE_ACK);
}

bool ofi_limits_admit(struct ofi_limits *l, uint32_t window_bytes, const struct ofi_wire *w,
		      uint64_t length)
{
	uint64_t cost = ofi_wire_cost(w->kind, length);

	if (cost && l->bytes + cost > LENIENCE * ofi_wire_room(w->kind, window_bytes))
		return false;
	if (wants_answer(w) && l->due >= OFI_COOKIES_MAX)
		return false;
	l->bytes += cost;
	l->due += wants_answer(w);
	return true;
}

void ofi_limits_taken(struct ofi_limits *l, uint64_t bytes)
{
	l->bytes -= bytes < l->bytes ? bytes : l->bytes;
}

void ofi_limits_answered(struct ofi_limits *l)
{
	l->due -= l->due > 0;
}
