/* SPDX-License-Identifier: BSD-2-Clause */
#include "resilience/shift.h"

#include <errno.h>
#include <math.h>

#include "engine/traffic.h"

double shift_longest_gap_ms(const uint64_t *times_ns, size_t n, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t last = from_ns, longest = 0;

	for (size_t i = 0; i < n && times_ns[i] < to_ns; i++) {
		if (times_ns[i] < from_ns)
			continue;
		if (times_ns[i] - last > longest)
			longest = times_ns[i] - last;
		last = times_ns[i];
	}
	if (to_ns > last && to_ns - last > longest)
		longest = to_ns - last;
	return (double)longest / 1e6;
}

static double shift_messages(const uint64_t *times_ns, size_t n, uint64_t from_ns, uint64_t to_ns)
{
	return traffic_progress(times_ns, n, to_ns) - traffic_progress(times_ns, n, from_ns);
}

int shift_analyse(const uint64_t *times_ns, size_t n, uint64_t message_bytes, uint64_t inject_ns,
		  uint64_t end_ns, uint64_t settle_ns, struct shift *out)
{
	const uint64_t window_ns = (uint64_t)SHIFT_WINDOW * SHIFT_BIN_NS;
	const uint64_t hold_ns = (uint64_t)SHIFT_HOLD * SHIFT_BIN_NS;
	double settled, want, want_held;
	uint64_t bins, settle_from;

	if (n < 2 || end_ns < inject_ns || end_ns - inject_ns < settle_ns + window_ns ||
	    settle_ns < hold_ns)
		return -EINVAL;
	for (size_t i = 1; i < n; i++)
		if (times_ns[i] < times_ns[i - 1])
			return -EINVAL;
	settle_from = end_ns - settle_ns;
	settled = shift_messages(times_ns, n, settle_from, end_ns);
	want = SHIFT_FRACTION * settled * (double)window_ns / (double)settle_ns;
	for (uint64_t from = settle_from; from + window_ns <= end_ns; from += SHIFT_BIN_NS)
		want = fmin(want, shift_messages(times_ns, n, from, from + window_ns));
	want_held = SHIFT_FRACTION * settled * (double)hold_ns / (double)settle_ns;
	for (uint64_t from = settle_from; from + hold_ns <= end_ns; from += SHIFT_BIN_NS)
		want_held = fmin(want_held, shift_messages(times_ns, n, from, from + hold_ns));
	bins = (settle_from - inject_ns) / SHIFT_BIN_NS;
	out->settled_bps = settled * (double)message_bytes * 8e9 / (double)settle_ns;
	out->longest_gap_ms = shift_longest_gap_ms(times_ns, n, inject_ns, end_ns);
	out->shift_ms = (double)bins * SHIFT_BIN_NS / 1e6;
	for (uint64_t bin = 0; bin < bins; bin++) {
		uint64_t from = inject_ns + bin * SHIFT_BIN_NS;

		if (shift_messages(times_ns, n, from, from + window_ns) < want ||
		    shift_messages(times_ns, n, from, from + hold_ns) < want_held)
			continue;
		out->shift_ms = (double)bin * SHIFT_BIN_NS / 1e6;
		break;
	}
	if (settled <= 0)
		out->shift_ms = -1;
	return 0;
}
