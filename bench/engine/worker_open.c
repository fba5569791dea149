/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * worker_open.c - a run begins and ends: loads, streams and groups as the coordinator names them.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/moe.h"
#include "engine/strategy.h"
#include "engine/worker_internal.h"
#include "qp/soft/dcqcn.h"

static void *worker_zeroed(struct worker *w, size_t n, size_t size)
{
	void *at = calloc(n + 1, size);

	if (!at)
		worker_fail(w, "out of memory");
	return at;
}

/* ---- loads ---- */

static void worker_read_rounds(struct worker *w, struct worker_load *load, json_t *item)
{
	load->rounds = worker_number(w, item, "rounds", INT64_MAX);
	load->overlap = (unsigned)worker_number(w, item, "overlap", STREAM_MAX_SLOTS);
	load->period_ns = worker_number(w, item, "period_ns", INT64_MAX);
	load->gap_ns = worker_number(w, item, "gap_ns", INT64_MAX);
	load->report = json_is_true(json_object_get(item, "report"));
	load->read = json_is_true(json_object_get(item, "read"));
	load->member = (enum traffic_member)worker_number(w, item, "member", TRAFFIC_MEMBERS - 1);
	load->presence = load->member == TRAFFIC_JOINS ? WORKER_ABSENT : WORKER_PRESENT;
	if (load->rounds && (!load->overlap || load->read || load->member != TRAFFIC_STAYS))
		worker_fail(w, "request: no round may begin, or not everywhere, or by reads");
}

static void worker_read_load(struct worker *w, struct worker_load *load, json_t *item)
{
	const char *name = json_string_value(json_object_get(item, "name"));
	int law = arrival_parse(json_string_value(json_object_get(item, "arrival")));

	memset(load, 0, sizeof(*load));
	if (!name || strlen(name) >= sizeof(load->name) || law < 0)
		worker_fail(w, "request: a load without name or arrivals");
	strcpy(load->name, name);
	load->law = (enum arrival_law)law;
	load->mean_ns = json_number_value(json_object_get(item, "mean_ns"));
	load->spread_ns = worker_number(w, item, "spread_ns", INT64_MAX);
	load->seed = worker_number(w, item, "seed", INT64_MAX);
	load->delay_ns = worker_number(w, item, "delay_ns", INT64_MAX);
	load->verify_every = (unsigned)worker_number(w, item, "verify_every", 1u << 20);
	if (!load->verify_every || (arrival_is_open(load->law) && !(load->mean_ns >= 1000)))
		worker_fail(
			w,
			"request: load %s: arrivals less than 1 us apart, or no message verified",
			name);
	worker_read_rounds(w, load, item);
	load->posted = worker_zeroed(w, 1, sizeof(struct hist));
	load->completed = worker_zeroed(w, 1, sizeof(struct hist));
	load->delivered = worker_zeroed(w, 1, sizeof(struct hist));
	hist_init(load->posted);
	hist_init(load->completed);
	hist_init(load->delivered);
}

void worker_free_loads(struct worker *w)
{
	for (unsigned i = 0; i < w->n_loads; i++) {
		free(w->load[i].round_start);
		free(w->load[i].round_end);
		free(w->load[i].posted);
		free(w->load[i].completed);
		free(w->load[i].delivered);
	}
	w->n_loads = 0;
}

static struct qp_dcqcn worker_read_dcqcn(struct worker *w, json_t *item)
{
	struct qp_dcqcn d = {.is_on = json_is_object(item)};
	const char *wrong;

	if (!d.is_on)
		return d;
	d.g_ppb = (uint32_t)worker_number(w, item, "g_ppb", UINT32_MAX);
	d.timer_us = (uint32_t)worker_number(w, item, "timer_us", UINT32_MAX);
	d.counter_bytes = (uint32_t)worker_number(w, item, "counter_bytes", UINT32_MAX);
	d.rai_kbps = (uint32_t)worker_number(w, item, "rai_kbps", UINT32_MAX);
	wrong = dcqcn_wrong(&d);
	if (wrong)
		worker_fail(w, "request: dcqcn: %s is out of range", wrong);
	return d;
}

static void worker_read_options(struct worker *w, json_t *item, struct fare_group_options *options,
				struct fare_baseline *baseline)
{
	int strategy = strategy_parse(json_string_value(json_object_get(item, "strategy")));

