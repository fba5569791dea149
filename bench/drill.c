/* SPDX-License-Identifier: BSD-2-Clause */
/* drill.c - see drill.h */
#include "drill.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drill_faults.h"
#include "drill_report.h"
#include "interrupt.h"
#include "lab.h"
#include "options.h"
#include "progress.h"

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

struct drill {
	struct lab lab;
	struct topo *topo;
	struct cluster *cluster;
	struct observe *observe;
	struct result *result;
	struct progress progress;
	const char *plan, *lab_name, *json_path, *html_path;
	uint64_t seed, faults;
	bool seeded;
	pid_t pid; /* farelab drill */
	int fd;
	char line[LINE];
	size_t used;
	struct drill_faults record;
	uint64_t begin_ns, healthy_from_ns, healthy_to_ns, end_ns;
	double weights_back_s; /* after farelab was done; negative: not */
	struct traffic_result sums;
};

static const struct options_entry drill_table[] = {
	{"lab", 'l', "NAME", "the lab to run in ($FARELAB_NAME)"},
	{"seed", 'x', "N", "of what a plan leaves to chance (random; it is printed)"},
	{"faults", 'f', "N", "random faults, instead of the plan's number"},
	{"json", 'j', "FILE", "write all results there ('-': standard output)"},
	{"html", 'H', "FILE", "write a page there"},
	{NULL, 0, NULL, NULL},
};

/* ---- traffic --------------------------------------------------------------------------------- */

/* Every ordered pair of GPUs of different servers, flow and spray in turn. */
static int begin_traffic(struct drill *d)
{
	const struct traffic_options options = {
		.strategy = STRATEGY_FARE_SPRAY, .bins = true, .no_times = true};
	unsigned n = d->topo->n_gpus, n_streams = 0;
	struct traffic_stream *streams = calloc((size_t)n * n, sizeof(*streams));
	int err = streams ? 0 : -ENOMEM;

	for (unsigned i = 0; !err && i < n * n; i++) {
		unsigned src = i / n, dst = i % n;

		if (d->topo->gpus[src].server == d->topo->gpus[dst].server)
			continue;
		streams[n_streams++] = (struct traffic_stream){
			.src = src,
			.dst = dst,
			.slots = SLOTS,
			.slot_bytes = SLOT_BYTES,
			.tx_offset = (uint64_t)dst * SLOTS * SLOT_BYTES,
			.rx_offset = (uint64_t)src * SLOTS * SLOT_BYTES,
			.strategy = strategy_name((src + dst) % 2 ? STRATEGY_FARE_FLOW
								  : STRATEGY_FARE_SPRAY),
		};
	}
	if (!err)
		err = traffic_open(d->cluster, d->topo, &options, streams, n_streams, NULL, 0);
	free(streams);
	return err ? err : cluster_all(d->cluster, "start", "started", TRAFFIC_TIMEOUT_MS);
}

