/* SPDX-License-Identifier: BSD-2-Clause */
#include "soft_window.h"

#define GAIN_SHIFT 4 /* RFC 8257 4.2: g = 1/16 */

void soft_window_init(struct soft_window *w, uint32_t most_bytes, uint32_t mtu_bytes, uint64_t psn)
{
	*w = (struct soft_window){
		.bytes = most_bytes,
		.mtu_bytes = mtu_bytes,
		.most_bytes = most_bytes,
		.slow_start_bytes = most_bytes,
		.lost_until = psn,
		.marked_until = psn,
		.round_end = psn,
		.congestion = SOFT_WINDOW_ALWAYS, /* the first mark counts as a loss would */
	};
}

static void end_round(struct soft_window *w, uint64_t sent)
{
	w->congestion -= w->congestion >> GAIN_SHIFT;
	if (w->round_is_marked)
		w->congestion += SOFT_WINDOW_ALWAYS >> GAIN_SHIFT;
	w->round_is_marked = false;
	w->round_end = sent;
}

void soft_window_acked(struct soft_window *w, uint64_t bytes, uint64_t una, uint64_t sent)
{
	uint64_t window = w->bytes;

	if (una > w->round_end)
		end_round(w, sent);
	/* doubles per round trip at first, later a packet per round trip */
	if (window < w->slow_start_bytes)
		window += bytes;
	else
		window += 1 + bytes * w->mtu_bytes / window;
	w->bytes = window < w->most_bytes ? (uint32_t)window : w->most_bytes;
}

static void set_slow_start(struct soft_window *w, uint32_t bytes)
{
	w->slow_start_bytes = bytes > w->mtu_bytes ? bytes : w->mtu_bytes;
}

void soft_window_lost(struct soft_window *w, bool silence, uint64_t una, uint64_t sent)
{
	if (una >= w->lost_until)
		set_slow_start(w, w->bytes / 2);
	else if (!silence)
		return;
	w->bytes = silence ? w->mtu_bytes : w->slow_start_bytes;
	w->lost_until = sent;
}

void soft_window_marked(struct soft_window *w, uint64_t una, uint64_t sent)
{
	w->round_is_marked = true;
	if (una < w->marked_until || una < w->lost_until)
		return;
	set_slow_start(w, (uint32_t)(w->bytes -
				     (uint64_t)w->bytes * w->congestion / SOFT_WINDOW_ALWAYS / 2));
	w->bytes = w->slow_start_bytes;
	w->marked_until = sent;
}
