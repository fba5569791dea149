/* SPDX-License-Identifier: BSD-2-Clause */
/* probes_calm.c - see probes.h: does a lab whose cores are all busy stay calm? */
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "cpu.h"
#include "lab.h"
#include "probes.h"

#define ASK_TIMEOUT_MS 20000
#define RUN_TIMEOUT_MS 120000
#define HOGS_MAX       64

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

struct sum {
	uint64_t sent, lost, downs;
	double p50_us, p99_us;
};

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static void add(struct sum *sum, const json_t *probe)
{
	sum->sent += (uint64_t)json_integer_value(json_object_get(probe, "sent"));
	sum->lost += (uint64_t)json_integer_value(json_object_get(probe, "lost"));
	sum->downs += (uint64_t)json_integer_value(json_object_get(probe, "downs"));
	sum->p50_us = larger(sum->p50_us, json_number_value(json_object_get(probe, "rtt_p50_us")));
	sum->p99_us = larger(sum->p99_us, json_number_value(json_object_get(probe, "rtt_p99_us")));
}

/* What the probers of all servers have counted so far. */
static int read_sum(const struct lab *lab, const struct topo *topo, struct sum *out)
{
	*out = (struct sum){.sent = 0};
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
			add(out, json_object_get(path, "probe"));
		json_decref(root);
	}
	return 0;
}

/* Never gives its core away but to whom the scheduler says. */
static pid_t start_hog(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		__asm__ volatile("" ::: "memory");
}

static int load(const struct lab *lab, double seconds, uint64_t *runs)
{
	char self[512];
	const char *argv[] = {self,
			      "run",
			      "demo-goodput",
			      "--lab",
			      lab->name,
			      "--strategy",
			      "fare-spray",
			      "--trials",
			      "3",
			      "--even-busy",
			      "--param",
			      "traffic=ep",
			      "--param",
			      "scenario=healthy",
			      "--json",
			      "/dev/null",
			      NULL};
	double end = now_s() + seconds;

	command_sibling("farebench", self, sizeof(self));
	for (*runs = 0; now_s() < end; ++*runs) {
		int rc = command_check(argv, RUN_TIMEOUT_MS, NULL);

		if (rc)
			return rc;
	}
	return 0;
}

int probes_calm_run(const char *name, double seconds, struct probes_calm *out)
{
	long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
	struct cpu_times cpu_before, cpu_after;
	struct sum before, after;
	struct cpu_idle idle = {0};
	pid_t hogs[HOGS_MAX];
	struct topo *topo;
	struct lab lab;
	int n_hogs = 0, rc;
	double start;

	lab_init(&lab, name);
	rc = lab_status(&lab, 30, &topo);
	if (rc)
		return rc;
	rc = read_sum(&lab, topo, &before);
	start = now_s();
	if (!rc)
		rc = cpu_read(&cpu_before);
	while (!rc && n_hogs < n_cores && n_hogs < HOGS_MAX)
		hogs[n_hogs++] = start_hog();
	if (!rc)
		rc = load(&lab, seconds, &out->runs);
	while (n_hogs) {
		kill(hogs[--n_hogs], SIGKILL);
		waitpid(hogs[n_hogs], NULL, 0);
	}
	if (!rc && !(rc = cpu_read(&cpu_after)))
		cpu_idle(&cpu_before, &cpu_after, &idle);
	if (!rc)
		rc = read_sum(&lab, topo, &after);
	topo_destroy(topo);
	if (rc)
		return rc;
	out->seconds = now_s() - start;
	out->probes = after.sent - before.sent;
	out->lost = after.lost - before.lost;
	out->downs = after.downs - before.downs;
	out->idle_percent = idle.mean_percent;
	out->rtt_p50_ms = after.p50_us / 1e3;
	out->rtt_p99_ms = after.p99_us / 1e3;
	return 0;
}
