/* SPDX-License-Identifier: BSD-2-Clause */
#include "shaped.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/cluster.h"
#include "lab.h"
#include "optimum.h"
#include "progress.h"
#include "result.h"
#include "stats.h"
#include "engine/kv.h"

#define MESSAGE_BYTES (1u << 20)
#define DEPTH	      8
#define MAX_N	      25
#define WAIT_S	      30

struct shaped_way {
	const char *name;
	enum strategy strategy;
	unsigned qps;	/* per sub-port of one end */
	unsigned flows; /* 0: libfare's default; 1: as many as the weight period */
	bool random_ports;
};

static const struct shaped_way ways[] = {
	{"spray", STRATEGY_FARE_SPRAY, 1, 0, false},
	{"spray-random-ports", STRATEGY_FARE_SPRAY, 1, 0, true},
	{"packet", STRATEGY_FARE_PACKET, 1, 0, false},
	{"flow-period", STRATEGY_FARE_FLOW, 1, 1, false},
	{"flow-period-random-ports", STRATEGY_FARE_FLOW, 1, 1, true},
	{"flow-many", STRATEGY_FARE_FLOW, 1, 0, false},
	{"kernel-wecmp", STRATEGY_WECMP_KERNEL, 1, 0, true},
	{"kernel-ecmp", STRATEGY_ECMP, 1, 0, true},
};

#define N_WAYS (sizeof(ways) / sizeof(ways[0]))

struct shaped {
	struct lab lab;
	struct topo *topo;
	struct cluster *cluster;
	struct kv_options kv;
	char fault[128];
	unsigned n, second; /* the second sender */
	double ratio[N_WAYS][MAX_N], gbps[N_WAYS][MAX_N];
};

/* Lab, daemons and libfare agree on how things are now. */
static int refresh(struct shaped *s)
{
	int err;

	topo_destroy(s->topo);
	s->topo = NULL;
	err = lab_status(&s->lab, WAIT_S, &s->topo);
	return err || !s->cluster ? err : cluster_await_paths(s->cluster, s->topo, WAIT_S * 1000);
}

static int fault(struct shaped *s, bool fail)
{
	int err = lab_do_words(&s->lab, fail ? "fail" : "heal", s->fault);

	return err ? err : refresh(s);
}

/*
 * Sub-ports that a pair can fill, and the flows that fill them evenly: one each, less common
 * factors.
 */
static unsigned weight_period(const struct shaped *s)
{
	unsigned sum = 0, common = 0;

	for (unsigned p = 0; p < s->topo->n_planes; p++) {
		unsigned live = (unsigned)__builtin_popcount(
				 topo_live_sub_ports(s->topo, s->kv.dst, p)),
			 a = live, b = common;

		while (b) {
			unsigned rest = a % b;

			a = b;
			b = rest;
		}
		sum += live;
		common = a;
	}
	return common ? sum / common : 1;
}

static int measure(struct shaped *s, unsigned way, unsigned rep)
{
	const struct shaped_way *w = &ways[way];
	struct traffic_result one;
	int err = 0;

	s->kv.traffic = (struct traffic_options){.strategy = w->strategy,
						 .random_ports = w->random_ports,
						 .flows = w->flows ? weight_period(s) : 0};
	if (strategy_mode(w->strategy) == FARE_MODE_KERNEL)
		err = lab_weights(&s->lab, s->topo, strategy_equal_weights(w->strategy));
	if (!err)
		err = kv_run(s->cluster, s->topo, &s->kv, &one);
	if (err)
		return err;
	s->ratio[way][rep] = one.goodput_bps / one.optimum_bps;
	s->gbps[way][rep] = one.goodput_bps / 1e9;
	return 0;
}

static int measure_all(struct shaped *s)
{
	struct progress progress;
	int err = 0;

	progress_init(&progress, s->n * (unsigned)N_WAYS);
	/* ways outermost: changing the kernel's weights takes longer than measuring */
	for (unsigned w = 0; !err && w < N_WAYS; w++)
		for (unsigned i = 0; !err && i < s->n; i++) {
			progress_step(&progress, "shaped: %s", ways[w].name);
			err = measure(s, w, i);
		}
	progress_fini(&progress);
	return err;
}

/*
 * Two senders, one receiver, all whole: what each of them got through. The receiver's ports are
 * what both want.
 */
