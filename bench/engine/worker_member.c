/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * worker_member.c - loads whose groups are opened, or closed, while others run.
 */

#include "engine/worker_internal.h"

static struct worker_load *member_load(struct worker *w, json_t *request, enum worker_presence from)
{
	struct worker_load *load = &w->load[worker_number(w, request, "load", w->n_loads - 1)];

	if (load->member == TRAFFIC_STAYS || load->presence != from)
		worker_fail(w, "request: load %s cannot join or leave now", load->name);
	return load;
}

void worker_op_join(struct worker *w, json_t *request)
{
	struct worker_load *load = member_load(w, request, WORKER_ABSENT);
	uint64_t now = worker_now_ns(w);

	load->presence = WORKER_JOINING;
	for (unsigned i = 0; i < w->n_tx; i++) {
		if (w->tx[i].load != load)
			continue;
		arrivals_start(&w->tx[i].arrivals, now);
		worker_open_group(w, &w->tx[i]);
	}
}

void worker_op_leave(struct worker *w, json_t *request)
{
	member_load(w, request, WORKER_PRESENT)->presence = WORKER_LEAVING;
}

static bool member_is_ready(const struct worker *w, const struct worker_load *load)
{
	for (unsigned i = 0; i < w->n_tx; i++)
		if (w->tx[i].load == load &&
		    (load->presence == WORKER_JOINING ? !w->tx[i].connected
						      : !stream_tx_idle(&w->tx[i].books)))
			return false;
	return true;
}

static void member_close(struct worker *w, const struct worker_load *load)
{
	for (unsigned i = 0; i < w->n_tx; i++) {
		struct worker_tx *tx = &w->tx[i];

		if (tx->load != load)
			continue;
		worker_tx_stats(tx, &tx->last);
		fare_group_close(tx->group);
		tx->group = NULL;
	}
}

void worker_members(struct worker *w)
{
	for (unsigned i = 0; i < w->n_loads; i++) {
		struct worker_load *load = &w->load[i];
		bool joins = load->presence == WORKER_JOINING;

		if ((!joins && load->presence != WORKER_LEAVING) || !member_is_ready(w, load))
			continue;
		if (!joins)
			member_close(w, load);
		load->presence = joins ? WORKER_PRESENT : WORKER_LEFT;
		worker_send(w, json_pack("{s:s}", "event", joins ? "joined" : "left"));
	}
}
