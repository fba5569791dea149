/* SPDX-License-Identifier: BSD-2-Clause */
#include "training/failure_iterations.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats.h"

#define P99_AT_LEAST 300
#define AFTER_LEAST  4
#define STEADY_SHARE 1.1
#define SPREAD_LEAST 10

/* The values in order; the caller's to free. */
static double *failure_sorted(const uint64_t *took_ns, unsigned n)
{
	double *sorted = calloc(n, sizeof(*sorted));

	for (unsigned i = 0; sorted && i < n; i++)
		sorted[i] = (double)took_ns[i];
	if (sorted)
		qsort(sorted, n, sizeof(*sorted), stats_ascending);
	return sorted;
}

static int failure_before(const uint64_t *took_ns, unsigned n, struct failure_iterations *out)
{
	double *sorted = failure_sorted(took_ns, n);

	if (!sorted)
		return -ENOMEM;
	out->n_before = n;
	out->steady_ns = stats_quantile(sorted, n, 0.5);
	out->steady_p99_ns = n >= P99_AT_LEAST ? stats_quantile(sorted, n, 0.99) : NAN;
	out->steady_max_ns = sorted[n - 1];
	free(sorted);
	return 0;
}

static int failure_after(const uint64_t *took_ns, unsigned first, unsigned n,
			 struct failure_iterations *out)
{
	unsigned quarter = (n - first) / 4;
	double *sorted = failure_sorted(took_ns + n - quarter, quarter);

	if (!sorted)
		return -ENOMEM;
	out->after_ns = stats_quantile(sorted, quarter, 0.5);
	free(sorted);
	return 0;
}

int failure_iterations(const uint64_t *start_ns, const uint64_t *took_ns, unsigned n,
		       uint64_t fault_ns, struct failure_iterations *out)
{
	unsigned first = 0;
	double longest_ns;
	bool is_known;
	int err;

	memset(out, 0, sizeof(*out));
	while (first < n && start_ns[first] + took_ns[first] <= fault_ns)
		first++;
	if (first == 0 || n - first < 1 + AFTER_LEAST)
		return -ERANGE;
	err = failure_before(took_ns, first, out);
	if (!err)
		err = failure_after(took_ns, first + 1, n, out);
	out->failure_ns = (double)took_ns[first];
	longest_ns = STEADY_SHARE * out->after_ns * out->steady_max_ns / out->steady_ns;
	out->recovered = out->after_ns <= STEADY_SHARE * out->steady_max_ns;
	is_known = first >= SPREAD_LEAST && out->recovered;
	if (!is_known)
		out->redistributed_ns = NAN;
	for (unsigned i = first; i < n; i++) {
		double took = (double)took_ns[i];

		out->worst_ns = fmax(out->worst_ns, took);
		if (took > longest_ns && is_known)
			out->redistributed_ns = (double)start_ns[i] + took - (double)fault_ns;
	}
	return err;
}
