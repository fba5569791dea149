/* SPDX-License-Identifier: BSD-2-Clause */
/* suite_command.c - `farebench run` and `farebench list`: options and what they start (suite.h) */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/interrupt.h"
#include "core/options.h"
#include "report/results_json.h"
#include "report/results_report.h"
#include "suite/suite.h"
#include "workload/custom.h"

#define COMMAND_MAX_TESTS 128
#define RUN_MAX_ARGS	  256

struct run_command {
	struct suite_options options;
	const struct test *test[COMMAND_MAX_TESTS];
	size_t n_tests;
	bool wanted[COMMAND_MAX_TESTS]; /* by their place among all */
	const char *json, *html;
	char dir[64];
	json_t *args;		   /* what is to be run, and how; not where */
	char *again[RUN_MAX_ARGS]; /* those of the run that goes on */
};

/* Sections of the draft by their subject. */
static const struct {
	const char *name;
	unsigned section;
} run_categories[] = {{"kv", 5},	  {"disaggregation", 6}, {"moe", 7},
		      {"congestion", 8},  {"routing", 9},	 {"latency", 10},
		      {"throughput", 11}, {"scale", 12},	 {"soak", 13}};

static unsigned run_section(const char *arg)
{
	for (unsigned i = 0; i < sizeof(run_categories) / sizeof(run_categories[0]); i++)
		if (strcmp(arg, run_categories[i].name) == 0)
			return run_categories[i].section;
	return strchr(arg, '.') ? 0 : (unsigned)strtoul(arg, NULL, 10);
}

/* "transport" names transport-latency, too. */
static bool run_is_group(const char *arg, const char *id)
{
	size_t length = strlen(arg);

	return strncmp(arg, id, length) == 0 && id[length] == '-';
}

/* Marks what the argument names. */
static int run_add(struct run_command *c, const char *arg)
{
	unsigned section = run_section(arg);
	bool all = strcmp(arg, "all") == 0, any = false, training = strcmp(arg, "training") == 0;
	size_t n;
	const struct test *const *tests = tests_all(&n);

	for (size_t i = 0; i < n && i < COMMAND_MAX_TESTS; i++) {
		bool named = (all && test_is_draft(tests[i])) || strcmp(tests[i]->id, arg) == 0 ||
			     run_is_group(arg, tests[i]->id) ||
			     (training && tests[i]->id[0] == 'T') ||
			     (section && strtoul(tests[i]->id, NULL, 10) == section);

		c->wanted[i] |= named;
		any |= named;
	}
	if (!any)
		fprintf(stderr,
			"farebench: no test or category is named %s: `farebench list` shows them\n",
			arg);
	return any ? 0 : -EINVAL;
}

static struct suite_options *run_options(void *into)
{
	struct run_command *c = into;

	return &c->options;
}

static int run_param(void *into, char *text)
{
	struct suite_options *o = run_options(into);
	char *equals = strchr(text, '=');
	struct cells_override *one = &o->override[o->n_overrides];

	if (!equals || equals == text || !equals[1] || o->n_overrides == SUITE_MAX_OVERRIDES ||
	    (size_t)(equals - text) >= sizeof(one->name)) {
		fprintf(stderr, "farebench: --param %s: NAME=LEVEL,LEVEL is expected\n", text);
		return -EINVAL;
	}
	memcpy(one->name, text, (size_t)(equals - text));
	one->levels = equals + 1;
	o->n_overrides++;
	return 0;
}

static bool run_is_own(const char *arg)
{
	size_t n;
	const struct test *const *tests = tests_all(&n);

	for (size_t i = 0; i < n; i++)
		if (test_own_strategy(tests[i], arg) >= 0)
			return true;
	return false;
}

