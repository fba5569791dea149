/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * drill.c - traffic through a schedule of faults, also random ones: what each of them cost.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/stats.h"
#include "engine/audit.h"
#include "procedure/recovery.h"
#include "procedure/soak.h"
#include "resilience/drill_faults.h"
#include "procedure/growth.h"

#define MS	   UINT64_C(1000000)
#define CONVERGE_S 60
#define HEALTHY_NS (4000 * MS)
#define STEP_NS	   (50 * MS)
#define BACK_NS	   (60000 * MS)
/* goodput once all weights are back; its last four seconds are compared */
#define AFTER_NS (6000 * MS)
/* after healing, BGP and its timers may still lower the healed part */
#define SETTLE_NS  (5000 * MS)
#define MAX_EVENTS 4000000u
#define LINE	   512
#define SLOTS	   4
#define SLOT_BYTES (64u << 10)
#define MAX_KINDS  16

struct drill {
	struct lab lab;
	const struct topo *topo;
	struct cluster *cluster;
	struct observe *observe;
	const char *plan;
	uint64_t seed, faults; /* faults 0: as many as the plan says */
	pid_t pid;	       /* farelab drill */
	int fd;
	char line[LINE];
	size_t used;
	struct drill_faults record;
	struct growth *growth;
	uint64_t begin_ns, healthy_from_ns, healthy_to_ns, end_ns;
	double weights_back_s; /* after farelab was done; negative: not */
	struct traffic_result sums;
};

/* ---- traffic --------------------------------------------------------------------------------- */

/* Every ordered pair of GPUs of different servers, flow and spray in turn. */
static int begin_traffic(struct drill *d)
{
	struct traffic_load load = {.name = "all", .options = {.strategy = STRATEGY_FARE_SPRAY}};
	struct plan plan = {0};

	plan_all_to_all(&plan, d->topo, plan_load(&plan, &load), 0, d->topo->n_gpus, SLOTS,
			SLOT_BYTES);
	for (unsigned i = 0; i < plan.n_streams; i++)
		if ((plan.stream[i].src + plan.stream[i].dst) % 2)
			plan.stream[i].strategy = strategy_name(STRATEGY_FARE_FLOW);
	return plan_begin(&plan, d->cluster, d->topo);
}

/* Lets everything arrive, counts, and takes the recordings. bins: one array of n for each GPU. */
static int end_traffic(struct drill *d, double **bins, size_t n)
{
	int err = traffic_stop(d->cluster, TRAFFIC_TIMEOUT_MS);

	for (unsigned gpu = 0; !err && gpu < d->topo->n_gpus; gpu++)
		err = traffic_report(d->cluster, gpu, &d->sums);
	for (unsigned gpu = 0; !err && gpu < d->topo->n_gpus; gpu++)
		err = traffic_bins(d->cluster, gpu, -1, d->begin_ns, bins[gpu], n);
	if (!err && d->sums.posted == d->sums.messages)
		err = audit_books(&d->sums);
	return err ? err : traffic_close(d->cluster);
}

/* ---- farelab drill --------------------------------------------------------------------------- */

