/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/stats.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int stats_ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double stats_quantile(const double *sorted, size_t n, double q)
{
	double rank = q * (double)(n - 1);
	size_t low = (size_t)rank;

	if (low + 1 >= n)
		return sorted[n - 1];
	return sorted[low] + (rank - (double)low) * (sorted[low + 1] - sorted[low]);
}

/*
 * The interval from the (k+1)-th smallest to the (k+1)-th largest misses the median only if at most
 * k values fall on one side: probability 2 * P(Binomial(n, 1/2) <= k). Takes the narrowest one that
 * is still good.
 */
static void stats_median_interval(const double *sorted, size_t n, struct stats_summary *out)
{
	double term = pow(0.5, (double)n), tail = term, next;
	size_t k = 0;

	for (;;) {
		term = term * (double)(n - k) / (double)(k + 1);
		next = tail + term;
		if (2 * (k + 2) > n || 1 - 2 * next < STATS_CONFIDENCE)
			break;
		tail = next;
		k++;
	}
	out->ci_low = sorted[k];
	out->ci_high = sorted[n - 1 - k];
	out->ci_coverage = n == 1 ? 0 : 1 - 2 * tail;
}

int stats_summarise(const double *values, size_t n, struct stats_summary *out)
{
	double *sorted, sum = 0;

	if (n == 0)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (!isfinite(values[i]))
			return -EINVAL;
		sum += values[i];
	}
	sorted = malloc(n * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, values, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), stats_ascending);
	out->n = n;
	out->min = sorted[0];
	out->q1 = stats_quantile(sorted, n, 0.25);
	out->median = stats_quantile(sorted, n, 0.5);
	out->q3 = stats_quantile(sorted, n, 0.75);
	out->max = sorted[n - 1];
	out->mean = sum / (double)n;
	stats_median_interval(sorted, n, out);
	free(sorted);
	return 0;
}

double stats_jfi(const double *values, size_t n)
{
	double sum = 0, squares = 0;

	for (size_t i = 0; i < n; i++) {
		sum += values[i];
		squares += values[i] * values[i];
	}
	return squares > 0 ? sum * sum / ((double)n * squares) : 1;
}

double stats_cv(const double *values, size_t n)
{
	double mean = n ? values[0] : 0, squares = 0;

	/* from the first on: of values that are the same it is that value, without rounding */
	for (size_t i = 1; i < n; i++)
		mean += (values[i] - values[0]) / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (values[i] - mean) * (values[i] - mean);
	return n < 2 || mean == 0 ? NAN : sqrt(squares / (double)(n - 1)) / fabs(mean);
}

double stats_max_min(const double *values, size_t n)
{
	double min = values[0], max = values[0];

	for (size_t i = 1; i < n; i++) {
		min = fmin(min, values[i]);
		max = fmax(max, values[i]);
	}
	return max == min ? 1 : max / min;
}

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
