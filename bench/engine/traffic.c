/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/traffic.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <sys/random.h>

#define TRAFFIC_SLOWER 4 /* than at the links' rate: planes may be lost, and leaves shared */

int traffic_qps(const struct topo *topo, const struct traffic_options *options, unsigned *qps,
		unsigned *per_sub_port)
{
	unsigned ports = 0;

	for (unsigned plane = 0; plane < topo->n_planes; plane++)
		ports += topo->gpus[0].plane[plane].n_sub_ports;
	*qps = options->qps ? options->qps : ports;
	*per_sub_port = ports ? *qps / ports : 0;
	if ((*per_sub_port && *qps % ports == 0) ||
	    strategy_mode(options->strategy) == FARE_MODE_KERNEL)
		return 0;
	fprintf(stderr, "farebench: %u QPs do not spread over %u sub-ports: take a multiple\n",
		*qps, ports);
	return -EINVAL;
}

static json_t *traffic_moe(const struct moe *moe)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:f, s:f, s:I, s:b, s:I, s:I, s:I}",
			 "gpus", (json_int_t)moe->gpus, "tokens", (json_int_t)moe->tokens, "top_k",
			 (json_int_t)moe->top_k, "experts", (json_int_t)moe->experts, "hidden",
			 (json_int_t)moe->hidden, "element_bytes", (json_int_t)moe->element_bytes,
			 "routing", (int)moe->routing, "skew", moe->skew, "capacity", moe->capacity,
			 "pad_bytes", (json_int_t)moe->pad_bytes, "combine", moe->combine, "first",
			 (json_int_t)moe->first, "period", (json_int_t)moe->period, "seed",
			 (json_int_t)moe->seed);
}

static json_t *traffic_dcqcn(const struct qp_dcqcn *d)
{
	return d->is_on ? json_pack("{s:I, s:I, s:I, s:I}", "g_ppb", (json_int_t)d->g_ppb,
				    "timer_us", (json_int_t)d->timer_us, "counter_bytes",
				    (json_int_t)d->counter_bytes, "rai_kbps",
				    (json_int_t)d->rai_kbps)
			: json_null();
}

static json_t *traffic_load_json(const struct topo *topo, const struct traffic_load *load)
{
	const struct traffic_options *options = &load->options;
	bool kernel = strategy_mode(options->strategy) == FARE_MODE_KERNEL;
	unsigned qps, per_sub_port;
	json_t *json;

	if (traffic_qps(topo, options, &qps, &per_sub_port))
		return NULL;
	json = json_pack(
		"{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:b, s:s, s:f, s:I, s:I}", "name", load->name,
		"strategy", strategy_name(options->strategy), "qps", (json_int_t)(kernel ? qps : 0),
		"qps_per_sub_port", (json_int_t)(kernel ? 0 : per_sub_port), "flows",
		(json_int_t)options->flows, "chunk_bytes", (json_int_t)options->chunk_bytes,
		"window_bytes", (json_int_t)options->window_bytes, "random_ports",
		kernel || options->random_ports, "arrival", arrival_name(load->law), "mean_ns",
		load->mean_s * 1e9, "seed", (json_int_t)load->seed, "verify_every",
		(json_int_t)(load->verify_every ? load->verify_every : 1));
	if (!json)
		return NULL;
	json_object_set_new(json, "dcqcn", traffic_dcqcn(&options->dcqcn));
	json_object_set_new(json, "rounds", json_integer((json_int_t)load->rounds));
	json_object_set_new(json, "overlap", json_integer(load->overlap ? load->overlap : 1));
	json_object_set_new(json, "period_ns", json_integer((json_int_t)(load->period_s * 1e9)));
	json_object_set_new(json, "gap_ns", json_integer((json_int_t)(load->gap_s * 1e9)));
	json_object_set_new(json, "spread_ns", json_integer((json_int_t)(load->spread_s * 1e9)));
	json_object_set_new(json, "delay_ns", json_integer((json_int_t)(load->delay_s * 1e9)));
	json_object_set_new(json, "report", json_boolean(load->report));
	json_object_set_new(json, "read", json_boolean(load->read));
	json_object_set_new(json, "member", json_integer(load->member));
	if (load->moe)
		json_object_set_new(json, "moe", traffic_moe(load->moe));
	return json;
}

