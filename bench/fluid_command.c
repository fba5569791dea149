/* SPDX-License-Identifier: BSD-2-Clause */
#include "fluid_command.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "data_file.h"
#include "fluid.h"
#include "fluid_pattern.h"
#include "options.h"
#include "report/report.h"
#include "report/table.h"
#include "topology.h"

#define MAX_QPS_LIST 8
/* Beyond this many GPUs an all-to-all among all of them is too much memory: each has this many
 * peers, unless told otherwise. */
#define MANY_GPUS     1024
#define PEERS_OF_MANY 64
#define COMMAND	      "farebench fluid"

struct fluid_command {
	struct topology topology;
	struct fluid_pattern pattern;
	uint64_t qps[MAX_QPS_LIST], gpus, peers, bytes, halve, merge_ppm, vary, n;
	int n_qps;
	unsigned tests, choices; /* bits */
	bool has_gpus, has_peers, has_halve;
	const char *json, *html, *dump;
	struct report *report; /* NULL: no page */
	FILE *dump_file;
};

static const struct options_entry fluid_command_options[] = {
	{"test", 't', "NAMES", "of all-to-all,kv (all-to-all)"},
	{"gpus", 'g', "N", "as many GPUs instead of the file's, up to 65,536"},
	{"peers", 'p', "N", "GPUs that each sends to in all-to-all (all; 64 beyond 1,024 GPUs)"},
	{"qps", 'q', "LIST", "QPs a pair, up to 64 each (1,4,16)"},
	{"choice", 'c', "LIST", "of fare,hash,weighted-hash,spray (fare)"},
	{"size", 's', "BYTES", "of a pair (1M)"},
	{"vary", 'v', "PERCENT", "sizes of pairs differ by up to this, 0..99 (0)"},
	{"halve-plane", 'H', "P", "plane P has half the bandwidth, everywhere (none)"},
	{"merge", 'm', "PPM",
	 "let flows that end within so many millionths end together (0: exact)"},
	{"n", 'n', "N", "repetitions of each, 1..99 (1)"},
	{"dump", 'd', "FILE", "write links, flows and times there too, for another solver"},
	{"json", 'j', "FILE", "write the results there too"},
	{"html", 'P', "FILE", "write the results there as a page with pictures"},
	{NULL, 0, NULL, NULL},
};

static double fluid_command_now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Bits of the names between commas; 0 if one is unknown. */
static unsigned fluid_command_names(const char *option, const char *text,
				    const char *(*name)(unsigned), unsigned n)
{
	const char *names[OPTIONS_MAX] = {NULL};
	bool chosen[OPTIONS_MAX];
	unsigned bits = 0;

	for (unsigned i = 0; i < n; i++)
		names[i] = name(i);
	if (options_names(option, text, names, n, chosen))
		return 0;
	for (unsigned i = 0; i < n; i++)
		bits |= (unsigned)chosen[i] << i;
	return bits;
}

static const char *fluid_command_test(unsigned i)
{
	return fluid_pattern_test_name((enum fluid_pattern_test)i);
}

static const char *fluid_command_choice(unsigned i)
{
	return fluid_pattern_choice_name((enum fluid_pattern_choice)i);
}

static int fluid_command_qps(struct fluid_command *c, const char *text)
{
	c->n_qps = options_sizes(text, c->qps, MAX_QPS_LIST);
	for (int i = 0; i < c->n_qps; i++)
		if (c->qps[i] > FLUID_PATTERN_MAX_QPS) {
			fprintf(stderr, COMMAND ": --qps: up to %d each\n", FLUID_PATTERN_MAX_QPS);
			return -EINVAL;
		}
	return c->n_qps < 1 ? -EINVAL : 0;
}

