/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats.h"
#include "suite/derive.h"

const char *compare_verdict_name(enum compare_verdict verdict)
{
	static const char *const names[COMPARE_VERDICTS] = {
		[COMPARE_SAME] = "equal within the noise",
		[COMPARE_BETTER] = "better",
		[COMPARE_WORSE] = "worse",
		[COMPARE_CHANGED] = "changed",
		[COMPARE_MAYBE_BETTER] = "maybe better",
		[COMPARE_MAYBE_WORSE] = "maybe worse",
		[COMPARE_MAYBE_CHANGED] = "maybe changed",
		[COMPARE_GONE] = "gone",
		[COMPARE_NEW] = "new",
		[COMPARE_FEW] = "too few trials to say",
		[COMPARE_ONE] = "one value a run",
		[COMPARE_NONE] = "not measured",
	};

	return verdict < COMPARE_VERDICTS ? names[verdict] : "?";
}

/* The values of one place: one per trial. */
struct compare_sample {
	double *value;
	size_t n;
	double min, max;
};

/* Values of the trials of a distribution: their quantile, where they support it. */
static int compare_quantiles(const struct rows *rows, const struct rows_filter *filter,
			     const struct column *column, struct compare_sample *out)
{
	double scale = column->kpi->scale > 0 ? column->kpi->scale : 1, low, high;
	size_t room = 0;

	ROWS_EACH (i, rows, filter)
		room += rows_at(rows, i)->hist != NULL;
	out->value = calloc(room + 1, sizeof(*out->value));
	if (!out->value)
		return -ENOMEM;
	ROWS_EACH (i, rows, filter) {
		const struct hist *hist = rows_at(rows, i)->hist;

		if (hist && hist_quantile_interval(hist, column->quantile, &low, &high))
			out->value[out->n++] = hist_quantile(hist, column->quantile) * scale;
	}
	return 0;
}

static int compare_sample(const struct rows *rows, const struct rows_filter *filter,
			  const struct column *column, struct compare_sample *out)
{
	int n, err = 0;

	*out = (struct compare_sample){.min = INFINITY, .max = -INFINITY};
	if (column->named) {
		err = compare_quantiles(rows, filter, column, out);
	} else {
		n = rows_values(rows, filter, &out->value);
		err = n < 0 ? n : 0;
		out->n = n < 0 ? 0 : (size_t)n;
	}
	for (size_t i = 0; i < out->n; i++) {
		out->min = fmin(out->min, out->value[i]);
		out->max = fmax(out->max, out->value[i]);
	}
	return err;
}

/* In percent of a's median; the ends that the intervals leave. */
static void compare_difference(struct compare_item *item)
{
	const struct report_cell *a = &item->a, *b = &item->b;

	item->percent = item->low = item->high = NAN;
	if (a->kind != CELL_NUMBER || b->kind != CELL_NUMBER)
		return;
	if (a->value == b->value)
		item->percent = 0;
	else if (a->value != 0)
		item->percent = (b->value - a->value) / fabs(a->value) * 100;
	else
		item->percent = b->value > 0 ? INFINITY : -INFINITY;
	if (a->low > 0) {
		item->low = (b->low / a->high - 1) * 100;
		item->high = (b->high / a->low - 1) * 100;
	}
}

/* Of a difference that is beyond the noise: what it means for this KPI. */
static enum compare_verdict compare_judge(const struct compare_item *item, bool sure)
{
	enum better better = item->column.kpi->better;

	if (better == BETTER_NONE)
		return sure ? COMPARE_CHANGED : COMPARE_MAYBE_CHANGED;
	if ((item->percent > 0) == (better == BETTER_HIGHER))
		return sure ? COMPARE_BETTER : COMPARE_MAYBE_BETTER;
	return sure ? COMPARE_WORSE : COMPARE_MAYBE_WORSE;
}

/* p, and whether they are apart. */
static int compare_test(struct compare_item *item, const struct compare_sample *a,
			const struct compare_sample *b)
{
	item->n_a = (unsigned)a->n;
	item->n_b = (unsigned)b->n;
	item->apart = a->n > 1 && b->n > 1 && (a->min > b->max || b->min > a->max);
	if (a->n < COMPARE_MIN_TRIALS || b->n < COMPARE_MIN_TRIALS) {
		item->verdict = COMPARE_FEW;
		return 0;
	}
	item->p = stats_rank_test(a->value, a->n, b->value, b->n);
	return item->p < 0 ? -ENOMEM : 0;
}

