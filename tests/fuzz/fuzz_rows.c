/* links: bench_core; parses: bench/core/rows_line.c */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/rows_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A line that is taken gives, written and read again, the same line; its quantiles are in order. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *reason = NULL;
	struct row row, again;
	size_t length, length_again;
	char *line, *line_again;

	if (row_parse(&row, (const char *)data, size, &reason)) {
		if (!reason)
			abort();
		return 0;
	}
	if ((row.hist != NULL) + (row.text != NULL) + (row.missing != NULL) +
		    (isfinite(row.value) != 0) !=
	    1)
		abort();
	line = row_line(&row, &length);
	if (!line || row_parse(&again, line, length, &reason))
		abort();
	line_again = row_line(&again, &length_again);
	if (!line_again || length != length_again || memcmp(line, line_again, length) != 0)
		abort();
	if (row.hist && hist_quantile(row.hist, 0.5) > hist_quantile(row.hist, 0.99))
		abort();
	free(line);
	free(line_again);
	row_fini(&row);
	row_fini(&again);
	return 0;
}
