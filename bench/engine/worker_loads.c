/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * worker_loads.c - when messages are due: by arrivals, by rounds, by command.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/worker_internal.h"

/* Rounds of which everything has arrived here. */
static uint64_t worker_rounds_whole(const struct worker *w, const struct worker_load *load)
{
	uint64_t whole = load->rounds;

	for (unsigned i = 0; i < w->n_rx; i++) {
		uint64_t floor = w->rx[i].load == load ? stream_rx_floor(&w->rx[i].books) : whole;

		whole = floor < whole ? floor : whole;
	}
	return whole;
}

uint64_t worker_limit(const struct worker *w, const struct worker_load *load)
{
	uint64_t limit;

	if (!w->running || w->stopping)
		return 0;
	if (!load->rounds)
		return UINT64_MAX;
	limit = worker_rounds_whole(w, load) + load->overlap;
	return limit < load->rounds ? limit : load->rounds;
}

/* Room for the times of that round. */
static void worker_round_room(struct worker *w, struct worker_load *load, uint64_t round)
{
	uint64_t room = load->round_room ? load->round_room : 1024, was = load->round_room;
	uint64_t *start, *end;

	while (room <= round)
		room *= 2;
	if (room == was)
		return;
	start = realloc(load->round_start, room * sizeof(*start));
	load->round_start = start ? start : load->round_start;
	end = start ? realloc(load->round_end, room * sizeof(*end)) : NULL;
	if (!end)
		worker_fail(w, "out of memory");
	load->round_end = end;
	memset(start + was, 0, (room - was) * sizeof(*start));
	memset(end + was, 0, (room - was) * sizeof(*end));
	load->round_room = room;
}

void worker_round_posted(struct worker *w, struct worker_load *load, uint64_t seq, uint64_t now)
{
	if (!load->rounds)
		return;
	worker_round_room(w, load, seq);
	if (!load->round_start[seq])
		load->round_start[seq] = now;
}

void worker_rounds_end(struct worker *w, struct worker_load *load, uint64_t now)
{
	uint64_t whole;

	if (!load->rounds)
		return;
	whole = worker_rounds_whole(w, load);
	for (; load->rounds_ended < whole; load->rounds_ended++) {
		worker_round_room(w, load, load->rounds_ended);
		load->round_end[load->rounds_ended] = now;
		if (load->report)
			worker_send(w, json_pack("{s:s, s:i, s:I, s:I}", "event", "round", "load",
						 (int)(load - w->load), "round",
						 (json_int_t)load->rounds_ended, "t_ns",
						 (json_int_t)now));
	}
}

/* A round begins a period after the one before began, or a pause after it ended. */
static bool worker_round_is_due(struct worker *w, struct worker_load *load, uint64_t round,
				uint64_t *due_ns)
{
	*due_ns = w->start_ns + load->delay_ns;
	if (load->period_ns)
		*due_ns += round * load->period_ns;
	else if (load->gap_ns && round >= load->overlap)
		*due_ns = load->round_end[round - load->overlap] + load->gap_ns;
	else if (round >= load->overlap)
		*due_ns = load->round_end[round - load->overlap];
	if (*due_ns <= w->event_ns)
		return true;
	worker_wake_at(w, *due_ns);
	return false;
}

bool worker_is_due(struct worker *w, struct worker_tx *tx, uint64_t seq, uint64_t *due_ns)
{
	if (tx->load->rounds)
		return worker_round_is_due(w, tx->load, seq, due_ns);
	switch (tx->arrivals.law) {
	case ARRIVAL_EVEN:
	case ARRIVAL_POISSON:
	case ARRIVAL_BURST:
		*due_ns = (uint64_t)tx->arrivals.next_ns;
		if (*due_ns <= w->event_ns)
			return true;
		worker_wake_at(w, *due_ns);
		return false;
	case ARRIVAL_COMMAND:
		*due_ns = tx->n_commands ? tx->command[tx->next_command].arrival_ns : 0;
		return tx->n_commands > 0;
	case ARRIVAL_CLOSED:
	case ARRIVAL_COUNT:
		break;
	}
	*due_ns = w->start_ns + tx->load->delay_ns;
	if (*due_ns > w->event_ns) {
		worker_wake_at(w, *due_ns);
		return false;
	}
	*due_ns = w->event_ns;
	return true;
}

bool worker_ended(const struct worker *w, struct worker_load *load, uint64_t due_ns)
{
	if (!worker_in_window(w, due_ns))
		return false;
	load->late += w->to_ns && w->event_ns >= w->to_ns;
	hist_add(load->completed, w->event_ns > due_ns ? w->event_ns - due_ns : 0);
	return true;
}

/* It has waited so long at least: what is left out would make a slow fabric look fast. */
static void worker_unposted(struct worker *w, struct worker_load *load, uint64_t due_ns,
			    uint64_t now)
{
	if (!worker_in_window(w, due_ns))
		return;
	load->unposted++;
	hist_add(load->delivered, now - due_ns);
}

void worker_stop(struct worker *w)
{
	uint64_t now = worker_now_ns(w);

	w->stopping = true;
	for (unsigned i = 0; i < w->n_tx; i++) {
		struct worker_tx *tx = &w->tx[i];

		for (unsigned k = 0; k < tx->n_commands; k++)
			worker_unposted(w, tx->load,
					tx->command[(tx->next_command + k) % WORKER_MAX_COMMANDS]
						.arrival_ns,
					now);
		if (tx->load->presence != WORKER_PRESENT || tx->load->rounds ||
		    !arrival_is_open(tx->arrivals.law))
			continue;
		while (tx->arrivals.next_ns < (double)now &&
		       (!w->to_ns || tx->arrivals.next_ns < (double)w->to_ns)) {
			worker_unposted(w, tx->load, (uint64_t)tx->arrivals.next_ns, now);
			arrivals_take(&tx->arrivals);
		}
	}
}
