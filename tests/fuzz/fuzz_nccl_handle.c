/* links: nccl_core; parses: sched/nccl/nccl_wire.c */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "nccl/nccl_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What decodes is encoded to the same bytes again. NCCL's handles have one length. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t bytes[NCCL_NET_HANDLE_MAXSIZE] = {0}, again[NCCL_NET_HANDLE_MAXSIZE];
	struct handle h;

	memcpy(bytes, data, size < sizeof(bytes) ? size : sizeof(bytes));
	if (handle_decode(bytes, &h))
		return 0;
	handle_encode(&h, again);
	if (!h.listener || memcmp(bytes, again, sizeof(bytes)))
		abort();
	return 0;
}