/* What both ends of a stream need; peer: the other's memory. */
static json_t *traffic_end(const struct traffic_stream *s, unsigned key, unsigned gpu,
			   const struct cluster_arena *peer, uint64_t peer_offset, uint64_t offset)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "key", (json_int_t)key, "load",
			 (json_int_t)s->load, "gpu", (json_int_t)gpu, "remote_addr",
			 (json_int_t)(peer->address + peer_offset), "rkey", (json_int_t)peer->rkey,
			 "offset", (json_int_t)offset, "slots", (json_int_t)s->slots, "slot_bytes",
			 (json_int_t)s->slot_bytes);
}

static json_t *traffic_tx(struct cluster *cluster, const struct topo *topo,
			  const struct traffic_stream *s, unsigned key)
{
	json_t *json = traffic_end(s, key, s->dst, cluster_arena(cluster, s->dst, false),
				   s->rx_offset, s->tx_offset);

	json_object_set_new(json, "address", json_string(topo_gpu_address(topo, s->dst)));
	if (s->strategy)
		json_object_set_new(json, "strategy", json_string(s->strategy));
	return json;
}

static json_t *traffic_rx(struct cluster *cluster, const struct traffic_stream *s, unsigned key)
{
	return traffic_end(s, key, s->src, cluster_arena(cluster, s->src, true), s->tx_offset,
			   s->rx_offset);
}

/* What one GPU has to know: the loads, and its own streams, both ways. */
static json_t *traffic_request(struct cluster *cluster, const struct topo *topo, unsigned gpu,
			       json_t *loads, const struct traffic_stream *streams, unsigned n)
{
	json_t *tx = json_array(), *rx = json_array();

	for (unsigned i = 0; i < n; i++) {
		if (streams[i].src == gpu)
			json_array_append_new(tx, traffic_tx(cluster, topo, &streams[i], i));
		if (streams[i].dst == gpu)
			json_array_append_new(rx, traffic_rx(cluster, &streams[i], i));
	}
	return json_pack("{s:s, s:O, s:o, s:o}", "op", "open", "loads", loads, "tx", tx, "rx", rx);
}

int traffic_open(struct cluster *cluster, const struct topo *topo, const struct traffic_load *loads,
		 unsigned n_loads, const struct traffic_stream *streams, unsigned n, bool bins)
{
	json_t *list = json_array();
	uint32_t nonce;
	int err = 0;

	if (getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce))
		err = -EIO;
	for (unsigned i = 0; !err && i < n_loads; i++) {
		json_t *load = traffic_load_json(topo, &loads[i]);

		err = load ? json_array_append_new(list, load) : -EINVAL;
	}
	for (unsigned gpu = 0; !err && gpu < cluster_size(cluster); gpu++) {
		json_t *request = traffic_request(cluster, topo, gpu, list, streams, n);

		if (request) {
			json_object_set_new(request, "nonce", json_integer((json_int_t)nonce));
			json_object_set_new(request, "bins", json_boolean(bins));
		}
		err = cluster_send(cluster, gpu, request);
	}
	json_decref(list);
	for (unsigned gpu = 0; !err && gpu < cluster_size(cluster); gpu++)
		err = cluster_await(cluster, gpu, "opened", TRAFFIC_TIMEOUT_MS, NULL);
	return err;
}

int traffic_start(struct cluster *cluster, uint64_t from_ns, uint64_t to_ns)
{
	return cluster_all(cluster,
			   json_pack("{s:s, s:I, s:I}", "op", "start", "from_ns",
				     (json_int_t)from_ns, "to_ns", (json_int_t)to_ns),
			   "started", TRAFFIC_TIMEOUT_MS);
}

int traffic_transfer(struct cluster *cluster, const struct traffic_stream *stream, unsigned index,
		     uint64_t id, uint64_t bytes)
{
	return cluster_send(cluster, stream->src,
			    json_pack("{s:s, s:I, s:I, s:I}", "op", "transfer", "stream",
				      (json_int_t)index, "id", (json_int_t)id, "bytes",
				      (json_int_t)bytes));
}

