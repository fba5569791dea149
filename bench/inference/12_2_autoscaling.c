/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "procedure/ideal.h"
#include "procedure/load.h"
#include "procedure/recovery.h"
#include "suite/kpis.h"

#define BLOCK_BYTES (256u << 10)
#define WITHIN	    0.1
#define SMOOTH_MS   500 /* some dozens of blocks at the rates of labs */

/*
 * The later servers of a pool are not part of the fabric (all their links are down) before they
 * join it, or after they left it. Pairs of prefill and decode GPUs that stay transfer all the
 * time, those that change once their groups are open.
 */
struct scaling {
	struct trial *t;
	bool up, absent[TOPO_MAX_GPUS];
	unsigned first, end; /* the GPUs that change */
	struct plan plan;
	unsigned changing;	      /* the load */
	uint64_t to_ns;		      /* the window's end */
	uint64_t event_ns, linked_ns; /* the command to scale; the links' first command */
	uint64_t converged_ns;	      /* 0: not in the window */
	uint64_t left_ns;
	unsigned n_first, n_new;   /* new pairs: with a first transfer, in all */
	struct hist first_ns;	   /* since converged, of each new pair */
	struct lab_drops drops[4]; /* of a lab: at the window's begin, at the command, when who
				      leaves was drained, at the window's end */
};

/* False: the pool cannot change. */
static bool autoscaling_choose(struct scaling *s)
{
	const struct topo *topo = s->t->fabric->topo;
	bool decode = strcmp(trial_text(s->t, "pool"), "decode") == 0;
	unsigned begin = decode ? trial_prefill(s->t) : 0;

	s->end = decode ? topo->n_gpus : trial_prefill(s->t);
	s->first = begin + (s->end - begin + 1) / 2;
	while (s->first < s->end && s->first > begin &&
	       topo->gpus[s->first].server == topo->gpus[s->first - 1].server)
		s->first++;
	for (unsigned i = s->first; i < s->end; i++)
		s->absent[i] = true;
	return s->first < s->end;
}

static void make_plan(struct scaling *s)
{
	struct traffic_load stays = trial_load(s->t, "stays", 0),
			    changes = trial_load(s->t, "changes", 0);
	unsigned prefill = trial_prefill(s->t), kept = plan_load(&s->plan, &stays);

	changes.member = s->up ? TRAFFIC_JOINS : TRAFFIC_LEAVES;
	s->changing = plan_load(&s->plan, &changes);
	for (unsigned src = 0; src < prefill; src++)
		for (unsigned dst = prefill; dst < trial_gpus(s->t); dst++) {
			bool changes_too = s->absent[src] || s->absent[dst];

			s->n_new += changes_too;
			plan_stream(&s->plan, changes_too ? s->changing : kept, src, dst, 4,
				    BLOCK_BYTES);
		}
}

/* Every plane of every GPU that changes; why: NULL, or only whether that can be done at all. */
static int cut(struct scaling *s, const char **why)
{
	const struct topo *topo = s->t->fabric->topo;
	char gpu[2 * TOPO_NAME_MAX], spec[96];
	uint64_t at_ns;
	int err = 0;

	for (unsigned i = s->first; !err && i < s->end; i++)
		for (unsigned plane = 0; !err && plane < topo->n_planes; plane++) {
			topo_gpu_label(topo, i, gpu, sizeof(gpu));
			snprintf(spec, sizeof(spec), "plane %.60s %u", gpu, plane);
			if (why && !*why)
				*why = fabric_cannot_fail(s->t->fabric, spec);
			err = why ? 0 : fabric_fail(s->t->fabric, spec, &at_ns);
			if (!s->linked_ns && !why)
				s->linked_ns = at_ns;
		}
	return err;
}

static int await_members(struct scaling *s, const bool *absent)
{
	uint64_t now = clock_now_ns();
	int ms = now < s->to_ns ? (int)((s->to_ns - now) / 1000000u) : 0,
	    err = fabric_await_members(s->t->fabric, absent, ms);

	if (!err)
		s->converged_ns = clock_now_ns();
	return err == -ETIMEDOUT ? 0 : err;
}

/* Until each new pair had its first transfer, or the window ends. */
static int await_first(struct scaling *s)
{
	json_t *event;
	unsigned gpu;
	int err = 0;

	while (!err && s->n_first < s->n_new) {
		err = cluster_next(s->t->fabric->cluster, s->to_ns, &gpu, &event);
		if (err || !event)
			break;
		hist_add(&s->first_ns,
			 (uint64_t)json_integer_value(json_object_get(event, "t_ns")) -
				 s->converged_ns);
		s->n_first++;
		json_decref(event);
	}
	return err;
}

static int count_drops(struct scaling *s, unsigned at)
{
	return s->t->fabric->hosts ? 0 : lab_drops(&s->t->fabric->lab, &s->drops[at]);
}

static int scale_up(struct scaling *s)
{
	int err = fabric_heal(s->t->fabric, &s->event_ns);

	s->linked_ns = s->event_ns;
	if (!err)
		err = await_members(s, NULL);
	if (err || !s->converged_ns)
		return err;
	err = traffic_join(s->t->fabric->cluster, s->changing);
	return err ? err : await_first(s);
}

