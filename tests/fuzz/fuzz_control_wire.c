/* links: sched; parses: sched/qp/control_wire.c */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "qp/control_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What decodes must encode again to something that decodes to the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct control_message m, again;
	uint8_t buf[1024], second[1024];
	const char *reason;
	int n, k;

	if (control_wire_decode(&m, data, size, &reason))
		return 0;
	n = control_wire_encode(&m, buf, sizeof(buf));
	if (n <= 0 || control_wire_decode(&again, buf, (size_t)n, &reason))
		abort();
	k = control_wire_encode(&again, second, sizeof(second));
	if (k != n || memcmp(buf, second, (size_t)n))
		abort();
	return 0;
}