int traffic_join(struct cluster *cluster, unsigned load)
{
	return cluster_all(cluster, json_pack("{s:s, s:i}", "op", "join", "load", (int)load),
			   "joined", TRAFFIC_TIMEOUT_MS);
}

int traffic_leave(struct cluster *cluster, unsigned load)
{
	return cluster_all(cluster, json_pack("{s:s, s:i}", "op", "leave", "load", (int)load),
			   "left", TRAFFIC_TIMEOUT_MS);
}

/* Of the GPU whose links need the longest for its share of all bytes. */
static double traffic_drain_s(const struct topo *topo, const struct traffic_stream *streams,
			      unsigned n)
{
	double longest = 0;

	for (unsigned gpu = 0; gpu < topo->n_gpus; gpu++) {
		double line = 0, sent = 0, received = 0;

		for (unsigned plane = 0; plane < topo->n_planes; plane++)
			line += (double)topo_capacity_bps(topo, gpu, plane);
		for (unsigned i = 0; i < n; i++) {
			double bytes = (double)streams[i].slot_bytes * streams[i].slots;

			sent += streams[i].src == gpu ? bytes : 0;
			received += streams[i].dst == gpu ? bytes : 0;
		}
		if (line > 0)
			longest = fmax(longest, fmax(sent, received) * 8 / line);
	}
	return longest;
}

int traffic_patience_ms(const struct topo *topo, const struct traffic_stream *streams, unsigned n)
{
	double ms = TRAFFIC_TIMEOUT_MS + TRAFFIC_SLOWER * 1e3 * traffic_drain_s(topo, streams, n);

	return ms < INT_MAX ? (int)ms : INT_MAX;
}

int traffic_stop(struct cluster *cluster, int patience_ms)
{
	return cluster_all(cluster, json_pack("{s:s}", "op", "stop"), "done", patience_ms);
}

int traffic_close(struct cluster *cluster)
{
	int err = cluster_all(cluster, json_pack("{s:s}", "op", "close_tx"), "closed",
			      TRAFFIC_TIMEOUT_MS);

	return err ? err
		   : cluster_all(cluster, json_pack("{s:s}", "op", "close_rx"), "closed",
				 TRAFFIC_TIMEOUT_MS);
}

static uint64_t traffic_counter(json_t *report, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(report, key));
}

int traffic_report(struct cluster *cluster, unsigned gpu, struct traffic_result *result)
{
	json_t *report;
	int err = cluster_send(cluster, gpu, json_pack("{s:s}", "op", "report"));

	if (!err)
		err = cluster_await(cluster, gpu, "report", TRAFFIC_TIMEOUT_MS, &report);
	if (err)
		return err;
	result->posted += traffic_counter(report, "posted");
	result->messages += traffic_counter(report, "verified");
	result->bytes += traffic_counter(report, "verified_bytes");
	result->sent_bytes += traffic_counter(report, "sent_bytes");
	result->proof_sent += traffic_counter(report, "proof_sent");
	result->proof_seen += traffic_counter(report, "proof_seen");
	result->early += traffic_counter(report, "early");
	result->retransmitted += traffic_counter(report, "retransmitted");
	result->out_of_order += traffic_counter(report, "out_of_order");
	result->replayed += traffic_counter(report, "replayed");
	result->path_deaths += traffic_counter(report, "path_deaths");
	result->path_rebuilds += traffic_counter(report, "path_rebuilds");
	result->needless_moves += traffic_counter(report, "flow_needless_moves");
	result->regions += traffic_counter(report, "regions");
	result->region_bytes += traffic_counter(report, "region_bytes");
	json_decref(report);
	return 0;
}

int traffic_bins(struct cluster *cluster, unsigned gpu, int load, uint64_t from_ns, double *bytes,
		 size_t n)
{
	json_t *report, *value;
	size_t from = 0, got, i;
	int64_t first;
	int err;

	do { /* as many as fit an answer at a time */
		err = cluster_send(
			cluster, gpu,
			load < 0 ? json_pack("{s:s, s:I}", "op", "bins", "from", (json_int_t)from)
				 : json_pack("{s:s, s:I, s:i}", "op", "bins", "from",
					     (json_int_t)from, "load", load));
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
