/* SPDX-License-Identifier: BSD-2-Clause */
#include "nccl/nccl_handle.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define MAGIC	     "FARNCCL3"
#define LISTENER_AT  8
#define ADDRESS_AT   16
#define TICKET_AT    (ADDRESS_AT + FARE_ADDRESS_BYTES)
#define HANDLE_BYTES (TICKET_AT + 8)

_Static_assert(HANDLE_BYTES <= NCCL_NET_HANDLE_MAXSIZE, "NCCL's limit");

static void handle_put(uint8_t *out, uint64_t value)
{
	value = htobe64(value);
	memcpy(out, &value, sizeof(value));
}

static uint64_t handle_get(const uint8_t *in)
{
	uint64_t value;

	memcpy(&value, in, sizeof(value));
	return be64toh(value);
}

void handle_encode(const struct handle *h, uint8_t out[NCCL_NET_HANDLE_MAXSIZE])
{
	memset(out, 0, NCCL_NET_HANDLE_MAXSIZE);
	memcpy(out, MAGIC, LISTENER_AT);
	handle_put(out + LISTENER_AT, h->listener);
	memcpy(out + ADDRESS_AT, h->address.bytes, FARE_ADDRESS_BYTES);
	handle_put(out + TICKET_AT, h->ticket);
}

int handle_decode(const uint8_t in[NCCL_NET_HANDLE_MAXSIZE], struct handle *out)
{
	*out = (struct handle){0};
	if (memcmp(in, MAGIC, LISTENER_AT))
		return -EBADMSG;
	for (unsigned i = HANDLE_BYTES; i < NCCL_NET_HANDLE_MAXSIZE; i++)
		if (in[i])
			return -EBADMSG;
	out->listener = handle_get(in + LISTENER_AT);
	memcpy(out->address.bytes, in + ADDRESS_AT, FARE_ADDRESS_BYTES);
	out->ticket = handle_get(in + TICKET_AT);
	return out->listener ? 0 : -EBADMSG;
}
