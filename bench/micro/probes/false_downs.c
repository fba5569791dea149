/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * false_downs.c - false-positive test of probing: paths that go down in a lab whose cores are all
 * busy, though nothing is broken.
 */
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/command.h"
#include "core/interrupt.h"
#include "demo/demo.h"
#include "suite/trial.h"

#define ASK_TIMEOUT_MS 20000
#define HOGS_MAX       64

struct sums {
	uint64_t sent, lost, downs;
	double p50_us, p99_us;
};

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static void false_downs_add(struct sums *sum, const json_t *probe)
{
	sum->sent += (uint64_t)json_integer_value(json_object_get(probe, "sent"));
	sum->lost += (uint64_t)json_integer_value(json_object_get(probe, "lost"));
	sum->downs += (uint64_t)json_integer_value(json_object_get(probe, "downs"));
	sum->p50_us = larger(sum->p50_us, json_number_value(json_object_get(probe, "rtt_p50_us")));
	sum->p99_us = larger(sum->p99_us, json_number_value(json_object_get(probe, "rtt_p99_us")));
}

/* What the probers of all servers have counted so far. */
static int read_sum(const struct lab *lab, const struct topo *topo, struct sums *out)
{
	*out = (struct sums){.sent = 0};
	for (unsigned s = 0; s < topo->n_servers; s++) {
		const char *argv[] = {lab->farectl, "-s",   topo->servers[s].fared_run_dir,
				      "-j",	    "show", "paths",
				      NULL};
		json_t *root, *paths, *path;
		char *text = NULL;
		size_t i;
		int rc = command_check(argv, ASK_TIMEOUT_MS, &text);

		if (rc)
			return rc;
		root = json_loads(text, 0, NULL);
		free(text);
		paths = json_is_array(root) ? root : json_object_get(root, "paths");
		if (!json_array_size(paths)) {
			json_decref(root);
			return -EBADMSG;
		}
		json_array_foreach (paths, i, path)
			false_downs_add(out, json_object_get(path, "probe"));
		json_decref(root);
	}
	return 0;
}

/* Never gives its core away by itself. */
static pid_t start_hog(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		__asm__ volatile("" ::: "memory");
}

static int start_hogs(pid_t *hogs)
{
	long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
	int n = 0;

	while (n < n_cores && n < HOGS_MAX) {
		hogs[n] = start_hog();
		if (hogs[n] < 0)
			break;
		n++;
	}
	return n;
}

static void stop_hogs(const pid_t *hogs, int n)
{
	while (n) {
		kill(hogs[--n], SIGKILL);
		waitpid(hogs[n], NULL, 0);
	}
}

/* All-to-all traffic, one run after the other. */
static int false_downs_load(struct trial *t, double seconds, unsigned *runs)
{
	struct ep_options ep = demo_ep(t->fabric->topo, STRATEGY_FARE_SPRAY);
	double end = clock_now_s() + seconds;
	struct traffic_result one;
	int err = 0;

	ep.measure_s = t->seconds;
	for (*runs = 0; !err && !interrupt_pending() && clock_now_s() < end; ++*runs)
		err = ep_run(t->fabric->cluster, t->fabric->topo, &ep, *runs, &one);
	return err;
}

static int load_busy(struct trial *t, double seconds, unsigned *runs, struct cpu_idle *idle)
{
	struct cpu_times before;
	pid_t hogs[HOGS_MAX];
	int err = cpu_read(&before), n;

	if (err)
		return err;
	n = start_hogs(hogs);
	err = false_downs_load(t, seconds, runs);
	stop_hogs(hogs, n);
	return err ? err : cpu_idle_since(&before, idle);
}

static int false_downs_run(struct trial *t)
{
	double seconds = trial_number(t, "seconds"), start;
	struct sums before, after;
	struct cpu_idle idle;
	unsigned runs;
	int err = demo_cluster(t->fabric);

	if (!err)
		err = read_sum(&t->fabric->lab, t->fabric->topo, &before);
	start = clock_now_s();
	if (!err)
		err = load_busy(t, seconds, &runs, &idle);
	if (!err)
		err = read_sum(&t->fabric->lab, t->fabric->topo, &after);
	if (err)
		return err;
	trial_value(t, "downs", (double)(after.downs - before.downs), 1);
	trial_value(t, "probes", (double)(after.sent - before.sent), 1);
	trial_value(t, "lost", (double)(after.lost - before.lost), 1);
	trial_value(t, "runs", runs, 1);
	trial_value(t, "lasted", clock_now_s() - start, 1);
	trial_value(t, "idle", idle.mean_percent, 1);
	trial_value(t, "rtt_p50", after.p50_us / 1e3, 1);
	trial_value(t, "rtt_p99", after.p99_us / 1e3, 1);
	return 0;
}

const struct test test_probes_false_downs = {
	.id = "probes-false-downs",
	.name = "Paths that go down on a busy machine",
	.clause = "RFC 7880",
	.dut = "fared",
	.summary = "A process for each core that never waits, and all-to-all traffic; what the "
		   "daemons of all servers count meanwhile. Real: fared, FRR's bgpd and zebra, the "
		   "kernel's routing and scheduler. Emulated: links (veth, shaped by htb), GPUs "
		   "(processes with host memory), switches (namespaces).",
	.needs = NEED_TWO_SERVERS,
	.no_strategies = true,
	.trials = {1, 1, 1},
	.seconds = {0.5, 0.5, 0.5}, /* of a run of traffic */
	.params = PARAMS(PARAM("seconds", PARAM_NUMBER, "s", "of traffic", "60", "600", "3600")),
	.kpis = KPIS(
		{"downs", "", "fared", "paths that went down", BETTER_LOWER, 0},
		{"probes", "", "fared", "of all servers", BETTER_NONE, 0},
		{"lost", "", "fared", "probes", BETTER_LOWER, 0},
		{"runs", "", "DUT-F", "of all-to-all traffic", BETTER_NONE, 0},
		{"lasted", "s", "machine", "all of it", BETTER_NONE, 0},
		{"idle", "%", "machine", "meanwhile", BETTER_NONE, 0},
		{"rtt_p50", "ms", "fared", "round trip of a probe, worst path", BETTER_LOWER, 0},
		{"rtt_p99", "ms", "fared", "the same, 99 of 100", BETTER_LOWER, 0}),
	.views = VIEWS(VIEW(VIEW_TABLE, "Every core busy, nothing broken", "seconds", NULL, NULL,
			    "downs", "probes", "lost", "runs", "idle", "rtt_p50", "rtt_p99")),
	.run = false_downs_run,
};
