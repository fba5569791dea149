/* SPDX-License-Identifier: BSD-2-Clause */
#include "demo.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "options.h"
#include "trial_order.h"

#define DEMO_CONVERGE_S 30
#define DEMO_PATHS_MS	30000
/*
 * How long a trial's repetition waits for idle cores: with six trials in a row that may fail, what
 * else runs on a machine now and then has a minute to end.
 */
#define DEMO_BUSY_NS	  UINT64_C(10000000000)
#define DEMO_BUSY_LOOK_NS UINT64_C(250000000)

struct demo_command {
	const char *lab_name, *json_path, *html_path, *only;
	bool quick;
	uint64_t n, n_shift, qps, seed, strategies[STRATEGY_COUNT];
	int n_strategies;
	bool has_seed, even_busy;
};

static const struct options_entry demo_table[] = {
	{"lab", 'l', "NAME", "the lab to run in ($FARELAB_NAME)"},
	{"json", 'j', "FILE", "write all results there ('-': standard output)"},
	{"html", 'P', "FILE", "write them there as a page with pictures"},
	{"quick", 'q', NULL, "fewer and shorter repetitions: to see it work, not for figures"},
	{"n", 'n', "N", "repetitions of each measurement (5; of killed daemons 3)"},
	{"trials", 't', "N", "trials of each shift (2)"},
	{"qps", 'Q', "N", "QPs per pair, all planes together (one per sub-port)"},
	{"seed", 'x', "N", "of the order of the measurements (by chance)"},
	{"even-busy", 'b', NULL,
	 "measure on a machine without idle time, too: to see it work, not for figures"},
	{"scenario", 's', "NAME",
	 "only this one: healthy, sub-port-lost, plane-lost, leaf-dead, chaos"},
	{"strategy", 'S', "NAMES",
	 "of ecmp-stripe,wecmp-stripe,fare-flow,fare-spray,fare-packet (all but the last)"},
	{NULL, 0, NULL, NULL},
};

static const char *const demo_names[DEMO_SCENARIOS + 1] = {"healthy", "sub-port-lost", "plane-lost",
							   "leaf-dead", "chaos"};

int demo_refresh(struct demo *demo)
{
	struct topo *topo;
	int err = lab_status(&demo->lab, DEMO_CONVERGE_S, &topo);

	if (err)
		return err;
	topo_destroy(demo->topo);
	demo->topo = topo;
	return demo->cluster ? cluster_await_paths(demo->cluster, topo, DEMO_PATHS_MS) : 0;
}

int demo_fault(struct demo *demo, const struct demo_scenario *scenario, bool fail)
{
	int err = scenario->fault[0]
			  ? lab_do_words(&demo->lab, fail ? "fail" : "heal", scenario->fault)
			  : 0;

	return err ? err : demo_refresh(demo);
}

bool demo_wanted(const struct demo *demo, const struct demo_scenario *scenario)
{
	return !demo->only || strcmp(demo->only, scenario->name) == 0;
}

int demo_idle_for(struct demo *demo, uint64_t ns, struct cpu_idle *idle)
{
	struct cpu_times before, after;
	int err = cpu_read(&before);

	if (!err)
		err = cluster_sleep_until(demo->cluster, cluster_now_ns() + ns);
	if (!err)
		err = cpu_read(&after);
	return err ? err : cpu_idle(&before, &after, idle);
}

/* Until every core has at least half of the idle time that it had without traffic. */
static int demo_await_idle(struct demo *demo)
{
	uint64_t end_ns = cluster_now_ns() + DEMO_BUSY_NS;
	struct cpu_idle idle;
	int err;

	do
		err = demo_idle_for(demo, DEMO_BUSY_LOOK_NS, &idle);
	while (!err && idle.busiest_core_percent < demo->unloaded_core_percent / 2 &&
	       cluster_now_ns() < end_ns);
	return err;
}

int demo_counts(struct demo *demo, const struct cpu_idle *idle, bool *counts)
{
	int err = demo->even_busy ? 0 : trial_guard_judge(&demo->guard, idle);

	*counts = !err;
	if (err == -EAGAIN)
		return demo_await_idle(demo);
	if (err == -EBUSY)
		fprintf(stderr,
			"\nfarebench demo: this machine is too busy: in %u trials in a row a core "
			"was idle for less than %.1f%%\n"
			"of the time, and figures would tell of the machine. Stop what else runs, "
			"and try again.\n",
			TRIAL_GUARD_IN_A_ROW + 1, TRIAL_GUARD_PERCENT);
	return err;
}

int demo_weights(struct demo *demo, enum strategy strategy)
{
	bool equal = strategy_equal_weights(strategy);
	int err;

	/* the fare strategies do not look at the kernel's weights: no need to change them */
	if (strategy_mode(strategy) != FARE_MODE_KERNEL || demo->weights == equal)
		return 0;
	err = lab_weights(&demo->lab, demo->topo, equal);
	if (!err)
		demo->weights = equal;
	return err;
}

