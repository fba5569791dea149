/* links: ofi_core */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "ofi/ofi_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What decodes is encoded to the same bytes again. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t bytes[OFI_WIRE_RTS_BYTES];
	struct ofi_greeting greeting;
	struct ofi_wire w;
	size_t payload;

	ofi_greeting_decode(data, size, &greeting);
	if (ofi_wire_decode(data, size, &w, &payload))
		return 0;
	if (payload > size || payload != ofi_wire_bytes(w.kind))
		abort();
	ofi_wire_encode(&w, bytes);
	if (memcmp(bytes, data, payload))
		abort();
	return 0;
}
