/* SPDX-License-Identifier: BSD-2-Clause */
#include "seeds.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define MAX_JOBS 64

static volatile sig_atomic_t is_stopped; /* by a signal */

static void on_signal(int signal)
{
	(void)signal;
	is_stopped = 1;
}

/* Seeds first, first + step, ... */
static struct seeds_result run(const struct seeds_simulation *s, const struct seeds_options *o,
			       uint64_t first, uint64_t step)
{
	struct seeds_result r = {0};
	double start_s = clock_now_s();

	for (uint64_t seed = first; !is_stopped && (o->goes_on || !r.violations); seed += step) {
		if (o->schedules ? r.schedules >= o->schedules
				 : clock_now_s() - start_s >= o->seconds)
			break;
		r.schedules++;
		r.violations += !s->run(seed, &r.events);
	}
	r.seconds = clock_now_s() - start_s;
	r.cpu_seconds = (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
	return r;
}

/* A process that runs seeds, with a planted defect or without (0); its result comes by *fd. */
static pid_t begin(const struct seeds_simulation *s, const struct seeds_options *o, unsigned job,
		   int plant, int *fd)
{
	struct seeds_result r;
	int fds[2];
	pid_t pid;

	if (pipe(fds))
		abort();
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		abort();
	if (pid) {
		close(fds[1]);
		*fd = fds[0];
		return pid;
	}
	close(fds[0]);
	if (plant) {
		s->set_plant(plant);
		if (!freopen("/dev/null", "w", stdout))
			_exit(1);
	}
	r = run(s, o, o->seed + job, o->jobs);
	fflush(stdout);
	_exit(write(fds[1], &r, sizeof(r)) != sizeof(r));
}

/* False: the process died. */
static bool end(pid_t pid, int fd, struct seeds_result *out)
{
	bool got = read(fd, out, sizeof(*out)) == sizeof(*out);

	close(fd);
	waitpid(pid, NULL, 0);
	return got;
}

struct seeds_result seeds_run(const struct seeds_simulation *s, const struct seeds_options *o)
{
	struct seeds_result total = {0}, r;
	pid_t pids[MAX_JOBS];
	int fds[MAX_JOBS];

	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	if (o->jobs == 1)
		return run(s, o, o->seed, 1);
	for (unsigned j = 0; j < o->jobs; j++)
		pids[j] = begin(s, o, j, 0, &fds[j]);
	for (unsigned j = 0; j < o->jobs; j++) {
		if (!end(pids[j], fds[j], &r))
			r = (struct seeds_result){.violations = 1};
		total.schedules += r.schedules;
		total.violations += r.violations;
		total.events += r.events;
		total.cpu_seconds += r.cpu_seconds;
		total.seconds = r.seconds > total.seconds ? r.seconds : total.seconds;
	}
	return total;
}

int seeds_find_plants(const struct seeds_simulation *s, const struct seeds_options *in)
{
	struct seeds_options o = *in;
	struct seeds_result r;
	int missed = 0, fd;

	o.schedules = o.schedules ? o.schedules : s->plant_schedules;
	o.goes_on = false;
	o.jobs = 1;
	for (int i = 1; i < s->n_plants; i++) {
		double start_s = clock_now_s();
		pid_t pid = begin(s, &o, 0, i, &fd);
		bool lives = end(pid, fd, &r);

		printf("%-24s ", s->plants[i].name);
		if (!lives) /* that is found, too */
			printf("the process died");
		else if (r.violations)
			printf("found by seed %llu",
			       (unsigned long long)(o.seed + r.schedules - 1));
		else
			printf("NOT FOUND in %llu seeds", (unsigned long long)o.schedules);
		printf(", %.1f s\n", clock_now_s() - start_s);
		fflush(stdout);
		missed += lives && !r.violations;
	}
	printf("%d planted defects, %d not found\n", s->n_plants - 1, missed);
	return missed ? 1 : 0;
}

static bool set_plant(const struct seeds_simulation *s, const char *name)
{
	for (int i = 1; i < s->n_plants; i++)
		if (!strcmp(s->plants[i].name, name)) {
			s->set_plant(i);
			return true;
		}
	fprintf(stderr, "%s: no planted defect is called %s (--list-plants)\n", s->name, name);
	return false;
}

bool seeds_option(const struct seeds_simulation *s, struct seeds_options *o, int option,
		  const char *value)
{
	switch (option) {
	case 's':
		o->seconds = strtod(value, NULL);
		return true;
	case 'n':
		o->schedules = strtoull(value, NULL, 10);
		return true;
	case 'e':
		o->seed = strtoull(value, NULL, 10);
		return true;
	case 'j':
		o->jobs = (unsigned)strtoul(value, NULL, 10);
		return o->jobs > 0 && o->jobs <= MAX_JOBS;
	case 'k':
		o->goes_on = true;
		return true;
	case 'p':
		return set_plant(s, value);
	case 'l':
		for (int i = 1; i < s->n_plants; i++)
			printf("%-24s %s\n", s->plants[i].name, s->plants[i].what);
		exit(0);
	case 'f':
		o->finds_plants = true;
		return true;
	default:
		return false;
	}
}
