/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_wire.h"

#include <errno.h>
#include <string.h>

#define GREETING      "fareofi"
#define GREETING_LEN  7
#define CREDIT_OFFSET 24
#define MAGIC	      UINT32_C(0x666f6669)

static uint8_t *put(uint8_t *out, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		out[i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
	return out + bytes;
}

static const uint8_t *get(const uint8_t *in, void *out, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value = value << 8 | in[i];
	if (bytes == 1)
		*(uint8_t *)out = (uint8_t)value;
	else if (bytes == 2)
		*(uint16_t *)out = (uint16_t)value;
	else if (bytes == 4)
		*(uint32_t *)out = (uint32_t)value;
	else
		*(uint64_t *)out = value;
	return in + bytes;
}

static int has_payload(uint8_t kind)
{
	return kind == OFI_EAGER || kind == OFI_MORE;
}

static int has_place(uint8_t kind)
{
	return kind == OFI_RTS || kind == OFI_WRITTEN || kind == OFI_FOUND;
}

size_t ofi_wire_bytes(uint8_t kind)
{
	return has_place(kind) ? OFI_WIRE_RTS_BYTES : OFI_WIRE_BYTES;
}

void ofi_wire_encode(const struct ofi_wire *w, uint8_t *out)
{
	out = put(out, w->kind, 1);
	out = put(out, w->flags, 1);
	out = put(out, w->src_ep, 2);
	out = put(out, w->dst_ep, 2);
	out = put(out, 0, 2);
	out = put(out, w->tag, 8);
	out = put(out, w->data, 8);
	out = put(out, w->credit, 4);
	out = put(out, w->cookie, 4);
	out = put(out, w->status, 4);
	if (!has_place(w->kind))
		return;
	out = put(out, w->length, 8);
	out = put(out, w->address, 8);
	put(out, w->rkey, 4);
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
static void gather(uint8_t *out, uint64_t bytes, const struct iovec **iov, size_t *at)
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
		gather(out + OFI_WIRE_BYTES, n, &iov, &at);
		out += OFI_WIRE_BYTES + n;
		record = (struct ofi_wire){
			.kind = OFI_MORE, .src_ep = w->src_ep, .dst_ep = w->dst_ep};
	}
}

void ofi_wire_set_credit(uint8_t *message, uint32_t credit)
{
	put(message + CREDIT_OFFSET, credit, 4);
}

int ofi_wire_decode(const uint8_t *in, size_t bytes, struct ofi_wire *out, size_t *payload)
{
	uint16_t zero;

	memset(out, 0, sizeof(*out));
	if (bytes < OFI_WIRE_BYTES)
		return -EBADMSG;
	*payload = ofi_wire_bytes(in[0]);
	if (in[0] < OFI_EAGER || in[0] > OFI_MORE || bytes < *payload ||
	    (!has_payload(in[0]) && bytes != *payload))
		return -EBADMSG;
	in = get(in, &out->kind, 1);
	in = get(in, &out->flags, 1);
	in = get(in, &out->src_ep, 2);
	in = get(in, &out->dst_ep, 2);
	in = get(in, &zero, 2);
	in = get(in, &out->tag, 8);
	in = get(in, &out->data, 8);
	in = get(in, &out->credit, 4);
	in = get(in, &out->cookie, 4);
	in = get(in, &out->status, 4);
	if (zero || out->flags > (OFI_WIRE_TAGGED | OFI_WIRE_DATA | OFI_WIRE_ACK))
		return -EBADMSG;
	if (has_payload(out->kind) && out->status > OFI_EAGER_MAX)
		return -EBADMSG;
	if (!has_place(out->kind))
		return 0;
	in = get(in, &out->length, 8);
	in = get(in, &out->address, 8);
	get(in, &out->rkey, 4);
	return 0;
}

void ofi_greeting_encode(const struct ofi_greeting *g, uint8_t out[OFI_GREETING_BYTES])
{
	memcpy(out, GREETING, GREETING_LEN);
	out[GREETING_LEN] = (uint8_t)g->version;
	put(out + GREETING_LEN + 1, g->window_bytes, 4);
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
	get(text + GREETING_LEN + 1, &out->window_bytes, 4);
	return 0;
}

void ofi_address_encode(const struct ofi_address *address, uint8_t out[OFI_ADDRESS_BYTES])
{
	memcpy(out, address->process.bytes, FARE_ADDRESS_BYTES);
	out = put(out + FARE_ADDRESS_BYTES, MAGIC, 4);
	out = put(out, address->ep, 2);
	put(out, 0, 2);
}

int ofi_address_decode(const uint8_t in[OFI_ADDRESS_BYTES], struct ofi_address *out)
{
	uint32_t magic;
	uint16_t zero;

	memset(out, 0, sizeof(*out));
	memcpy(out->process.bytes, in, FARE_ADDRESS_BYTES);
	in = get(in + FARE_ADDRESS_BYTES, &magic, 4);
	in = get(in, &out->ep, 2);
	get(in, &zero, 2);
	return magic == MAGIC && !zero ? 0 : -EINVAL;
}
