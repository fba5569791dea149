/* SPDX-License-Identifier: BSD-2-Clause */
#include "nccl/nccl_wire.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "base/octets.h"

#define WORDS (WIRE_BYTES / 8)

bool wire_is_greeting(const void *data, size_t bytes)
{
	return bytes == sizeof(WIRE_GREETING) && !memcmp(data, WIRE_GREETING, bytes);
}

void wire_encode(const struct wire_message *m, uint8_t out[WIRE_BYTES])
{
	const struct credit *c = &m->credit;
	uint64_t words[WORDS] = {(uint64_t)m->kind << 48 | (uint64_t)m->comm << 32};

	if (m->kind == WIRE_HELLO)
		words[1] = m->listener;
	if (m->kind == WIRE_CREDIT) {
		words[0] |= (uint64_t)c->id << 16;
		words[1] = c->address;
		words[2] = c->size;
		words[3] = (uint64_t)c->rkey << 32 | (uint32_t)c->tag;
	}
	for (unsigned i = 0; i < WORDS; i++)
		words[i] = htobe64(words[i]);
	memcpy(out, words, WIRE_BYTES);
}

static int wire_decode_words(const uint64_t words[WORDS], struct wire_message *out)
{
	*out = (struct wire_message){.kind = (enum wire_kind)(words[0] >> 48),
				     .comm = (uint16_t)(words[0] >> 32)};
	switch (out->kind) {
	case WIRE_HELLO:
		out->listener = words[1];
		return 0;
	case WIRE_CREDIT:
		out->credit = (struct credit){.address = words[1],
					      .size = words[2],
					      .rkey = (uint32_t)(words[3] >> 32),
					      .tag = (int32_t)words[3],
					      .id = (uint16_t)(words[0] >> 16)};
		return 0;
	case WIRE_BYE:
		return 0;
	}
	return -EBADMSG;
}

int wire_decode(const void *data, size_t bytes, struct wire_message *out)
{
	uint64_t words[WORDS];
	uint8_t again[WIRE_BYTES];
	int err;

	if (bytes != WIRE_BYTES)
		return -EBADMSG;
	memcpy(words, data, WIRE_BYTES);
	for (unsigned i = 0; i < WORDS; i++)
		words[i] = be64toh(words[i]);
	err = wire_decode_words(words, out);
	if (err)
		return err;
	/* what a kind does not use is 0 */
	wire_encode(out, again);
	return memcmp(again, data, WIRE_BYTES) ? -EBADMSG : 0;
}

/* ---- handles ---- */

#define HANDLE_MAGIC "FARNCCL3"
#define LISTENER_AT  8
#define ADDRESS_AT   16
#define TICKET_AT    (ADDRESS_AT + FARE_ADDRESS_BYTES)
#define HANDLE_BYTES (TICKET_AT + 8)

_Static_assert(HANDLE_BYTES <= NCCL_NET_HANDLE_MAXSIZE, "NCCL's limit");

void handle_encode(const struct handle *h, uint8_t out[NCCL_NET_HANDLE_MAXSIZE])
{
	memset(out, 0, NCCL_NET_HANDLE_MAXSIZE);
	memcpy(out, HANDLE_MAGIC, LISTENER_AT);
	octets_store(out + LISTENER_AT, h->listener, 8);
	memcpy(out + ADDRESS_AT, h->address.bytes, FARE_ADDRESS_BYTES);
	octets_store(out + TICKET_AT, h->ticket, 8);
}

int handle_decode(const uint8_t in[NCCL_NET_HANDLE_MAXSIZE], struct handle *out)
{
	*out = (struct handle){0};
	if (memcmp(in, HANDLE_MAGIC, LISTENER_AT))
		return -EBADMSG;
	for (unsigned i = HANDLE_BYTES; i < NCCL_NET_HANDLE_MAXSIZE; i++)
		if (in[i])
			return -EBADMSG;
	out->listener = octets_load(in + LISTENER_AT, 8);
	memcpy(out->address.bytes, in + ADDRESS_AT, FARE_ADDRESS_BYTES);
	out->ticket = octets_load(in + TICKET_AT, 8);
	return out->listener ? 0 : -EBADMSG;
}