	if (strategy < 0)
		worker_fail(w, "request: no such strategy");
	*baseline = (struct fare_baseline){
		.placement = strategy_placement((enum strategy)strategy),
		.qps = (uint32_t)worker_number(w, item, "qps", 65536),
		.random_ports = json_is_true(json_object_get(item, "random_ports")),
		.dcqcn = worker_read_dcqcn(w, json_object_get(item, "dcqcn"))};
	*options = (struct fare_group_options){
		.mode = strategy_mode((enum strategy)strategy),
		.qps_per_sub_port = (uint32_t)worker_number(w, item, "qps_per_sub_port", 65536),
		.flows = (uint32_t)worker_number(w, item, "flows", 65536),
		.chunk_bytes = (uint32_t)worker_number(w, item, "chunk_bytes", 1u << 30),
		.window_bytes = (uint32_t)worker_number(w, item, "window_bytes", 1u << 30),
		.max_messages = 2 * STREAM_MAX_SLOTS,
	};
}

/* ---- streams ---- */

/* What both ends of a stream receive; checks that the slots lie inside the arena. */
static unsigned worker_read_slots(struct worker *w, json_t *item, uint32_t *gpu, uint64_t *offset,
				  uint64_t *slot_bytes)
{
	unsigned slots = (unsigned)worker_number(w, item, "slots", STREAM_MAX_SLOTS);

	*gpu = (uint32_t)worker_number(w, item, "gpu", UINT16_MAX);
	*offset = worker_number(w, item, "offset", w->arena_bytes);
	*slot_bytes = worker_number(w, item, "slot_bytes", w->arena_bytes);
	if (slots == 0 || *slot_bytes > (w->arena_bytes - *offset) / slots)
		worker_fail(w, "request: %u slots of %llu bytes do not fit the arena", slots,
			    (unsigned long long)*slot_bytes);
	return slots;
}

static struct worker_load *worker_load_of(struct worker *w, json_t *item)
{
	return &w->load[worker_number(w, item, "load", w->n_loads - 1)];
}

static void worker_read_rx(struct worker *w, struct worker_rx *rx, json_t *item)
{
	stream_rx_init(&rx->books,
		       worker_read_slots(w, item, &rx->gpu, &rx->offset, &rx->slot_bytes));
	rx->key = (uint32_t)worker_number(w, item, "key", UINT32_MAX);
	rx->load = worker_load_of(w, item);
	rx->remote_addr = worker_number(w, item, "remote_addr", INT64_MAX);
	rx->rkey = (uint32_t)worker_number(w, item, "rkey", UINT32_MAX);
}

static void worker_read_tx(struct worker *w, struct worker_tx *tx, json_t *item)
{
	stream_tx_init(&tx->books,
		       worker_read_slots(w, item, &tx->gpu, &tx->offset, &tx->slot_bytes));
	tx->key = (uint32_t)worker_number(w, item, "key", UINT32_MAX);
	tx->remote_addr = worker_number(w, item, "remote_addr", INT64_MAX);
	tx->rkey = (uint32_t)worker_number(w, item, "rkey", UINT32_MAX);
	tx->load = worker_load_of(w, item);
	tx->arrivals = (struct arrivals){.law = tx->load->law,
					 .mean_ns = tx->load->mean_ns,
					 .spread_ns = (double)tx->load->spread_ns,
					 .random = tx->load->seed + tx->key * UINT64_C(0x9e37)};
	if (tx->load->law == ARRIVAL_COMMAND)
		tx->command = worker_zeroed(w, WORKER_MAX_COMMANDS, sizeof(*tx->command));
}

/* What its group will be, and its peer. */
static void worker_read_group(struct worker *w, struct worker_tx *tx, json_t *load, json_t *item)
{
	const char *strategy = json_string_value(json_object_get(item, "strategy"));

	worker_read_options(w, load, &tx->options, &tx->baseline);
	tx->options.message_bytes = tx->load->read ? sizeof(uint64_t) : 0; /* offers */
	worker_address(w, item, &tx->peer);
	if (strategy && strategy_parse(strategy) >= 0)
		tx->options.mode = strategy_mode((enum strategy)strategy_parse(strategy));
}

/* ---- sizes that a routing decides ---- */

