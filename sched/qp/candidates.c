/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/candidates.h"

#include "fare_limits.h"

_Static_assert(FARE_MAX_SUB_PORTS <= 32, "a mask of remote sub-ports has 32 bits");

static void candidates_count(const struct candidate *c, unsigned n,
			     unsigned load[FARE_MAX_SUB_PORTS])
{
	for (unsigned i = 0; i < n; i++)
		if (c[i].remote_sub_port >= 0)
			load[c[i].remote_sub_port]++;
}

bool candidates_are_even(const struct candidate *c, unsigned n, uint32_t remotes)
{
	unsigned load[FARE_MAX_SUB_PORTS] = {0}, least = UINT32_MAX, most = 0;

	candidates_count(c, n, load);
	for (unsigned r = 0; r < FARE_MAX_SUB_PORTS; r++) {
		if (!(remotes >> r & 1)) {
			if (load[r])
				return false;
			continue;
		}
		least = load[r] < least ? load[r] : least;
		most = load[r] > most ? load[r] : most;
	}
	return !remotes || most - least <= 1;
}

bool candidates_improve(const struct candidate *c, unsigned n_own, unsigned n, unsigned *from,
			unsigned *to)
{
	unsigned load[FARE_MAX_SUB_PORTS] = {0}, best = 1;

	candidates_count(c, n_own, load);
	for (unsigned i = 0; i < n_own; i++) {
		for (unsigned k = n_own; k < n && c[i].remote_sub_port >= 0; k++) {
			unsigned old = load[c[i].remote_sub_port], next;

			if (c[k].remote_sub_port < 0 || c[k].used ||
			    c[k].local_sub_port != c[i].local_sub_port)
				continue;
			next = load[c[k].remote_sub_port];
			if (old <= next + best)
				continue;
			best = old - next;
			*from = i;
			*to = k;
		}
	}
	return best > 1;
}
