/* SPDX-License-Identifier: BSD-2-Clause */
/* failover.c - see failover.h */
#include "failover.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failover_report.h"
#include "interrupt.h"
#include "options.h"
#include "progress.h"

#define CONVERGE_S 60
#define MAX_EVENTS 400000u
#define MAX_CASES  (FAILOVER_SCENARIOS * STRATEGY_COUNT * 2)
#define MAX_RUNS   4 /* of a trial on the average, where a hypervisor disturbs it */

struct failover {
	struct failover_bench bench;
	struct result *result;
	struct progress progress;
	const char *lab_name, *json_path, *html_path;
	uint64_t n, strategies[STRATEGY_COUNT], max_stolen_percent, max_stall_ms;
	int n_strategies;
	bool scenario[FAILOVER_SCENARIOS], kv, ep;
	struct failover_picture fault, heal; /* of the case, with the trial that runs */
	struct failover_case *cases[MAX_CASES];
	unsigned n_cases, n_trials;
};

static const struct options_entry failover_table[] = {
	{"lab", 'l', "NAME", "the lab to run in ($FARELAB_NAME)"},
	{"trials", 'n', "N", "of each scenario, traffic and strategy (20)"},
	{"scenario", 's', "NAMES",
	 "only these: local-sub-port, remote-sub-port, remote-plane, leaf-killed, leaf-gray, "
	 "leaf-gray-one-way, "
	 "leaf-loss-5, flap-1hz, flap-20hz, bgpd-killed, fared-killed, two-faults"},
	{"traffic", 't', "NAMES", "kv,ep (both)"},
	{"strategy", 'S', "NAMES",
	 "of ecmp-stripe,wecmp-stripe,fare-flow,fare-spray,fare-packet (all but the last)"},
	{"max-stolen", 'm', "PERCENT",
	 "repeat, and count, trials in which a hypervisor took more of the machine (100), but none "
	 "that went wrong"},
	{"max-stall", 'M', "MS",
	 "repeat, and count, trials in which a core stood still for longer shortly before the "
	 "decision (any), by a process "
	 "of real-time priority that watches each core; none that went wrong"},
	{"json", 'j', "FILE", "write all results there ('-': standard output)"},
	{"html", 'H', "FILE", "write a page with goodput over time there"},
	{NULL, 0, NULL, NULL},
};

/* ---- trials ---------------------------------------------------------------------------------- */

/* What runs may have changed since: pids. */
static int refresh(struct failover *f)
{
	struct topo *topo;
	int err = lab_status(&f->bench.lab, CONVERGE_S, &topo);

	if (err)
		return err;
	for (unsigned i = 0; i < topo->n_servers; i++) {
		f->bench.topo->servers[i].bgpd_pid = topo->servers[i].bgpd_pid;
		f->bench.topo->servers[i].fared_pid = topo->servers[i].fared_pid;
	}
	topo_destroy(topo);
	return 0;
}

/*
 * Was the machine not ours meanwhile, or not the same? What it took in time then tells of the
 * hypervisor. What was lost, moved needlessly or never decided stands however that was, and so does
 * what did not come back while traffic begun anew is faster.
 */
static bool disturbed(const struct failover *f, const struct failover_case *c,
		      const struct failover_trial *t)
{
	bool stolen =
		t->back_at_all && (t->stolen_percent > (double)f->max_stolen_percent ||
				   (f->bench.stalls && t->stalled_ms > (double)f->max_stall_ms));

	return (stolen || failover_trial_slowed(t)) && !t->lost && !t->needless && !t->undecided &&
	       c->n + c->repeated + 1 < MAX_RUNS * f->n;
}

/*
 * Runs it, and keeps it unless it was disturbed: then only the document has it, beside the others.
 */
static int run_trial(struct failover *f, struct failover_case *c)
{
	struct failover_trial *trial = &c->trial[c->n];
	unsigned plane = f->n_trials++ % f->bench.topo->n_planes;
	struct failover_scenario scenario;
	int err = interrupt_pending() ? -EINTR : refresh(f);

	if (err)
		return err;
	failover_scenario_make(&scenario, c->id, f->bench.topo, f->bench.kv.src, f->bench.kv.dst,
			       plane);
	progress_step(&f->progress, "%s: %s by %s, trial %u of %u", scenario.title,
		      c->is_kv ? "kv" : "ep", strategy_name(c->strategy), c->n + 1, (unsigned)f->n);
	f->fault = c->fault;
	f->heal = c->heal;
	err = failover_trial_run(&f->bench, &scenario, c->strategy, c->is_kv, trial, &f->fault,
				 &f->heal);
	if (err)
		return err;
	if (disturbed(f, c, trial)) {
		c->repeated++;
		f->progress.total++;
		return failover_report_trial(f->result, c, c->n, plane, f->bench.lowered, true);
	}
	c->fault = f->fault;
	c->heal = f->heal;
	return failover_report_trial(f->result, c, c->n++, plane, f->bench.lowered, false);
}

