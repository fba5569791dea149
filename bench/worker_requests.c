/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * worker_requests.c - what the coordinator may ask of a worker (worker.h has the list).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "moe.h"
#include "strategy.h"
#include "worker_internal.h"

static uint64_t worker_number(struct worker *w, json_t *object, const char *key, uint64_t max)
{
	json_t *value = json_object_get(object, key);

	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
	    (uint64_t)json_integer_value(value) > max)
		worker_fail(w, "request: %s: an integer 0..%llu is expected", key,
			    (unsigned long long)max);
	return (uint64_t)json_integer_value(value);
}

static void worker_address(struct worker *w, json_t *object, struct in6_addr *out)
{
	const char *text = json_string_value(json_object_get(object, "address"));
	struct in_addr v4;

	memset(out, 0, sizeof(*out));
	if (text && inet_pton(AF_INET, text, &v4) == 1) {
		out->s6_addr[10] = out->s6_addr[11] = 0xff;
		memcpy(&out->s6_addr[12], &v4, sizeof(v4));
	} else if (!text || inet_pton(AF_INET6, text, out) != 1) {
		worker_fail(w, "request: address: %s is none", text ? text : "nothing");
	}
}

static uint8_t *worker_map(struct worker *w, uint64_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		worker_fail(w, "%llu bytes of memory: %s", (unsigned long long)bytes,
			    strerror(errno));
	return at;
}

static void worker_op_arena(struct worker *w, json_t *request)
{
	uint64_t bytes = worker_number(w, request, "bytes", WORKER_MAX_ARENA);
	int err;

	if (bytes > w->arena_bytes) {
		if (w->arena_bytes) {
			fare_mr_deregister(w->tx_mr);
			fare_mr_deregister(w->rx_mr);
			munmap(w->tx_arena, w->arena_bytes);
			munmap(w->rx_arena, w->arena_bytes);
		}
		w->tx_arena = worker_map(w, bytes);
		w->rx_arena = worker_map(w, bytes);
		w->arena_bytes = bytes;
		err = fare_mr_register(&w->tx_mr, w->domain, w->tx_arena, bytes, false);
		if (!err)
			err = fare_mr_register(&w->rx_mr, w->domain, w->rx_arena, bytes, true);
		if (err)
			worker_fail(w, "registering memory: %s", strerror(-err));
	}
	worker_send(w, json_pack("{s:s, s:I, s:I}", "event", "arena", "address",
				 (json_int_t)(uintptr_t)w->rx_arena, "rkey",
				 (json_int_t)fare_mr_rkey(w->rx_mr)));
}

/* ep: how much each stream carries in each round; every GPU computes the same matrices. */
static void worker_fill_rounds(struct worker *w, const struct moe *moe)
{
	uint64_t *matrix = calloc((size_t)moe->gpus * moe->gpus, sizeof(*matrix));

	if (!matrix)
		worker_fail(w, "out of memory");
	for (uint64_t round = 0; round < w->rounds; round++) {
		moe_round(moe, round, matrix);
		for (unsigned i = 0; i < w->n_tx; i++)
			w->tx[i].round_bytes[round] = matrix[w->gpu * moe->gpus + w->tx[i].gpu];
		for (unsigned i = 0; i < w->n_rx; i++)
			w->rx[i].round_bytes[round] = matrix[w->rx[i].gpu * moe->gpus + w->gpu];
	}
	free(matrix);
}

static void worker_read_moe(struct worker *w, json_t *request)
{
	json_t *object = json_object_get(request, "moe");
	struct moe moe;

	w->rounds = 0;
	if (!object)
		return;
	w->rounds = worker_number(w, request, "rounds", WORKER_MAX_ROUNDS);
	moe.gpus = (uint32_t)worker_number(w, object, "gpus", 1024);
	moe.tokens = (uint32_t)worker_number(w, object, "tokens", 1u << 20);
	moe.top_k = (uint32_t)worker_number(w, object, "top_k", MOE_MAX_EXPERTS);
	moe.experts = (uint32_t)worker_number(w, object, "experts", MOE_MAX_EXPERTS);
	moe.hidden = (uint32_t)worker_number(w, object, "hidden", 1u << 20);
	moe.element_bytes = (uint32_t)worker_number(w, object, "element_bytes", 16);
	moe.seed = worker_number(w, object, "seed", INT64_MAX);
	if (w->rounds * w->n_rx > WORKER_MAX_SAMPLES)
		worker_fail(w, "request: %llu rounds are more than can be recorded",
			    (unsigned long long)w->rounds);
	w->n_samples = (size_t)w->rounds * w->n_rx;
	if (moe_check(&moe) || w->gpu >= moe.gpus)
		worker_fail(w, "request: the routing's parameters contradict each other");
	for (unsigned i = 0; i < w->n_tx; i++) {
		w->tx[i].round_bytes = calloc(w->rounds, sizeof(uint64_t));
		if (!w->tx[i].round_bytes || w->tx[i].gpu >= moe.gpus)
			worker_fail(w, "request: a stream's GPU is out of range");
	}
	for (unsigned i = 0; i < w->n_rx; i++) {
		w->rx[i].round_bytes = calloc(w->rounds, sizeof(uint64_t));
		if (!w->rx[i].round_bytes || w->rx[i].gpu >= moe.gpus)
			worker_fail(w, "request: a stream's GPU is out of range");
	}
	worker_fill_rounds(w, &moe);
}

