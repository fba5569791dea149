/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * worker_requests.c - what the coordinator may ask of a worker (worker.h has the list).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/worker_internal.h"

static void worker_drop_region(struct worker *w, struct fare_mr *mr, uint64_t bytes)
{
	fare_mr_deregister(mr);
	w->regions--;
	w->region_bytes -= bytes;
}

void worker_free_memory(struct worker *w)
{
	if (!w->arena_bytes)
		return;
	worker_drop_region(w, w->tx_mr, w->arena_bytes);
	worker_drop_region(w, w->rx_mr, w->arena_bytes);
	memory_close(&w->source);
	memory_close(&w->target);
	w->arena_bytes = 0;
}

/* One arena, mapped and registered. 0, or -errno after text says why there is no such memory. */
static int worker_take_one(struct worker *w, struct memory *m, enum memory_kind kind,
			   uint64_t bytes, unsigned rights, struct fare_mr **mr, char *text)
{
	int err = memory_open(m, kind, bytes, w->store, text);

	if (err)
		return err;
	err = kind == MEMORY_DMABUF ? fare_mr_register_dmabuf(mr, w->domain, m->fd, 0, m->bytes,
							      (uintptr_t)m->at, rights)
				    : fare_mr_register(mr, w->domain, m->at, m->bytes, rights);
	if (!err) {
		w->regions++;
		w->region_bytes += bytes;
		return 0;
	}
	snprintf(text, MEMORY_TEXT_MAX, "registering memory: %s", strerror(-err));
	memory_close(m);
	return err;
}

static int worker_take_memory(struct worker *w, uint64_t bytes, const struct memory_pair *kinds,
			      char source[MEMORY_TEXT_MAX], char target[MEMORY_TEXT_MAX])
{
	int err;

	worker_free_memory(w);
	err = worker_take_one(w, &w->source, kinds->source, bytes, FARE_REMOTE_READ, &w->tx_mr,
			      source);
	if (err)
		return err;
	err = worker_take_one(w, &w->target, kinds->target, bytes, FARE_REMOTE_WRITE, &w->rx_mr,
			      target);
	if (err) {
		worker_drop_region(w, w->tx_mr, bytes);
		memory_close(&w->source);
		memcpy(source, target, MEMORY_TEXT_MAX);
		return err;
	}
	w->tx_arena = (uint8_t *)(uintptr_t)fare_mr_addr(w->tx_mr);
	w->rx_arena = (uint8_t *)(uintptr_t)fare_mr_addr(w->rx_mr);
	w->arena_bytes = bytes;
	return 0;
}

static enum memory_kind worker_memory_kind(struct worker *w, json_t *request, const char *key)
{
	return json_object_get(request, key)
		       ? (enum memory_kind)worker_number(w, request, key, MEMORY_KINDS - 1)
		       : MEMORY_HOST;
}

/* Where there is no such memory the worker goes on with the host's, and says so. */
static void worker_op_arena(struct worker *w, json_t *request)
{
	uint64_t bytes = worker_number(w, request, "bytes", WORKER_MAX_ARENA);
	const struct memory_pair host = {0}, kinds = {worker_memory_kind(w, request, "source"),
						      worker_memory_kind(w, request, "target")};
	char source[MEMORY_TEXT_MAX] = "", target[MEMORY_TEXT_MAX] = "";
	json_t *answer;
	bool lacks = false;

	if (bytes > w->arena_bytes || kinds.source != w->source.kind ||
	    kinds.target != w->target.kind) {
		char other[2][MEMORY_TEXT_MAX];

		lacks = worker_take_memory(w, bytes, &kinds, source, target) != 0;
		if (lacks && worker_take_memory(w, bytes, &host, other[0], other[1]))
			worker_fail(w, "%s", other[0]);
	}
	answer = json_pack("{s:s, s:I, s:I, s:I, s:I}", "event", "arena", "address",
			   (json_int_t)(uintptr_t)w->rx_arena, "rkey",
			   (json_int_t)fare_mr_rkey(w->rx_mr), "source_address",
			   (json_int_t)(uintptr_t)w->tx_arena, "source_rkey",
			   (json_int_t)fare_mr_rkey(w->tx_mr));
	if (answer && lacks)
		json_object_set_new(answer, "lacks", json_string(source));
	else if (answer)
		json_object_set_new(answer, "memory",
				    strcmp(source, target) ? json_sprintf("%s; %s", source, target)
							   : json_string(source));
	worker_send(w, answer);
}

