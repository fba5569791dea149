/* links: ofi_core; parses: sched/ofi/ofi_wire.c */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "ofi/ofi_name.h"
#include "ofi/ofi_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What decodes is encoded to the same bytes again. */
static void try_greeting(const uint8_t *data, size_t size)
{
	uint8_t bytes[OFI_GREETING_BYTES];
	struct ofi_greeting greeting;

	if (ofi_greeting_decode(data, size, &greeting))
		return;
	ofi_greeting_encode(&greeting, bytes);
	if (size != sizeof(bytes) || memcmp(bytes, data, size))
		abort();
}

static void try_address(const uint8_t *data, size_t size)
{
	uint8_t bytes[OFI_ADDRESS_BYTES];
	struct ofi_address address;

	if (size != sizeof(bytes) || ofi_address_decode(data, &address))
		return;
	ofi_address_encode(&address, bytes);
	if (memcmp(bytes, data, size))
		abort();
}

/* As an application hands it over, in each format. */
static void try_name(const uint8_t *data, size_t size)
{
	static const uint32_t formats[] = {FI_FORMAT_UNSPEC, FI_SOCKADDR, FI_SOCKADDR_IN,
					   FI_SOCKADDR_IN6, 77};
	struct ofi_address address;
	struct peer_address at;
	char text[128];

	for (unsigned i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!ofi_name_decode(formats[i], data, size, &address) &&
		    (ofi_name_place(&address, &at) ||
		     ofi_name_print(formats[i], &address, text, sizeof(text)) > sizeof(text)))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t bytes[OFI_WIRE_RTS_BYTES];
	struct ofi_wire w;
	size_t payload;

	try_greeting(data, size);
	try_address(data, size);
	try_name(data, size);
	if (ofi_wire_decode(data, size, &w, &payload))
		return 0;
	if (payload > size || payload != ofi_wire_bytes(w.kind))
		abort();
	ofi_wire_encode(&w, bytes);
	if (memcmp(bytes, data, payload))
		abort();
	return 0;
}