static int run_strategy(struct suite_options *o, const char *arg, unsigned *n)
{
	uint64_t one;

	if (!run_is_own(arg)) {
		int err = options_strategies(arg, &one, 1);

		if (err > 0 && *n < STRATEGY_COUNT)
			o->strategy[(*n)++] = (int)one;
		return err > 0 ? 0 : err;
	}
	if (o->n_own == SUITE_MAX_OWN)
		return -E2BIG;
	o->own[o->n_own++] = arg;
	return 0;
}

/* text is kept, and cut into words. Without one that spreads traffic the defaults stay. */
static int run_strategies(void *into, char *text)
{
	struct suite_options *o = run_options(into);
	unsigned n = 0;
	char *save = NULL;
	int err = 0;

	o->n_own = 0;
	for (char *arg = strtok_r(text, ",", &save); !err && arg; arg = strtok_r(NULL, ",", &save))
		err = run_strategy(o, arg, &n);
	o->n_strategies = n ? n : o->n_strategies;
	return err;
}

static int run_profile(void *into, char *text)
{
	struct suite_options *o = run_options(into);
	int profile = profile_parse(text);

	if (profile < 0) {
		fprintf(stderr, "farebench: --profile %s: quick, lab or draft is expected\n", text);
		return -EINVAL;
	}
	o->profile = (enum profile)profile;
	return 0;
}

static int run_edition(void *into, char *text)
{
	int err = editions_parse(text, &run_options(into)->editions);

	if (err)
		fprintf(stderr, "farebench: --edition %s: 02, 05 or 04 is expected\n", text);
	return err;
}

static int run_scale(void *into, char *text)
{
	uint64_t number = 0;
	int err = options_number("scale", text, 1, 1000000000, &number);

	run_options(into)->scale = (double)number;
	return err;
}

static int run_seed(void *into, char *text)
{
	struct suite_options *o = run_options(into);

	o->has_seed = true;
	return options_number("seed", text, 0, UINT32_MAX, &o->seed);
}

static int run_resume(void *into, char *text)
{
	run_options(into)->resume = true;
	run_options(into)->dir = text;
	return 0;
}

static int run_workload(void *into, char *text)
{
	run_options(into)->workload = text;
	return custom_load(text);
}

static const struct options_entry run_table[] = {
	{"lab", "NAME", "the lab to run in ($FARELAB_NAME)",
	 OPTIONS_TEXT(struct run_command, options.lab)},
	{"hosts", "FILE", "run on the hosts of this inventory instead: see docs/cluster.md",
	 OPTIONS_TEXT(struct run_command, options.hosts.inventory)},
	{"listen", "HOST:PORT", "where their agents connect to",
	 OPTIONS_TEXT(struct run_command, options.hosts.listen)},
	{"key", "FILE", "the key that coordinator and agents share",
	 OPTIONS_TEXT(struct run_command, options.hosts.key)},
	{"launch", "HOW",
	 "start the agents: ssh, ssh:FILE (ssh_config), or a command with {agent} and\n"
	 "                          {host} in it (print what to start)",
	 OPTIONS_TEXT(struct run_command, options.hosts.how)},
	{"mpirun", "COMMAND",
	 "start MPI's ranks on the hosts by this command; their number, Open MPI's options for\n"
	 "                          the transport and the program are added (none)",
	 OPTIONS_TEXT(struct run_command, options.hosts.mpirun)},
	{"profile", "NAME", "quick, lab, or draft: the draft's own durations and trials (quick)",
	 OPTIONS_CALL(run_profile)},
	{"edition", "LIST",
	 "revisions of the drafts: 02, 05 (inference), 04 (training), with commas (02)",
	 OPTIONS_CALL(run_edition)},
	{"strategy", "NAMES",
	 "ways to spread traffic (ecmp-stripe,ecmp-flow,fare-spray): ecmp- and wecmp-\n"
	 "                          stripe, flow, pull; fare-flow, fare-spray, fare-packet.\n"
	 "                          Of tests by MPI: mpi-ofi-tcp, mpi-ucx-tcp, mpi-btl-tcp, "
	 "mpi-fare (all)",
	 OPTIONS_CALL(run_strategies)},
	{"param", "NAME=LEVELS", "other levels of a parameter, with commas; may be repeated",
	 OPTIONS_CALL(run_param)},
	{"workload", "FILE", "models, expert configurations and a trace of requests of one's own",
	 OPTIONS_CALL(run_workload)},
	{"store", "DIR",
	 "where workers of a lab have files, read and written with O_DIRECT: the tier nvme of 5.4",
	 OPTIONS_TEXT(struct run_command, options.store)},
	{"trials", "N", "trials of each combination (the profile's)",
	 OPTIONS_NUMBER(struct run_command, options.trials, 1, 10000)},
	{"scale", "N", "bytes of models are divided by N (a GPU's line stands for 400 Gb/s)",
	 OPTIONS_CALL(run_scale)},
	{"seed", "N", "of workloads and of the order of trials (by chance)",
	 OPTIONS_CALL(run_seed)},
	{"out", "DIR", "write rows and report there (farebench-DATE-TIME)",
	 OPTIONS_TEXT(struct run_command, options.dir)},
	{"resume", "DIR",
	 "go on with a run that was stopped; alone: as it began; with --trials alone: until\n"
	 "                          there are N of each",
	 OPTIONS_CALL(run_resume)},
	{"json", "FILE",
	 "write trials and medians there ('-': standard output); without --out and\n"
	 "                          --resume nothing else is kept",
	 OPTIONS_TEXT(struct run_command, json)},
	{"html", "FILE", "write the report there, as a page; as --json otherwise",
	 OPTIONS_TEXT(struct run_command, html)},
	{"even-busy", NULL, "keep trials during which a core had no idle time",
	 OPTIONS_FLAG(struct run_command, options.even_busy)},
	{.name = NULL},
};

