/* SPDX-License-Identifier: BSD-2-Clause */
#include "traffic.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

int traffic_qps(const struct topo *topo, const struct traffic_options *options, unsigned *qps,
		unsigned *per_sub_port)
{
	unsigned ports = 0;

	for (unsigned plane = 0; plane < topo->n_planes; plane++)
		ports += topo->gpus[0].plane[plane].n_sub_ports;
	*qps = options->qps ? options->qps : ports;
	*per_sub_port = ports ? *qps / ports : 0;
	if (*per_sub_port && *qps % ports == 0)
		return 0;
	fprintf(stderr, "farebench: %u QPs do not spread over %u sub-ports: take a multiple\n",
		*qps, ports);
	return -EINVAL;
}

static json_t *traffic_moe(const struct moe *moe)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "gpus", (json_int_t)moe->gpus,
			 "tokens", (json_int_t)moe->tokens, "top_k", (json_int_t)moe->top_k,
			 "experts", (json_int_t)moe->experts, "hidden", (json_int_t)moe->hidden,
			 "element_bytes", (json_int_t)moe->element_bytes, "seed",
			 (json_int_t)moe->seed);
}

/* What one GPU has to know: its own streams, both ways. */
static json_t *traffic_request(struct cluster *cluster, const struct topo *topo, unsigned gpu,
			       const struct traffic_stream *streams, unsigned n)
{
	json_t *tx = json_array(), *rx = json_array();

	for (unsigned i = 0; i < n; i++) {
		const struct traffic_stream *s = &streams[i];

		if (s->src == gpu)
			json_array_append_new(
				tx, json_pack("{s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:s*}", "gpu",
					      (json_int_t)s->dst, "address",
					      topo_gpu_address(topo, s->dst), "remote_addr",
					      (json_int_t)(cluster_arena_address(cluster, s->dst) +
							   s->rx_offset),
					      "rkey", (json_int_t)cluster_rkey(cluster, s->dst),
					      "offset", (json_int_t)s->tx_offset, "slots",
					      (json_int_t)s->slots, "slot_bytes",
					      (json_int_t)s->slot_bytes, "strategy", s->strategy));
		if (s->dst == gpu)
			json_array_append_new(
				rx,
				json_pack("{s:I, s:s, s:I, s:I, s:I}", "gpu", (json_int_t)s->src,
					  "address", topo_gpu_address(topo, s->src), "offset",
					  (json_int_t)s->rx_offset, "slots", (json_int_t)s->slots,
					  "slot_bytes", (json_int_t)s->slot_bytes));
	}
	return json_pack("{s:s, s:o, s:o}", "op", "open", "tx", tx, "rx", rx);
}

int traffic_open(struct cluster *cluster, const struct topo *topo,
		 const struct traffic_options *options, const struct traffic_stream *streams,
		 unsigned n, const struct moe *moe, uint64_t rounds)
{
	unsigned qps, per_sub_port;
	uint32_t nonce;
	int err = traffic_qps(topo, options, &qps, &per_sub_port);

	if (!err && getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce))
		err = -EIO;
	for (unsigned gpu = 0; !err && gpu < cluster_size(cluster); gpu++) {
		json_t *request = traffic_request(cluster, topo, gpu, streams, n);
		bool kernel = strategy_mode(options->strategy) == FARE_MODE_KERNEL;
		json_t *more = json_pack(
			"{s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:b}", "nonce",
			(json_int_t)nonce, "strategy", strategy_name(options->strategy), "qps",
			(json_int_t)(kernel ? qps : 0), "qps_per_sub_port",
			(json_int_t)(kernel ? 0 : per_sub_port), "flows",
			(json_int_t)options->flows, "chunk_bytes", (json_int_t)options->chunk_bytes,
			"window_bytes", (json_int_t)options->window_bytes, "random_ports",
			kernel || options->random_ports, "bins", options->bins, "no_times",
			options->no_times);

		if (!request || !more || json_object_update(request, more))
			err = -ENOMEM;
		json_decref(more);
		if (!err && moe) {
			json_object_set_new(request, "moe", traffic_moe(moe));
			json_object_set_new(request, "rounds", json_integer((json_int_t)rounds));
		}
		if (err)
			json_decref(request);
		else
			err = cluster_send(cluster, gpu, request);
	}
	for (unsigned gpu = 0; !err && gpu < cluster_size(cluster); gpu++)
		err = cluster_await(cluster, gpu, "opened", TRAFFIC_TIMEOUT_MS, NULL);
	return err;
}