static void worker_read_moe(struct worker *w, json_t *object, struct moe *moe)
{
	moe->gpus = (uint32_t)worker_number(w, object, "gpus", 1024);
	moe->tokens = (uint32_t)worker_number(w, object, "tokens", 1u << 20);
	moe->top_k = (uint32_t)worker_number(w, object, "top_k", MOE_MAX_EXPERTS);
	moe->experts = (uint32_t)worker_number(w, object, "experts", MOE_MAX_EXPERTS);
	moe->hidden = (uint32_t)worker_number(w, object, "hidden", 1u << 20);
	moe->element_bytes = (uint32_t)worker_number(w, object, "element_bytes", 16);
	moe->routing = (enum moe_routing)worker_number(w, object, "routing", MOE_ROUTINGS - 1);
	moe->skew = json_number_value(json_object_get(object, "skew"));
	moe->capacity = json_number_value(json_object_get(object, "capacity"));
	moe->pad_bytes = worker_number(w, object, "pad_bytes", INT64_MAX);
	moe->combine = json_is_true(json_object_get(object, "combine"));
	moe->first = (uint32_t)worker_number(w, object, "first", 1024);
	moe->period = (uint32_t)worker_number(w, object, "period", WORKER_MAX_DRAWN);
	moe->seed = worker_number(w, object, "seed", INT64_MAX);
	if (moe_check(moe))
		worker_fail(w, "request: the routing's parameters contradict each other");
}

/* What the load's streams carry in one round. */
static void worker_fill_round(struct worker *w, struct worker_load *load, const struct moe *moe,
			      uint64_t round, const uint64_t *matrix)
{
	unsigned end = moe->first + moe->gpus, here = w->gpu - moe->first;

	for (unsigned i = 0; i < w->n_tx; i++)
		if (w->tx[i].load == load && w->tx[i].gpu < end)
			w->tx[i].round_bytes[round] =
				matrix[here * moe->gpus + w->tx[i].gpu - moe->first];
	for (unsigned i = 0; i < w->n_rx; i++)
		if (w->rx[i].load == load && w->rx[i].gpu < end)
			w->rx[i].round_bytes[round] =
				matrix[(w->rx[i].gpu - moe->first) * moe->gpus + here];
}

/* How much each stream carries in each round; every GPU computes the same matrices. */
static void worker_fill_rounds(struct worker *w, struct worker_load *load, const struct moe *moe)
{
	uint64_t *matrix = worker_zeroed(w, (size_t)moe->gpus * moe->gpus, sizeof(*matrix));

	for (uint64_t round = 0; round < load->drawn; round++) {
		moe_round(moe, round, matrix);
		worker_fill_round(w, load, moe, round, matrix);
	}
	free(matrix);
}

static void worker_check_bytes(struct worker *w, const uint64_t *bytes, uint64_t rounds,
			       uint64_t slot_bytes)
{
	for (uint64_t i = 0; i < rounds; i++)
		if (bytes[i] > slot_bytes)
			worker_fail(w, "request: round %llu needs %llu bytes of a slot of %llu",
				    (unsigned long long)i, (unsigned long long)bytes[i],
				    (unsigned long long)slot_bytes);
}

static void worker_open_rounds(struct worker *w, struct worker_load *load, json_t *object)
{
	struct moe moe;
	bool takes_part = false;

	if (!object || !load->rounds)
		return;
	worker_read_moe(w, object, &moe);
	load->drawn = moe.period && moe.period < load->rounds ? moe.period : load->rounds;
	if (load->drawn > WORKER_MAX_DRAWN)
		worker_fail(w, "request: more than %d rounds without a period", WORKER_MAX_DRAWN);
	for (unsigned i = 0; i < w->n_tx; i++) {
		if (w->tx[i].load != load)
			continue;
		w->tx[i].round_bytes = worker_zeroed(w, load->drawn, sizeof(uint64_t));
		takes_part = true;
	}
	for (unsigned i = 0; i < w->n_rx; i++) {
		if (w->rx[i].load != load)
			continue;
		w->rx[i].round_bytes = worker_zeroed(w, load->drawn, sizeof(uint64_t));
		takes_part = true;
	}
	if (!takes_part)
		return;
	if (w->gpu < moe.first || w->gpu >= moe.first + moe.gpus)
		worker_fail(w, "request: this GPU has no part in the routing");
	worker_fill_rounds(w, load, &moe);
	for (unsigned i = 0; i < w->n_tx; i++)
		if (w->tx[i].load == load)
			worker_check_bytes(w, w->tx[i].round_bytes, load->drawn,
					   w->tx[i].slot_bytes);
}

