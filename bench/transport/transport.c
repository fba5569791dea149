/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "plan.h"
#include "report/report.h"
#include "shaped.h"
#include "show.h"

#define MAX_LIST      12
#define LATENCY_BYTES 64
#define LARGE_BYTES   (1u << 20) /* of the sweep over QPs, and of the processor's cost */

struct transport {
	const struct transport_method *method[TRANSPORT_MAX_METHODS];
	unsigned n_methods;
	uint64_t sizes[MAX_LIST], qps[MAX_LIST], n, max_handover_ns;
	int n_sizes, n_qps;
	double seconds;
	const char *json, *html, *lab;
	bool shaped, part[PLAN_PARTS];
	struct plan *plan;
};

static const struct options_entry transport_options[] = {
	{"methods", 'm', "LIST",
	 "of raw, soft, group-1, group-1-busy, group-4-flow, group-4-spray, group-4-packet, tcp, "
	 "tcp-tuned, ofi-tcp, ofi-net, ofi-udp, ucx-tcp, udp (all)"},
	{"sizes", 's', "LIST", "bytes of a message, 8..64M (64,1K,8K,64K,256K,1M,8M,64M)"},
	{"qps", 'q', "LIST",
	 "QPs, or connections, for the sweep over them, 1..256 (1,4,16,64,256)"},
	{"only", 'o', "LIST", "of goodput,qps,cpu,latency (all)"},
	{"seconds", 't', "S", "time measured per point and repetition (0.4)"},
	{"n", 'n', "N", "repetitions, 1..25 (5)"},
	{"max-handover", 'H', "NS",
	 "wait while a cache line needs longer between the ends' cores, for 300 s in all, "
	 "10..10000"},
	{"shaped", 'S', NULL,
	 "instead: in a lab, a sub-port lost at the far end; what spray, flows and the kernel's "
	 "hash make of it"},
	{"lab", 'l', "NAME", "the lab for --shaped ($FARELAB_NAME)"},
	{"html", 'P', "FILE", "write them there as a page with pictures"},
	{"json", 'j', "FILE", "write the results there too ('-': standard output)"},
	{NULL, 0, NULL, NULL},
};

/* Keeps the listed ones, in the order of the table; -EINVAL if a word is none that was built in. */
static int choose(struct transport *t, const char *list)
{
	const char *names[TRANSPORT_MAX_METHODS] = {NULL};
	bool chosen[TRANSPORT_MAX_METHODS];
	unsigned kept = 0;
	int err;

	for (unsigned i = 0; i < t->n_methods; i++)
		names[i] = t->method[i]->name;
	err = options_names("methods", list, names, t->n_methods, chosen);
	for (unsigned i = 0; !err && i < t->n_methods; i++)
		if (chosen[i])
			t->method[kept++] = t->method[i];
	t->n_methods = err ? t->n_methods : kept;
	return err;
}

static int choose_parts(struct transport *t, const char *list)
{
	const char *names[PLAN_PARTS];

	for (unsigned part = 0; part < PLAN_PARTS; part++)
		names[part] = plan_part_name((enum plan_part)part);
	return options_names("only", list, names, PLAN_PARTS, t->part);
}

static int parse_sizes(const char *text, uint64_t *out, uint64_t min, uint64_t max)
{
	int n = options_sizes(text, out, MAX_LIST);

	for (int i = 0; i < n; i++)
		if (out[i] < min || out[i] > max) {
			fprintf(stderr, "farebench transport: %s: %llu to %llu each\n", text,
				(unsigned long long)min, (unsigned long long)max);
			return -EINVAL;
		}
	return n;
}

static int parse(struct transport *t, int argc, char **argv)
{
	struct option table[OPTIONS_MAX];
	int option, err = 0;

	options_getopt(transport_options, table);
	while (!err && (option = getopt_long(argc, argv, "h", table, NULL)) != -1) {
		switch (option) {
		case 'm':
			err = choose(t, optarg);
			break;
		case 's':
			err = t->n_sizes = parse_sizes(optarg, t->sizes, TRANSPORT_MIN_BYTES,
						       TRANSPORT_MAX_BYTES);
			break;
		case 'q':
			err = t->n_qps = parse_sizes(optarg, t->qps, 1, TRANSPORT_MAX_QPS);
			break;
		case 'o':
			err = choose_parts(t, optarg);
			break;
		case 't':
			t->seconds = strtod(optarg, NULL);
			err = t->seconds > 0 && t->seconds <= 10 ? 0 : -EINVAL;
			break;
		case 'n':
			err = options_number("n", optarg, 1, PLAN_MAX_N, &t->n);
			break;
		case 'H':
			err = options_number("max-handover", optarg, 10, 10000,
					     &t->max_handover_ns);
			break;
		case 'S':
			t->shaped = true;
			break;
		case 'l':
			t->lab = optarg;
			break;
		case 'P':
			t->html = optarg;
			break;
		case 'j':
			t->json = optarg;
			break;
		case 'h':
			options_help("farebench transport", transport_options);
			return 1;
		default:
			return -EINVAL;
		}
		err = err > 0 ? 0 : err;
	}
	return err ? err : optind < argc ? -EINVAL : 0;
}

