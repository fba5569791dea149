/* SPDX-License-Identifier: BSD-2-Clause */
/* probes.c - see probes.h: options, the order of things, and what is said of them */
#include "probes.h"

#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "options.h"
#include "prober.h"
#include "report/report.h"
#include "result.h"
#include "stats.h"
#include "report/table.h"

#define INTERVAL_MS 10
#define FULL	    97. /* a core that busy is full, and ... */
/* ... a prober that sends less than that part of what it should does not keep up */
#define KEEPS_UP 0.95

struct run {
	struct result *result;
	struct table *table;
	double window_s;
	unsigned n;
	double ours_percent; /* per session at 10 ms, of the run of 63 peers */
};

static const struct options_entry options[] = {
	{"only", 'o', "NAMES", "of cost, most, bfdd (all three)"},
	{"calm", 'c', "SECONDS",
	 "instead: how often a path goes down in a lab whose cores are all busy"},
	{"lab", 'l', "NAME", "the lab for --calm ($FARELAB_NAME)"},
	{"window", 'w', "SECONDS", "how long each CPU share is taken over (5)"},
	{"n", 'n', "N", "windows in a row (3)"},
	{"json", 'j', "FILE", "write all results there ('-': standard output)"},
	{"html", 'P', "FILE", "write a page there"},
	{NULL, 0, NULL, NULL},
};

static const struct result_basis cost_basis = {
	.observation_point =
		"the process that probes: its CPU time (getrusage), its counters, its verdicts",
	.real = "the prober and reflector of fared, FRR's bfdd, the kernel's UDP",
	.emulated = "the fabric (a veth pair for each sub-port; delivering a packet is charged to "
		    "who sends it) and "
		    "the peers (one process on the other core). Not there: BGP, the path table",
};

static const struct result_basis calm_basis = {
	.observation_point = "farectl show paths on every server: probes, losses and paths that "
			     "went down meanwhile",
	.real = "fared, FRR's bgpd and zebra, the kernel's routing and scheduler, all-to-all "
		"traffic over RoCEv2",
	.emulated = "links (veth, shaped by tbf), GPUs (processes with host memory), switches "
		    "(namespaces); the load "
		    "is a process for each core that never waits",
};

static int summarise(const struct probes_sample *samples, unsigned n, struct stats_summary *cpu)
{
	double values[PROBES_MAX_WINDOWS];

	for (unsigned i = 0; i < n; i++)
		values[i] = samples[i].cpu_percent;
	return stats_summarise(values, n, cpu);
}

static int say(struct run *r, const char *name, const char *what, const struct stats_summary *cpu,
	       double sessions, double per_s, const char *note)
{
	char cells[5][64];
	const char *row[] = {name, what, cells[0], cells[1], cells[2], cells[3], note};

	snprintf(cells[0], sizeof(cells[0]), "%.1f%%", cpu->median);
	snprintf(cells[1], sizeof(cells[1]), "%.1f..%.1f", cpu->min, cpu->max);
	snprintf(cells[2], sizeof(cells[2]), "%.0f", per_s);
	snprintf(cells[3], sizeof(cells[3]), "%.4f%%", cpu->median / sessions);
	return table_row(r->table, row);
}

static int measure(const struct probes_load *load, struct probes_sample *samples,
		   struct probes_found *found)
{
	struct probes_net net;
	int rc = probes_net_up(&net, load->n_peers);
	pid_t peers;

	if (rc)
		return rc;
	peers = probes_peers_start(&net, load);
	rc = peers < 0 ? peers : probes_unit_run(&net, load, peers, samples, found);
	if (peers > 0) {
		kill(peers, SIGKILL);
		waitpid(peers, NULL, 0);
	}
	probes_net_down(&net);
	return rc;
}

static int add_load(struct run *r, const char *name, const struct probes_load *load,
		    const struct probes_sample *samples, const struct stats_summary *cpu,
		    const struct probes_found *found)
{
	uint64_t lost = 0, late = 0, downs = 0;
	struct stats_summary ms = {0};
	char what[64], note[96];

	if (stats_summarise(found->ms, found->n_paths, &ms))
		return -ENOMEM;
	for (unsigned i = 0; i < load->n; i++) {
		lost += samples[i].lost;
		late += samples[i].late;
		downs += samples[i].downs;
	}
	snprintf(what, sizeof(what), "%u peers x %u, %u fast", load->n_peers, PROBES_PLANES,
		 load->n_active);
	snprintf(note, sizeof(note),
		 "%llu lost, %llu late, %llu down; a dead plane: %u of %u paths found, %.0f..%.0f "
		 "ms",
		 (unsigned long long)lost, (unsigned long long)late, (unsigned long long)downs,
		 found->n, found->n_paths, ms.min, ms.max);
	if (say(r, name, what, cpu, load->n_peers * PROBES_PLANES,
		samples[0].sent_per_s + samples[0].reflected_per_s, note))
		return -ENOMEM;
	return result_append(
		r->result, "probes",
		json_pack("{s:s, s:i, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, "
			  "s:i, s:f, s:f, s:i}",
			  "name", name, "peers", (int)load->n_peers, "active", (int)load->n_active,
			  "sessions", (int)(load->n_peers * PROBES_PLANES), "interval_ms",
			  (int)load->interval_ms, "cpu_percent", cpu->median, "cpu_percent_min",
			  cpu->min, "cpu_percent_max", cpu->max, "sent_per_s",
			  samples[0].sent_per_s, "answered_per_s", samples[0].answered_per_s,
			  "reflected_per_s", samples[0].reflected_per_s, "lost", (json_int_t)lost,
			  "late", (json_int_t)late, "downs", (json_int_t)downs, "found",
			  (int)found->n, "found_p50_ms", ms.median, "found_max_ms", ms.max, "n",
			  (int)load->n));
}