/* Options that say where a run is made and what is written: they are not the run's own. */
static bool run_is_where(const char *option)
{
	static const char *const names[] = {"lab",    "hosts", "listen", "key",	 "launch",
					    "mpirun", "out",   "resume", "json", "html"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(option, names[i]) == 0)
			return true;
	return false;
}

/* Notes what the command line says, as it says it. entry NULL: no option. */
static int run_note(void *into, const struct options_entry *entry, const char *text)
{
	struct run_command *c = into;

	if (entry && run_is_where(entry->name))
		return 0;
	return json_array_append_new(c->args, !entry ? json_string(text)
					      : text ? json_sprintf("--%s=%s", entry->name, text)
						     : json_sprintf("--%s", entry->name))
		       ? -ENOMEM
		       : 0;
}

/* Each once, in the order of their clauses: later ones build on what earlier ones found. */
static void run_choose(struct run_command *c)
{
	size_t n;
	const struct test *const *tests = tests_all(&n);

	for (size_t i = 0; i < n && i < COMMAND_MAX_TESTS; i++)
		if (c->wanted[i])
			c->test[c->n_tests++] = tests[i];
}

static bool run_wants_lab(const struct run_command *c)
{
	for (size_t i = 0; i < c->n_tests; i++)
		if (!c->test[i]->no_fabric)
			return true;
	return false;
}

/* A lab, or all that hosts need. */
static int run_where(const struct run_command *c)
{
	const struct suite_options *o = &c->options;
	const struct launch_options *h = &o->hosts;

	if (!h->inventory && !h->listen && !h->key && !h->how && !h->mpirun)
		return o->lab || !run_wants_lab(c) ? 0 : options_which_lab("run");
	if (h->inventory && h->listen && h->key)
		return 0;
	fprintf(stderr, "farebench run: hosts need --hosts, --listen and --key\n");
	return -EINVAL;
}

/* 1: nothing is to be done. */
static int run_read(struct run_command *c, int argc, char **argv)
{
	int err = options_read("farebench run TEST...|CATEGORY...|all", run_table, argc, argv, c,
			       run_note);

	for (; !err && optind < argc; optind++) {
		err = run_note(c, NULL, argv[optind]);
		if (!err)
			err = run_add(c, argv[optind]);
	}
	return err;
}

