/* links: ofi_core; parses: sched/ofi/ofi_wire.c */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "ofi/ofi_atomic_op.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first two bytes are the length of the result, as the record's header has it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static _Alignas(8) uint8_t target[OFI_RECORD_MAX];
	uint8_t header[OFI_ATOMIC_BYTES], *results;
	struct ofi_atomic a;
	uint64_t bytes;

	if (size < 2 || ofi_atomic_decode(data + 2, size - 2, data[0] << 8 | data[1], &a))
		return 0;
	/* what decodes is encoded to the same bytes, has room in an answer, and can be done */
	ofi_atomic_encode(&a, header);
	if (memcmp(header, data + 2, sizeof(header)))
		abort();
	bytes = ofi_atomic_result_bytes(&a);
	if (bytes > OFI_RECORD_MAX || a.count * ofi_atomic_size(a.datatype) > sizeof(target))
		abort();
	results = malloc(bytes ? bytes : 1);
	ofi_atomic_apply(&a, target, results);
	free(results);
	return 0;
}