static int share_once(struct shaped *s, enum strategy strategy, double *jfi, double *ratio)
{
	struct traffic_stream stream[2];
	struct traffic_result rx = {0}, tx;
	double posted[2];
	uint64_t *times = NULL, from, to;
	size_t n_times = 0;
	int err;

	for (unsigned i = 0; i < 2; i++)
		stream[i] =
			(struct traffic_stream){.src = i ? s->second : 0,
						.dst = s->kv.dst,
						.slots = DEPTH,
						.slot_bytes = MESSAGE_BYTES,
						.rx_offset = (uint64_t)i * DEPTH * MESSAGE_BYTES};
	s->kv.traffic = (struct traffic_options){.strategy = strategy};
	err = traffic_open(s->cluster, s->topo, &s->kv.traffic, stream, 2, NULL, 0);
	if (!err)
		err = cluster_all(s->cluster, "start", "started", TRAFFIC_TIMEOUT_MS);
	from = cluster_now_ns() + (uint64_t)(s->kv.warm_s * 1e9);
	to = from + (uint64_t)(s->kv.measure_s * 1e9);
	if (!err)
		err = cluster_sleep_until(s->cluster, to);
	if (!err)
		err = cluster_all(s->cluster, "stop", NULL, 0);
	for (unsigned gpu = 0; !err && gpu < cluster_size(s->cluster); gpu++)
		err = cluster_await(s->cluster, gpu, "done", TRAFFIC_TIMEOUT_MS, NULL);
	if (!err)
		err = traffic_report(s->cluster, s->kv.dst, &rx, &times, &n_times);
	for (unsigned i = 0; !err && i < 2; i++) {
		memset(&tx, 0, sizeof(tx));
		err = traffic_report(s->cluster, stream[i].src, &tx, NULL, NULL);
		posted[i] = (double)tx.posted;
	}
	if (!err)
		err = traffic_close(s->cluster);
	if (!err) {
		*jfi = stats_jfi(posted, 2);
		*ratio = (traffic_progress(times, n_times, to) -
			  traffic_progress(times, n_times, from)) *
			 MESSAGE_BYTES * 8 / s->kv.measure_s /
			 ((double)optimum_pair_bps(s->topo, 0, s->kv.dst) *
			  optimum_goodput_factor(s->topo));
	}
	free(times);
	return err;
}

static int share_all(struct shaped *s, json_t *out)
{
	static const enum strategy strategies[] = {STRATEGY_FARE_SPRAY, STRATEGY_FARE_FLOW};
	int err = 0;

	for (unsigned k = 0; !err && k < 2; k++) {
		double jfi[MAX_N], ratio[MAX_N];
		struct stats_summary j, r;

		for (unsigned i = 0; !err && i < s->n; i++)
			err = share_once(s, strategies[k], &jfi[i], &ratio[i]);
		if (err || stats_summarise(jfi, s->n, &j) || stats_summarise(ratio, s->n, &r))
			return err ? err : -EINVAL;
		json_array_append_new(
			out, json_pack("{s:s, s:i, s:i, s:f, s:f, s:f, s:f, s:f}", "method",
				       strategy_name(strategies[k]), "senders", 2, "n", (int)s->n,
				       "jfi_ratio", j.median, "jfi_ratio_min", j.min, "ratio",
				       r.median, "ratio_min", r.min, "ratio_max", r.max));
	}
	return err;
}

static json_t *results(const struct shaped *s)
{
	json_t *out = json_array();

	for (unsigned w = 0; w < N_WAYS; w++) {
		struct stats_summary ratio, gbps;

		if (stats_summarise(s->ratio[w], s->n, &ratio) ||
		    stats_summarise(s->gbps[w], s->n, &gbps))
			continue;
		json_array_append_new(
			out, json_pack("{s:s, s:s, s:i, s:b, s:i, s:f, s:f, s:f, s:f}", "method",
				       ways[w].name, "strategy", strategy_name(ways[w].strategy),
				       "flows", ways[w].flows ? (int)weight_period(s) : 0,
				       "random_ports", ways[w].random_ports, "n", (int)s->n,
				       "ratio", ratio.median, "ratio_min", ratio.min, "ratio_max",
				       ratio.max, "gbps", gbps.median));
	}
	return out;
}

static int prepare(struct shaped *s, const char *lab_name)
{
	char label[2 * TOPO_NAME_MAX];
	unsigned dst = 1;
	int err;

	lab_init(&s->lab, lab_name);
	err = refresh(s);
	if (err)
		return err;
	while (dst < s->topo->n_gpus && s->topo->gpus[dst].server == s->topo->gpus[0].server)
		dst++;
	if (dst == s->topo->n_gpus || s->topo->gpus[dst].plane[0].n_sub_ports < 2) {
		fprintf(stderr,
			"farebench transport: --shaped needs two servers and two sub-ports\n");
		return -EINVAL;
	}
	s->kv.dst = dst;
	for (s->second = dst; s->second < s->topo->n_gpus; s->second++)
		if (s->topo->gpus[s->second].server != s->topo->gpus[dst].server)
			break;
	topo_gpu_label(s->topo, dst, label, sizeof(label));
	snprintf(s->fault, sizeof(s->fault), "subport %.100s %u 1", label, s->topo->n_planes - 1);
	err = cluster_create(&s->cluster, s->topo, 2 * kv_arena_bytes(&s->kv)); /* of two senders */
	return err ? err : cluster_await_paths(s->cluster, s->topo, WAIT_S * 1000);
}

int shaped_run(const char *lab_name, unsigned n, double seconds, json_t *out)
{
	struct shaped s = {
		.n = n < MAX_N ? n : MAX_N,
		.kv = {.size_bytes = MESSAGE_BYTES,
		       .depth = DEPTH,
		       .warm_s = 0.3,
		       .measure_s = seconds},
	};
	json_t *sharing = json_array();
	int err = prepare(&s, lab_name), healed = 0;

	if (!err && s.second < s.topo->n_gpus)
		err = share_all(&s, sharing);
	json_object_set_new(out, "sharing", sharing);
	if (!err) {
		err = fault(&s, true);
		if (!err)
			err = measure_all(&s);
		if (!err)
			json_object_set_new(out, "shaped", results(&s));
		if (lab_weights(&s.lab, s.topo, false))
			healed = -EREMOTEIO;
		if (fault(&s, false))
			healed = -EREMOTEIO;
	}
	cluster_destroy(s.cluster);
	topo_destroy(s.topo);
	return err ? err : healed;
}