/* Probes, were they a whole interval apart. */
static double wanted_per_s(uint32_t n_active)
{
	return n_active * PROBES_PLANES * 1000. / INTERVAL_MS;
}

static int run_load(struct run *r, const char *name, uint32_t n_peers, uint32_t n_active,
		    bool *keeps_up)
{
	const struct probes_load load = {n_peers, n_active, INTERVAL_MS, r->window_s, r->n};
	struct probes_sample samples[PROBES_MAX_WINDOWS];
	static struct probes_found found;
	double wanted = wanted_per_s(n_active);
	struct stats_summary cpu;
	int rc;

	fprintf(stderr, "farebench: %s: %u peers, %u of them fast\n", name, n_peers, n_active);
	rc = measure(&load, samples, &found);
	if (!rc)
		rc = summarise(samples, load.n, &cpu);
	if (rc)
		return rc;
	if (!strcmp(name, "63x4"))
		r->ours_percent = cpu.median / (n_peers * PROBES_PLANES);
	*keeps_up = cpu.median < FULL && samples[0].answered_per_s >= KEEPS_UP * wanted &&
		    samples[0].reflected_per_s >= KEEPS_UP * wanted;
	return add_load(r, name, &load, samples, &cpu, &found);
}

static int run_cost(struct run *r)
{
	bool keeps_up;
	int rc = run_load(r, "63x4", 63, 63, &keeps_up);

	return rc ? rc : run_load(r, "1023x4", 1023, 63, &keeps_up);
}

/* Ever more, until the core is full or the prober falls behind: the last before that. */
static int run_most(struct run *r)
{
	uint32_t most = 0;
	int rc = 0;

	for (uint32_t n = 126; n <= PROBES_MAX_PEERS; n = n * 5 / 4) {
		bool keeps_up;

		rc = run_load(r, "most", n, n, &keeps_up);
		if (rc || !keeps_up)
			break;
		most = n * PROBES_PLANES;
	}
	if (!rc)
		rc = result_append(
			r->result, "most",
			json_pack("{s:i, s:i}", "sessions", (int)most, "interval_ms", INTERVAL_MS));
	return rc;
}

static int run_bfdd(struct run *r)
{
	uint32_t n_sessions = 63 * PROBES_PLANES;
	struct stats_summary cpu;
	struct probes_bfdd bfdd;
	struct probes_net net;
	double per_session;
	char what[64], note[64];
	int rc = probes_net_up(&net, n_sessions);

	if (rc)
		return rc;
	fprintf(stderr, "farebench: bfdd: %u sessions\n", n_sessions);
	rc = probes_bfdd_run(&net, n_sessions, INTERVAL_MS, r->window_s, r->n, &bfdd);
	probes_net_down(&net);
	if (rc == -ENOENT)
		fprintf(stderr,
			"farebench: FRR's bfdd is not installed: nothing to compare with\n");
	if (rc || (rc = stats_summarise(bfdd.cpu_percent, r->n, &cpu)))
		return rc;
	if (bfdd.n_up < n_sessions) {
		fprintf(stderr, "farebench: bfdd holds only %u of %u sessions: no comparison\n",
			bfdd.n_up, n_sessions);
		return -EREMOTEIO;
	}
	per_session = cpu.median / n_sessions;
	snprintf(what, sizeof(what), "%u sessions", n_sessions);
	snprintf(note, sizeof(note), "%u up at the end", bfdd.n_up);
	if (say(r, "bfdd", what, &cpu, n_sessions, bfdd.packets_per_s, note))
		return -ENOMEM;
	return result_append(r->result, "bfdd",
			     json_pack("{s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:i}", "sessions",
				       (int)n_sessions, "up", (int)bfdd.n_up, "cpu_percent",
				       cpu.median, "cpu_percent_min", cpu.min, "cpu_percent_max",
				       cpu.max, "sent_per_s", bfdd.packets_per_s,
				       "per_session_percent", per_session, "of_ours",
				       r->ours_percent > 0 ? per_session / r->ours_percent : 0.,
				       "n", (int)r->n));
}

