/* links: bench_core; parses: bench/training/coll_table.c */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "training/coll_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A line that is taken has a time; what is there is no nonsense. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct coll_line l;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (coll_table_line(text, &l) == 1 &&
	    (!(l.time_us[0] > 0) || l.time_us[1] < 0 || l.min_us < 0 || l.max_us < 0 ||
	     l.wrong < 0 || isinf(l.time_us[0])))
		abort();
	free(text);
	return 0;
}