static int fluid_command_option(struct fluid_command *c, int option)
{
	switch (option) {
	case 't':
		c->tests = fluid_command_names("test", optarg, fluid_command_test,
					       FLUID_PATTERN_TESTS);
		return c->tests ? 0 : -EINVAL;
	case 'g':
		c->has_gpus = true;
		return options_number("gpus", optarg, 2, FLUID_PATTERN_MAX_GPUS, &c->gpus);
	case 'p':
		c->has_peers = true;
		return options_number("peers", optarg, 1, FLUID_PATTERN_MAX_GPUS, &c->peers);
	case 'q':
		return fluid_command_qps(c, optarg);
	case 'c':
		c->choices = fluid_command_names("choice", optarg, fluid_command_choice,
						 FLUID_PATTERN_CHOICES);
		return c->choices ? 0 : -EINVAL;
	case 's':
		return options_number("size", optarg, 1, UINT64_C(1) << 40, &c->bytes);
	case 'v':
		return options_number("vary", optarg, 0, 99, &c->vary);
	case 'H':
		c->has_halve = true;
		return options_number("halve-plane", optarg, 0, FARE_MAX_PLANES - 1, &c->halve);
	case 'm':
		return options_number("merge", optarg, 0, 1000000, &c->merge_ppm);
	case 'n':
		return options_number("n", optarg, 1, 99, &c->n);
	case 'd':
		c->dump = optarg;
		return 0;
	case 'j':
		c->json = optarg;
		return 0;
	case 'P':
		c->html = optarg;
		return 0;
	default:
		return -EINVAL;
	}
}

/* What each GPU has toward a plane; the model knows no GPU with other ports than the rest. */
static int fluid_command_planes(struct fluid_command *c)
{
	const struct topology *t = &c->topology;

	for (unsigned i = 0; i < t->n_rates; i++)
		if (t->rates[i].server != TOPOLOGY_EVERY || t->rates[i].gpu != TOPOLOGY_EVERY) {
			fprintf(stderr,
				COMMAND ": rates[%u] is of one server or GPU; rates of planes and "
					"sub-ports are expected\n",
				i);
			return -EINVAL;
		}
	for (unsigned plane = 0; plane < t->planes; plane++) {
		double sum = 0;

		for (unsigned sub = 0; sub < t->sub_ports; sub++)
			sum += topology_rate(t, 0, 0, plane, sub) * 1e6;
		c->pattern.plane_bps[plane] = c->has_halve && plane == c->halve ? sum / 2 : sum;
	}
	return 0;
}

/* From the topology's numbers and the options to a fabric; says what does not fit. */
static int fluid_command_fabric(struct fluid_command *c)
{
	const struct topology *t = &c->topology;
	struct fluid_pattern *p = &c->pattern;
	uint64_t gpus = c->has_gpus ? c->gpus : (uint64_t)t->servers * t->gpus_per_server;

	if (!t->rate_mbps) {
		fputs(COMMAND ": rate_mbps is 0 in the topology: links have no bandwidth\n",
		      stderr);
		return -EINVAL;
	}
	if (c->has_halve && c->halve >= t->planes) {
		fprintf(stderr, COMMAND ": --halve-plane: the topology has %u planes\n", t->planes);
		return -EINVAL;
	}
	p->gpus = (unsigned)gpus;
	p->gpus_per_server = t->gpus_per_server;
	p->planes = t->planes;
	p->sub_ports = t->sub_ports;
	p->bytes = (double)c->bytes;
	p->vary_percent = (unsigned)c->vary;
	p->qps = 1;
	p->peers = c->has_peers ? (unsigned)c->peers : gpus > MANY_GPUS ? PEERS_OF_MANY : 0;
	if (fluid_command_planes(c))
		return -EINVAL;
	for (unsigned test = 0; test < FLUID_PATTERN_TESTS; test++) {
		p->test = (enum fluid_pattern_test)test;
		if (c->tests & 1u << test && fluid_pattern_check(p)) {
			fprintf(stderr,
				COMMAND ": %u GPUs in servers of %u: at least two servers are "
					"expected, all full, and for kv an even number\n",
				p->gpus, p->gpus_per_server);
			return -EINVAL;
		}
	}
	return 0;
}

