/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload/collective.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/optimum.h"

#define SENT_SHARE 0.1

enum shape { RING, CHAIN, PAIRS, HALVING, DOUBLING, SHAPES };

static const char *const shapes[] = {
	[RING] = "ring",       [CHAIN] = "chain",	[PAIRS] = "pairs",
	[HALVING] = "halving", [DOUBLING] = "doubling", [SHAPES] = "nothing known"};

static const struct {
	const char *name, *algorithm;
	unsigned number;
	double sends;  /* times (n - 1) / n of the vector */
	bool is_whole; /* times the whole vector */
	enum shape shape;
} collectives[] = {
	[COLLECTIVE_ALLREDUCE] = {"allreduce", "ring", 4, 2, false, RING},
	[COLLECTIVE_ALLTOALL] = {"alltoall", "pairwise", 2, 1, false, PAIRS},
	[COLLECTIVE_ALLGATHER] = {"allgather", "ring", 4, 1, false, RING},
	[COLLECTIVE_REDUCE_SCATTER] = {"reduce_scatter", "ring", 3, 1, false, RING},
	[COLLECTIVE_BCAST] = {"bcast", "pipeline", 3, 1, true, CHAIN},
	[COLLECTIVE_SENDRECV] = {"sendrecv", "one message", 0, 1, true, RING},
};

const char *collective_name(enum collective c)
{
	return collectives[c].name;
}

enum collective collective_parse(const char *name)
{
	enum collective c = COLLECTIVE_ALLREDUCE;

	while (c < COLLECTIVE_COUNT && strcmp(collectives[c].name, name) != 0)
		c++;
	return c;
}

unsigned collective_algorithm(enum collective c)
{
	return collectives[c].number;
}

const char *collective_algorithm_name(enum collective c)
{
	return collectives[c].algorithm;
}

const char *collective_shape(enum collective c)
{
	return shapes[collectives[c].shape];
}

double collective_factor(enum collective c, unsigned ranks)
{
	return collectives[c].sends * (collectives[c].is_whole ? 1 : (double)(ranks - 1) / ranks);
}

double collective_busbw_bps(enum collective c, unsigned ranks, uint64_t bytes, double seconds)
{
	return (double)bytes * 8 / seconds * collective_factor(c, ranks);
}

/* What rank src sends to dst by the fabric, in times of the vector. */
static double collective_cell(const struct topo *topo, enum collective c, enum shape shape,
			      unsigned ranks, unsigned src, unsigned dst)
{
	double all = collective_factor(c, ranks);
	unsigned distance = src ^ dst;

	if (src == dst || (topo && topo->gpus[src].server == topo->gpus[dst].server))
		return 0;
	switch (shape) {
	case RING:
		return dst == (src + 1) % ranks ? all : 0;
	case CHAIN:
		return dst == src + 1 ? all : 0;
	case PAIRS:
		return all / (ranks - 1);
	case HALVING:
		return distance & (distance - 1) ? 0 : all * distance / (ranks - 1);
	default:
		return distance & (distance - 1) ? 0 : 1;
	}
}

void collective_matrix(const struct topo *topo, enum collective c, unsigned ranks, uint64_t bytes,
		       uint64_t *cells)
{
	for (unsigned i = 0; i < ranks * ranks; i++)
		cells[i] = (uint64_t)llround((double)bytes *
					     collective_cell(topo, c, collectives[c].shape, ranks,
							     i / ranks, i % ranks));
}

double collective_fabric_bytes(const struct topo *topo, enum collective c, unsigned ranks,
			       uint64_t bytes)
{
	double most = 0;

	for (unsigned src = 0; src < ranks; src++) {
		double sum = 0;

		for (unsigned dst = 0; dst < ranks; dst++)
			sum += collective_cell(topo, c, collectives[c].shape, ranks, src, dst);
		most = fmax(most, sum);
	}
	return most * (double)bytes;
}

static bool collective_fits(const struct topo *topo, enum collective c, enum shape shape,
			    unsigned ranks, double bytes, const double *cells)
{
	for (unsigned src = 0; src < ranks; src++) {
		double want = 0, got = 0, off = 0, scale;

		for (unsigned dst = 0; dst < ranks; dst++) {
			want += bytes * collective_cell(topo, c, shape, ranks, src, dst);
			got += cells[src * ranks + dst];
		}
		scale = want > 0 ? got / want : 1;
		for (unsigned dst = 0; dst < ranks; dst++)
			off += fabs(cells[src * ranks + dst] -
				    scale * bytes *
					    collective_cell(topo, c, shape, ranks, src, dst));
		/* (the end of a chain has none: what it acknowledges is little, too) */
		if (scale < 1 - SENT_SHARE ||
		    off > SENT_SHARE * fmax(got, bytes * collective_factor(c, ranks)))
			return false;
	}
	return true;
}

const char *collective_seen(const struct topo *topo, enum collective c, unsigned ranks,
			    uint64_t bytes, const double *cells, double *times)
{
	enum shape shape = collectives[c].shape; /* of two ranks, several look alike */
	double got = 0, want = 0;

	for (unsigned i = 0; i < ranks * ranks; i++) {
		got += cells[i];
		want += (double)bytes *
			collective_cell(topo, c, shape, ranks, i / ranks, i % ranks);
	}
	*times = got / want;
	if (!collective_fits(topo, c, shape, ranks, (double)bytes, cells))
		for (shape = RING; shape < SHAPES; shape++)
			if (collective_fits(topo, c, shape, ranks, (double)bytes, cells))
				break;
	return shapes[shape];
}

bool collective_covered(const struct topo *topo, enum collective c, unsigned ranks, uint64_t bytes,
			const double *cells)
{
	for (unsigned i = 0; i < ranks * ranks; i++)
		if (cells[i] < (1 - SENT_SHARE) * (double)bytes *
				       collective_cell(topo, c, collectives[c].shape, ranks,
						       i / ranks, i % ranks))
			return false;
	return true;
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

double collective_roofline_s(const struct topo *topo, enum collective c, unsigned ranks,
			     uint64_t bytes, double compute_s, double line_bps, double bucket_bytes)
{
	double moved = collective_fabric_bytes(topo, c, ranks, bytes);
	double saved = fmin(bucket_bytes, compute_s * line_bps / 8);

	return compute_s + fmax(0, moved - saved) * 8 / line_bps;
}
