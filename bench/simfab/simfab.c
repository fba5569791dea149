/* SPDX-License-Identifier: BSD-2-Clause */
#include "simfab/simfab.h"

#include <errno.h>
#include <stdlib.h>

double simfab_line_bps(const struct clos *clos)
{
	double sum = 0;

	for (unsigned p = 0; p < clos->planes; p++)
		sum += clos->plane_bps[p];
	return sum;
}

int simfab_collective(const struct clos *clos, enum collective c, uint64_t bytes, double line_bps,
		      struct simfab_result *out)
{
	const unsigned n = clos->ranks;
	struct clos_load *load;
	int err = clos_load_create(&load, clos);
	uint64_t *cells;

	if (err)
		return err;
	cells = calloc((size_t)n * n, sizeof(*cells));
	if (!cells) {
		clos_load_destroy(load);
		return -ENOMEM;
	}
	collective_matrix(NULL, c, n, bytes, cells);
	for (unsigned i = 0; i < n * n; i++)
		if (cells[i])
			clos_load_add(load, i / n, i % n, (double)cells[i]);
	out->seconds = clos_load_seconds(load);
	out->busbw_bps = collective_busbw_bps(c, n, bytes, out->seconds);
	out->jct_ratio = out->seconds / collective_roofline_s(NULL, c, n, bytes, 0, line_bps, 0);
	out->uplinks = clos_load_uplinks(load);
	free(cells);
	clos_load_destroy(load);
	return 0;
}