static int fluid_command_parse(struct fluid_command *c, int argc, char **argv)
{
	struct option table[OPTIONS_MAX];
	char error[TOPOLOGY_ERROR_MAX], why[DATA_FILE_ERROR_MAX], path[PATH_MAX];
	int option;

	options_getopt(fluid_command_options, table);
	while ((option = getopt_long(argc, argv, "h", table, NULL)) != -1) {
		if (option == 'h') {
			options_help(COMMAND " TOPOLOGY", fluid_command_options);
			return 1;
		}
		if (fluid_command_option(c, option))
			return -EINVAL;
	}
	if (optind != argc - 1) {
		fputs(COMMAND ": one topology file is expected\n", stderr);
		return -EINVAL;
	}
	if (data_file_find(data_file_topologies(), argv[optind], path, why)) {
		fprintf(stderr, COMMAND ": %s\n", why);
		return -EINVAL;
	}
	if (topology_load(path, &c->topology, error)) {
		fprintf(stderr, COMMAND ": %s\n", error);
		return -EINVAL;
	}
	return fluid_command_fabric(c);
}

struct fluid_case {
	struct fluid *fluid;
	FILE *dump;
	size_t flows;
};

static int on_link(void *context, double capacity_bps)
{
	struct fluid_case *one = context;
	int link = fluid_add_link(one->fluid, capacity_bps);

	if (one->dump)
		fprintf(one->dump, "link %.17g\n", capacity_bps);
	return link < 0 ? link : 0;
}

static int on_flow(void *context, double weight, double bytes, int tx_link, int rx_link)
{
	struct fluid_case *one = context;
	int links[2] = {tx_link, rx_link};
	int flow = fluid_add_flow(one->fluid, weight, bytes, links, 2);

	if (one->dump)
		fprintf(one->dump, "flow %.17g %.17g %d %d\n", weight, bytes, tx_link, rx_link);
	one->flows++;
	return flow < 0 ? flow : 0;
}

static int fluid_command_case(struct fluid_command *c, unsigned repetition, json_t *out)
{
	const struct fluid_pattern *p = &c->pattern;
	struct fluid_case one = {.dump = repetition ? NULL : c->dump_file};
	const struct fluid_pattern_sink sink = {on_link, on_flow, &one};
	double begin = fluid_command_now_s(), built, solved, finish_s = 0, optimum_s;
	int err = fluid_create(&one.fluid);

	if (err)
		return err;
	err = fluid_pattern_optimum_s(p, &optimum_s);
	if (!err)
		err = fluid_merge_ppm(one.fluid, (double)c->merge_ppm);
	if (!err)
		err = fluid_pattern_run(p, &sink);
	built = fluid_command_now_s();
	if (!err)
		err = fluid_run(one.fluid, &finish_s);
	solved = fluid_command_now_s();
	if (!err && one.dump) {
		for (size_t i = 0; i < one.flows; i++)
			fprintf(one.dump, "done %.17g\n", fluid_finish_s(one.fluid, (int)i));
		fprintf(one.dump, "end %.17g\n", finish_s);
	}
	if (!err)
		json_array_append_new(
			out,
			json_pack(
				"{s:s, s:s, s:i, s:i, s:i, s:i, s:I, s:I, s:f, s:f, s:f, s:f, s:f, "
				"s:f}",
				"test", fluid_pattern_test_name(p->test), "choice",
				fluid_pattern_choice_name(p->choice), "gpus", (int)p->gpus, "peers",
				(int)fluid_pattern_peers(p), "qps_per_pair", (int)p->qps,
				"repetition", (int)repetition, "flows", (json_int_t)one.flows,
				"events", (json_int_t)fluid_events(one.fluid), "finish_s", finish_s,
				"optimum_s", optimum_s, "over_optimum_ratio", finish_s / optimum_s,
				"build_s", built - begin, "solve_s", solved - built, "wall_s",
				solved - begin));
	fluid_destroy(one.fluid);
	return err;
}

