/* SPDX-License-Identifier: BSD-2-Clause */
#include "training/collective.h"

#include <math.h>
#include <stdlib.h>

#include "fabric/optimum.h"

#define SENT_SHARE 0.1

static const struct {
	const char *name, *algorithm;
	unsigned number;
	double sends; /* times (n - 1) / n of the vector */
	bool ring;
} collectives[] = {
	[COLLECTIVE_ALLREDUCE] = {"allreduce", "ring", 4, 2, true},
	[COLLECTIVE_ALLTOALL] = {"alltoall", "pairwise", 2, 1, false},
	[COLLECTIVE_ALLGATHER] = {"allgather", "ring", 4, 1, true},
};

const char *collective_name(enum collective c)
{
	return collectives[c].name;
}

unsigned collective_algorithm(enum collective c)
{
	return collectives[c].number;
}

const char *collective_algorithm_name(enum collective c)
{
	return collectives[c].algorithm;
}

double collective_factor(enum collective c, unsigned ranks)
{
	return collectives[c].sends * (ranks - 1) / ranks;
}

double collective_busbw_bps(enum collective c, unsigned ranks, uint64_t bytes, double seconds)
{
	return (double)bytes * 8 / seconds * collective_factor(c, ranks);
}

void collective_matrix(enum collective c, unsigned ranks, uint64_t bytes, uint64_t *cells)
{
	uint64_t part = bytes / ranks;
	unsigned steps = (unsigned)collectives[c].sends * (ranks - 1);

	for (unsigned src = 0; src < ranks; src++)
		for (unsigned dst = 0; dst < ranks; dst++) {
			bool next = dst == (src + 1) % ranks;

			cells[src * ranks + dst] = src == dst		  ? 0
						   : !collectives[c].ring ? part
						   : next		  ? part * steps
									  : 0;
		}
}

double collective_optimum_s(const struct topo *topo, unsigned ranks, const uint64_t *cells)
{
	unsigned n = topo->n_gpus;
	uint64_t *all = calloc((size_t)n * n, sizeof(*all));
	double seconds = NAN;

	for (unsigned i = 0; all && ranks <= n && i < ranks * ranks; i++)
		all[i / ranks * n + i % ranks] = cells[i];
	if (all && ranks <= n)
		seconds = optimum_all_to_all_s(topo, all) / optimum_goodput_factor(topo);
	free(all);
	return seconds;
}

bool collective_sent(enum collective c, unsigned ranks, uint64_t bytes, double sent_bytes)
{
	double want = (double)bytes * collective_factor(c, ranks);

	return fabs(sent_bytes - want) <= SENT_SHARE * want;
}

double collective_roofline_s(enum collective c, unsigned ranks, uint64_t bytes, double compute_s,
			     double line_bps, double bucket_bytes)
{
	double moved = (double)bytes * collective_factor(c, ranks);
	double saved = fmin(bucket_bytes, compute_s * line_bps / 8);

	return compute_s + fmax(0, moved - saved) * 8 / line_bps;
}