static int add_all(struct transport *t, enum plan_part part, size_t bytes, unsigned qps)
{
	int err = 0;

	for (unsigned i = 0; !err && i < t->n_methods; i++) {
		const struct transport_method *m = t->method[i];
		struct transport_case c = {.method = m,
					   .bytes = bytes,
					   .qps = qps,
					   .seconds = t->seconds,
					   .latency = part == PLAN_LATENCY,
					   .block = part == PLAN_CPU};

		if ((m->is_probe && !c.latency) || (m->reads && c.latency) ||
		    (part == PLAN_QPS && !m->many_qps) || (c.block && !m->fd))
			continue;
		err = plan_add(t->plan, part, &c);
	}
	return err;
}

static int make_plan(struct transport *t)
{
	int err = 0;

	for (int i = 0; !err && t->part[PLAN_GOODPUT] && i < t->n_sizes; i++)
		err = add_all(t, PLAN_GOODPUT, t->sizes[i], 1);
	for (int i = 0; !err && t->part[PLAN_QPS] && i < t->n_qps; i++)
		err = add_all(t, PLAN_QPS, LARGE_BYTES, (unsigned)t->qps[i]);
	if (!err && t->part[PLAN_CPU])
		err = add_all(t, PLAN_CPU, LARGE_BYTES, 1);
	if (!err && t->part[PLAN_LATENCY])
		err = add_all(t, PLAN_LATENCY, LATENCY_BYTES, 1);
	return err;
}

static int run_plan(struct transport *t)
{
	struct transport_net net;
	struct progress progress;
	int err = transport_net_up(&net, TRANSPORT_PLANES);

	progress_init(&progress, t->plan->n_points * (unsigned)t->n);
	for (uint64_t i = 0; !err && i < t->n; i++)
		err = plan_run(t->plan, &net, &progress);
	progress_fini(&progress);
	transport_net_down(&net);
	return err;
}

static int measure(struct transport *t, json_t **root)
{
	int err;

	t->plan = calloc(1, sizeof(*t->plan));
	err = t->plan ? make_plan(t) : -ENOMEM;
	if (!err) {
		t->plan->max_handover_ns = (double)t->max_handover_ns;
		t->plan->patience_s = PLAN_PATIENCE_S;
		err = run_plan(t);
	}
	if (!err)
		*root = plan_json(t->plan);
	return err;
}

static int measure_shaped(struct transport *t, json_t **root)
{
	*root = json_object();
	return shaped_run(t->lab, (unsigned)t->n, t->seconds, *root);
}

int transport_main(int argc, char **argv)
{
	struct transport t = {
		.sizes = {64, 1 << 10, 8 << 10, 64 << 10, 256 << 10, 1 << 20, 8 << 20, 64 << 20},
		.n_sizes = 8,
		.qps = {1, 4, 16, 64, 256},
		.n_qps = 5,
		.n = 5,
		.seconds = 0.4,
		.lab = getenv("FARELAB_NAME"),
		.part = {true, true, true, true},
	};
	struct report *page = NULL;
	json_t *root = NULL;
	int err;

	t.n_methods = transport_methods(t.method);
	err = parse(&t, argc, argv);
	if (err)
		return err > 0 ? 0 : 2;
	if (t.shaped && !t.lab) {
		options_which_lab("farebench transport --shaped");
		return 2;
	}
	if (geteuid()) {
		fputs("farebench transport: needs root: it makes network namespaces\n", stderr);
		return 1;
	}
	err = t.html ? report_create(&page,
				     "Moving bytes: the soft provider beside other transports")
		     : 0;
	if (!err)
		err = t.shaped ? measure_shaped(&t, &root) : measure(&t, &root);
	if (!err)
		err = show_all(json_incref(root), page, t.html, t.json);
	json_decref(root);
	report_destroy(page);
	free(t.plan);
	return err ? 1 : 0;
}