/* ---- the run ---- */

/* Goodput per millisecond, if the run asked for it. */
static void worker_open_bins(struct worker *w, json_t *request)
{
	free(w->bins);
	w->bins = NULL;
	w->bin = 0;
	memset(w->acked_bytes, 0, sizeof(w->acked_bytes));
	w->bins_ns = worker_now_ns(w) / WORKER_BIN_NS * WORKER_BIN_NS;
	if (json_is_true(json_object_get(request, "bins")))
		w->bins = worker_zeroed(w, (size_t)WORKER_MAX_BINS * w->n_loads, sizeof(*w->bins));
}

static void worker_reset(struct worker *w, json_t *request)
{
	worker_free_loads(w);
	w->nonce = (uint32_t)worker_number(w, request, "nonce", UINT32_MAX);
	w->running = w->stopping = w->opened = w->done = false;
	w->from_marked = w->to_marked = w->held = false;
	w->from_ns = w->to_ns = 0;
	w->open_ns = worker_now_ns(w);
	w->verified_bytes = w->sent_bytes = 0;
	w->proof_sent = w->proof_seen = w->unsent = w->stall_ns = 0;
}

static void worker_read_streams(struct worker *w, json_t *tx, json_t *rx)
{
	json_t *item;
	size_t i;

	if (json_array_size(tx) > WORKER_MAX_STREAMS || json_array_size(rx) > WORKER_MAX_STREAMS)
		worker_fail(w, "request: more than %d streams", WORKER_MAX_STREAMS);
	w->tx = worker_zeroed(w, json_array_size(tx), sizeof(*w->tx));
	w->rx = worker_zeroed(w, json_array_size(rx), sizeof(*w->rx));
	json_array_foreach (rx, i, item) {
		worker_read_rx(w, &w->rx[i], item);
		w->n_rx++;
	}
	json_array_foreach (tx, i, item) {
		worker_read_tx(w, &w->tx[i], item);
		w->n_tx++;
	}
}

void worker_open(struct worker *w, json_t *request)
{
	json_t *loads = json_object_get(request, "loads"), *tx = json_object_get(request, "tx"),
	       *item;
	size_t i;

	worker_reset(w, request);
	if (json_array_size(loads) < 1 || json_array_size(loads) > WORKER_MAX_LOADS)
		worker_fail(w, "request: 1 to %d loads are expected", WORKER_MAX_LOADS);
	json_array_foreach (loads, i, item) {
		worker_read_load(w, &w->load[i], item);
		w->n_loads++;
	}
	worker_read_streams(w, tx, json_object_get(request, "rx"));
	json_array_foreach (loads, i, item)
		worker_open_rounds(w, &w->load[i], json_object_get(item, "moe"));
	worker_open_bins(w, request);
	worker_claim_early(w);
	json_array_foreach (tx, i, item)
		worker_read_group(w, &w->tx[i],
				  json_array_get(loads, (size_t)(w->tx[i].load - w->load)), item);
	/* only now, when nothing can fail any more for want of a parameter */
	for (unsigned k = 0; k < w->n_tx; k++)
		if (w->tx[k].load->presence == WORKER_PRESENT)
			worker_open_group(w, &w->tx[k]);
	if (!w->n_tx && !w->n_rx)
		worker_send(w, json_pack("{s:s}", "event", "opened"));
}

void worker_close_tx(struct worker *w)
{
	for (unsigned i = 0; i < w->n_tx; i++) {
		fare_group_close(w->tx[i].group);
		free(w->tx[i].round_bytes);
		free(w->tx[i].command);
	}
	free(w->tx);
	w->tx = NULL;
	w->n_tx = 0;
}

void worker_close_rx(struct worker *w)
{
	for (unsigned i = 0; i < w->n_rx; i++) {
		if (w->rx[i].group)
			fare_group_close(w->rx[i].group);
		free(w->rx[i].round_bytes);
	}
	free(w->rx);
	w->rx = NULL;
	w->n_rx = 0;
}