static int run_calm(struct result *result, const char *lab, double seconds)
{
	struct probes_calm c;
	int rc = probes_calm_run(lab, seconds, &c);

	if (rc)
		return rc;
	printf("%.0f s with every core busy (%.0f%% idle) and %llu runs of all-to-all traffic: "
	       "%llu probes, %llu lost, "
	       "%llu paths down\nround trip of the worst path: p50 %.1f ms, p99 %.1f ms\n",
	       c.seconds, c.idle_percent, (unsigned long long)c.runs, (unsigned long long)c.probes,
	       (unsigned long long)c.lost, (unsigned long long)c.downs, c.rtt_p50_ms, c.rtt_p99_ms);
	return result_append(result, "calm",
			     json_pack("{s:f, s:f, s:I, s:I, s:I, s:I, s:f, s:f}", "seconds",
				       c.seconds, "idle_percent", c.idle_percent, "traffic_runs",
				       (json_int_t)c.runs, "probes", (json_int_t)c.probes, "lost",
				       (json_int_t)c.lost, "downs", (json_int_t)c.downs,
				       "rtt_p50_ms", c.rtt_p50_ms, "rtt_p99_ms", c.rtt_p99_ms));
}

enum part { COST, MOST, BFDD, PARTS };

static const char *const parts[PARTS] = {"cost", "most", "bfdd"};

static int run_all(struct run *r, const bool *wanted)
{
	int rc = wanted[COST] ? run_cost(r) : 0;

	if (!rc && wanted[BFDD])
		rc = run_bfdd(r);
	if (!rc && wanted[MOST])
		rc = run_most(r);
	return rc;
}

static int write_page(const struct run *r, struct report *page, const char *path)
{
	report_text(page,
		    "CPU time, user and system, of one process that probes all peers every 10 ms "
		    "over each plane and "
		    "answers as many probes of theirs, as a share of one core; medians and spread "
		    "of %u windows of %g s. "
		    "bfdd: the same number of multihop sessions, 10 ms; FRR 8.4's loop spins while "
		    "a timer is due within the "
		    "millisecond, so it takes nearly the whole core from some 30 sessions on, and "
		    "at 500 no more.",
		    r->n, r->window_s);
	report_text(page, "Real: %s. Emulated: %s.", cost_basis.real, cost_basis.emulated);
	report_table(page, r->table);
	return report_write(page, path);
}

int probes_main(int argc, char **argv)
{
	static const char *const headers[] = {"run",	   "what",	  "CPU", "min..max",
					      "packets/s", "per session", "note"};
	const char *json_path = NULL, *html_path = NULL, *lab = getenv("FARELAB_NAME");
	struct run r = {.window_s = 5, .n = 3};
	bool wanted[PARTS] = {true, true, true};
	struct option table[OPTIONS_MAX];
	struct report *page = NULL;
	uint64_t value, calm_s = 0;
	int option, rc = 0;

	options_getopt(options, table);
	while (!rc && (option = getopt_long(argc, argv, "h", table, NULL)) != -1)
		switch (option) {
		case 'o':
			rc = options_names("only", optarg, parts, PARTS, wanted);
			break;
		case 'c':
			rc = options_number("calm", optarg, 1, 86400, &calm_s);
			break;
		case 'l':
			lab = optarg;
			break;
		case 'w':
			if (!(rc = options_number("window", optarg, 1, 600, &value)))
				r.window_s = (double)value;
			break;
		case 'n':
			if (!(rc = options_number("n", optarg, 1, PROBES_MAX_WINDOWS, &value)))
				r.n = (unsigned)value;
			break;
		case 'j':
			json_path = optarg;
			break;
		case 'P':
			html_path = optarg;
			break;
		case 'h':
			options_help("farebench probes", options);
			return 0;
		default:
			return 2;
		}
	if (rc || optind != argc || (calm_s && !lab)) {
		if (calm_s && !lab)
			options_which_lab("farebench probes --calm SECONDS");
		return 2;
	}
	rc = result_create(&r.result);
	if (!rc)
		rc = result_describe_basis(r.result, calm_s ? &calm_basis : &cost_basis);
	if (!rc)
		rc = table_create(&r.table, sizeof(headers) / sizeof(headers[0]), headers);
	if (!rc && html_path)
		rc = report_create(&page, "What probing costs");
	if (!rc)
		rc = calm_s ? run_calm(r.result, lab, (double)calm_s) : run_all(&r, wanted);
	if (!rc && !calm_s && (!json_path || strcmp(json_path, "-") != 0))
		table_print(r.table, stdout);
	if (!rc && page)
		rc = write_page(&r, page, html_path);
	if (!rc && json_path)
		rc = result_write(r.result, json_path);
	report_destroy(page);
	table_destroy(r.table);
	result_destroy(r.result);
	return rc ? 1 : 0;
}