/* Lets everything arrive, counts, and takes the recordings. bins: one array of n for each GPU. */
static int end_traffic(struct drill *d, double **bins, size_t n)
{
	int err = cluster_all(d->cluster, "stop", NULL, 0);

	for (unsigned gpu = 0; !err && gpu < d->topo->n_gpus; gpu++)
		err = cluster_await(d->cluster, gpu, "done", TRAFFIC_TIMEOUT_MS, NULL);
	for (unsigned gpu = 0; !err && gpu < d->topo->n_gpus; gpu++)
		err = traffic_report(d->cluster, gpu, &d->sums, NULL, NULL);
	for (unsigned gpu = 0; !err && gpu < d->topo->n_gpus; gpu++)
		err = traffic_bins(d->cluster, gpu, d->begin_ns, bins[gpu], n);
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
		fprintf(stderr, "farebench drill: farelab said: %s\n", d->line);
	if (!err && d->record.steps != steps)
		progress_step(&d->progress, "step %u, %u faults so far", d->record.steps,
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
		err = cluster_sleep_until(d->cluster, cluster_now_ns() + STEP_NS);
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

static bool all_back(const struct drill *d)
{
	for (unsigned pair = 0; pair < d->topo->n_gpus * d->topo->n_gpus; pair++) {
		const struct observe_event *first = observe_first(d->observe, pair);

		if (first &&
		    !observe_same_weights(observe_latest(d->observe, pair)->bps, first->bps))
			return false;
	}
	return true;
}

/* Paths in flap back-off return by themselves; and goodput has to be seen after that. */
static int await_back(struct drill *d)
{
	uint64_t from = cluster_now_ns();
	int err = 0;

	while (!err && !all_back(d) && cluster_now_ns() < from + BACK_NS)
		err = cluster_sleep_until(d->cluster, cluster_now_ns() + STEP_NS);
	d->weights_back_s = all_back(d) ? (double)(cluster_now_ns() - from) / 1e9 : -1;
	if (!err)
		err = cluster_sleep_until(d->cluster, cluster_now_ns() + AFTER_NS);
	d->end_ns = cluster_now_ns();
	return err;
}

static int tell(struct drill *d, double **bins, struct recovery *gpus, size_t n)
{
	struct drill_report report = {.plan = d->plan,
				      .seed = d->seed,
				      .faults = &d->record,
				      .topo = d->topo,
				      .duration_s = (double)(d->end_ns - d->begin_ns) / 1e9,
				      .weights_back_s = d->weights_back_s};
	json_t *needless = json_array();
	double after = 0;
	uint32_t events;
	int err = end_traffic(d, bins, n);

	if (!err)
		err = observe_n(d->observe, &events);
	if (err) {
		json_decref(needless);
		return err;
	}
	for (unsigned gpu = 0; gpu < d->topo->n_gpus; gpu++) {
		gpus[gpu] = (struct recovery){.from_ns = d->begin_ns, .n = n, .bytes = bins[gpu]};
		report.healthy_bytes +=
			recovery_mean(&gpus[gpu], d->healthy_from_ns, d->healthy_to_ns);
		after += recovery_mean(&gpus[gpu], d->end_ns - HEALTHY_NS, d->end_ns);
	}
	report.after_ratio = after / report.healthy_bytes;
	report.messages = d->sums.messages;
	report.lost = d->sums.posted - d->sums.messages;
	report.replayed = d->sums.replayed;
	report.needless_flows = d->sums.needless_moves;
	report.needless_weights = drill_faults_needless(&d->record, d->topo, d->observe, events,
							SETTLE_NS, d->begin_ns, needless);
	report.gpus = gpus;
	err = result_set(d->result, "drill_needless", needless);
	drill_faults_cost(&d->record, gpus, d->topo->n_gpus, report.healthy_bytes);
	if (!err)
		err = drill_report_result(d->result, &report);
	if (!err)
		drill_report_print(d->result, stdout);
	if (!err && d->json_path)
		err = result_write(d->result, d->json_path);
	if (!err && d->html_path)
		err = drill_report_page(d->result, &report, d->html_path);
	return err;
}

static int evaluate(struct drill *d)
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
		err = tell(d, bins, gpus, n);
	for (unsigned gpu = 0; bins && gpu < d->topo->n_gpus; gpu++)
		free(bins[gpu]);
	free(bins);
	free(gpus);
	return err;
}

static int run(struct drill *d)
{
	int err;

	lab_init(&d->lab, d->lab_name);
	err = lab_status(&d->lab, CONVERGE_S, &d->topo);
	if (!err)
		err = result_describe(d->result, d->topo);
	if (!err)
		err = cluster_create(&d->cluster, d->topo,
				     (uint64_t)d->topo->n_gpus * SLOTS * SLOT_BYTES);
	if (!err)
		err = cluster_await_paths(d->cluster, d->topo, CONVERGE_S * 1000);
	if (!err)
		err = observe_start(&d->observe, d->topo, MAX_EVENTS);
	if (!err)
		err = begin_traffic(d);
	d->begin_ns = cluster_now_ns();
	d->healthy_from_ns = d->begin_ns + HEALTHY_NS / 4; /* windows have opened */
	d->healthy_to_ns = d->healthy_from_ns + HEALTHY_NS;
	if (!err)
		err = cluster_sleep_until(d->cluster, d->healthy_to_ns);
	progress_init(&d->progress, (unsigned)d->faults * 2);
	if (!err)
		err = follow_farelab(d);
	if (!err)
		err = await_back(d);
	progress_fini(&d->progress);
	return err ? err : evaluate(d);
}

/* ---- command --------------------------------------------------------------------------------- */

static int parse(struct drill *d, int argc, char **argv)
{
	struct option table[OPTIONS_MAX];
	int option, err = 0;

	options_getopt(drill_table, table);
	while (!err && (option = getopt_long(argc, argv, "h", table, NULL)) != -1) {
		switch (option) {
		case 'l':
			d->lab_name = optarg;
			break;
		case 'j':
			d->json_path = optarg;
			break;
		case 'H':
			d->html_path = optarg;
			break;
		case 'x':
			err = options_number("seed", optarg, 0, UINT32_MAX, &d->seed);
			d->seeded = true;
			break;
		case 'f':
			err = options_number("faults", optarg, 1, 5000, &d->faults);
			break;
		case 'h':
			options_help("farebench drill PLAN", drill_table);
			return 1;
		default:
			return -EINVAL;
		}
	}
	if (!err && optind + 1 != argc) {
		fprintf(stderr, "farebench drill: which plan? `farelab --help` names the folder of "
				"those installed\n");
		err = -EINVAL;
	}
	if (!err && !d->lab_name)
		err = options_which_lab("farebench drill PLAN");
	d->plan = argv[optind];
	if (!err && !d->seeded && getrandom(&d->seed, 4, 0) != 4)
		err = -EIO;
	return err;
}

int drill_main(int argc, char **argv)
{
	struct drill d = {.lab_name = getenv("FARELAB_NAME"), .fd = -1};
	int err = parse(&d, argc, argv);

	if (err)
		return err > 0 ? 0 : 2;
	interrupt_hold();
	fprintf(stderr, "farebench drill: seed %" PRIu64 "\n", d.seed);
	err = result_create(&d.result);
	if (!err)
		err = run(&d);
	if (err)
		fprintf(stderr, "farebench drill: failed after %u steps, seed %" PRIu64 ": %s\n",
			d.record.steps, d.seed, strerror(-err));
	if (d.pid > 0) { /* it heals before it ends */
		kill(d.pid, SIGTERM);
		waitpid(d.pid, NULL, 0);
	}
	if (d.fd >= 0)
		close(d.fd);
	observe_stop(d.observe);
	cluster_destroy(d.cluster);
	topo_destroy(d.topo);
	result_destroy(d.result);
	drill_faults_fini(&d.record);
	return err ? 1 : 0;
}