static int scale_down(struct scaling *s)
{
	int err;

	s->event_ns = clock_now_ns();
	err = traffic_leave(s->t->fabric->cluster, s->changing);
	s->left_ns = clock_now_ns();
	if (!err)
		err = count_drops(s, 2);
	if (!err)
		err = cut(s, NULL);
	return err ? err : await_members(s, s->absent);
}

static int scale(void *arg, uint64_t from_ns, uint64_t to_ns)
{
	struct scaling *s = arg;
	struct cluster *cluster = s->t->fabric->cluster;
	int err = count_drops(s, 0);

	s->to_ns = to_ns;
	if (!err)
		err = cluster_sleep_until(cluster, from_ns + (to_ns - from_ns) / 4);
	if (!err)
		err = count_drops(s, 1);
	s->drops[2] = s->drops[1];
	if (!err)
		err = s->up ? scale_up(s) : scale_down(s);
	if (!err)
		err = cluster_sleep_until(cluster, to_ns);
	return err ? err : count_drops(s, 3);
}

/* Every pair of those who are there then: as many lines as the smaller pool has. */
static void autoscaling_model(struct scaling *s)
{
	unsigned prefill = trial_prefill(s->t), all = trial_gpus(s->t), pool[2] = {0};

	for (unsigned i = 0; i < all; i++)
		pool[i >= prefill] += s->up || !s->absent[i];
	trial_model(s->t, "throughput_after",
		    ideal_pairs_bps(pool[0] * pool[1], pool[0], pool[1],
				    fabric_pair_bps(s->t->fabric, 0, prefill)) /
			    8e6,
		    "");
}

/* From the command until all of those who change have; NaN: not within the window. */
static double changed_ms(const struct scaling *s)
{
	if (!s->up)
		return (double)(s->left_ns - s->event_ns) / 1e6;
	if (!s->converged_ns || s->n_first < s->n_new)
		return NAN;
	return (double)(s->converged_ns - s->event_ns + s->first_ns.max) / 1e6;
}

static unsigned long long drops_sum(const struct lab_drops *d)
{
	return d->queue + d->device + d->route;
}

static void add_drops(struct scaling *s)
{
	const struct lab_drops *d = s->drops;
	char text[256], drained[64] = "";

	if (s->t->fabric->hosts) {
		trial_missing(s->t, "dropped", "where is counted in labs alone");
		return;
	}
	if (!s->up)
		snprintf(drained, sizeof(drained), "%llu while who leaves is drained, ",
			 drops_sum(&d[2]) - drops_sum(&d[1]));
	snprintf(text, sizeof(text),
		 "%llu before the command, %sthen %llu: by queues %llu, by devices %llu, without a "
		 "route at switches %llu",
		 drops_sum(&d[1]) - drops_sum(&d[0]), drained, drops_sum(&d[3]) - drops_sum(&d[2]),
		 (unsigned long long)(d[3].queue - d[2].queue),
		 (unsigned long long)(d[3].device - d[2].device),
		 (unsigned long long)(d[3].route - d[2].route));
	trial_set_text(s->t, "dropped", text);
}

static void add_throughput(struct scaling *s, const struct measured *m)
{
	size_t n = m->n_bins, at = (size_t)((s->event_ns - m->from_ns) / TRAFFIC_BIN_NS);
	double *bins = m->load[0].bin_bytes;
	struct recovery_step step;

	for (size_t i = 0; i < n; i++)
		bins[i] += m->load[s->changing].bin_bytes[i];
	step = recovery_step(bins, n, at, SMOOTH_MS, WITHIN);
	if (isnan(changed_ms(s)))
		trial_missing(s->t, "steady_state",
			      "%u of %u new pairs had a transfer before the window ended",
			      s->n_first, s->n_new);
	else
		load_add_settled(s->t, "steady_state",
				 recovery_steady_ms(step.settled_ms, changed_ms(s)), SMOOTH_MS,
				 WITHIN);
	trial_value(s->t, "throughput_before", step.before / 1e3, at);
	trial_value(s->t, "throughput_after", step.after / 1e3, n / 4);
	autoscaling_model(s);
}

static void autoscaling_add(struct scaling *s, const struct measured *m)
{
	if (s->converged_ns)
		trial_value(s->t, "fabric_convergence",
			    (double)(s->converged_ns - s->linked_ns) / 1e6, 1);
	else
		trial_missing(s->t, "fabric_convergence", "not before the window ended");
	if (s->up && s->n_first)
		trial_one_way(s->t, "first_transfer", &s->first_ns);
	else
		trial_missing(s->t, "first_transfer",
			      s->up ? "none before the window ended" : "nobody joins");
	if (s->up)
		trial_missing(s->t, "drain", "nobody leaves");
	else
		trial_value(s->t, "drain", (double)(s->left_ns - s->event_ns) / 1e6, 1);
	trial_one_way(s->t, "KV_xfer_latency", &m->load[0].delivered);
	trial_one_way_value(s->t, "worst_latency", (double)m->load[0].delivered.max / 1e6,
			    m->load[0].delivered.n, hist_quantile(&m->load[0].delivered, 0.5));
	trial_value(s->t, "Packet_drop_rate", load_links(s->t, m, NULL).drop_ppm, 1);
	add_drops(s);
	trial_value(s->t, "retransmissions", (double)m->books.retransmitted, m->books.messages);
	trial_set_text(s->t, "spread_by", strategy_name(s->t->strategy));
	add_throughput(s, m);
}