/* Of one load, or of all together. */
static uint64_t worker_bin_bytes(const struct worker *w, int load, uint64_t bin)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < w->n_loads; i++)
		if (load < 0 || (unsigned)load == i)
			sum += w->bins[(size_t)i * WORKER_MAX_BINS + bin];
	return sum;
}

static void worker_op_bins(struct worker *w, json_t *request)
{
	uint64_t from = worker_number(w, request, "from", WORKER_MAX_BINS);
	int load = json_object_get(request, "load")
			   ? (int)worker_number(w, request, "load", WORKER_MAX_LOADS - 1)
			   : -1;
	json_t *bytes = json_array();

	worker_measure(w, worker_now_ns(w));
	for (uint64_t i = from;
	     w->bins && i < w->bin && i < WORKER_MAX_BINS && i < from + WORKER_SEND_BINS; i++)
		json_array_append_new(bytes,
				      json_integer((json_int_t)worker_bin_bytes(w, load, i)));
	worker_send(w, json_pack("{s:s, s:I, s:o}", "event", "bins", "from_ns",
				 (json_int_t)(w->bins_ns + from * WORKER_BIN_NS), "bytes", bytes));
}

/* When rounds of a load began and ended here, so many of them from one on. */
static void worker_op_rounds(struct worker *w, json_t *request)
{
	const struct worker_load *load =
		&w->load[worker_number(w, request, "load", w->n_loads - 1)];
	uint64_t from = worker_number(w, request, "from", INT64_MAX);
	json_t *starts = json_array(), *ends = json_array();

	for (uint64_t i = from; i < load->rounds_ended && i < from + WORKER_SEND_ROUNDS; i++) {
		json_array_append_new(starts, json_integer((json_int_t)load->round_start[i]));
		json_array_append_new(ends, json_integer((json_int_t)load->round_end[i]));
	}
	worker_send(w,
		    json_pack("{s:s, s:o, s:o}", "event", "rounds", "start", starts, "end", ends));
}

static void worker_op_report(struct worker *w)
{
	uint64_t posted = 0, verified = 0, replayed = 0, deaths = 0, rebuilds = 0, needless = 0;
	const struct worker_packets packets = worker_packets(w);

	for (unsigned i = 0; i < w->n_tx; i++) {
		struct fare_group_stats stats;

		worker_tx_stats(&w->tx[i], &stats);
		posted += w->tx[i].books.n_posted;
		replayed += stats.chunks_replayed;
		deaths += stats.path_deaths;
		rebuilds += stats.path_rebuilds;
		needless += stats.flow_needless_moves;
	}
	for (unsigned i = 0; i < w->n_rx; i++)
		verified += w->rx[i].books.n_verified;
	worker_send(w,
		    json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
			      "s:I, s:I, s:I}",
			      "event", "report", "verified_bytes", (json_int_t)w->verified_bytes,
			      "sent_bytes", (json_int_t)w->sent_bytes, "posted", (json_int_t)posted,
			      "verified", (json_int_t)verified, "replayed", (json_int_t)replayed,
			      "path_deaths", (json_int_t)deaths, "path_rebuilds",
			      (json_int_t)rebuilds, "retransmitted",
			      (json_int_t)(packets.retransmitted - w->before.retransmitted),
			      "out_of_order",
			      (json_int_t)(packets.out_of_order - w->before.out_of_order),
			      "flow_needless_moves", (json_int_t)needless, "proof_sent",
			      (json_int_t)w->proof_sent, "proof_seen", (json_int_t)w->proof_seen,
			      "early", (json_int_t)w->unsent, "regions", (json_int_t)w->regions,
			      "region_bytes", (json_int_t)w->region_bytes));
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

/*
 * Peers that were started earlier have sent already, and this worker did not know the window: what
 * arrived is of the time before it.
 */
