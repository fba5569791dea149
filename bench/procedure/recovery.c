/* SPDX-License-Identifier: BSD-2-Clause */
#include "procedure/recovery.h"

#include <math.h>

/* The bin that holds t, within [0, n]. */
static size_t bin_of(const struct recovery *r, uint64_t t_ns)
{
	uint64_t bin = t_ns > r->from_ns ? (t_ns - r->from_ns) / RECOVERY_BIN_NS : 0;

	return bin < r->n ? (size_t)bin : r->n;
}

static double mean_of(const struct recovery *r, size_t from, size_t to)
{
	double sum = 0;

	for (size_t i = from; i < to; i++)
		sum += r->bytes[i];
	return to > from ? sum / (double)(to - from) : 0;
}

double recovery_mean(const struct recovery *r, uint64_t from_ns, uint64_t to_ns)
{
	return mean_of(r, bin_of(r, from_ns), bin_of(r, to_ns));
}

double recovery_moved_ms(const struct recovery *r, uint64_t inject_ns, uint64_t settle_ns,
			 uint64_t end_ns)
{
	size_t from = bin_of(r, inject_ns), settle = bin_of(r, settle_ns), end = bin_of(r, end_ns);
	double settled = mean_of(r, settle, end), want, want_held;

	if (settle < from || end < settle + RECOVERY_HOLD_BINS || settled <= 0)
		return -1;
	want = want_held = RECOVERY_MOVED * settled;
	for (size_t i = settle; i + RECOVERY_MOVE_BINS <= end; i++)
		want = fmin(want, mean_of(r, i, i + RECOVERY_MOVE_BINS));
	for (size_t i = settle; i + RECOVERY_HOLD_BINS <= end; i++)
		want_held = fmin(want_held, mean_of(r, i, i + RECOVERY_HOLD_BINS));
	for (size_t i = from; i <= settle; i++)
		if (mean_of(r, i, i + RECOVERY_MOVE_BINS) >= want &&
		    mean_of(r, i, i + RECOVERY_HOLD_BINS) >= want_held)
			return (double)(i - from);
	return -1;
}

double recovery_gap_ms(const struct recovery *r, uint64_t from_ns, uint64_t to_ns)
{
	size_t to = bin_of(r, to_ns), run = 0, longest = 0;

	for (size_t i = bin_of(r, from_ns); i < to; i++) {
		run = r->bytes[i] > 0 ? 0 : run + 1;
		longest = run > longest ? run : longest;
	}
	return (double)longest;
}

uint64_t recovery_restored_ns(const struct recovery *r, uint64_t healthy_from_ns,
			      uint64_t healthy_to_ns, uint64_t from_ns)
{
	size_t from = bin_of(r, healthy_from_ns), to = bin_of(r, healthy_to_ns);
	double want = RECOVERY_BACK * mean_of(r, from, to);

	for (size_t i = from; i + RECOVERY_BACK_BINS <= to; i++)
		want = fmin(want, mean_of(r, i, i + RECOVERY_BACK_BINS));
	if (to < from + RECOVERY_BACK_BINS || want <= 0)
		return 0;
	for (size_t i = bin_of(r, from_ns); i + RECOVERY_BACK_BINS <= r->n; i++)
		if (mean_of(r, i, i + RECOVERY_BACK_BINS) >= want)
			return r->from_ns + i * RECOVERY_BIN_NS;
	return 0;
}

double recovery_bins_mean(const double *bins, size_t from, size_t n)
{
	double sum = 0;

	for (size_t i = from; i < from + n; i++)
		sum += bins[i];
	return sum / (double)n;
}

double recovery_settled_ms(const double *bins, size_t n, size_t at, double steady, size_t smooth_ms,
			   double within)
{
	size_t since = at, step = smooth_ms / 4;

	for (size_t i = at; i + smooth_ms <= n; i += step)
		if (fabs(recovery_bins_mean(bins, i, smooth_ms) - steady) > within * steady)
			since = i + step;
	return since + smooth_ms <= n ? (double)(since - at) : NAN;
}

double recovery_steady_ms(double settled_ms, double changed_ms)
{
	return isnan(settled_ms) || isnan(changed_ms) ? NAN : fmax(settled_ms, changed_ms);
}

struct recovery_step recovery_step(const double *bins, size_t n, size_t at, size_t smooth_ms,
				   double within)
{
	struct recovery_step step = {.before = recovery_bins_mean(bins, 0, at),
				     .after = recovery_bins_mean(bins, n - n / 4, n / 4)};
	size_t below = 0, longest = 0;

	step.settled_ms = recovery_settled_ms(bins, n, at, step.after, smooth_ms, within);
	for (size_t i = at; i < n; i++) {
		below = bins[i] < step.after / 2 ? below + 1 : 0;
		longest = below > longest ? below : longest;
	}
	step.below_half_ms = (double)longest;
	return step;
}
