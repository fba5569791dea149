/* SPDX-License-Identifier: BSD-2-Clause */
#include "suite/cells.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"

const char *param_levels(const struct param *param, enum profile profile)
{
	const char *levels = param->level[PROFILE_QUICK];

	for (int p = 0; p <= (int)profile; p++)
		if (param->level[p])
			levels = param->level[p];
	return levels;
}

/* Is it among the words of a list with commas? */
static bool cells_lists(const char *levels, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = levels; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strcspn(at, ",") == length && strncmp(at, name, length) == 0)
			return true;
	}
	return false;
}

static bool cells_knows(const struct param *param, const struct row_param *level)
{
	bool is_listed = false;

	if (param->kind == PARAM_TEXT)
		return true;
	for (int p = 0; p < PROFILE_COUNT; p++)
		is_listed |= cells_lists(param->level[p], level->text);
	if (param->kind >= PARAM_NAME || is_listed)
		return is_listed;
	/* none of something is a level of the tests that know what it means */
	return isfinite(level->number) && level->number >= (param->kind == PARAM_COUNT ? 1 : 0);
}

static void cells_complain(const struct test *test, const struct param *param, const char *level)
{
	const char *between = "";

	fprintf(stderr, "farebench: test %s: %s=%s: ", test->id, param->name, level);
	if (param->kind < PARAM_NAME)
		fprintf(stderr, "a number%s (suffixes K, M, G) is expected",
			param->kind == PARAM_COUNT ? " from 1 on" : "");
	else if (param->kind == PARAM_TEXT)
		fprintf(stderr, "a word of 1 to %d bytes is expected", ROW_NAME_MAX - 1);
	else
		fputs("there are ", stderr);
	for (int p = 0; p < PROFILE_COUNT && param->kind >= PARAM_NAME && param->kind != PARAM_TEXT;
	     p++)
		if (param->level[p]) {
			fprintf(stderr, "%s%s", between, param->level[p]);
			between = ",";
		}
	fputc('\n', stderr);
}

static int cells_set(const struct test *test, const struct param *param, const char *text,
		     size_t length, struct row_param *out)
{
	char level[ROW_NAME_MAX];

	snprintf(level, sizeof(level), "%.*s", (int)length, text);
	if (length < sizeof(level) && !row_param_set(out, param->name, level) &&
	    cells_knows(param, out))
		return 0;
	cells_complain(test, param, level);
	return -EINVAL;
}

/* Every cell there is, once for each level of the parameter. */
static int cells_cross(const struct test *test, const struct param *param, const char *levels,
		       struct cells *cells)
{
	bool slow = param->kind == PARAM_SLOW_NAME;
	struct cells grown = {.n_blocks = slow ? 0 : cells->n_blocks,
			      .any_weights = cells->any_weights};
	int err = 0;

	for (const char *at = levels; !err && at;) {
		const char *comma = strchr(at, ',');
		size_t length = comma ? (size_t)(comma - at) : strlen(at);
		struct cell *more = realloc(grown.cell, (grown.n + cells->n) * sizeof(*grown.cell));

		if (!more || grown.n + cells->n > CELLS_MAX) {
			err = more ? -E2BIG : -ENOMEM;
			grown.cell = more ? more : grown.cell;
			break;
		}
		grown.cell = more;
		for (unsigned i = 0; !err && i < cells->n; i++) {
			struct cell *cell = &grown.cell[grown.n++];

			*cell = cells->cell[i];
			cell->block += slow ? grown.n_blocks : 0;
			err = cells_set(test, param, at, length, &cell->param[cell->n_params++]);
		}
		grown.n_blocks += slow ? cells->n_blocks : 0;
		at = comma ? comma + 1 : NULL;
	}
	free(cells->cell);
	*cells = grown;
	return err;
}

