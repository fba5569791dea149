/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * worker_loads.c - when messages are due: by arrivals, by rounds, by command.
 */
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

void worker_round_posted(struct worker_load *load, uint64_t seq, uint64_t now)
{
	if (load->round_start && seq < load->rounds && !load->round_start[seq])
		load->round_start[seq] = now;
}

void worker_rounds_end(struct worker *w, struct worker_load *load, uint64_t now)
{
	uint64_t whole;

	if (!load->rounds)
		return;
	whole = worker_rounds_whole(w, load);
	for (; load->rounds_ended < whole; load->rounds_ended++) {
		load->round_end[load->rounds_ended] = now;
		if (load->tell)
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