static int fluid_command_cases(struct fluid_command *c, json_t *out)
{
	int err = 0;

	for (unsigned test = 0; test < FLUID_PATTERN_TESTS; test++)
		for (unsigned choice = 0; choice < FLUID_PATTERN_CHOICES; choice++)
			for (int i = 0; i < c->n_qps; i++) {
				if (!(c->tests & 1u << test) || !(c->choices & 1u << choice))
					continue;
				c->pattern.test = (enum fluid_pattern_test)test;
				c->pattern.choice = (enum fluid_pattern_choice)choice;
				c->pattern.qps = (unsigned)c->qps[i];
				for (unsigned r = 0; !err && r < c->n; r++)
					err = fluid_command_case(c, r, out);
			}
	return err;
}

static int fluid_command_table(const json_t *cases, struct table **out)
{
	static const char *const columns[] = {"test",	"choice",	"gpus",
					      "peers",	"qps_per_pair", "flows",
					      "events", "finish_s",	"over_optimum_ratio",
					      "wall_s"};
	enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };
	struct table *table;
	json_t *one;
	size_t i;

	if (table_create(&table, COLUMNS, columns))
		return -ENOMEM;
	json_array_foreach (cases, i, one) {
		char text[COLUMNS][64];
		const char *cells[COLUMNS];

		for (size_t c = 0; c < COLUMNS; c++) {
			const json_t *v = json_object_get(one, columns[c]);

			if (json_is_string(v))
				snprintf(text[c], sizeof(text[c]), "%s", json_string_value(v));
			else if (json_is_integer(v))
				snprintf(text[c], sizeof(text[c]), "%lld",
					 (long long)json_integer_value(v));
			else
				snprintf(text[c], sizeof(text[c]), "%.6g", json_number_value(v));
			cells[c] = text[c];
		}
		if (table_row(table, cells)) {
			table_destroy(table);
			return -ENOMEM;
		}
	}
	*out = table;
	return 0;
}

/* Bars of one test: a category for each number of QPs, a bar for each choice; of a case's
 * repetitions, which differ only in time, the first. */
static int fluid_command_picture(const struct fluid_command *c, const json_t *cases, unsigned test)
{
	static const char *const titles[FLUID_PATTERN_TESTS] = {
		[FLUID_PATTERN_ALL_TO_ALL] = "All-to-all", [FLUID_PATTERN_KV] = "KV transfer"};
	double y[FLUID_PATTERN_CHOICES][MAX_QPS_LIST];
	char names[MAX_QPS_LIST][32];
	const char *categories[MAX_QPS_LIST];
	struct report_series series[FLUID_PATTERN_CHOICES];
	struct report_plot plot = {.title = titles[test],
				   .y_label = "time over the optimum",
				   .kind = REPORT_BARS,
				   .categories = categories,
				   .series = series,
				   .y_mark = 1};
	json_t *one;
	size_t i;

	for (int q = 0; q < c->n_qps; q++) {
		snprintf(names[q], sizeof(names[q]), "%llu QP%s a pair",
			 (unsigned long long)c->qps[q], c->qps[q] == 1 ? "" : "s");
		categories[q] = names[q];
	}
	for (unsigned choice = 0; choice < FLUID_PATTERN_CHOICES; choice++) {
		int q = 0;

		if (!(c->choices & 1u << choice))
			continue;
		json_array_foreach (cases, i, one)
			if (strcmp(json_string_value(json_object_get(one, "test")),
				   fluid_command_test(test)) == 0 &&
			    strcmp(json_string_value(json_object_get(one, "choice")),
				   fluid_command_choice(choice)) == 0 &&
			    json_integer_value(json_object_get(one, "repetition")) == 0)
				y[choice][q++] = json_number_value(
					json_object_get(one, "over_optimum_ratio"));
		series[plot.n_series++] = (struct report_series){
			.name = fluid_command_choice(choice), .y = y[choice], .n = (size_t)q};
	}
	return report_plot(c->report, &plot);
}