static int run_case(struct failover *f, enum failover_scenario_id id, enum strategy strategy,
		    bool is_kv)
{
	struct failover_case *c = calloc(1, sizeof(*c));
	int err = 0, told;

	if (!c)
		return -ENOMEM;
	f->cases[f->n_cases++] = c;
	c->id = id;
	c->strategy = strategy;
	c->is_kv = is_kv;
	while (!err && c->n < f->n)
		err = run_trial(f, c);
	if (!c->n) { /* none came to its end */
		free(c);
		f->n_cases--;
		return err;
	}
	told = failover_report_case(f->result, c);
	return err ? err : told;
}

static int run_strategy(struct failover *f, enum strategy strategy)
{
	struct failover_bench *b = &f->bench;
	int err = lab_weights(&b->lab, b->topo, strategy_equal_weights(strategy));

	if (!err)
		err = refresh(f);
	if (!err)
		err = cluster_await_paths(b->cluster, b->topo, CONVERGE_S * 1000);
	if (!err)
		err = observe_start(&b->observe, b->topo, MAX_EVENTS);
	for (enum failover_scenario_id id = 0; !err && id < FAILOVER_SCENARIOS; id++) {
		if (f->scenario[id] && f->kv)
			err = run_case(f, id, strategy, true);
		if (!err && f->scenario[id] && f->ep)
			err = run_case(f, id, strategy, false);
	}
	observe_stop(b->observe);
	b->observe = NULL;
	return err;
}

static int open_all(struct failover *f)
{
	struct failover_bench *b = &f->bench;
	unsigned n_scenarios = 0;
	uint64_t arena;
	int err;

	lab_init(&b->lab, f->lab_name);
	err = lab_status(&b->lab, CONVERGE_S, &b->topo);
	if (err)
		return err;
	while (b->kv.dst < b->topo->n_gpus &&
	       b->topo->gpus[b->kv.dst].server == b->topo->gpus[0].server)
		b->kv.dst++;
	if (b->kv.dst >= b->topo->n_gpus || b->topo->n_planes < 2) {
		fprintf(stderr, "farebench failover: two servers and two planes are the least\n");
		return -EINVAL;
	}
	for (int i = 0; i < FAILOVER_SCENARIOS; i++)
		n_scenarios += f->scenario[i];
	progress_init(&f->progress, (unsigned)f->n * n_scenarios * (unsigned)f->n_strategies *
					    (unsigned)(f->kv + f->ep));
	err = result_describe(f->result, b->topo);
	if (!err)
		err = failover_guard_create(&b->guard, &b->lab);
	arena = ep_arena_bytes(b->topo, &b->ep);
	if (arena < kv_arena_bytes(&b->kv))
		arena = kv_arena_bytes(&b->kv);
	return err ? err : cluster_create(&b->cluster, b->topo, arena);
}

static int run_all(struct failover *f)
{
	int err = open_all(f);

	for (int k = 0; !err && k < f->n_strategies; k++)
		err = run_strategy(f, (enum strategy)f->strategies[k]);
	return err ? err
		   : result_set(f->result, "duration_s", json_real(progress_seconds(&f->progress)));
}

/* ---- command --------------------------------------------------------------------------------- */

static int parse_scenarios(struct failover *f, const char *text)
{
	const char *names[FAILOVER_SCENARIOS];

	for (int id = 0; id < FAILOVER_SCENARIOS; id++)
		names[id] = failover_scenario_name((enum failover_scenario_id)id);
	return options_names("scenario", text, names, FAILOVER_SCENARIOS, f->scenario);
}

static int parse_traffic(struct failover *f, const char *text)
{
	static const char *const names[] = {"kv", "ep"};
	bool chosen[2];
	int err = options_names("traffic", text, names, 2, chosen);

	f->kv = chosen[0];
	f->ep = chosen[1];
	return err;
}

