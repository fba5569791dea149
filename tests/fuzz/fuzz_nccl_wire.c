/* links: nccl_core; parses: sched/nccl/nccl_wire.c */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "nccl/nccl_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What decodes must encode again to something that decodes to the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t bytes[WIRE_BYTES], second[WIRE_BYTES];
	struct wire_message m, again;

	if (wire_decode(data, size, &m))
		return 0;
	wire_encode(&m, bytes);
	if (wire_decode(bytes, sizeof(bytes), &again))
		abort();
	wire_encode(&again, second);
	if (memcmp(bytes, second, sizeof(bytes)))
		abort();
	return 0;
}