/* The GPU that suffers is the receiver of kv: the first one of another server than GPU 0's. */
static int demo_scenarios(struct demo *demo)
{
	const struct topo *topo = demo->topo;
	unsigned dst = 1;
	char label[2 * TOPO_NAME_MAX];

	while (dst < topo->n_gpus && topo->gpus[dst].server == topo->gpus[0].server)
		dst++;
	if (dst == topo->n_gpus || topo->n_planes < 2) {
		fprintf(stderr, "farebench demo: two servers and two planes are the least\n");
		return -EINVAL;
	}
	demo->plane = 1;
	demo->kv.dst = demo->shift_kv.dst = dst;
	topo_gpu_label(topo, dst, label, sizeof(label));
	demo->scenario[0] = (struct demo_scenario){demo_names[0], "all planes whole", ""};
	demo->scenario[1] =
		(struct demo_scenario){demo_names[1], "one sub-port of one GPU down", ""};
	demo->scenario[2] =
		(struct demo_scenario){demo_names[2], "one plane lost toward one GPU", ""};
	demo->scenario[3] = (struct demo_scenario){demo_names[3], "one leaf switch dead", ""};
	snprintf(demo->scenario[1].fault, sizeof(demo->scenario[1].fault), "subport %.100s %u 0",
		 label, demo->plane);
	snprintf(demo->scenario[2].fault, sizeof(demo->scenario[2].fault), "plane %.100s %u", label,
		 demo->plane);
	snprintf(demo->scenario[3].fault, sizeof(demo->scenario[3].fault), "leaf %.100s",
		 topo->leaves[topo->gpus[0].plane[demo->plane].leaf].name);
	return 0;
}

/* How many there are to show the progress of. */
static unsigned demo_steps(const struct demo *demo, unsigned strategies)
{
	unsigned chaos =
		!demo->only || demo->only == demo_names[DEMO_SCENARIOS] ? demo->n_chaos : 0;
	unsigned steady = 0, shifts = 0;

	for (int i = 0; i < DEMO_SCENARIOS; i++) {
		bool wanted = !demo->only || demo->only == demo_names[i];

		steady += wanted;
		shifts += wanted && i > 0;
	}
	return steady * strategies * TRIAL_ORDER_TESTS * demo->n + shifts * strategies + chaos;
}

static void demo_configure(struct demo *demo, const struct demo_command *c)
{
	unsigned strategies = 0;

	for (int i = 0; i < c->n_strategies; i++)
		demo->wanted[c->strategies[i]] = true;
	for (int s = 0; s < STRATEGY_COUNT; s++)
		strategies += demo->wanted[s];
	demo->n = c->n ? (unsigned)c->n : c->quick ? 3 : 5;
	demo->n_chaos = c->n ? (unsigned)c->n : 3;
	demo->n_shift = c->n_shift ? (unsigned)c->n_shift : c->quick ? 1 : 2;
	demo->only = c->only;
	demo->even_busy = c->even_busy;
	demo->kv = (struct kv_options){.src = 0, .size_bytes = 1 << 20, .depth = 8, .warm_s = 0.2};
	demo->kv.measure_s = 0.4; /* trial_guard.h stands on it */
	demo->shift_kv = (struct kv_options){.src = 0, .size_bytes = 1 << 17, .depth = 32};
	demo->ep.moe = ep_default_moe();
	demo->ep.measure_s = c->quick ? 0.3 : 0.5;
	demo->kv.traffic.qps = demo->shift_kv.traffic.qps = demo->ep.traffic.qps = (unsigned)c->qps;
	while (demo->ep.moe.experts % demo->topo->n_gpus && demo->ep.moe.experts < MOE_MAX_EXPERTS)
		demo->ep.moe.experts++;
	progress_init(&demo->progress, demo_steps(demo, strategies));
}

static int demo_seed(struct demo *demo, const struct demo_command *c)
{
	uint32_t drawn = 0;

	if (!c->has_seed && getrandom(&drawn, sizeof(drawn), 0) != sizeof(drawn))
		return -EIO;
	demo->seed = demo->random = c->has_seed ? c->seed : drawn;
	return result_set(demo->result, "order_seed", json_integer((json_int_t)demo->seed));
}

static int demo_open(struct demo *demo, const struct demo_command *c)
{
	uint64_t arena, kv_arena, shift_arena;
	int err;

	lab_init(&demo->lab, c->lab_name);
	err = demo_refresh(demo);
	if (err)
		return err;
	demo_configure(demo, c);
	err = demo_scenarios(demo);
	if (!err)
		err = demo_seed(demo, c);
	arena = ep_arena_bytes(demo->topo, &demo->ep);
	kv_arena = kv_arena_bytes(&demo->kv);
	shift_arena = kv_arena_bytes(&demo->shift_kv);
	arena = arena > kv_arena ? arena : kv_arena;
	if (!err)
		err = cluster_create(&demo->cluster, demo->topo,
				     arena > shift_arena ? arena : shift_arena);
	if (!err)
		err = cluster_await_paths(demo->cluster, demo->topo, DEMO_PATHS_MS);
	if (!err)
		err = lab_weights(&demo->lab, demo->topo, false);
	if (!err)
		err = demo_rate(demo);
	return err ? err : result_describe(demo->result, demo->topo);
}

