/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * worker_measure.c - what a worker counts: bytes per millisecond, and what lies in the window.
 */
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "engine/worker_internal.h"

/* {"interface": [rx bytes, rx packets, rx dropped, tx bytes, tx packets, tx dropped], ...} */
static json_t *worker_counters(void)
{
	json_t *all = json_object();
	FILE *file = fopen("/proc/thread-self/net/dev", "re");
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		unsigned long long rx[3], tx[3];
		char name[32];

		if (sscanf(line, " %31[^:]: %llu %llu %*u %llu %*u %*u %*u %*u %llu %llu %*u %llu",
			   name, &rx[0], &rx[1], &rx[2], &tx[0], &tx[1], &tx[2]) != 7)
			continue;
		json_object_set_new(all, name,
				    json_pack("[I, I, I, I, I, I]", (json_int_t)rx[0],
					      (json_int_t)rx[1], (json_int_t)rx[2],
					      (json_int_t)tx[0], (json_int_t)tx[1],
					      (json_int_t)tx[2]));
	}
	if (file)
		fclose(file);
	return all;
}

static void worker_mark(struct worker *w, bool from)
{
	json_t **counters = from ? &w->counters_from : &w->counters_to;

	for (unsigned i = 0; i < w->n_tx; i++) {
		struct worker_tx *tx = &w->tx[i];

		worker_tx_mark(tx, from ? &tx->at_from : &tx->at_to);
	}
	for (unsigned i = 0; i < w->n_rx; i++) {
		struct worker_rx *rx = &w->rx[i];

		worker_rx_mark(rx, from ? &rx->at_from : &rx->at_to);
	}
	*(from ? &w->mark_from_ns : &w->mark_to_ns) = worker_now_ns(w);
	*(from ? &w->cpu_from_ns : &w->cpu_to_ns) = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (w->local_gpu == 0) /* of all GPUs of a machine one is enough */
		cpu_read(from ? &w->host_from : &w->host_to);
	json_decref(*counters);
	*counters = worker_counters();
	*(from ? &w->from_marked : &w->to_marked) = true;
}

static uint64_t worker_sum(const struct worker_mark *mark)
{
	uint64_t sum = 0;

	for (unsigned plane = 0; plane < FARE_MAX_PLANES; plane++)
		sum += mark->plane_bytes[plane];
	return sum;
}

/* Books what was acknowledged, or read, since the last call to the millisecond it belongs to. */
static void worker_bin(struct worker *w, uint64_t now)
{
	uint64_t bin = (now - w->bins_ns) / WORKER_BIN_NS, acked[WORKER_MAX_LOADS] = {0};
	struct worker_mark mark;

	if (!w->bins || bin == w->bin)
		return;
	for (unsigned i = 0; i < w->n_tx; i++) {
		worker_tx_mark(&w->tx[i], &mark);
		acked[w->tx[i].load - w->load] += worker_sum(&mark);
	}
	for (unsigned i = 0; i < w->n_rx; i++) {
		worker_rx_mark(&w->rx[i], &mark);
		acked[w->rx[i].load - w->load] += worker_sum(&mark);
	}
	for (unsigned i = 0; i < w->n_loads; i++) {
		if (w->bin < WORKER_MAX_BINS)
			w->bins[(size_t)i * WORKER_MAX_BINS + w->bin] =
				(uint32_t)(acked[i] - w->acked_bytes[i]);
		w->acked_bytes[i] = acked[i];
	}
	w->bin = bin;
}

void worker_measure(struct worker *w, uint64_t now)
{
	worker_bin(w, now);
	if (!w->running)
		return;
	if (!w->from_marked && now >= w->from_ns)
		worker_mark(w, true);
	if (!w->to_marked && w->to_ns && now >= w->to_ns)
		worker_mark(w, false);
	/* this worker may have nothing to do then, and would sleep over it */
	if (!w->from_marked && w->from_ns < w->wake_ns)
		w->wake_ns = w->from_ns;
	else if (!w->to_marked && w->to_ns && w->to_ns < w->wake_ns)
		w->wake_ns = w->to_ns;
}

static json_t *worker_load_json(const struct worker_load *load)
{
	return json_pack("{s:s, s:o, s:o, s:o, s:I, s:I, s:I}", "name", load->name, "posted",
			 hist_json(load->posted), "completed", hist_json(load->completed),
			 "delivered", hist_json(load->delivered), "unposted",
			 (json_int_t)load->unposted, "late", (json_int_t)load->late, "rounds_ended",
			 (json_int_t)load->rounds_ended);
}

static json_t *worker_planes(const struct worker_mark *from, const struct worker_mark *to)
{
	json_t *planes = json_array();

	for (unsigned plane = 0; plane < FARE_MAX_PLANES; plane++)
		json_array_append_new(planes, json_integer((json_int_t)(to->plane_bytes[plane] -
									from->plane_bytes[plane])));
	return planes;
}

static json_t *worker_tx_json(const struct worker *w, const struct worker_tx *tx)
{
	return json_pack("{s:i, s:i, s:I, s:o}", "stream", (int)tx->key, "load",
			 (int)(tx->load - w->load), "messages", (json_int_t)tx->messages, "planes",
			 worker_planes(&tx->at_from, &tx->at_to));
}

static json_t *worker_rx_json(const struct worker *w, const struct worker_rx *rx)
{
	return json_pack("{s:i, s:i, s:I, s:o}", "stream", (int)rx->key, "load",
			 (int)(rx->load - w->load), "messages", (json_int_t)rx->messages, "planes",
			 worker_planes(&rx->at_from, &rx->at_to));
}

/* null: another worker of this host says, or it is unknown. */
static json_t *worker_idle(const struct worker *w)
{
	struct cpu_idle idle;

	if (w->local_gpu || cpu_idle(&w->host_from, &w->host_to, &idle))
		return json_null();
	return json_pack("[f, f, f]", idle.mean_percent, idle.busiest_core_percent,
			 idle.stolen_percent);
}

json_t *worker_measured(struct worker *w)
{
	json_t *loads = json_array(), *tx = json_array(), *rx = json_array();

	if (!w->to_marked)
		worker_mark(w, false);
	for (unsigned i = 0; i < w->n_loads; i++)
		json_array_append_new(loads, worker_load_json(&w->load[i]));
	for (unsigned i = 0; i < w->n_tx; i++)
		json_array_append_new(tx, worker_tx_json(w, &w->tx[i]));
	for (unsigned i = 0; i < w->n_rx; i++)
		json_array_append_new(rx, worker_rx_json(w, &w->rx[i]));
	return json_pack(
		"{s:s, s:o, s:o, s:o, s:I, s:I, s:I, s:o, s:b, s:O?, s:O?}", "event", "measured",
		"loads", loads, "tx", tx, "rx", rx, "cpu_ns",
		(json_int_t)(w->cpu_to_ns - w->cpu_from_ns), "stall_ns", (json_int_t)w->stall_ns,
		"marked_ns", (json_int_t)(w->mark_to_ns - w->mark_from_ns), "idle", worker_idle(w),
		"held", w->held, "counters_from", w->counters_from, "counters_to", w->counters_to);
}