/* What tx and rx streams have in common; checks that the slots lie inside the arena. */
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

static void worker_read_options(struct worker *w, json_t *request,
				struct fare_group_options *options)
{
	int strategy = strategy_parse(json_string_value(json_object_get(request, "strategy")));

	if (strategy < 0)
		worker_fail(w, "request: no such strategy");
	*options = (struct fare_group_options){
		.mode = strategy_mode((enum strategy)strategy),
		.qps = (uint32_t)worker_number(w, request, "qps", 65536),
		.qps_per_sub_port = (uint32_t)worker_number(w, request, "qps_per_sub_port", 65536),
		.flows = (uint32_t)worker_number(w, request, "flows", 65536),
		.chunk_bytes = (uint32_t)worker_number(w, request, "chunk_bytes", 1u << 30),
		.window_bytes = (uint32_t)worker_number(w, request, "window_bytes", 1u << 30),
		.max_messages = 2 * STREAM_MAX_SLOTS,
		.random_ports = json_is_true(json_object_get(request, "random_ports")),
	};
}

/* Goodput per millisecond, if the run asked for it. */
static void worker_open_bins(struct worker *w, json_t *request)
{
	free(w->bins);
	w->bins = NULL;
	w->bin = w->acked_bytes = 0;
	w->bins_ns = worker_now_ns() / WORKER_BIN_NS * WORKER_BIN_NS;
	if (!json_is_true(json_object_get(request, "bins")))
		return;
	w->bins = calloc(WORKER_MAX_BINS, sizeof(*w->bins));
	if (!w->bins)
		worker_fail(w, "out of memory");
}

static void worker_op_bins(struct worker *w, json_t *request)
{
	uint64_t from = worker_number(w, request, "from", WORKER_MAX_BINS);
	json_t *bytes = json_array();

	worker_bin(w, worker_now_ns());
	for (uint64_t i = from;
	     w->bins && i < w->bin && i < WORKER_MAX_BINS && i < from + WORKER_SEND_BINS; i++)
		json_array_append_new(bytes, json_integer((json_int_t)w->bins[i]));
	worker_send(w, json_pack("{s:s, s:I, s:o}", "event", "bins", "from_ns",
				 (json_int_t)(w->bins_ns + from * WORKER_BIN_NS), "bytes", bytes));
}

static void worker_op_open(struct worker *w, json_t *request)
{
	json_t *tx_list = json_object_get(request, "tx"), *rx_list = json_object_get(request, "rx"),
	       *item;
	struct fare_group_options options;
	size_t i;

	worker_read_options(w, request, &options);
	w->nonce = (uint32_t)worker_number(w, request, "nonce", UINT32_MAX);
	w->running = w->stopping = w->opened = w->done = false;
	w->open_ns = worker_now_ns();
	w->verified_bytes = 0;
	w->no_times = json_is_true(json_object_get(request, "no_times"));
	w->n_samples = 0;
	if (json_array_size(tx_list) > WORKER_MAX_STREAMS ||
	    json_array_size(rx_list) > WORKER_MAX_STREAMS)
		worker_fail(w, "request: more than %d streams", WORKER_MAX_STREAMS);
	w->tx = calloc(json_array_size(tx_list) + 1, sizeof(*w->tx));
	w->rx = calloc(json_array_size(rx_list) + 1, sizeof(*w->rx));
	if (!w->tx || !w->rx)
		worker_fail(w, "out of memory");
	json_array_foreach (rx_list, i, item) {
		struct worker_rx *rx = &w->rx[i];

		stream_rx_init(&rx->books,
			       worker_read_slots(w, item, &rx->gpu, &rx->offset, &rx->slot_bytes));
		worker_address(w, item, &rx->peer);
		w->n_rx++;
	}
	worker_claim_early(w);
	json_array_foreach (tx_list, i, item) {
		struct worker_tx *tx = &w->tx[i];

		stream_tx_init(&tx->books,
			       worker_read_slots(w, item, &tx->gpu, &tx->offset, &tx->slot_bytes));
		tx->remote_addr = worker_number(w, item, "remote_addr", INT64_MAX);
		tx->rkey = (uint32_t)worker_number(w, item, "rkey", UINT32_MAX);
		w->n_tx++;
	}
	worker_read_moe(w, request);
	worker_open_bins(w, request);
	/* only now, when nothing can fail any more for want of a parameter */
	json_array_foreach (tx_list, i, item) {
		struct in6_addr peer;
		int err;

		struct fare_group_options own = options;
		const char *strategy = json_string_value(json_object_get(item, "strategy"));

		worker_address(w, item, &peer);
		if (strategy && strategy_parse(strategy) >= 0)
			own.mode = strategy_mode((enum strategy)strategy_parse(strategy));
		err = fare_group_open(&w->tx[i].group, w->domain, &peer, &own);
		if (err)
			worker_fail(w, "opening a group toward GPU %u: %s", w->tx[i].gpu,
				    strerror(-err));
	}
	if (!w->n_tx && !w->n_rx)
		worker_send(w, json_pack("{s:s}", "event", "opened"));
}

