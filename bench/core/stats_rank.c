/* SPDX-License-Identifier: BSD-2-Clause */
/* stats_rank.c - do two samples differ? (stats.h) */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/stats.h"

#define STATS_EXACT_N 20

/* U of sample a: pairs in which a is the larger, equal ones as a half. */
static double stats_u(const double *a, size_t n_a, const double *b, size_t n_b, bool *ties)
{
	double u = 0;

	*ties = false;
	for (size_t i = 0; i < n_a; i++)
		for (size_t j = 0; j < n_b; j++) {
			u += a[i] > b[j] ? 1 : a[i] == b[j] ? 0.5 : 0;
			*ties |= a[i] == b[j];
		}
	return u;
}

/*
 * Share of the arrangements of n_a and n_b values whose U is at most u. Counts of arrangements by U
 * come from those without the largest value: if it is an a, it is above all n_b.
 * count[n][U] for the b so far; doubles hold the counts of 20 and 20 exactly enough (1.4e11).
 */
static double stats_exact(size_t n_a, size_t n_b, size_t u)
{
	size_t width = n_a * n_b + 1;
	double *count = calloc((n_a + 1) * width, sizeof(*count)), below = 0, all = 0;

	if (!count)
		return -ENOMEM;
	for (size_t a = 0; a <= n_a; a++)
		count[a * width] = 1; /* without any b, U is 0 */
	for (size_t b = 1; b <= n_b; b++)
		for (size_t a = 1; a <= n_a; a++)
			/* row a of b - 1 is still there; row a - 1 is already that of b */
			for (size_t i = width; i-- > 0;)
				count[a * width + i] += i >= b ? count[(a - 1) * width + i - b] : 0;
	for (size_t i = 0; i < width; i++) {
		all += count[n_a * width + i];
		below += i <= u ? count[n_a * width + i] : 0;
	}
	free(count);
	return below / all;
}

/* Sum of t^3 - t over groups of t equal values among both samples; negative: no memory. */
static double stats_tie_term(const double *a, size_t n_a, const double *b, size_t n_b)
{
	size_t n = n_a + n_b;
	double *all = malloc(n * sizeof(*all)), sum = 0;

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		all[i] = i < n_a ? a[i] : b[i - n_a];
	qsort(all, n, sizeof(*all), stats_ascending);
	for (size_t i = 0, same = 1; i < n; i++, same++)
		if (i + 1 == n || all[i + 1] != all[i]) {
			sum += pow((double)same, 3) - (double)same;
			same = 0;
		}
	free(all);
	return sum;
}

static double stats_normal(double u, size_t n_a, size_t n_b, double tie_term)
{
	double pairs = (double)n_a * (double)n_b, n = (double)(n_a + n_b);
	double variance = pairs / 12 * (n + 1 - tie_term / (n * (n - 1)));
	double distance = fabs(u - pairs / 2) - 0.5;

	if (variance <= 0 || distance <= 0)
		return 1;
	return erfc(distance / sqrt(2 * variance));
}

double stats_rank_test(const double *a, size_t n_a, const double *b, size_t n_b)
{
	bool ties;
	double u = stats_u(a, n_a, b, n_b, &ties), term, p;

	if (n_a == 0 || n_b == 0)
		return 1;
	if (!ties && n_a <= STATS_EXACT_N && n_b <= STATS_EXACT_N) {
		p = stats_exact(n_a, n_b, (size_t)fmin(u, (double)(n_a * n_b) - u));
		return p < 0 ? p : fmin(1, 2 * p);
	}
	term = stats_tie_term(a, n_a, b, n_b);
	return term < 0 ? term : stats_normal(u, n_a, n_b, term);
}
