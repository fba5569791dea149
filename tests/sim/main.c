/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim - runs schedules, one seed after the other, until the time is over or one is violated.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "qp/planted.h"
#include "schedule.h"

enum planted planted_active;

struct plant {
	const char *name, *what;
};
#define PLANT_ENTRY(name, what) {#name, what},
static const struct plant plants[] = {{"none", ""}, PLANTED_LIST(PLANT_ENTRY)};

struct options {
	double seconds;
	uint64_t seed, schedules; /* 0: as many as the time allows */
	unsigned jobs;
	bool is_traced, prints_digest, goes_on;
	const char *json;
};

struct result {
	uint64_t schedules, violations, events;
	double seconds, cpu_seconds;
};

static void report(const struct sim *sim)
{
	printf("violation: seed %llu at %.6f ms: %s: %s\n", (unsigned long long)sim->config.seed,
	       (double)(sim->failed_ns - SIM_START_NS) / 1e6, sim->check, sim->what);
	printf("  again: sim --schedules 1 --seed %llu --trace%s%s\n",
	       (unsigned long long)sim->config.seed, planted_active ? " --plant " : "",
	       planted_active ? plants[planted_active].name : "");
	fflush(stdout);
}

/* Seeds first, first + step, ... */
static struct result run(const struct options *o, uint64_t first, uint64_t step)
{
	struct result r = {0};
	double start_s = clock_now_s();
	struct sim *sim;

	schedule_create(&sim);
	sim->is_traced = o->is_traced;
	for (uint64_t seed = first;; seed += step) {
		if (o->schedules ? r.schedules >= o->schedules
				 : clock_now_s() - start_s >= o->seconds)
			break;
		r.schedules++;
		if (!schedule_run(sim, seed)) {
			r.violations++;
			report(sim);
		}
		r.events += sim->n_events;
		if (o->prints_digest)
			printf("%llu %016llx\n", (unsigned long long)seed,
			       (unsigned long long)sim->loop.digest);
		if (r.violations && !o->goes_on)
			break;
	}
	schedule_destroy(sim);
	r.seconds = clock_now_s() - start_s;
	r.cpu_seconds = (double)clock() / CLOCKS_PER_SEC;
	return r;
}

static int run_job(const struct options *o, unsigned job, int *fd)
{
	struct result r;
	int fds[2], pid;

	if (pipe(fds))
		return -errno;
	fflush(stdout);
	pid = fork();
	if (pid) {
		close(fds[1]);
		*fd = fds[0];
		return pid < 0 ? -errno : pid;
	}
	close(fds[0]);
	r = run(o, o->seed + job, o->jobs);
	_exit(write(fds[1], &r, sizeof(r)) == sizeof(r) ? 0 : 1);
}

/* Each job is a process, with seeds of its own. One that dies counts as a violation. */
static struct result run_jobs(const struct options *o)
{
	struct result total = {0}, r;
	int fds[64], pids[64], status;

	if (o->jobs == 1)
		return run(o, o->seed, 1);
	for (unsigned j = 0; j < o->jobs; j++)
		pids[j] = run_job(o, j, &fds[j]);
	for (unsigned j = 0; j < o->jobs; j++) {
		if (pids[j] < 0)
			continue;
		if (read(fds[j], &r, sizeof(r)) != sizeof(r))
			r = (struct result){.violations = 1};
		close(fds[j]);
		waitpid(pids[j], &status, 0);
		total.schedules += r.schedules;
		total.violations += r.violations;
		total.events += r.events;
		total.cpu_seconds += r.cpu_seconds;
		total.seconds = r.seconds > total.seconds ? r.seconds : total.seconds;
	}
	return total;
}

static int write_json(const char *path, const struct options *o, const struct result *r)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "w") : stdout;

	if (!f)
		return -errno;
	fprintf(f,
		"{\"seed\": %llu, \"jobs\": %u, \"schedules\": %llu, \"violations\": %llu, "
		"\"events\": %llu, \"seconds\": %.3f, \"cpu_seconds\": %.3f, "
		"\"schedules_per_s\": %.1f, \"schedules_per_cpu_s\": %.1f}\n",
		(unsigned long long)o->seed, o->jobs, (unsigned long long)r->schedules,
		(unsigned long long)r->violations, (unsigned long long)r->events, r->seconds,
		r->cpu_seconds, (double)r->schedules / r->seconds,
		(double)r->schedules / r->cpu_seconds);
	return f == stdout || !fclose(f) ? 0 : -errno;
}

/* ---- planted defects ---- */

/* How many seeds it took; 0: more than there were. */
static uint64_t find_plant(enum planted plant, const struct options *o)
{
	struct options each = *o;
	struct result r = {0};
	int fds[2], status = 0, pid;
	bool got;

	if (pipe(fds))
		return 0;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		planted_active = plant;
		close(fds[0]);
		if (!freopen("/dev/null", "w", stdout))
			_exit(1);
		r = run(&each, o->seed, 1);
		_exit(write(fds[1], &r, sizeof(r)) == sizeof(r) ? 0 : 1);
	}
	close(fds[1]);
	got = read(fds[0], &r, sizeof(r)) == sizeof(r);
	close(fds[0]);
	waitpid(pid, &status, 0);
	/* a defect may also end the process: that is found, too */
	return !got ? UINT64_MAX : r.violations ? r.schedules : 0;
}