static int start_farelab(struct drill *d)
{
	char seed[24], faults[24];
	const char *argv[] = {d->lab.farelab, "drill",	d->lab.name, d->plan,
			      "--json",	      "--seed", seed,	     d->faults ? "--faults" : NULL,
			      faults,	      NULL};
	sigset_t none;
	int ends[2];

	sigemptyset(&none);
	snprintf(seed, sizeof(seed), "%" PRIu64, d->seed);
	snprintf(faults, sizeof(faults), "%" PRIu64, d->faults);
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	fflush(NULL);
	d->pid = fork();
	if (d->pid == 0) {
		sigprocmask(SIG_SETMASK, &none, NULL);
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		dup2(ends[1], STDOUT_FILENO);
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	close(ends[1]);
	d->fd = ends[0];
	if (d->pid < 0)
		return -EAGAIN;
	return fcntl(d->fd, F_SETFL, O_NONBLOCK) ? -errno : 0;
}

static int take_line(struct drill *d)
{
	unsigned steps = d->record.steps;
	int err = drill_faults_line(&d->record, d->topo, d->line);

	if (err)
		fprintf(stderr, "farebench: drill: farelab said: %s\n", d->line);
	if (!err && d->record.steps != steps && d->record.steps % 100 == 0)
		fprintf(stderr, "farebench: drill: step %u, %u faults so far\n", d->record.steps,
			d->record.n);
	return err;
}

/* Takes what farelab has printed. 1: it may print more; 0: it has ended; -errno. */
static int read_farelab(struct drill *d)
{
	for (;;) {
		ssize_t n = read(d->fd, d->line + d->used, 1);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 1 : -errno;
		if (n == 0)
			return 0;
		if (d->line[d->used] != '\n' && ++d->used < sizeof(d->line) - 1)
			continue;
		d->line[d->used] = '\0';
		d->used = 0;
		if (take_line(d))
			return -EREMOTEIO;
	}
}

static int follow_farelab(struct drill *d)
{
	int err = start_farelab(d), more = 1, status;

	while (!err && more > 0) {
		err = cluster_sleep_until(d->cluster, clock_now_ns() + STEP_NS);
		growth_sample(d->growth, clock_now_ns());
		more = err ? err : read_farelab(d);
	}
	if (!err && more < 0)
		err = more;
	if (!err && waitpid(d->pid, &status, 0) == d->pid) {
		d->pid = 0;
		err = WIFEXITED(status) && !WEXITSTATUS(status) && d->record.converged ? 0
										       : -EREMOTEIO;
	}
	return err;
}

/* ---- the drill ------------------------------------------------------------------------------- */

/* Paths in flap back-off return by themselves; and goodput has to be seen after that. */
static int await_back(struct drill *d)
{
	uint64_t from = clock_now_ns();
	int err = 0;

	while (!err && !observe_weights_are_first(d->observe, d->topo) &&
	       clock_now_ns() < from + BACK_NS)
		err = cluster_sleep_until(d->cluster, clock_now_ns() + STEP_NS);
	d->weights_back_s = observe_weights_are_first(d->observe, d->topo)
				    ? (double)(clock_now_ns() - from) / 1e9
				    : -1;
	if (!err)
		err = cluster_sleep_until(d->cluster, clock_now_ns() + AFTER_NS);
	d->end_ns = clock_now_ns();
	return err;
}

/* ---- what it cost ---- */

/* The holes and dips of one kind of fault. */
static int add_kind(struct trial *t, const struct drill_faults *f, const char *kind)
{
	double *holes = calloc(f->n, sizeof(*holes)), *dips = calloc(f->n, sizeof(*dips));
	unsigned n = 0;

	for (unsigned i = 0; holes && dips && i < f->n; i++) {
		if (strcmp(f->fault[i].kind, kind) != 0)
			continue;
		holes[n] = f->fault[i].hole_ms;
		dips[n++] = f->fault[i].dip_ratio;
	}
	if (n) {
		qsort(holes, n, sizeof(*holes), stats_ascending);
		qsort(dips, n, sizeof(*dips), stats_ascending);
		trial_with(t, "fault", kind);
		trial_value(t, "count", n, n);
		trial_value(t, "hole_median", holes[(n - 1) / 2], n);
		trial_value(t, "hole_max", holes[n - 1], n);
		trial_value(t, "dip_median", dips[n - 1 - (n - 1) / 2], n);
		trial_value(t, "dip_worst", dips[0], n);
		trial_with(t, NULL, NULL);
	}
	free(holes);
	free(dips);
	return n ? 0 : -ENOMEM;
}

static int add_kinds(struct trial *t, const struct drill_faults *f)
{
	const char *seen[MAX_KINDS];
	unsigned n = 0;
	int err = 0;

	for (unsigned i = 0; !err && i < f->n; i++) {
		bool known = n == MAX_KINDS;

		for (unsigned k = 0; k < n; k++)
			known = known || !strcmp(seen[k], f->fault[i].kind);
		if (known)
			continue;
		seen[n++] = f->fault[i].kind;
		err = add_kind(t, f, f->fault[i].kind);
	}
	return err;
}

static unsigned not_healed(const struct drill_faults *f)
{
	unsigned n = 0;

	for (unsigned i = 0; i < f->n; i++)
		n += f->fault[i].healed_ns == 0;
	return n;
}

/* Which weights no fault explains: what to look for in the daemons' logs. */
static int add_needless(struct trial *t, const struct drill *d)
{
	json_t *needless = json_array();
	uint32_t events;
	int err = observe_n(d->observe, &events);
	unsigned n = err ? 0
			 : drill_faults_needless(&d->record, d->topo, d->observe, events, SETTLE_NS,
						 d->begin_ns, needless);
	char *text = n ? json_dumps(needless, JSON_COMPACT) : NULL;

	if (text)
		fprintf(stderr, "farebench: drill: lowered needlessly: %s\n", text);
	free(text);
	json_decref(needless);
	if (!err)
		trial_value(t, "needless_weights", n, events);
	return err;
}

static int drill_report(struct trial *t, struct drill *d, double **bins, struct recovery *gpus,
			size_t n)
{
	double healthy = 0, after = 0;
	int err = end_traffic(d, bins, n);

	if (err)
		return err;
	for (unsigned gpu = 0; gpu < d->topo->n_gpus; gpu++) {
		gpus[gpu] = (struct recovery){.from_ns = d->begin_ns, .n = n, .bytes = bins[gpu]};
		healthy += recovery_mean(&gpus[gpu], d->healthy_from_ns, d->healthy_to_ns);
		after += recovery_mean(&gpus[gpu], d->end_ns - HEALTHY_NS, d->end_ns);
	}
	drill_faults_cost(&d->record, gpus, d->topo->n_gpus, healthy);
	trial_value(t, "seed", (double)d->seed, 1);
	trial_value(t, "faults", d->record.n, d->record.steps);
	trial_value(t, "not_healed", not_healed(&d->record), d->record.n);
	trial_value(t, "messages", (double)d->sums.messages, d->sums.messages);
	trial_value(t, "lost", (double)(d->sums.posted - d->sums.messages), d->sums.posted);
	trial_value(t, "replayed", (double)d->sums.replayed, 1);
	trial_value(t, "needless_flows", (double)d->sums.needless_moves, 1);
	trial_value(t, "goodput", healthy * 8 / 1e6, 1);
	trial_value(t, "goodput_after", after / healthy, 1);
	trial_value(t, "converged", d->record.converged_after_s, 1);
	trial_value(t, "duration", (double)(d->end_ns - d->begin_ns) / 1e9, 1);
	if (d->weights_back_s >= 0)
		trial_value(t, "weights_back", d->weights_back_s, 1);
	trial_value(t, "all_back", d->weights_back_s >= 0, 1);
	growth_add(d->growth, t);
	err = add_needless(t, d);
	return err ? err : add_kinds(t, &d->record);
}

static int evaluate(struct trial *t, struct drill *d)
{
	size_t n = (size_t)((d->end_ns - d->begin_ns) / MS);
	double **bins = calloc(d->topo->n_gpus, sizeof(*bins));
	struct recovery *gpus = calloc(d->topo->n_gpus, sizeof(*gpus));
	int err = bins && gpus ? 0 : -ENOMEM;

	for (unsigned gpu = 0; !err && gpu < d->topo->n_gpus; gpu++) {
		bins[gpu] = calloc(n + 1, sizeof(**bins));
		err = bins[gpu] ? 0 : -ENOMEM;
	}
	if (!err)
		err = drill_report(t, d, bins, gpus, n);
	for (unsigned gpu = 0; bins && gpu < d->topo->n_gpus; gpu++)
		free(bins[gpu]);
	free(bins);
	free(gpus);
	return err;
}

/* ---- the test ---- */

static int drill(struct trial *t, struct drill *d)
{
	int err = fabric_cluster(t->fabric, (uint64_t)d->topo->n_gpus * SLOTS * SLOT_BYTES);

	d->cluster = t->fabric->cluster;
	if (!err)
		err = cluster_await_paths(d->cluster, d->topo, NULL, CONVERGE_S * 1000);
	if (!err)
		err = observe_start(&d->observe, d->topo, MAX_EVENTS);
	if (!err)
		err = begin_traffic(d);
	d->begin_ns = clock_now_ns();
	d->healthy_from_ns = d->begin_ns + HEALTHY_NS / 4; /* windows have opened */
	d->healthy_to_ns = d->healthy_from_ns + HEALTHY_NS;
	if (!err)
		err = cluster_sleep_until(d->cluster, d->healthy_to_ns);
	if (!err)
		err = follow_farelab(d);
	if (!err)
		err = await_back(d);
	return err ? err : evaluate(t, d);
}

static int drill_run(struct trial *t)
{
	struct drill d = {.lab = t->fabric->lab,
			  .topo = t->fabric->topo,
			  .plan = trial_text(t, "plan"),
			  .seed = t->seed & UINT32_MAX,
			  .faults = trial_count(t, "faults"),
			  .fd = -1};
	int err;

	fprintf(stderr, "farebench: drill: seed %" PRIu64 "\n", d.seed);
	d.growth = growth_create(d.topo);
	err = d.growth ? drill(t, &d) : -ENOMEM;
	if (err)
		fprintf(stderr, "farebench: drill: failed after %u steps, seed %" PRIu64 ": %s\n",
			d.record.steps, d.seed, strerror(-err));
	if (d.pid > 0) { /* it heals before it ends */
		kill(d.pid, SIGTERM);
		waitpid(d.pid, NULL, 0);
	}
	if (d.fd >= 0)
		close(d.fd);
	observe_stop(d.observe);
	growth_destroy(d.growth);
	drill_faults_fini(&d.record);
	return err ? err : fabric_settle(t->fabric);
}

#define COUNTED(name, what)                                                                        \
	{                                                                                          \
		name, "", "DUT-F", what, BETTER_LOWER, 0                                           \
	}

const struct test test_drill = {
	.id = "drill",
	.name = "Traffic through a schedule of faults",
	.clause = "draft-calabria-bmwg-ai-fabric-training-bench, 12",
	.dut = "DUT-F",
	.summary = "All-to-all traffic by fare-flow and fare-spray in turn, every message checked, "
		   "while farelab breaks and heals the fabric.",
	.needs = NEED_TWO_SERVERS | NEED_FAULTS,
	.no_strategies = true,
	.trials = {1, 1, 1},
	.seconds = {60, 400, 1500},
	.params = PARAMS(
		PARAM("plan", PARAM_TEXT, "", "of farelab(8), installed or a file", "random.yaml"),
		PARAM("faults", PARAM_COUNT, "",
		      "random ones, instead of the plan's number (0: the plan's)", "25", "200",
		      "1000")),
	.kpis = KPIS(
		{"seed", "", "", "of what the plan leaves to chance", BETTER_NONE, 0},
		{"faults", "", "DUT-F", "injected", BETTER_NONE, 0},
		COUNTED("not_healed", "faults that were not"),
		{"messages", "", "DUT-N", "each checked byte by byte", BETTER_NONE, 0},
		COUNTED("lost", "messages"),
		{"replayed", "", "DUT-N", "chunks sent again", BETTER_NONE, 0},
		COUNTED("needless_flows", "flows moved needlessly"),
		COUNTED("needless_weights", "weights lowered that no fault explains"),
		{"goodput", "Gb/s", "DUT-F", "of all GPUs before the first fault", BETTER_HIGHER,
		 0},
		{"goodput_after", "", "DUT-F",
		 "of four seconds once all weights are back, over that before the first fault",
		 BETTER_HIGHER, 0},
		{"converged", "s", "DUT-F", "until the lab had, after the last was healed",
		 BETTER_LOWER, 0},
		{"weights_back", "s", "DUT-F", "until all weights were back, after that",
		 BETTER_LOWER, 0},
		{"all_back", "", "DUT-F", "they were", BETTER_HIGHER, 0},
		{"duration", "s", "", "of the whole drill", BETTER_NONE, 0},
		{"fared_memory", "KiB", "DUT-F", "resident at the end, of a daemon", BETTER_LOWER,
		 0},
		{"slope_fared", "KiB/h", "DUT-F",
		 "growth of a daemon by least squares, without the first quarter", BETTER_LOWER, 0},
		{"slope_descriptors", "1/h", "DUT-F", "the same of its descriptors", BETTER_LOWER,
		 0},
		{"count", "", "DUT-F", "faults of a kind", BETTER_NONE, 0},
		{"hole_median", "ms", "DUT-F",
		 "longest time that any GPU had nothing acknowledged, from a fault until a second "
		 "after it was healed; faults overlap, and one may be charged with another's cost",
		 BETTER_LOWER, 0},
		{"hole_max", "ms", "DUT-F", "the same, of the worst fault", BETTER_LOWER, 0},
		{"dip_median", "", "DUT-F",
		 "goodput of all GPUs in the worst tenth of a second of that time, of the healthy "
		 "one",
		 BETTER_HIGHER, 0},
		{"dip_worst", "", "DUT-F", "the same, of the worst fault", BETTER_HIGHER, 0}),
	.views = VIEWS(VIEW(VIEW_TABLE, "The drill", "faults", NULL, NULL, "messages", "lost",
			    "replayed", "needless_flows", "needless_weights", "goodput_after",
			    "converged", "weights_back", "duration"),
		       VIEW(VIEW_TABLE, "The daemons", "faults", NULL, NULL, "fared_memory",
			    "slope_fared", "slope_descriptors"),
		       VIEW(VIEW_TABLE, "What faults cost", "fault", NULL, NULL, "count",
			    "hole_median", "hole_max", "dip_median", "dip_worst")),
	.run = drill_run,
};
