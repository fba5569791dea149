/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/kpi_map.h"

/* Table 11 of draft-calabria-bmwg-ai-fabric-inference-bench-02: primary tests of each KPI. */
static const struct {
	const char *kpi, *tests[6];
} primary[] = {
	{"TTFT", {"6.1", "6.2", "10.1", "10.3"}},
	{"ITL", {"10.2", "10.3", "10.4"}},
	{"TPS_output", {"6.2", "11.1", "11.2", "11.3"}},
	{"TPS_input", {"11.1"}},
	{"Goodput", {"11.1", "11.3"}},
	{"KV_xfer_latency", {"5.2", "5.3", "6.1", "6.4"}},
	{"KV_xfer_bandwidth", {"5.1", "5.3", "5.4"}},
	{"EP_alltoall_latency", {"7.1", "7.2", "7.3", "7.4"}},
	{"EP_alltoall_bandwidth", {"7.1", "7.3"}},
	{"Fabric_FCT", {"5.2", "5.3"}},
	{"Buffer_utilization", {"8.1", "8.2"}},
	{"ECN_marking_rate", {"8.1", "8.3"}},
	{"PFC_frame_count", {"8.2", "8.4"}},
	{"Link_utilization", {"5.3", "9.3", "12.1"}},
	{"Packet_drop_rate", {"8.1", "8.2", "12.3"}},
	{"Request_Rate", {"11.1"}},
	{"Prefix Cache Hit Rate", {"9.2"}},
	{"JFI (Decode Worker)", {"9.4"}},
};

static const struct test *find(const char *id)
{
	size_t n;
	const struct test *const *all = tests_all(&n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(all[i]->id, id) == 0)
			return all[i];
	return NULL;
}

START_TEST(every_primary_test_measures_its_kpi)
{
	unsigned lacking = 0;
	size_t n;
	const struct kpi_map *map = kpi_map_all(&n);

	ck_assert_uint_eq(n, sizeof(primary) / sizeof(primary[0]));
	for (size_t i = 0; i < n; i++) {
		ck_assert_str_eq(map[i].kpi, primary[i].kpi);
		for (size_t k = 0; primary[i].tests[k]; k++) {
			const struct test *test = find(primary[i].tests[k]);

			if (test && kpi_map_measures(&map[i], test))
				continue;
			fprintf(stderr, "test %s declares no %s\n", primary[i].tests[k],
				map[i].name);
			lacking++;
		}
	}
	ck_assert_uint_eq(lacking, 0);
}
END_TEST

/* Table 13 of draft-calabria-bmwg-ai-fabric-training-bench-02. */
START_TEST(every_training_test_measures_its_kpi)
{
	/* say what they lack */
	static const char *const absent[] = {"UET PFC-Free Loss Rate", "Packet Trimming Savings",
					     "CBFC vs PFC HOL Blocking"};
	size_t n;
	const struct kpi_map *map = kpi_map_training(&n);

	ck_assert_uint_eq(n, 29);
	for (size_t i = 0; i < n; i++) {
		const struct test *test = find(map[i].test);
		bool lacks = false;

		for (size_t k = 0; k < sizeof(absent) / sizeof(absent[0]); k++)
			lacks |= !strcmp(absent[k], map[i].kpi);
		ck_assert_msg(lacks || (test && kpi_map_measures(&map[i], test)),
			      "%s: %s declares no %s", map[i].kpi, map[i].test, map[i].name);
	}
}
END_TEST

static const struct kpi kpis[] = {
	{.name = "Link_utilization_max"}, {.name = "TTFTs"}, {.name = NULL}};
static const struct test a = {.id = "1.1", .kpis = kpis}, b = {.id = "2.2", .kpis = kpis};

START_TEST(names)
{
	const struct kpi_map link = {"Link_utilization", "Link_utilization", "", NULL},
			     ttft = {"TTFT", "TTFT", "", NULL};

	ck_assert(kpi_map_measures(&link, &a));
	ck_assert(!kpi_map_measures(&ttft, &a));
	ck_assert(kpi_map_measures(&link, &b));
	ck_assert(kpi_map_is(&link, "Link_utilization"));
	ck_assert(!kpi_map_is(&link, "Link_utilizations"));
}
END_TEST

static bool has_view(const struct test *test, bool (*is)(const struct view *view))
{
	for (const struct view *v = test->views; v && v->title; v++)
		if (is(v))
			return true;
	return false;
}

static bool has_column(const struct test *test, const struct kpi_map *entry)
{
	for (const struct view *v = test->views; v && v->title; v++)
		for (size_t i = 0; v->kind == VIEW_TABLE && i < TEST_MAX_COLUMNS && v->y[i]; i++) {
			char kpi[ROW_NAME_MAX];

			snprintf(kpi, sizeof(kpi), "%.*s", (int)strcspn(v->y[i], "@"), v->y[i]);
			if (kpi_map_is(entry, kpi))
				return true;
		}
	return false;
}

/* A KPI that the draft asks a test for stands in one of its tables, level by level. */
START_TEST(tables_have_what_is_asked_for)
{
	static const char *const more[][2] = {
		{"5.1", "GPU_to_NIC_overhead"}, {"5.1", "NIC_offload"}, {"6.1", "TTFT_fabric"},
		{"10.1", "TTFT_fabric"},	{"13.3", "TPS_output"}, {"13.1", "TPS_output"}};
	unsigned lacking = 0;
	size_t n;
	const struct kpi_map *map = kpi_map_all(&n);

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; primary[i].tests[k]; k++) {
			const struct test *test = find(primary[i].tests[k]);

			if (!test || has_column(test, &map[i]))
				continue;
			fprintf(stderr, "no table of %s has %s\n", test->id, map[i].name);
			lacking++;
		}
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		const struct kpi_map entry = {.name = more[i][1]};

		if (has_column(find(more[i][0]), &entry))
			continue;
		fprintf(stderr, "no table of %s has %s\n", more[i][0], more[i][1]);
		lacking++;
	}
	ck_assert_uint_eq(lacking, 0);
}
END_TEST

static bool is_cdf(const struct view *view)
{
	return view->kind == VIEW_CDF;
}

static bool is_graph(const struct view *view)
{
	return view->kind != VIEW_CDF && view->kind != VIEW_TABLE;
}

/* Table 10 recommends a distribution of latency and a graph for each section. */
START_TEST(sections_have_pictures)
{
	size_t n;
	const struct test *const *all = tests_all(&n);

	for (int section = 5; section <= 13; section++) {
		bool cdf = false, graph = false;

		for (size_t i = 0; i < n; i++)
			if (test_is_draft(all[i]) && atoi(all[i]->id) == section) {
				cdf |= has_view(all[i], is_cdf);
				graph |= has_view(all[i], is_graph);
			}
		ck_assert_msg(cdf, "section %d has no CDF", section);
		ck_assert_msg(graph, "section %d has no graph", section);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("kpi_map");
	TCase *tcase = tcase_create("kpi_map");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, every_primary_test_measures_its_kpi);
	tcase_add_test(tcase, every_training_test_measures_its_kpi);
	tcase_add_test(tcase, names);
	tcase_add_test(tcase, sections_have_pictures);
	tcase_add_test(tcase, tables_have_what_is_asked_for);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