/* Does the command line say nothing of its own, but perhaps how many trials? */
static bool run_has_trials_alone(const struct run_command *c)
{
	const json_t *arg;
	size_t i;

	json_array_foreach (c->args, i, arg)
		if (strncmp(json_string_value(arg), "--trials=", 9) != 0)
			return false;
	return true;
}

/* The options that the run began with; of --trials the last one counts. */
static int run_read_again(struct run_command *c)
{
	static char program[] = "run";
	struct resume before;
	json_t *args = NULL;
	const json_t *arg;
	size_t i;
	int err = resume_read(&before, &args, c->options.dir), n = 1;

	if (!err && !json_array_size(args)) {
		fprintf(stderr,
			"farebench run: %s does not say what was run: name its tests and options "
			"again\n",
			c->options.dir);
		err = -EINVAL;
	}
	c->again[0] = program;
	if (!err)
		err = json_array_extend(args, c->args) ? -ENOMEM : 0;
	json_array_foreach (args, i, arg)
		if (n < RUN_MAX_ARGS - 1)
			c->again[n++] = strdup(json_string_value(arg));
	json_decref(args);
	json_array_clear(c->args);
	return err ? err : run_read(c, n, c->again);
}

static void run_fini(struct run_command *c)
{
	for (unsigned i = 1; i < RUN_MAX_ARGS; i++)
		free(c->again[i]);
	json_decref(c->args);
}

static int run_parse(struct run_command *c, int argc, char **argv)
{
	int err;

	c->args = json_array();
	c->options.args = c->args;
	err = c->args ? run_read(c, argc, argv) : -ENOMEM;
	if (!err && c->options.resume && run_has_trials_alone(c))
		err = run_read_again(c);
	if (err)
		return err;
	run_choose(c);
	if (c->n_tests == 0) {
		fprintf(stderr, "farebench run: name tests (5.1), categories (kv) or all; with "
				"--resume alone a run goes on as it began\n");
		return -EINVAL;
	}
	err = suite_check(&c->options, c->test, c->n_tests);
	return err ? err : run_where(c);
}

/*
 * glibc reads its tunables only at start: starts this process anew with those that tests want,
 * once.
 * If that fails, tests run without them, and say so.
 */
static void run_again(const struct run_command *c, char **argv)
{
	const char *now = getenv("GLIBC_TUNABLES");
	static char program[] = "farebench";
	char *again[RUN_MAX_ARGS] = {program};
	unsigned n = 1;

	for (size_t i = 0; i < c->n_tests; i++) {
		const char *wanted = c->test[i]->tunables;

		if (!wanted || (now && strstr(now, wanted)))
			continue;
		for (; argv[n - 1] && n < RUN_MAX_ARGS - 1; n++)
			again[n] = argv[n - 1];
		if (argv[n - 1] || setenv("GLIBC_TUNABLES", wanted, 1))
			return;
		execv("/proc/self/exe", again);
		return;
	}
}

int suite_report(const struct results *results, const struct results_tests *tests, const char *dir,
		 const char *json, const char *html)
{
	bool text = !json || strcmp(json, "-") != 0;
	int err = results_report(results, tests, dir, text ? stdout : NULL);

	if (!err && json)
		err = results_json_dump(results_json(results, tests), json);
	if (!err && html)
		err = results_page(results, tests, html);
	return err;
}

/* Stopped, or by hosts that failed; and there is something to go on with. */
static bool run_is_resumable(const struct run_command *c, int err, const struct rows *rows)
{
	if (!err || !c->options.dir || (!rows && !c->options.resume))
		return false;
	return err == -EINTR || (c->options.hosts.inventory && err != -EINVAL);
}

/* A lab of the environment may end with what set it. */
static void run_print_resume(const struct suite_options *o)
{
	const char *lab = o->lab && o->lab != getenv("FARELAB_NAME") ? o->lab : NULL;

	fprintf(stderr, "farebench: stopped; go on with --resume %s%s%s\n", o->dir,
		lab ? " --lab " : "", lab ? lab : "");
}

