/* SPDX-License-Identifier: BSD-2-Clause */
#include "sched_bench.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "assignment.h"
#include "conn_table.h"
#include "flow_id_table.h"
#include "lookup_bench.h"
#include "lookup_peer.h"
#include "memory_floor.h"
#include "options.h"
#include "pick_bench.h"
#include "sched_page.h"
#include "sync_bench.h"

#define MAX_SIZES 8

/* Peers that take their memory from malloc get huge pages as our own tables do. */
#define TUNABLES "GLIBC_TUNABLES"
#define HUGE	 "glibc.malloc.hugetlb=1"

struct sched_bench {
	uint64_t sizes[MAX_SIZES], n;
	int n_sizes;
	const char *tables, *only, *json, *html;
};

static const struct options_entry sched_bench_options[] = {
	{"sizes", 's', "LIST", "entries of the lookup tables, up to 16M (64K,1M,16M)"},
	{"tables", 't', "LIST", "lookup tables, by name (all that were built in)"},
	{"only", 'o', "LIST", "of floor,assignment,pick,publish,lookup (all)"},
	{"n", 'n', "N", "repetitions, 1..99 (7)"},
	{"json", 'j', "FILE", "write the results there too"},
	{"html", 'P', "FILE", "write the results there as a page with pictures"},
	{NULL, 0, NULL, NULL},
};

static int choose_parts(const char *text)
{
	static const char *const names[] = {"floor", "assignment", "pick", "publish", "lookup"};

	return options_names("only", text, names, sizeof(names) / sizeof(names[0]), NULL);
}

static int choose_tables(const char *text)
{
	const char *names[OPTIONS_MAX] = {NULL};
	unsigned n = 0;

	for (; lookup_peers[n] && n < OPTIONS_MAX; n++)
		names[n] = lookup_peers[n]->name;
	return options_names("tables", text, names, n, NULL);
}

static bool wanted(const struct sched_bench *bench, const char *part)
{
	return !bench->only || lookup_bench_listed(bench->only, part);
}

static int parse(struct sched_bench *bench, int argc, char **argv)
{
	struct option table[OPTIONS_MAX];
	int option;

	options_getopt(sched_bench_options, table);
	while ((option = getopt_long(argc, argv, "h", table, NULL)) != -1) {
		switch (option) {
		case 's':
			bench->n_sizes = options_sizes(optarg, bench->sizes, MAX_SIZES);
			if (bench->n_sizes < 1)
				return -EINVAL;
			for (int i = 0; i < bench->n_sizes; i++)
				if (!bench->sizes[i] || bench->sizes[i] > CONN_TABLE_MAX_ENTRIES) {
					fputs("farebench sched: --sizes: up to 16M each\n", stderr);
					return -EINVAL;
				}
			break;
		case 't':
			if (choose_tables(optarg))
				return -EINVAL;
			bench->tables = optarg;
			break;
		case 'o':
			if (choose_parts(optarg))
				return -EINVAL;
			bench->only = optarg;
			break;
		case 'n':
			if (options_number("n", optarg, 1, 99, &bench->n))
				return -EINVAL;
			break;
		case 'j':
			bench->json = optarg;
			break;
		case 'P':
			bench->html = optarg;
			break;
		case 'h':
			options_help("farebench sched", sched_bench_options);
			return 1;
		default:
			return -EINVAL;
		}
	}
	return optind < argc ? -EINVAL : 0;
}

/*
 * glibc reads its tunables only at start: start again with them, once. Failing is no harm but to
 * the peers, and is said in the results.
 */
static void start_with_huge_pages(char **argv)
{
	const char *now = getenv(TUNABLES);
	static char program[] = "farebench";
	char *again[64] = {program};
	unsigned n = 1;

	if (now && strstr(now, "hugetlb"))
		return;
	setenv(TUNABLES, HUGE, 1);
	for (; argv[n - 1] && n < 63; n++)
		again[n] = argv[n - 1];
	execv("/proc/self/exe", again);
}

static void floor_run(const struct sched_bench *bench, struct progress *progress, json_t *out)
{
	static const size_t kib[] = {16, 512, 2048, 16384, 65536, 262144};

	for (size_t i = 0; i < sizeof(kib) / sizeof(kib[0]); i++) {
		double best = 0;

		progress_step(progress, "memory, %zu KiB", kib[i]);
		for (unsigned rep = 0; rep < (bench->n < 3 ? bench->n : 3); rep++) {
			double ns = memory_floor_dependent_ns(kib[i] << 10);

			best = !rep || ns < best ? ns : best;
		}
		json_array_append_new(out, json_pack("{s:I, s:f}", "kib", (json_int_t)kib[i],
						     "dependent_load_ns", best));
	}
}

