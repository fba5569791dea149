/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cells.h - every combination of a test's parameters and strategies, and the order of its trials.
 *
 * Owns: the list. In: a test, a profile, what the user named; out: cells, then trials in an order
 * drawn from a seed: all cells once before any is met twice, shuffled each time, so that what
 * drifts on the machine meets all alike. Strategies that need the kernel's weights equal and those
 * that need FRR's come in two halves of each pass, because to change them takes bgpd a while.
 * Levels of slow parameters make blocks: all trials of a block come before the next. Pure.
 */
#ifndef CELLS_H
#define CELLS_H

#include "engine/strategy.h"
#include "suite/test.h"

#define CELLS_MAX 4096

struct cell {
	unsigned n_params;
	struct row_param param[ROWS_MAX_PARAMS];
	int strategy; /* enum strategy, or a place among the test's own; -1: the test has none */
	unsigned block;
};

struct cells {
	struct cell *cell;
	unsigned n, n_blocks;
	bool any_weights; /* strategies are the test's own: none asks for the kernel's weights */
};

/* "name=a,b" from the command line, instead of the test's levels. */
struct cells_override {
	char name[ROW_NAME_MAX];
	const char *levels;
};

/* The levels of a parameter in a profile. */
const char *param_levels(const struct param *param, enum profile profile);

/*
 * strategies: as cell.strategy. -EINVAL, after saying which level is wrong; -E2BIG: more than
 * CELLS_MAX.
 */
int cells_expand(const struct test *test, enum profile profile,
		 const struct cells_override *override, unsigned n_override, const int *strategies,
		 unsigned n_strategies, struct cells *out);
/* Leaves out what does not fit the fabric (struct test's fits), but not of parameters that are
 * named. */
void cells_fit(const struct test *test, const struct topo *topo,
	       const struct cells_override *override, unsigned n_override, struct cells *cells);
void cells_fini(struct cells *cells);

/* Writes the cells of a block into order, shuffled; returns how many there are. */
unsigned cells_shuffle(const struct cells *cells, unsigned block, uint64_t *random,
		       unsigned *order);

#endif