int suite_main(int argc, char **argv)
{
	struct run_command c = {
		.options = {.lab = getenv("FARELAB_NAME"),
			    .strategy = {STRATEGY_ECMP, STRATEGY_ECMP_FLOW, STRATEGY_FARE_SPRAY},
			    .n_strategies = 3}};
	struct results results = {0};
	time_t now = time(NULL);
	int err = run_parse(&c, argc, argv);

	if (err) {
		run_fini(&c);
		return err > 0 ? 0 : 2;
	}
	run_again(&c, argv);
	strftime(c.dir, sizeof(c.dir), "farebench-%Y%m%d-%H%M%S", gmtime(&now));
	if (!c.options.dir && !c.json && !c.html)
		c.options.dir = c.dir;
	interrupt_hold();
	err = suite_run(&c.options, c.test, c.n_tests, &results.rows, &results.run);
	if (run_is_resumable(&c, err, results.rows))
		run_print_resume(&c.options);
	else if (err == -EINTR)
		fprintf(stderr, "farebench: stopped; nothing was kept\n");
	else if (!err)
		err = suite_report(&results, &(struct results_tests){c.test, c.n_tests},
				   c.options.dir, c.json, c.html);
	results_close(&results);
	custom_fini();
	run_fini(&c);
	return err == -EINTR ? 128 + interrupt_pending() : err == -EINVAL ? 2 : err ? 1 : 0;
}

/* The category of a test: "kv" of 5.1, "transport" of transport-latency. */
static void list_category(const struct test *test, char *out, size_t size)
{
	unsigned section = test_is_draft(test) ? (unsigned)strtoul(test->id, NULL, 10) : 0;

	snprintf(out, size, "%.*s", (int)strcspn(test->id, "-"), test->id);
	for (unsigned i = 0; i < sizeof(run_categories) / sizeof(run_categories[0]); i++)
		if (run_categories[i].section == section)
			snprintf(out, size, "%s", run_categories[i].name);
}

static void list_one(const struct test *test, bool verbose)
{
	printf("  %-18s %s\n", test->id, test->name);
	if (!verbose)
		return;
	printf("      %s; %s\n      %s\n", test->clause, test->dut, test->summary);
	for (const struct param *p = test->params; p && p->name; p++)
		printf("      %-12s %s: %s (quick), %s (lab), %s (draft)\n", p->name, p->what,
		       param_levels(p, PROFILE_QUICK), param_levels(p, PROFILE_LAB),
		       param_levels(p, PROFILE_DRAFT));
	for (const struct kpi *k = test->kpis; k->name; k++)
		printf("      > %s%s%s%s, at %s: %s\n", k->name, k->unit[0] ? " (" : "", k->unit,
		       k->unit[0] ? ")" : "", k->point, k->what);
}

int suite_list_main(int argc, char **argv)
{
	bool verbose =
		argc > 1 && (strcmp(argv[1], "-v") == 0 || strcmp(argv[1], "--verbose") == 0);
	size_t n;
	const struct test *const *tests = tests_all(&n);
	char before[ROW_NAME_MAX] = "";

	if (argc > 2 || (argc == 2 && !verbose)) {
		fputs("usage: farebench list [-v]\n\nThe tests that `farebench run` knows, by "
		      "category; -v: with their parameters and KPIs.\n",
		      argc == 2 && strcmp(argv[1], "--help") == 0 ? stdout : stderr);
		return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : 2;
	}
	for (size_t i = 0; i < n; i++) {
		char category[ROW_NAME_MAX];

		list_category(tests[i], category, sizeof(category));
		if (strcmp(category, before) != 0)
			printf("%s%s\n", i ? "\n" : "", category);
		strcpy(before, category);
		list_one(tests[i], verbose);
	}
	return 0;
}
