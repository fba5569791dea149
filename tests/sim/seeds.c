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

#define MAX_JOBS    64
#define MAX_OPTIONS 32

static volatile sig_atomic_t is_stopped; /* by a signal */

static void on_signal(int signal)
{
	(void)signal;
	is_stopped = 1;
}

static void run_one(const struct seeds_simulation *s, const struct seeds_options *o, uint64_t seed,
		    struct seeds_result *r)
{
	struct sim_trace trace = {.seed = seed, .is_on = o->is_traced};
	struct seeds_schedule done = s->run(&trace);

	if (o->prints_digest)
		printf("%llu %016llx\n", (unsigned long long)seed, (unsigned long long)done.digest);
	if (trace.is_violated) {
		printf("  again: the same options, and --schedules 1 --seed %llu --trace\n",
		       (unsigned long long)seed);
		fflush(stdout);
	}
	r->schedules++;
	r->violations += trace.is_violated;
	r->events += done.events;
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
		run_one(s, o, seed, &r);
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

/* ---- the command line ---- */

static void print_usage(const struct seeds_simulation *s, FILE *file)
{
	fprintf(file,
		"usage: %s [OPTION...]\n"
		"  --trace          print everything that happens\n"
		"  --digest         print seed and digest of each schedule\n"
		"%s"
		"  --seconds S      run that long (default 10)\n"
		"  --schedules N    or so many, whatever it takes\n"
		"  --seed N         the first seed (default: the time; with --find-plants 1)\n"
		"  --jobs N         processes side by side (default 1%s)\n"
		"  --keep-going     do not stop at the first violation\n"
		"  --plant NAME     switch on a planted defect\n"
		"  --list-plants    their names\n"
		"  --find-plants    run with each, up to --schedules seeds\n"
		"Exit status: 0, 1 (a violation, or a planted defect that was not found), 2 "
		"(usage).\n"
		"SIGINT and SIGTERM end a run after the schedule.\n",
		s->name, s->usage ? s->usage : "", s->has_one_job ? ", and no more" : "");
}

/* Options with a value. */
static bool set_option(const struct seeds_simulation *s, struct seeds_options *o, int option,
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
		return o->jobs > 0 && o->jobs <= (s->has_one_job ? 1 : MAX_JOBS);
	case 'p':
		return set_plant(s, value);
	default:
		return s->set_option && s->set_option(option, value);
	}
}

bool seeds_parse(const struct seeds_simulation *s, struct seeds_options *out, int argc, char **argv)
{
	int lists_plants = 0, wants_help = 0, c;
	struct option longs[MAX_OPTIONS] = {
		{"seconds", 1, NULL, 's'},
		{"schedules", 1, NULL, 'n'},
		{"seed", 1, NULL, 'e'},
		{"jobs", 1, NULL, 'j'},
		{"plant", 1, NULL, 'p'},
		{"keep-going", 0, &out->goes_on, 1},
		{"trace", 0, &out->is_traced, 1},
		{"digest", 0, &out->prints_digest, 1},
		{"find-plants", 0, &out->finds_plants, 1},
		{"list-plants", 0, &lists_plants, 1},
		{"help", 0, &wants_help, 1},
	};
	size_t n = 0;

	while (longs[n].name)
		n++;
	for (const struct option *own = s->longs; own && own->name && n + 1 < MAX_OPTIONS; own++)
		longs[n++] = *own;
	*out = (struct seeds_options){.seconds = 10, .jobs = 1, .seed = UINT64_MAX};
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1)
		if (c && !set_option(s, out, c, optarg)) {
			print_usage(s, stderr);
			return false;
		}
	if (wants_help)
		print_usage(s, stdout);
	for (int i = 1; lists_plants && i < s->n_plants; i++)
		printf("%-24s %s\n", s->plants[i].name, s->plants[i].what);
	if (wants_help || lists_plants)
		exit(0);
	if (out->seed == UINT64_MAX)
		out->seed = out->finds_plants ? 1 : (uint64_t)time(NULL);
	return true;
}