int traffic_close(struct cluster *cluster)
{
	int err = cluster_all(cluster, "close_tx", "closed", TRAFFIC_TIMEOUT_MS);

	return err ? err : cluster_all(cluster, "close_rx", "closed", TRAFFIC_TIMEOUT_MS);
}

static uint64_t traffic_counter(json_t *report, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(report, key));
}

int traffic_report(struct cluster *cluster, unsigned gpu, struct traffic_result *result,
		   uint64_t **times_ns, size_t *n_times)
{
	json_t *report, *times;
	int err = cluster_send(cluster, gpu, json_pack("{s:s}", "op", "report"));

	if (!err)
		err = cluster_await(cluster, gpu, "report", TRAFFIC_TIMEOUT_MS, &report);
	if (err)
		return err;
	result->posted += traffic_counter(report, "posted");
	result->messages += traffic_counter(report, "verified");
	result->bytes += traffic_counter(report, "verified_bytes");
	result->retransmitted += traffic_counter(report, "retransmitted");
	result->replayed += traffic_counter(report, "replayed");
	result->path_deaths += traffic_counter(report, "path_deaths");
	result->path_rebuilds += traffic_counter(report, "path_rebuilds");
	result->needless_moves += traffic_counter(report, "flow_needless_moves");
	if (times_ns) {
		times = json_object_get(report, "times_ns");
		*n_times = json_array_size(times);
		*times_ns = calloc(*n_times + 1, sizeof(**times_ns));
		for (size_t i = 0; *times_ns && i < *n_times; i++)
			(*times_ns)[i] = (uint64_t)json_integer_value(json_array_get(times, i));
		err = *times_ns ? 0 : -ENOMEM;
	}
	json_decref(report);
	return err;
}

int traffic_bins(struct cluster *cluster, unsigned gpu, uint64_t from_ns, double *bytes, size_t n)
{
	json_t *report, *value;
	size_t from = 0, got, i;
	int64_t first;
	int err;

	do { /* as many as fit an answer at a time */
		err = cluster_send(cluster, gpu,
				   json_pack("{s:s, s:I}", "op", "bins", "from", (json_int_t)from));
		if (!err)
			err = cluster_await(cluster, gpu, "bins", TRAFFIC_TIMEOUT_MS, &report);
		if (err)
			return err;
		first = json_integer_value(json_object_get(report, "from_ns")) - (int64_t)from_ns;
		first /= (int64_t)TRAFFIC_BIN_NS;
		got = json_array_size(json_object_get(report, "bytes"));
		json_array_foreach (json_object_get(report, "bytes"), i, value)
			if (first + (int64_t)i >= 0 && (size_t)(first + (int64_t)i) < n)
				bytes[first + (int64_t)i] += (double)json_integer_value(value);
		from += got;
		json_decref(report);
	} while (got);
	return 0;
}

double traffic_bins_bytes(const double *bytes, size_t n, uint64_t base_ns, uint64_t from_ns,
			  uint64_t to_ns)
{
	double sum = 0;

	for (size_t i = from_ns > base_ns ? (from_ns - base_ns) / TRAFFIC_BIN_NS : 0; i < n; i++) {
		uint64_t begin = base_ns + i * TRAFFIC_BIN_NS, end = begin + TRAFFIC_BIN_NS;
		uint64_t low = begin > from_ns ? begin : from_ns, high = end < to_ns ? end : to_ns;

		if (begin >= to_ns)
			break;
		if (high > low)
			sum += bytes[i] * (double)(high - low) / (double)TRAFFIC_BIN_NS;
	}
	return sum;
}

double traffic_progress(const uint64_t *times_ns, size_t n, uint64_t t_ns)
{
	size_t low = 0, high = n;

	while (low < high) { /* how many are at or before t */
		size_t middle = low + (high - low) / 2;

		if (times_ns[middle] <= t_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || low == n)
		return (double)low;
	return (double)low +
	       (double)(t_ns - times_ns[low - 1]) / (double)(times_ns[low] - times_ns[low - 1]);
}