static int parse_option(struct failover *f, int option)
{
	switch (option) {
	case 'l':
		f->lab_name = optarg;
		return 0;
	case 'j':
		f->json_path = optarg;
		return 0;
	case 'H':
		f->html_path = optarg;
		return 0;
	case 's':
		return parse_scenarios(f, optarg);
	case 't':
		return parse_traffic(f, optarg);
	case 'n':
		return options_number("trials", optarg, 1, FAILOVER_MAX_TRIALS, &f->n);
	case 'm':
		return options_number("max-stolen", optarg, 0, 100, &f->max_stolen_percent);
	case 'M':
		return options_number("max-stall", optarg, 1, 1000, &f->max_stall_ms);
	case 'S':
		f->n_strategies = options_strategies(optarg, f->strategies, STRATEGY_COUNT);
		return f->n_strategies < 0 ? f->n_strategies : 0;
	default:
		return -EINVAL;
	}
}

static int parse(struct failover *f, int argc, char **argv)
{
	struct option table[OPTIONS_MAX];
	int option, err = 0;

	options_getopt(failover_table, table);
	while (!err && (option = getopt_long(argc, argv, "h", table, NULL)) != -1) {
		if (option == 'h') {
			options_help("farebench failover", failover_table);
			return 1;
		}
		err = parse_option(f, option);
	}
	return err ? err : options_lab("farebench failover", argc, f->lab_name);
}

static int tell(struct failover *f)
{
	int err = 0;

	if (!f->n_cases)
		return 0;
	failover_report_print(f->result, stdout);
	if (f->json_path)
		err = result_write(f->result, f->json_path);
	if (!err && f->html_path)
		err = failover_report_page(f->result, (const struct failover_case *const *)f->cases,
					   f->n_cases, f->html_path);
	return err;
}

/*
 * Undoes what is still broken, says how it went, and tells what there is to tell. The exit status.
 */
static int finish(struct failover *f, int err)
{
	int stopped = interrupt_pending(), left = failover_guard_destroy(f->bench.guard), told;
	const char *some = f->n_cases ? "; told is what was measured until then" : "";

	if (err && stopped)
		fprintf(stderr, "farebench failover: stopped by SIG%s%s\n", sigabbrev_np(stopped),
			some);
	else if (err)
		fprintf(stderr, "farebench failover: failed: %s%s\n", strerror(-err), some);
	told = f->result ? tell(f) : 0;
	if (told)
		fprintf(stderr, "farebench failover: cannot tell all: %s\n", strerror(-told));
	return err && stopped ? 128 + stopped : err || left || told ? 1 : 0;
}

int failover_main(int argc, char **argv)
{
	struct failover f = {.lab_name = getenv("FARELAB_NAME"),
			     .n = 20,
			     .n_strategies = STRATEGY_COMPARED,
			     .max_stolen_percent = 100};
	int err, status;

	f.kv = f.ep = true;
	memset(f.scenario, true, sizeof(f.scenario));
	for (unsigned i = 0; i < STRATEGY_COUNT; i++)
		f.strategies[i] = i;
	f.bench.kv = (struct kv_options){.src = 0, .dst = 1, .size_bytes = 1 << 17, .depth = 32};
	f.bench.ep.moe = (struct moe){.tokens = 32,
				      .top_k = 8,
				      .experts = 64,
				      .hidden = 7168,
				      .element_bytes = 1,
				      .seed = 1};
	err = parse(&f, argc, argv);
	if (err)
		return err > 0 ? 0 : 2;
	interrupt_hold();
	if (f.max_stall_ms)
		err = stalls_create(&f.bench.stalls);
	if (err == -EPERM)
		fprintf(stderr, "farebench failover: --max-stall needs real-time priority: run it "
				"as root\n");
	if (!err)
		err = result_create(&f.result);
	if (!err)
		err = run_all(&f);
	progress_fini(&f.progress);
	status = finish(&f, err);
	observe_stop(f.bench.observe);
	json_decref(f.bench.lowered);
	cluster_destroy(f.bench.cluster);
	stalls_destroy(f.bench.stalls);
	topo_destroy(f.bench.topo);
	result_destroy(f.result);
	for (unsigned i = 0; i < f.n_cases; i++)
		free(f.cases[i]);
	return status;
}
