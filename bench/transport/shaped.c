#include "shaped.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cluster.h"
#include "lab.h"
#include "progress.h"
#include "result.h"
#include "stats.h"
#include "tests/kv.h"

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
	unsigned n;
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

/* Sub-ports that a pair can fill, and the flows that fill them evenly: one each, less common factors. */
static unsigned weight_period(const struct shaped *s)
{
	unsigned sum = 0, common = 0;

	for (unsigned p = 0; p < s->topo->n_planes; p++) {
		unsigned live = (unsigned)__builtin_popcount(topo_live_sub_ports(s->topo, s->kv.dst, p)), a = live, b = common;

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

static json_t *results(const struct shaped *s)
{
	json_t *out = json_array();

	for (unsigned w = 0; w < N_WAYS; w++) {
		struct stats_summary ratio, gbps;

		if (stats_summarise(s->ratio[w], s->n, &ratio) || stats_summarise(s->gbps[w], s->n, &gbps))
			continue;
		json_array_append_new(out, json_pack("{s:s, s:s, s:i, s:b, s:i, s:f, s:f, s:f, s:f}", "method", ways[w].name,
						     "strategy", strategy_name(ways[w].strategy), "flows",
						     ways[w].flows ? (int)weight_period(s) : 0, "random_ports",
						     ways[w].random_ports, "n", (int)s->n, "ratio", ratio.median,
						     "ratio_min", ratio.min, "ratio_max", ratio.max, "gbps", gbps.median));
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
		fprintf(stderr, "farebench transport: --shaped needs two servers and two sub-ports\n");
		return -EINVAL;
	}
	s->kv.dst = dst;
	topo_gpu_label(s->topo, dst, label, sizeof(label));
	snprintf(s->fault, sizeof(s->fault), "subport %.100s %u 1", label, s->topo->n_planes - 1);
	err = cluster_create(&s->cluster, s->topo, kv_arena_bytes(&s->kv));
	return err ? err : cluster_await_paths(s->cluster, s->topo, WAIT_S * 1000);
}

int shaped_run(const char *lab_name, unsigned n, double seconds, json_t **out)
{
	struct shaped s = {
		.n = n < MAX_N ? n : MAX_N,
		.kv = {.size_bytes = MESSAGE_BYTES, .depth = DEPTH, .warm_s = 0.3, .measure_s = seconds},
	};
	int err = prepare(&s, lab_name), healed = 0;

	*out = NULL;
	if (!err) {
		err = fault(&s, true);
		if (!err)
			err = measure_all(&s);
		if (!err)
			*out = results(&s);
		if (lab_weights(&s.lab, s.topo, false))
			healed = -EREMOTEIO;
		if (fault(&s, false))
			healed = -EREMOTEIO;
	}
	cluster_destroy(s.cluster);
	topo_destroy(s.topo);
	return err ? err : healed;
}