static void worker_forget_early(struct worker *w)
{
	if (w->from_ns <= worker_now_ns(w))
		return;
	for (unsigned i = 0; i < w->n_loads; i++)
		hist_init(w->load[i].delivered);
	for (unsigned i = 0; i < w->n_rx; i++)
		w->rx[i].messages = 0;
}

static void worker_op_start(struct worker *w, json_t *request)
{
	w->from_ns = json_object_get(request, "from_ns")
			     ? worker_number(w, request, "from_ns", INT64_MAX)
			     : 0;
	w->to_ns = json_object_get(request, "to_ns") ? worker_number(w, request, "to_ns", INT64_MAX)
						     : 0;
	worker_forget_early(w);
	worker_start(w); /* large messages take a while to fill: no time that is measured */
	worker_send(w, json_pack("{s:s, s:I}", "event", "started", "t_ns",
				 (json_int_t)worker_now_ns(w)));
}

static void worker_op_clock(struct worker *w, json_t *request)
{
	json_t *offset = json_object_get(request, "offset_ns");

	if (!json_is_integer(offset))
		worker_fail(w, "request: offset_ns: an integer is expected");
	w->clock_offset_ns = json_integer_value(offset);
	worker_send(w, json_pack("{s:s}", "event", "clock"));
}

/* A message that the coordinator asks for: due now. */
static void worker_op_transfer(struct worker *w, json_t *request)
{
	uint32_t key = (uint32_t)worker_number(w, request, "stream", UINT32_MAX);
	struct worker_tx *tx = NULL;
	struct worker_command *command;

	for (unsigned i = 0; i < w->n_tx && !tx; i++)
		tx = w->tx[i].key == key ? &w->tx[i] : NULL;
	if (!tx || !tx->command)
		worker_fail(w, "request: no stream %u takes transfers", key);
	if (tx->n_commands == WORKER_MAX_COMMANDS)
		worker_fail(w, "request: %u transfers wait to be posted already", tx->n_commands);
	command = &tx->command[(tx->next_command + tx->n_commands++) % WORKER_MAX_COMMANDS];
	command->id = worker_number(w, request, "id", INT64_MAX);
	command->bytes = worker_number(w, request, "bytes", tx->slot_bytes);
	command->arrival_ns = worker_now_ns(w);
}

/* False: unknown, or out of turn. */
static bool worker_run_op(struct worker *w, const char *op, json_t *request)
{
	bool is_open = w->n_tx || w->n_rx;

	if (strcmp(op, "arena") == 0 && !is_open)
		worker_op_arena(w, request);
	else if (strcmp(op, "clock") == 0 && !is_open)
		worker_op_clock(w, request);
	else if (strcmp(op, "open") == 0 && w->arena_bytes && !is_open)
		worker_open(w, request);
	else if (strcmp(op, "start") == 0)
		worker_op_start(w, request);
	else if (strcmp(op, "transfer") == 0 && w->running)
		worker_op_transfer(w, request);
	else if (strcmp(op, "join") == 0 && w->running)
		worker_op_join(w, request);
	else if (strcmp(op, "leave") == 0 && w->running)
		worker_op_leave(w, request);
	else if (strcmp(op, "stop") == 0)
		worker_stop(w);
	else if (strcmp(op, "report") == 0)
		worker_op_report(w);
	else if (strcmp(op, "measured") == 0)
		worker_send(w, worker_measured(w));
	else if (strcmp(op, "bins") == 0)
		worker_op_bins(w, request);
	else if (strcmp(op, "rounds") == 0 && w->n_loads)
		worker_op_rounds(w, request);
	else if (strcmp(op, "paths") == 0)
		worker_op_paths(w, request);
	else
		return false;
	return true;
}

bool worker_request(struct worker *w, json_t *request)
{
	const char *op = json_string_value(json_object_get(request, "op"));

	if (!op)
		worker_fail(w, "request: no op");
	if (strcmp(op, "quit") == 0)
		return false;
	if (strcmp(op, "close_tx") == 0 || strcmp(op, "close_rx") == 0) {
		w->running = false;
		op[6] == 't' ? worker_close_tx(w) : worker_close_rx(w);
		worker_send(w, json_pack("{s:s}", "event", "closed"));
	} else if (!worker_run_op(w, op, request)) {
		worker_fail(w, "request: op %s is unknown, or out of turn", op);
	}
	return true;
}
