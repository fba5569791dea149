/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/stats.h"

#include <errno.h>
#include <math.h>
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