static int fluid_command_page(const struct fluid_command *c, const json_t *cases,
			      const struct table *table)
{
	int err = 0;

	report_text(c->report, "Computed, not measured: flows share links max-min fairly, as "
			       "fluid; no packets, no "
			       "transport, and a link is all sub-ports of a plane. The optimum "
			       "keeps all planes of the "
			       "busiest GPU busy until the end (dashed).");
	report_text(c->report, "%u GPUs, %u planes, %u sub-ports, %llu bytes a pair%s%s.",
		    c->pattern.gpus, c->pattern.planes, c->pattern.sub_ports,
		    (unsigned long long)c->bytes,
		    c->has_halve ? ", one plane at half its bandwidth" : "",
		    c->vary ? ", sizes of pairs vary" : "");
	for (unsigned test = 0; !err && test < FLUID_PATTERN_TESTS; test++)
		if (c->tests & 1u << test)
			err = fluid_command_picture(c, cases, test);
	if (!err)
		err = report_table(c->report, table);
	return err ? err : report_write(c->report, c->html);
}

static int fluid_command_show(const struct fluid_command *c, const json_t *cases)
{
	struct table *table;
	int err = fluid_command_table(cases, &table);

	if (err)
		return err;
	table_print(table, stdout);
	if (c->report)
		err = fluid_command_page(c, cases, table);
	table_destroy(table);
	return err;
}

/* Largest resident set so far, bytes. */
static json_int_t fluid_command_peak(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (json_int_t)usage.ru_maxrss * 1024;
}

static int fluid_command_measure(struct fluid_command *c)
{
	json_t *cases = json_array(), *root;
	int err;

	if (c->dump) {
		c->dump_file = fopen(c->dump, "we");
		if (!c->dump_file) {
			err = -errno;
			json_decref(cases);
			return err;
		}
	}
	err = fluid_command_cases(c, cases);
	if (c->dump_file && (ferror(c->dump_file) | fclose(c->dump_file)) && !err)
		err = -EIO;
	root = json_pack(
		"{s:{s:o, s:I, s:I, s:I, s:I, s:i, s:s}}", "fluid", "cases", cases, "merge_ppm",
		(json_int_t)c->merge_ppm, "vary_percent", (json_int_t)c->vary, "bytes_per_pair",
		(json_int_t)c->bytes, "peak_memory_bytes", fluid_command_peak(), "halved_plane",
		c->has_halve ? (int)c->halve : -1, "what",
		"computed, not measured: max-min fluid, no packets, no transport; a link is all "
		"sub-ports of a plane");
	if (!err) {
		err = fluid_command_show(c, cases);
		printf("\npeak memory %.0f MB; %s\n", (double)fluid_command_peak() * 1e-6,
		       c->merge_ppm ? "events merged: times are late rather than early" : "exact");
		if (c->json && json_dump_file(root, c->json, JSON_INDENT(1)))
			err = -EIO;
	}
	json_decref(root);
	return err;
}

int fluid_command_main(int argc, char **argv)
{
	struct fluid_command command = {
		.qps = {1, 4, 16},
		.n_qps = 3,
		.bytes = 1 << 20,
		.n = 1,
		.tests = 1u << FLUID_PATTERN_ALL_TO_ALL,
		.choices = 1u << FLUID_PATTERN_FARE,
	};
	int err = fluid_command_parse(&command, argc, argv);

	if (err)
		return err > 0 ? 0 : 2;
	if (command.html)
		err = report_create(&command.report, "How long a pattern takes, as fluid");
	if (!err)
		err = fluid_command_measure(&command);
	report_destroy(command.report);
	if (err)
		fprintf(stderr, COMMAND ": %s\n", strerror(-err));
	return err ? 1 : 0;
}
