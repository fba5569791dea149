/* links: health; parses: health/report_wire.c */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "report_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is accepted comes out of the encoder byte for byte as it went in. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t again[REPORT_WIRE_MAX_BYTES];
	struct report_wire r;
	bool known;

	if (report_wire_decode(data, size, &r, &known) || !known)
		return 0;
	if ((size_t)(report_wire_encode(&r, again) - again) != size || memcmp(again, data, size))
		abort();
	return 0;
}