static int autoscaling_measure(struct scaling *s)
{
	struct fabric *fabric = s->t->fabric;
	struct measured m;
	int err = fabric_cluster(fabric, plan_arena_bytes(&s->plan));

	if (!err)
		err = fabric_prepare(fabric, s->t->strategy);
	if (!err && s->up) {
		err = cut(s, NULL);
		if (!err)
			err = fabric_await_members(fabric, s->absent, FABRIC_PATHS_MS);
	}
	if (!err)
		err = trial_measure(s->t, &s->plan, scale, s, &m);
	if (err)
		return err;
	autoscaling_add(s, &m);
	measured_fini(&m);
	return 0;
}

static int autoscaling_run(struct trial *t)
{
	struct scaling s = {.t = t, .up = strcmp(trial_text(t, "event"), "up") == 0};
	const char *why = NULL;
	int err, healed;

	hist_init(&s.first_ns);
	if (!autoscaling_choose(&s)) {
		trial_missing(t, NULL, "the %s pool has one server", trial_text(t, "pool"));
		return 0;
	}
	cut(&s, &why);
	if (why) {
		trial_missing(t, NULL, "all planes of a server: %s", why);
		return 0;
	}
	t->bins = true;
	make_plan(&s);
	err = s.plan.err ? s.plan.err : autoscaling_measure(&s);
	plan_fini(&s.plan);
	healed = fabric_restore(t->fabric);
	return err ? err : healed;
}

const struct test test_12_2 = {
	INFERENCE_CLAUSE("12.2"),
	.name = "Dynamic Autoscaling Response Time",
	.dut = "SUT-E",
	.summary = "Half of a pool's servers join or leave under closed-loop transfers of 256 KiB: "
		   "their links come up or go down, BGP follows. QPs to those who join are opened "
		   "anew; who leaves is drained first. By fare-spray alone. The autoscaler is "
		   "emulated: a command scales, and no server boots.",
	.needs = NEED_TWO_SERVERS | NEED_FAULTS,
	.no_strategies = true,
	.trials = {1, 10, 20},
	.seconds = {8, 15, 60},
	.params = PARAMS(PARAM("event", PARAM_NAME, "", "servers join or leave", "up,down"),
			 PARAM("pool", PARAM_NAME, "", "whose half changes", "decode,prefill")),
	.kpis = KPIS(
		{"fabric_convergence", "ms", "DUT-F",
		 "from the first link's command until libfare of all GPUs has all paths, or none "
		 "to who left",
		 BETTER_LOWER, 0},
		{"first_transfer", "ms", "DUT-PD",
		 "from then until the first block of a new pair arrived, QPs connected",
		 BETTER_LOWER, 1e-6},
		{"steady_state", "ms", "SUT-E",
		 "from the command to scale until throughput stays within 10% of what it becomes "
		 "(means of 500 ms), and not before each new pair had its first block, or who "
		 "leaves "
		 "was drained",
		 BETTER_LOWER, 0},
		{"drain", "ms", "SUT-E", "from the command to leave until all has arrived",
		 BETTER_LOWER, 0},
		{"throughput_before", "MB/s", "DUT-F", "payload of all pairs", BETTER_HIGHER, 0},
		{"throughput_after", "MB/s", "DUT-F", "the same, in the last quarter",
		 BETTER_HIGHER, 0},
		KPI_KV_LATENCY,
		{"worst_latency", "ms", "DUT-N", "of the blocks of pairs that stay", BETTER_LOWER,
		 0},
		KPI_DROPS,
		{"dropped", "packets", "DUT-F",
		 "within the time measured, by phase, and by what. Who has left is still probed "
		 "until all know: these packets have no route; blocks that were lost are in "
		 "retransmissions",
		 BETTER_NONE, 0},
		KPI_RETRANSMISSIONS,
		{"spread_by", "", "", "the strategy of all trials", BETTER_NONE, 0},
		KPI_MODEL("throughput_after", "MB/s")),
	.views = VIEWS(
		VIEW(VIEW_BARS, "Time to steady state", "event", "pool", NULL, "steady_state"),
		VIEW(VIEW_TABLE, "Scaling", "event", "pool", NULL, "fabric_convergence",
		     "first_transfer@p50", "steady_state", "drain", "throughput_before",
		     "throughput_after", "KV_xfer_latency@p50", "worst_latency", "model",
		     "model_ratio"),
		VIEW(VIEW_TABLE, "What was dropped", "event", "pool", NULL, "spread_by",
		     "Packet_drop_rate", "dropped", "retransmissions")),
	.run = autoscaling_run,
};