static int cells_refuse(const struct test *test, const struct param *param, const char *levels)
{
	fprintf(stderr,
		"farebench: test %s: %s=%s: it has no effect with this workload, which has its "
		"own\n",
		test->id, param->name, levels);
	return -EINVAL;
}

static const char *cells_levels(const struct param *param, enum profile profile,
				const struct cells_override *override, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (strcmp(override[i].name, param->name) == 0)
			return override[i].levels;
	return param_levels(param, profile);
}

int cells_expand(const struct test *test, enum profile profile,
		 const struct cells_override *override, unsigned n_override, const int *strategies,
		 unsigned n_strategies, struct cells *out)
{
	unsigned n = test->no_strategies ? 1 : n_strategies;
	int err = 0;

	out->n = 0;
	out->n_blocks = 1;
	out->any_weights = test->strategies;
	out->cell = calloc(n + 1, sizeof(*out->cell));
	if (!out->cell)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++)
		out->cell[out->n++].strategy = test->no_strategies ? -1 : strategies[i];
	for (const struct param *p = test->params; !err && p && p->name; p++) {
		const char *levels = cells_levels(p, profile, override, n_override);

		if (!test->ignores || !test->ignores(p->name))
			err = cells_cross(test, p, levels, out);
		else if (levels != param_levels(p, profile))
			err = cells_refuse(test, p, levels);
	}
	if (err)
		cells_fini(out);
	return err;
}

static bool cells_is_named(const struct cells_override *override, unsigned n, const char *param)
{
	for (unsigned i = 0; i < n; i++)
		if (strcmp(override[i].name, param) == 0)
			return true;
	return false;
}

void cells_fit(const struct test *test, const struct topo *topo,
	       const struct cells_override *override, unsigned n_override, struct cells *cells)
{
	unsigned kept = 0;

	for (unsigned i = 0; test->fits && i < cells->n; i++) {
		const struct cell *cell = &cells->cell[i];
		bool fits = true;

		for (unsigned p = 0; p < cell->n_params; p++)
			fits &= cells_is_named(override, n_override, cell->param[p].name) ||
				test->fits(topo, cell->param[p].name, cell->param[p].text);
		if (fits)
			cells->cell[kept++] = *cell;
	}
	cells->n = test->fits ? kept : cells->n;
}

void cells_fini(struct cells *cells)
{
	free(cells->cell);
	cells->cell = NULL;
	cells->n = 0;
}

/* 0: equal weights are needed; 1: any will do; 2: FRR's. */
static int cells_half(const struct cells *cells, unsigned i)
{
	const struct cell *cell = &cells->cell[i];
	enum strategy strategy = (enum strategy)cell->strategy;

	if (cells->any_weights || cell->strategy < 0 || strategy_mode(strategy) != FARE_MODE_KERNEL)
		return 1;
	return strategy_equal_weights(strategy) ? 0 : 2;
}

unsigned cells_shuffle(const struct cells *cells, unsigned block, uint64_t *random, unsigned *order)
{
	bool equal_first = rng_next(random) & 1;
	unsigned n = 0, all = 0;

	for (unsigned i = 0; i < cells->n; i++)
		if (cells->cell[i].block == block)
			order[all++] = i;
	for (unsigned i = all; i > 1; i--) {
		unsigned j = rng_below(random, i), swap = order[j];

		order[j] = order[i - 1];
		order[i - 1] = swap;
	}
	/*
	 * a stable partition: those that any weights suit go with one half or the other by chance
	 */
	for (int half = 0; half < 2; half++) {
		for (unsigned i = n; i < all; i++) {
			int needs = cells_half(cells, order[i]);
			bool here = needs == 1 ? half || (rng_next(random) & 1)
					       : (needs == 0) == (half == !equal_first);
			unsigned moved = order[i];

			if (!here)
				continue;
			memmove(&order[n + 1], &order[n], (i - n) * sizeof(*order));
			order[n++] = moved;
		}
	}
	return all;
}