static int compare_cells(struct compare_item *item, const struct rows *a, const struct rows *b,
			 const struct rows_filter *filter)
{
	struct compare_sample sa = {0}, sb = {0};
	int err = cell_read(&item->a, a, filter, &item->column);

	if (!err)
		err = cell_read(&item->b, b, filter, &item->column);
	if (err)
		return err;
	compare_difference(item);
	if (item->a.kind == CELL_TEXTS && item->b.kind == CELL_TEXTS) {
		if (strcmp(item->a.text, item->b.text) != 0)
			item->verdict = COMPARE_MAYBE_CHANGED;
	} else if (item->a.kind != CELL_NUMBER || item->b.kind != CELL_NUMBER) {
		item->verdict = item->a.kind == CELL_NUMBER   ? COMPARE_GONE
				: item->b.kind == CELL_NUMBER ? COMPARE_NEW
							      : COMPARE_NONE;
	} else {
		err = compare_sample(a, filter, &item->column, &sa);
		if (!err)
			err = compare_sample(b, filter, &item->column, &sb);
		if (!err)
			err = compare_test(item, &sa, &sb);
		free(sa.value);
		free(sb.value);
	}
	return err;
}

static int compare_room(struct compare *compare)
{
	size_t room = compare->room ? 2 * compare->room : 256;
	struct compare_item *grown;

	if (compare->n < compare->room)
		return 0;
	grown = realloc(compare->item, room * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	compare->item = grown;
	compare->room = room;
	return 0;
}

struct compare_work {
	struct compare *out;
	const struct test *test;
	const struct rows *a, *b; /* of the test */
	bool across;		  /* of one strategy each: places are the same whatever theirs */
};

static struct rows_filter compare_place_of(const struct compare_work *work, const struct row *row)
{
	struct rows_filter filter = rows_like(row);

	if (work->across)
		filter.strategy = NULL;
	return filter;
}

static int compare_add(struct compare_work *work, const struct row *row, const char *kpi)
{
	const struct rows_filter filter = compare_place_of(work, row);
	struct compare_item *item;
	size_t used = 0;
	int err = compare_room(work->out);

	if (err)
		return err;
	item = &work->out->item[work->out->n];
	*item = (struct compare_item){.test = work->test, .p = NAN};
	if (column_parse(&item->column, work->test, kpi))
		return 0; /* an earlier release's, or the suite's own */
	if (work->across && item->column.kpi->better == BETTER_NONE)
		return 0;
	if (!work->across)
		memcpy(item->strategy, row->strategy, sizeof(item->strategy));
	for (unsigned i = 0; i < row->n_params && used < sizeof(item->params); i++)
		used += (size_t)snprintf(item->params + used, sizeof(item->params) - used,
					 "%s%s=%s", i ? " " : "", row->param[i].name,
					 row->param[i].text);
	err = compare_cells(item, work->a, work->b, &filter);
	if (row->trial == DERIVED_TRIAL && item->verdict == COMPARE_FEW)
		item->verdict = COMPARE_ONE;
	work->out->n += !err;
	return err;
}

static bool compare_same_place(const struct compare_work *work, const struct row *a,
			       const struct row *b)
{
	const struct rows_filter filter = compare_place_of(work, b);

	return a->n_params == b->n_params && row_matches(a, &filter) &&
	       (work->across || strcmp(a->strategy, b->strategy) == 0);
}

static bool compare_is_hist(const struct compare_work *work, const struct rows *rows,
			    const struct row *row)
{
	for (size_t i = 0; i < rows_count(rows); i++)
		if (rows_at(rows, i)->hist && compare_same_place(work, rows_at(rows, i), row))
			return true;
	return false;
}

static int compare_place(struct compare_work *work, const struct row *row)
{
	char name[ROW_NAME_MAX + 8];
	int err;

	if (!compare_is_hist(work, work->a, row) && !compare_is_hist(work, work->b, row))
		return compare_add(work, row, row->kpi);
	snprintf(name, sizeof(name), "%s@p50", row->kpi);
	err = compare_add(work, row, name);
	snprintf(name, sizeof(name), "%s@p99", row->kpi);
	return err ? err : compare_add(work, row, name);
}

/* Each place of rows that was not seen yet, by its first row. */
static int compare_places(struct compare_work *work, const struct rows *rows,
			  const struct row **seen, size_t *n_seen)
{
	int err = 0;

	for (size_t i = 0; !err && i < rows_count(rows); i++) {
		const struct row *row = rows_at(rows, i);
		bool is_new = true;

		for (size_t k = 0; is_new && k < *n_seen; k++)
			is_new = !compare_same_place(work, seen[k], row);
		if (!is_new)
			continue;
		seen[(*n_seen)++] = row;
		err = compare_place(work, row);
	}
	return err;
}

/* Places of A, then those that only B has. */
static int compare_one_test(struct compare_work *work)
{
	const struct row **seen =
		calloc(rows_count(work->a) + rows_count(work->b) + 1, sizeof(*seen));
	size_t n_seen = 0;
	int err = seen ? 0 : -ENOMEM;

	if (!err)
		err = compare_places(work, work->a, seen, &n_seen);
	if (!err)
		err = compare_places(work, work->b, seen, &n_seen);
	free(seen);
	return err;
}

static int compare_by_p(const void *a, const void *b)
{
	const struct compare_item *x = *(struct compare_item *const *)a,
				  *y = *(struct compare_item *const *)b;

	return (x->p > y->p) - (x->p < y->p);
}

/* Benjamini and Hochberg: p n / rank, and never above that of a larger p. */
static int compare_adjust(struct compare *compare)
{
	struct compare_item **tested = calloc(compare->n + 1, sizeof(struct compare_item *));
	double above = 1;
	size_t n = 0;

	if (!tested)
		return -ENOMEM;
	for (size_t i = 0; i < compare->n; i++)
		if (isfinite(compare->item[i].p))
			tested[n++] = &compare->item[i];
	qsort(tested, n, sizeof(struct compare_item *), compare_by_p);
	for (size_t i = n; i-- > 0;) {
		above = fmin(above, tested[i]->p * (double)n / (double)(i + 1));
		tested[i]->p = above;
	}
	free(tested);
	return 0;
}

static void compare_verdicts(struct compare *compare, double min_percent)
{
	for (size_t i = 0; i < compare->n; i++) {
		struct compare_item *item = &compare->item[i];
		bool sure = item->p < COMPARE_P;

		if ((sure || item->apart) && fabs(item->percent) >= min_percent)
			item->verdict = compare_judge(item, sure);
		compare->count[item->verdict]++;
	}
}

/* How many numbers were compared, and the fewest trials behind them. */
static void compare_count(struct compare *compare)
{
	for (size_t i = 0; i < compare->n; i++) {
		const struct report_cell *a = &compare->item[i].a, *b = &compare->item[i].b;

		if (a->kind != CELL_NUMBER || b->kind != CELL_NUMBER ||
		    compare->item[i].verdict == COMPARE_ONE)
			continue;
		if (!compare->n_numbers || a->trials < compare->least_a)
			compare->least_a = a->trials;
		if (!compare->n_numbers || b->trials < compare->least_b)
			compare->least_b = b->trials;
		compare->n_numbers++;
	}
}

unsigned compare_trials_wanted(size_t n_comparisons)
{
	unsigned n = COMPARE_MIN_TRIALS;
	double p = 2. / 70; /* of 4 against 4 that are apart: both orders of C(8, 4) */

	while (p * (double)n_comparisons >= COMPARE_P) {
		/* C(2n + 2, n + 1) = C(2n, n) (2n + 1) 2 / (n + 1) */
		p *= (n + 1) / (2. * (2 * n + 1));
		n++;
	}
	return n;
}

struct compare_side {
	const struct results *results;
	const char *strategy; /* NULL: all */
};

static int compare_add_test(struct compare *out, const struct test *test,
			    const struct compare_side *a, const struct compare_side *b)
{
	struct compare_work work = {.out = out, .test = test, .across = a->strategy != NULL};
	const struct rows_filter of_a = {.test = test->id, .strategy = a->strategy, .trial = -1},
				 of_b = {.test = test->id, .strategy = b->strategy, .trial = -1};
	struct rows *rows_a = NULL, *rows_b = NULL;
	int err = rows_part(&rows_a, a->results->rows, &of_a);

	if (!err)
		err = rows_part(&rows_b, b->results->rows, &of_b);
	work.a = rows_a;
	work.b = rows_b;
	if (!err)
		err = compare_one_test(&work);
	rows_close(rows_a);
	rows_close(rows_b);
	return err;
}

static int compare_sides(const struct compare_side *a, const struct compare_side *b,
			 const struct results_tests *tests, double min_percent, struct compare *out)
{
	int err = 0;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; !err && i < tests->n; i++)
		err = compare_add_test(out, tests->test[i], a, b);
	if (!err)
		err = compare_adjust(out);
	if (err) {
		compare_fini(out);
		return err;
	}
	compare_verdicts(out, min_percent);
	compare_count(out);
	return 0;
}

int compare_results(const struct results *a, const struct results *b,
		    const struct results_tests *tests, double min_percent, struct compare *out)
{
	return compare_sides(&(struct compare_side){.results = a},
			     &(struct compare_side){.results = b}, tests, min_percent, out);
}

int compare_strategies(const struct results *results, const struct results_tests *tests,
		       const char *a, const char *b, double min_percent, struct compare *out)
{
	return compare_sides(&(struct compare_side){results, a}, &(struct compare_side){results, b},
			     tests, min_percent, out);
}

void compare_fini(struct compare *compare)
{
	free(compare->item);
	memset(compare, 0, sizeof(*compare));
}