/* 64 GPUs, all to all, one plane halved: no measurement but a computation, hence once. */
static int assignment_run(struct progress *progress, json_t *out)
{
	static const unsigned qps[] = {1, 4, 16};
	int err = 0;

	for (unsigned i = 0; i < 3; i++) {
		progress_step(progress, "assignment, %u QPs a pair", qps[i]);
		for (unsigned c = 0; !err && c < ASSIGNMENT_CHOICES; c++) {
			struct assignment a = {64, qps[i], 1, (enum assignment_choice)c, 0};
			double over;

			err = assignment_all_to_all(&a, &over);
			if (!err)
				json_array_append_new(
					out, json_pack("{s:i, s:i, s:s, s:f}", "gpus", 64,
						       "qps_per_pair", (int)qps[i], "choice",
						       assignment_choice_name(a.choice),
						       "over_optimum_ratio", over));
		}
	}
	return err;
}

static json_t *environment(void)
{
	const char *tunables = getenv(TUNABLES);
	json_t *built = json_array();
	struct utsname u;

	uname(&u);
	for (unsigned i = 0; lookup_peers[i]; i++)
		json_array_append_new(built, json_string(lookup_peers[i]->name));
	return json_pack(
		"{s:s, s:i, s:s, s:b, s:o, s:s}", "kernel", u.release, "cores",
		(int)sysconf(_SC_NPROCESSORS_ONLN), "instructions", simd_name(simd_best()),
		"peers_in_huge_pages", tunables && strstr(tunables, "hugetlb=1"), "tables_built_in",
		built, "what",
		"real processor and memory, no network; medians; methods measured in turns");
}

static int measure(const struct sched_bench *bench, json_t *sched)
{
	struct progress progress;
	int err = 0;

	progress_init(&progress,
		      (unsigned)(wanted(bench, "lookup") * bench->n_sizes * (9 + (int)bench->n) +
				 wanted(bench, "floor") * 6 + wanted(bench, "assignment") * 3 +
				 wanted(bench, "pick") * 4 +
				 wanted(bench, "publish") * 2 * (int)bench->n));
	if (wanted(bench, "floor"))
		floor_run(bench, &progress, json_object_get(sched, "floor"));
	if (wanted(bench, "assignment"))
		err = assignment_run(&progress, json_object_get(sched, "assignment"));
	if (!err && wanted(bench, "pick"))
		err = pick_bench_run((unsigned)bench->n, &progress, json_object_get(sched, "pick"));
	if (!err && wanted(bench, "publish"))
		err = sync_bench_run((unsigned)bench->n, &progress,
				     json_object_get(sched, "publish"));
	for (int i = 0; !err && wanted(bench, "lookup") && i < bench->n_sizes; i++) {
		struct lookup_bench lookup = {bench->sizes[i], (unsigned)bench->n, bench->tables,
					      &progress};

		err = lookup_bench_run(&lookup, json_object_get(sched, "lookup"));
	}
	progress_fini(&progress);
	return err;
}

int sched_bench_run(int argc, char **argv)
{
	struct sched_bench bench = {.sizes = {64 << 10, 1 << 20, 16 << 20}, .n_sizes = 3, .n = 7};
	struct report *report = NULL;
	json_t *root, *sched;
	int err = parse(&bench, argc, argv);

	if (err)
		return err > 0 ? 0 : 2;
	if (bench.html && report_create(&report, "The scheduler's hot path beside its peers"))
		return 1;
	start_with_huge_pages(argv);
	sched = json_pack("{s:[], s:[], s:[], s:[], s:[]}", "floor", "assignment", "lookup", "pick",
			  "publish");
	root = json_pack("{s:o, s:o}", "sched", sched, "environment", environment());
	err = measure(&bench, sched);
	if (!err && bench.json && json_dump_file(root, bench.json, JSON_INDENT(1))) {
		fprintf(stderr, "farebench sched: %s cannot be written\n", bench.json);
		err = -EIO;
	}
	if (!err)
		err = sched_page_show(root, report);
	if (!err && report)
		err = report_write(report, bench.html);
	if (err)
		fprintf(stderr, "farebench sched: %s\n", strerror(-err));
	report_destroy(report);
	json_decref(root);
	return err ? 1 : 0;
}