static int find_plants(const struct options *in)
{
	struct options o = *in;
	int missed = 0;

	o.schedules = o.schedules ? o.schedules : 10000;
	o.goes_on = false;
	for (int i = 1; i < PLANTED_END; i++) {
		double start_s = clock_now_s();
		uint64_t n = find_plant((enum planted)i, &o);

		if (n == UINT64_MAX)
			printf("%-24s the process died, %.1f s\n", plants[i].name,
			       clock_now_s() - start_s);
		else if (n)
			printf("%-24s found by seed %llu of %llu, %.1f s\n", plants[i].name,
			       (unsigned long long)n, (unsigned long long)o.schedules,
			       clock_now_s() - start_s);
		else
			printf("%-24s NOT FOUND in %llu seeds, %.1f s\n", plants[i].name,
			       (unsigned long long)o.schedules, clock_now_s() - start_s);
		fflush(stdout);
		missed += !n;
	}
	printf("%d planted defects, %d not found\n", PLANTED_END - 1, missed);
	return missed ? 1 : 0;
}

static int set_plant(const char *name)
{
	for (int i = 1; i < PLANTED_END; i++)
		if (!strcmp(plants[i].name, name)) {
			planted_active = (enum planted)i;
			return 0;
		}
	fprintf(stderr, "sim: no planted defect is called %s (--list-plants)\n", name);
	return -ENOENT;
}

static void usage(FILE *f)
{
	fputs("usage: sim [OPTION...]\n"
	      "  --seconds S      run that long (default 10)\n"
	      "  --schedules N    or so many, whatever it takes\n"
	      "  --seed N         the first seed (default: the time)\n"
	      "  --jobs N         processes side by side (default 1)\n"
	      "  --trace          print everything that happens\n"
	      "  --keep-going     do not stop at the first violation\n"
	      "  --digest         print seed and digest of each schedule\n"
	      "  --json FILE      the summary as JSON (-: standard output)\n"
	      "  --plant NAME     switch on a planted defect\n"
	      "  --list-plants    their names\n"
	      "  --find-plants    run with each, up to --schedules seeds (default 10000)\n"
	      "Exit status: 0, 1 (a violation, or a planted defect that was not found), 2 "
	      "(usage).\n",
	      f);
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {{"seconds", 1, NULL, 's'},
					      {"schedules", 1, NULL, 'n'},
					      {"seed", 1, NULL, 'e'},
					      {"jobs", 1, NULL, 'j'},
					      {"trace", 0, NULL, 't'},
					      {"keep-going", 0, NULL, 'k'},
					      {"digest", 0, NULL, 'd'},
					      {"json", 1, NULL, 'o'},
					      {"plant", 1, NULL, 'p'},
					      {"list-plants", 0, NULL, 'l'},
					      {"find-plants", 0, NULL, 'f'},
					      {"help", 0, NULL, 'h'},
					      {0}};
	struct options o = {.seconds = 10, .seed = (uint64_t)time(NULL), .jobs = 1};
	bool finds_plants = false;
	struct result r;
	int c;

	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		switch (c) {
		case 's':
			o.seconds = strtod(optarg, NULL);
			break;
		case 'n':
			o.schedules = strtoull(optarg, NULL, 10);
			break;
		case 'e':
			o.seed = strtoull(optarg, NULL, 10);
			break;
		case 'j':
			o.jobs = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 't':
			o.is_traced = true;
			break;
		case 'k':
			o.goes_on = true;
			break;
		case 'd':
			o.prints_digest = true;
			break;
		case 'o':
			o.json = optarg;
			break;
		case 'p':
			if (set_plant(optarg))
				return 2;
			break;
		case 'l':
			for (int i = 1; i < PLANTED_END; i++)
				printf("%-24s %s\n", plants[i].name, plants[i].what);
			return 0;
		case 'f':
			finds_plants = true;
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	if (optind != argc || !o.jobs || o.jobs > 64) {
		usage(stderr);
		return 2;
	}
	if (finds_plants)
		return find_plants(&o);
	r = run_jobs(&o);
	printf("%llu schedules from seed %llu in %.1f s (%.0f/s, %.0f for a second of CPU; "
	       "%.0f events each), %llu violations\n",
	       (unsigned long long)r.schedules, (unsigned long long)o.seed, r.seconds,
	       (double)r.schedules / r.seconds, (double)r.schedules / r.cpu_seconds,
	       r.schedules ? (double)r.events / (double)r.schedules : 0.0,
	       (unsigned long long)r.violations);
	if (o.json && write_json(o.json, &o, &r)) {
		fprintf(stderr, "sim: %s: %s\n", o.json, strerror(errno));
		return 2;
	}
	return r.violations ? 1 : 0;
}