static void worker_op_report(struct worker *w)
{
	json_t *times = json_array();
	uint64_t posted = 0, credited = 0, verified = 0, replayed = 0, deaths = 0, rebuilds = 0,
		 retransmitted = 0, moves = 0, needless = 0, duplicates = 0;

	for (size_t i = 0; i < w->n_samples; i++)
		json_array_append_new(times, json_integer((json_int_t)w->samples[i]));
	for (unsigned i = 0; i < w->n_tx; i++) {
		struct fare_group_stats stats;

		fare_group_stats(w->tx[i].group, &stats);
		posted += w->tx[i].books.n_posted;
		credited += w->tx[i].books.n_credited;
		replayed += stats.chunks_replayed;
		deaths += stats.path_deaths;
		rebuilds += stats.path_rebuilds;
		retransmitted += stats.retransmitted_packets;
		moves += stats.flow_moves;
		needless += stats.flow_needless_moves;
		duplicates += stats.duplicate_notifications;
	}
	for (unsigned i = 0; i < w->n_rx; i++)
		verified += w->rx[i].books.n_verified;
	worker_send(w,
		    json_pack("{s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
			      "event", "report", "times_ns", times, "verified_bytes",
			      (json_int_t)w->verified_bytes, "posted", (json_int_t)posted,
			      "credited", (json_int_t)credited, "verified", (json_int_t)verified,
			      "replayed", (json_int_t)replayed, "path_deaths", (json_int_t)deaths,
			      "path_rebuilds", (json_int_t)rebuilds, "retransmitted",
			      (json_int_t)retransmitted, "flow_moves", (json_int_t)moves,
			      "flow_needless_moves", (json_int_t)needless,
			      "duplicate_notifications", (json_int_t)duplicates));
}

void worker_close_tx(struct worker *w)
{
	for (unsigned i = 0; i < w->n_tx; i++) {
		fare_group_close(w->tx[i].group);
		free(w->tx[i].round_bytes);
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

static void worker_op_paths(struct worker *w, json_t *request)
{
	json_t *list = json_array();
	struct fare_pair *pair;
	struct fare_paths paths;
	struct in6_addr peer;
	int err;

	worker_address(w, request, &peer);
	err = fare_pair_open(&pair, w->fare, w->local_gpu, &peer);
	if (err)
		worker_fail(w, "opening a pair: %s", strerror(-err));
	do
		err = fare_pair_paths(pair, &paths);
	while (err == -EAGAIN);
	if (err)
		worker_fail(w, "reading paths: %s", strerror(-err));
	for (unsigned i = 0; i < paths.n_planes && i < FARE_MAX_PLANES; i++)
		json_array_append_new(list,
				      json_pack("{s:I, s:s}", "usable_bps",
						(json_int_t)paths.path[i].usable_bps, "verdict",
						fare_verdict_name(paths.path[i].verdict)));
	fare_pair_close(pair);
	worker_send(w, json_pack("{s:s, s:o}", "event", "paths", "path", list));
}

bool worker_request(struct worker *w, json_t *request)
{
	const char *op = json_string_value(json_object_get(request, "op"));

	if (!op)
		worker_fail(w, "request: no op");
	if (strcmp(op, "quit") == 0)
		return false;
	if (strcmp(op, "arena") == 0 && !w->n_tx && !w->n_rx) {
		worker_op_arena(w, request);
	} else if (strcmp(op, "open") == 0 && w->arena_bytes && !w->n_tx && !w->n_rx) {
		worker_op_open(w, request);
	} else if (strcmp(op, "start") == 0) {
		worker_start(w); /* large messages take a while to fill: no time that is measured */
		worker_send(w, json_pack("{s:s, s:I}", "event", "started", "t_ns",
					 (json_int_t)worker_now_ns()));
	} else if (strcmp(op, "stop") == 0) {
		w->stopping = true;
	} else if (strcmp(op, "report") == 0) {
		worker_op_report(w);
	} else if (strcmp(op, "bins") == 0) {
		worker_op_bins(w, request);
	} else if (strcmp(op, "close_tx") == 0 || strcmp(op, "close_rx") == 0) {
		w->running = false;
		op[6] == 't' ? worker_close_tx(w) : worker_close_rx(w);
		worker_send(w, json_pack("{s:s}", "event", "closed"));
	} else if (strcmp(op, "paths") == 0) {
		worker_op_paths(w, request);
	} else {
		worker_fail(w, "request: op %s is unknown, or out of turn", op);
	}
	return true;
}
