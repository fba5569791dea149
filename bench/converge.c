/* SPDX-License-Identifier: BSD-2-Clause */
#include "converge.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/cluster.h"
#include "command.h"
#include "lab.h"
#include "options.h"
#include "report/report.h"
#include "result.h"
#include "stats.h"

#define CONVERGE_MS 300000

static const struct options_entry converge_table[] = {
	{"topology", 't', "FILE", "what to bring up"},
	{"trials", 'n', "N", "how often (3)"},
	{"json", 'j', "FILE", "write the result there ('-': standard output)"},
	{"html", 'P', "FILE", "write it there as a page"},
	{NULL, 0, NULL, NULL},
};

static const struct result_basis converge_basis = {
	.observation_point = "farelab status: routes toward every GPU over every plane, in every "
			     "server's bgpd and "
			     "kernel",
	.real = "FRR's bgpd and zebra, the kernel's routing",
	.emulated = "links (veth), switches and servers (namespaces). Not there: fared, traffic",
};

/* One lab up, timed, and down again. Without fared: routes do not wait for it. */
static int converge_once(const char *topology, double *seconds)
{
	struct lab lab;
	char name[TOPO_NAME_MAX];
	uint64_t start;
	int err, down;

	snprintf(name, sizeof(name), "cv%d", (int)getpid());
	lab_init(&lab, name);
	const char *up[] = {lab.farelab, "up", topology, "--name", name, "--wait", "240", NULL};

	start = cluster_now_ns();
	err = command_check(up, CONVERGE_MS, NULL);
	*seconds = (double)(cluster_now_ns() - start) / 1e9;
	/* also after a failure: half a lab is nothing to leave behind */
	down = lab_do(&lab, "down", (const char *const[]){NULL});
	return err ? err : down;
}

static int converge_page(const char *topology, const double *seconds, const struct stats_summary *s,
			 struct report *report, const char *html_path)
{
	char names[RESULT_MAX_N][24];
	const char *categories[RESULT_MAX_N];
	struct report_series series = {.y = seconds, .n = s->n};
	struct report_plot plot = {.title = "Seconds from nothing to converged",
				   .x_label = "trial",
				   .y_label = "s",
				   .kind = REPORT_BARS,
				   .categories = categories,
				   .n_series = 1,
				   .series = &series};
	int err;

	for (size_t i = 0; i < s->n; i++) {
		snprintf(names[i], sizeof(names[i]), "%zu", i + 1);
		categories[i] = names[i];
	}
	report_text(
		report,
		"%s: every server knew every GPU over every plane after %.1f s (median of %zu; "
		"%.1f..%.1f). The "
		"time includes making the namespaces and starting FRR, all on this one machine.",
		topology, s->median, s->n, s->min, s->max);
	report_text(report, "Real: %s. Emulated: %s.", converge_basis.real,
		    converge_basis.emulated);
	err = report_plot(report, &plot);
	return err ? err : report_write(report, html_path);
}

static int converge_report(const char *topology, const double *seconds, unsigned n,
			   const char *json_path, struct report *report, const char *html_path)
{
	const char *slash = strrchr(topology, '/');
	struct stats_summary s;
	struct result *result;
	int err = stats_summarise(seconds, n, &s);

	if (err || (err = result_create(&result)))
		return err;
	err = result_describe_basis(result, &converge_basis);
	for (unsigned i = 0; !err && i < n; i++)
		err = result_append(result, "converge",
				    json_pack("{s:s, s:i, s:f}", "topology",
					      slash ? slash + 1 : topology, "trial", (int)i,
					      "seconds", seconds[i]));
	if (!err && json_path)
		err = result_write(result, json_path);
	if (!err && (!json_path || strcmp(json_path, "-") != 0))
		printf("%s: converged after %.1f s (%.1f..%.1f, n = %u)\n", topology, s.median,
		       s.min, s.max, n);
	result_destroy(result);
	if (!err && report)
		err = converge_page(topology, seconds, &s, report, html_path);
	return err;
}

int converge_main(int argc, char **argv)
{
	const char *topology = NULL, *json_path = NULL, *html_path = NULL;
	struct report *report = NULL;
	struct option table[OPTIONS_MAX];
	double seconds[RESULT_MAX_N];
	uint64_t n = 3;
	int option, err = 0;

	options_getopt(converge_table, table);
	while (!err && (option = getopt_long(argc, argv, "h", table, NULL)) != -1) {
		switch (option) {
		case 't':
			topology = optarg;
			break;
		case 'j':
			json_path = optarg;
			break;
		case 'P':
			html_path = optarg;
			break;
		case 'n':
			err = options_number("trials", optarg, 1, RESULT_MAX_N, &n);
			break;
		case 'h':
			options_help("farebench converge", converge_table);
			return 0;
		default:
			return 2;
		}
	}
	if (err || !topology) {
		if (!topology)
			fprintf(stderr, "farebench converge: which --topology?\n");
		return 2;
	}
	if (html_path)
		err = report_create(&report, "How long a lab takes to converge");
	for (uint64_t i = 0; !err && i < n; i++)
		err = converge_once(topology, &seconds[i]);
	if (!err)
		err = converge_report(topology, seconds, (unsigned)n, json_path, report, html_path);
	report_destroy(report);
	return err ? 1 : 0;
}
