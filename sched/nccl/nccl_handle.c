/* SPDX-License-Identifier: BSD-2-Clause */
#include "nccl/nccl_handle.h"

#include <errno.h>
#include <string.h>

#include "base/octets.h"

#define MAGIC	     "FARNCCL3"
#define LISTENER_AT  8
#define ADDRESS_AT   16
#define TICKET_AT    (ADDRESS_AT + FARE_ADDRESS_BYTES)
#define HANDLE_BYTES (TICKET_AT + 8)

_Static_assert(HANDLE_BYTES <= NCCL_NET_HANDLE_MAXSIZE, "NCCL's limit");

void handle_encode(const struct handle *h, uint8_t out[NCCL_NET_HANDLE_MAXSIZE])
{
	memset(out, 0, NCCL_NET_HANDLE_MAXSIZE);
	memcpy(out, MAGIC, LISTENER_AT);
	octets_store(out + LISTENER_AT, h->listener, 8);
	memcpy(out + ADDRESS_AT, h->address.bytes, FARE_ADDRESS_BYTES);
	octets_store(out + TICKET_AT, h->ticket, 8);
}

int handle_decode(const uint8_t in[NCCL_NET_HANDLE_MAXSIZE], struct handle *out)
{
	*out = (struct handle){0};
	if (memcmp(in, MAGIC, LISTENER_AT))
		return -EBADMSG;
	for (unsigned i = HANDLE_BYTES; i < NCCL_NET_HANDLE_MAXSIZE; i++)
		if (in[i])
			return -EBADMSG;
	out->listener = octets_load(in + LISTENER_AT, 8);
	memcpy(out->address.bytes, in + ADDRESS_AT, FARE_ADDRESS_BYTES);
	out->ticket = octets_load(in + TICKET_AT, 8);
	return out->listener ? 0 : -EBADMSG;
}
