/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_health - runs schedules, one seed after the other; says how many paths went down falsely, and
 * how long dead planes took to be found.
 */
#include <stdio.h>
#include <stdlib.h>

#include "health_planted.h"
#include "net.h"
#include "path_planted.h"
#include "schedule.h"
#include "seeds.h"

enum health_planted health_planted_active;
enum path_planted path_planted_active;

static const struct seeds_plant plants[] = {
	{"none", ""}, HEALTH_PLANTED_LIST(SEEDS_PLANT) PATH_PLANTED_LIST(SEEDS_PLANT)};
static struct schedule_options options = {.interval_ns = 3 * UINT64_C(1000000), .multiplier = 3};
static struct schedule_stats stats;
static int prints_table;

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
		if (!is_table && stats.found_running[when].n) {
			printf("  less the time without CPU of either server: ");
			print_times("leaf-gray", when, &stats.found_running[when], 0, false);
		}
		print_times("recovered", when, &stats.recovered[when], 0, is_table);
	}
}

/* Fields with tabs between them: pictures.sh. */
static void print_table(uint64_t schedules)
{
	printf("interval_ms\t%g\nmultiplier\t%u\nschedules\t%llu\npath_hours\t%.3f\n"
	       "false_downs\t%llu\n",
	       (double)options.interval_ns / 1e6, options.multiplier, (unsigned long long)schedules,
	       stats.path_hours[0], (unsigned long long)stats.false_downs[0]);
	print_all_times(true);
}

/* No false down in N path-hours: the rate is below 3 / N with 95% confidence (rule of three). */
static void print_stats(const struct seeds_result *r)
{
	double hours = stats.path_hours[0] + stats.path_hours[1];
	uint64_t downs = stats.false_downs[0] + stats.false_downs[1];

	printf("%llu schedules, %.1f path-hours (%.0f a minute of CPU), %llu false downs (95%%: "
	       "fewer than one in %.1f path-hours), %llu violations\n",
	       (unsigned long long)r->schedules, hours, hours / r->cpu_seconds * 60,
	       (unsigned long long)downs, hours / (3 + 2 * (double)downs),
	       (unsigned long long)r->violations);
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

/* By its place in plants. */
static void set_plant(int plant)
{
	if (plant < HEALTH_PLANTED_END)
		health_planted_active = (enum health_planted)plant;
	else
		path_planted_active = (enum path_planted)(plant - HEALTH_PLANTED_END + 1);
}

static struct seeds_schedule run(struct sim_trace *trace)
{
	return (struct seeds_schedule){.digest = schedule_run(trace, &options, &stats)};
}

static const struct option longs[] = {{"interval", 1, NULL, 'i'},
				      {"multiplier", 1, NULL, 'm'},
				      {"servers", 1, NULL, 'v'},
				      {"alone", 0, &options.is_alone, 1},
				      {"no-band", 0, &options.has_no_band, 1},
				      {"unrouted", 0, &options.is_unrouted, 1},
				      {"harsh", 0, &options.is_harsh, 1},
				      {"table", 0, &prints_table, 1},
				      {0}};

/* Bounds are those for which the schedules' times and the checks' bounds are made. */
static bool set_option(int option, const char *value)
{
	switch (option) {
	case 'i':
		options.interval_ns = (uint64_t)(strtod(value, NULL) * 1e6);
		return options.interval_ns >= LOOP_MS && options.interval_ns <= 20 * LOOP_MS;
	case 'm':
		options.multiplier = (uint32_t)strtoul(value, NULL, 10);
		return options.multiplier >= 2 && options.multiplier <= 50;
	case 'v':
		options.n_servers = (unsigned)strtoul(value, NULL, 10);
		return options.n_servers != 1 && options.n_servers <= NET_HOSTS;
	default:
		return false;
	}
}

static const struct seeds_simulation simulation = {
	.name = "sim_health",
	.plants = plants,
	.n_plants = sizeof(plants) / sizeof(plants[0]),
	.set_plant = set_plant,
	.plant_schedules = 2000,
	.run = run,
	.longs = longs,
	.set_option = set_option,
	.has_one_job = true,
	.usage =
		"  --servers N      2 to 64 (default: as the seed has it)\n"
		"  --alone          nothing bad but faults\n"
		"  --unrouted       the one fault: a sub-port of two without routes, one way or "
		"both\n"
		"  --no-band        queues keep and drop probes as they do data\n"
		"  --harsh          several queues of a plane at once, and stalls of up to 400 ms\n"
		"  --interval MS    of probes, 1 to 20 (default 3)\n"
		"  --multiplier N   2 to 50 (default 3)\n"
		"  --table          for programs, without schedules of more paths than the budget "
		"of "
		"probes pays for\n",
};

int main(int argc, char **argv)
{
	struct seeds_options o;
	struct seeds_result r;

	if (!seeds_parse(&simulation, &o, argc, argv))
		return 2;
	if (o.finds_plants)
		return seeds_find_plants(&simulation, &o);
	r = seeds_run(&simulation, &o);
	if (prints_table)
		print_table(r.schedules);
	else
		print_stats(&r);
	return r.violations ? 1 : 0;
}
