/* links: sched; parses: sched/qp/verbs/verbs_wire.c */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "qp/verbs/verbs_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct verbs_wire_message m;
	uint8_t again[VERBS_WIRE_MAX];
	const char *reason;
	size_t at = SIZE_MAX;
	int n;

	if (verbs_wire_decode(&m, data, size, &reason, &at)) {
		if (at > size)
			abort();
		return 0;
	}
	/* what was understood says the same again, byte for byte but for the two that nobody reads
	 */
	n = verbs_wire_encode(&m, again, sizeof(again));
	if (size > sizeof(again))
		return 0;
	if (n < 0 || (size_t)n != size || memcmp(again, data, 6) ||
	    memcmp(again + 8, data + 8, size - 8))
		abort();
	return 0;
}
