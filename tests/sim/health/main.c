/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_health - runs schedules, one seed after the other; says how many paths went down falsely, and
 * how long dead planes took to be found.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "health_planted.h"
#include "net.h"
#include "path_planted.h"
#include "schedule.h"

enum health_planted health_planted_active;
enum path_planted path_planted_active;

#define PLANT_ENTRY(name, what) {#name, what},
#define N_PLANTS		(HEALTH_PLANTED_END + PATH_PLANTED_END - 2)
static const struct plant {
	const char *name, *what;
} plants[] = {{"none", ""}, HEALTH_PLANTED_LIST(PLANT_ENTRY) PATH_PLANTED_LIST(PLANT_ENTRY)};

static struct schedule_options options = {.interval_ns = 3 * UINT64_C(1000000), .multiplier = 3};
static struct schedule_stats stats;
static volatile sig_atomic_t is_stopped; /* by a signal: what was found until then is printed */

static double now_s(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int by_size(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static void print_times(const char *what, enum schedule_when when, struct schedule_times *t,
			uint32_t missed, bool is_table)
{
	uint32_t n = t->n < SCHEDULE_TIMES ? t->n : SCHEDULE_TIMES;
	static const struct {
		const char *word, *text;
	} whens[] = {{"alone", "nothing else bad"},
		     {"beside", "queues, stalls, losses or false claims beside it"},
		     {"seldom", "more paths than the budget pays for"}};
	double p50, p99, max;

	if (!n) {
		if (missed && !is_table)
			printf("%-14s not found before it ended: %u paths, %s\n", what, missed,
			       whens[when].text);
		return;
	}
	qsort(t->ms, n, sizeof(t->ms[0]), by_size);
	p50 = (double)t->ms[n / 2];
	p99 = (double)t->ms[n * 99 / 100];
	max = (double)t->ms[n - 1];
	if (is_table)
		printf("%s\t%s\t%u\t%.2f\t%.2f\t%.2f\n", what, whens[when].word, n, p50, p99, max);
	else
		printf("%-14s after %.1f / %.1f / %.1f ms (p50 / p99 / max of %u paths; %u more "
		       "not before it ended), %s\n",
		       what, p50, p99, max, n, missed, whens[when].text);
}

static void print_all_times(bool is_table)
{
	for (enum schedule_when when = 0; when < SCHEDULE_WHENS; when++) {
		for (int kind = 0; kind < FAULT_KINDS; kind++)
			print_times(schedule_fault_name((enum fault_kind)kind), when,
				    &stats.found[kind][when], stats.missed[kind][when], is_table);
		print_times("recovered", when, &stats.recovered[when], 0, is_table);
	}
}

/* Fields with tabs between them: pictures.sh. */
static void print_table(void)
{
	printf("interval_ms\t%g\nmultiplier\t%u\nschedules\t%llu\npath_hours\t%.3f\n"
	       "false_downs\t%llu\n",
	       (double)options.interval_ns / 1e6, options.multiplier,
	       (unsigned long long)stats.schedules, stats.path_hours[0],
	       (unsigned long long)stats.false_downs[0]);
	print_all_times(true);
}

/* No false down in N path-hours: the rate is below 3 / N with 95% confidence (rule of three). */
static void print_stats(double cpu_s)
{
	double hours = stats.path_hours[0] + stats.path_hours[1];
	uint64_t downs = stats.false_downs[0] + stats.false_downs[1];

	printf("%llu schedules, %.1f path-hours (%.0f a minute of CPU), %llu false downs (95%%: "
	       "fewer than one in %.1f path-hours), %llu violations\n",
	       (unsigned long long)stats.schedules, hours, hours / cpu_s * 60,
	       (unsigned long long)downs, hours / (3 + 2 * (double)downs),
	       (unsigned long long)stats.violations);
	printf("in %.1f of these path-hours a queue stood at one of the path's ports, or one of "
	       "its "
	       "servers got no CPU time\n",
	       stats.bad_hours);
	printf("one bad cable of two took paths down %llu times, of %llu such paths; %llu for as "
	       "long as it was bad: no probe's source port led round it\n",
	       (unsigned long long)stats.cable_downs, (unsigned long long)stats.cable_paths,
	       (unsigned long long)stats.cable_all);
	if (stats.path_hours[1] > 0)
		printf("of these %.1f path-hours, with %llu false downs, had more paths than the "
		       "budget pays for\n",
		       stats.path_hours[1], (unsigned long long)stats.false_downs[1]);
	print_all_times(false);
}

static void on_signal(int signal)
{
	(void)signal;
	is_stopped = 1;
}

static void run(uint64_t seed, uint64_t n, double seconds, bool goes_on)
{
	double end = now_s(CLOCK_MONOTONIC) + seconds;

	for (uint64_t i = 0; !is_stopped && (n ? i < n : now_s(CLOCK_MONOTONIC) < end); i++)
		if (!schedule_run(seed + i, &options, &stats) && !goes_on)
			return;
}

/* By its place in plants. */
static void set_plant(int plant)
{
	if (plant < HEALTH_PLANTED_END)
		health_planted_active = (enum health_planted)plant;
	else
		path_planted_active = (enum path_planted)(plant - HEALTH_PLANTED_END + 1);
}

/* In a process of its own. How many seeds it took; 0: more than n. */
static uint64_t find_plant(int plant, uint64_t seed, uint64_t n)
{
	uint64_t took = 0;
	int fds[2];
	pid_t pid;

	if (pipe(fds))
		return 0;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		set_plant(plant);
		if (!freopen("/dev/null", "w", stdout))
			_exit(1);
		run(seed, n, 0, false);
		took = stats.violations ? stats.schedules : 0;
		_exit(write(fds[1], &took, sizeof(took)) != sizeof(took));
	}
	close(fds[1]);
	if (read(fds[0], &took, sizeof(took)) != sizeof(took))
		took = 1; /* it died: that is found, too */
	close(fds[0]);
	waitpid(pid, NULL, 0);
	return took;
}

static int find_plants(uint64_t seed, uint64_t n)
{
	int missed = 0;

	for (int i = 1; i <= N_PLANTS; i++) {
		uint64_t took = find_plant(i, seed, n);

		if (took)
			printf("%-20s found by seed %llu\n", plants[i].name,
			       (unsigned long long)(seed + took - 1));
		else
			printf("%-20s NOT FOUND in %llu seeds: %s\n", plants[i].name,
			       (unsigned long long)n, plants[i].what);
		fflush(stdout);
		missed += !took;
	}
	printf("%d planted defects, %d not found\n", N_PLANTS, missed);
	return missed ? 1 : 0;
}

static int set_plant_by_name(const char *name)
{
	for (int i = 1; i <= N_PLANTS; i++)
		if (!strcmp(plants[i].name, name)) {
			set_plant(i);
			return 0;
		}
	return -1;
}

static int usage(void)
{
	fputs("usage: sim_health [--seconds S | --schedules N] [--seed N] [--trace] "
	      "[--keep-going]\n"
	      "                  [--servers N] [--alone] [--interval MS] [--multiplier N] "
	      "[--table]\n"
	      "                  [--plant NAME | --find-plants]\n"
	      "SIGINT and SIGTERM end a run after the schedule, and print what it found.\n"
	      "--interval is 1 to 20, --multiplier 2 to 50, --servers 2 to 64; --alone: nothing "
	      "bad "
	      "but faults;\n--table: for programs, without schedules of more paths than the budget "
	      "of "
	      "probes pays for.\n"
	      "Exit status: 0, 1 (a violation, or a planted defect that was not found), 2 "
	      "(usage).\nPlanted defects:\n",
	      stderr);
	for (int i = 1; i <= N_PLANTS; i++)
		fprintf(stderr, "  %-20s %s\n", plants[i].name, plants[i].what);
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {{"seconds", 1, NULL, 's'},
					      {"schedules", 1, NULL, 'n'},
					      {"seed", 1, NULL, 'e'},
					      {"trace", 0, NULL, 't'},
					      {"keep-going", 0, NULL, 'k'},
					      {"plant", 1, NULL, 'p'},
					      {"find-plants", 0, NULL, 'f'},
					      {"interval", 1, NULL, 'i'},
					      {"multiplier", 1, NULL, 'm'},
					      {"table", 0, NULL, 'b'},
					      {"servers", 1, NULL, 'v'},
					      {"alone", 0, NULL, 'a'},
					      {0}};
	uint64_t seed = 0, n = 0;
	bool goes_on = false, finds = false, is_table = false;
	double seconds = 10;
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 's')
			seconds = strtod(optarg, NULL);
		else if (c == 'n')
			n = strtoull(optarg, NULL, 10);
		else if (c == 'e')
			seed = strtoull(optarg, NULL, 10);
		else if (c == 't')
			options.is_traced = true;
		else if (c == 'k')
			goes_on = true;
		else if (c == 'f')
			finds = true;
		else if (c == 'i')
			options.interval_ns = (uint64_t)(strtod(optarg, NULL) * 1e6);
		else if (c == 'm')
			options.multiplier = (uint32_t)strtoul(optarg, NULL, 10);
		else if (c == 'v')
			options.n_servers = (unsigned)strtoul(optarg, NULL, 10);
		else if (c == 'a')
			options.is_alone = true;
		else if (c == 'b')
			is_table = true;
		else if (c != 'p' || set_plant_by_name(optarg))
			return usage();
	}
	/* for which the schedules' times and the checks' bounds are made */
	if (options.interval_ns < 1000000 || options.interval_ns > UINT64_C(20000000) ||
	    options.multiplier < 2 || options.multiplier > 50 || options.n_servers == 1 ||
	    options.n_servers > NET_HOSTS)
		return usage();
	if (finds)
		return find_plants(seed ? seed : 1, n ? n : 2000);
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	run(seed ? seed : (uint64_t)time(NULL), n, seconds, goes_on);
	if (is_table)
		print_table();
	else
		print_stats(now_s(CLOCK_PROCESS_CPUTIME_ID));
	return stats.violations ? 1 : 0;
}