/* Was the machine itself the limit anywhere? Without runs there is nothing to tell. */
int demo_idle(struct result *result)
{
	json_t *run, *runs = json_object_get(result_root(result), "runs");
	double least = 100, core = 100;
	size_t i;

	if (json_array_size(runs) == 0)
		return 0;
	json_array_foreach (runs, i, run) {
		double idle = json_number_value(json_object_get(run, "idle_cpu_percent"));
		double own = json_number_value(json_object_get(run, "idle_busiest_core_percent"));

		least = idle < least ? idle : least;
		core = own < core ? own : core;
	}
	if (result_set(result, "idle_cpu_percent", json_real(least)))
		return -ENOMEM;
	return result_set(result, "idle_busiest_core_percent", json_real(core));
}

static int demo_choose(struct demo_command *c, const char *name)
{
	int index = options_name("scenario", name, demo_names, DEMO_SCENARIOS + 1);

	if (index >= 0)
		c->only = demo_names[index];
	return index < 0 ? index : 0;
}

static int demo_parse(struct demo_command *c, int argc, char **argv)
{
	struct option table[OPTIONS_MAX];
	int option, err = 0;

	options_getopt(demo_table, table);
	while (!err && (option = getopt_long(argc, argv, "h", table, NULL)) != -1) {
		switch (option) {
		case 'l':
			c->lab_name = optarg;
			break;
		case 'j':
			c->json_path = optarg;
			break;
		case 'P':
			c->html_path = optarg;
			break;
		case 'q':
			c->quick = true;
			break;
		case 's':
			err = demo_choose(c, optarg);
			break;
		case 'n':
			err = options_number("n", optarg, 1, RESULT_MAX_N, &c->n);
			break;
		case 't':
			err = options_number("trials", optarg, 1, RESULT_MAX_N, &c->n_shift);
			break;
		case 'b':
			c->even_busy = true;
			break;
		case 'x':
			err = options_number("seed", optarg, 0, UINT32_MAX, &c->seed);
			c->has_seed = true;
			break;
		case 'Q':
			err = options_number("qps", optarg, 1, 256, &c->qps);
			break;
		case 'S':
			err = c->n_strategies =
				options_strategies(optarg, c->strategies, STRATEGY_COUNT);
			err = err < 0 ? err : 0;
			break;
		case 'h':
			options_help("farebench demo", demo_table);
			return 1;
		default:
			return -EINVAL;
		}
	}
	return err ? err : options_lab("farebench demo", argc, c->lab_name);
}

int demo_main(int argc, char **argv)
{
	struct demo_command c = {
		.lab_name = getenv("FARELAB_NAME"),
		.strategies = {STRATEGY_ECMP, STRATEGY_WECMP_KERNEL, STRATEGY_FARE_FLOW,
			       STRATEGY_FARE_SPRAY},
		.n_strategies = STRATEGY_COMPARED,
	};
	struct demo demo = {0};
	struct report *report = NULL;
	int err = demo_parse(&c, argc, argv);

	if (err)
		return err > 0 ? 0 : 2;
	err = c.html_path
		      ? report_create(&report, "The demonstration: four scenarios, all strategies")
		      : 0;
	if (!err)
		err = result_create(&demo.result);
	if (!err)
		err = demo_open(&demo, &c);
	if (!err)
		err = demo_steady(&demo);
	if (!err)
		err = demo_shifts(&demo);
	if (!err && (!c.only || c.only == demo_names[DEMO_SCENARIOS]))
		err = demo_chaos(&demo);
	progress_fini(&demo.progress);
	if (!err)
		err = demo_idle(demo.result);
	if (!err)
		err = result_set(demo.result, "trials_repeated", json_integer(demo.guard.repeated));
	if (!err)
		err = result_set(demo.result, "duration_s",
				 json_real(progress_seconds(&demo.progress)));
	if (!err)
		err = demo_print(&demo);
	if (!err && c.json_path)
		err = result_write(demo.result, c.json_path);
	if (!err && report)
		err = demo_page(&demo, report);
	if (!err && report)
		err = report_write(report, c.html_path);
	/* a lab that goes on living gets its weights and its rate back, also after a failure */
	if (demo.weights == 1 && lab_weights(&demo.lab, demo.topo, false) && !err)
		err = -EREMOTEIO;
	if (demo_rate_restore(&demo) && !err)
		err = -EREMOTEIO;
	if (err && err != -EBUSY)
		fprintf(stderr, "farebench demo: failed: %s\n", strerror(-err));
	report_destroy(report);
	cluster_destroy(demo.cluster);
	topo_destroy(demo.topo);
	result_destroy(demo.result);
	return err == -EBUSY ? DEMO_EXIT_BUSY : err ? 1 : 0;
}
