/* SPDX-License-Identifier: BSD-2-Clause */
/* Test 12.1 of the training draft: what is named in made-up samples, and links without traffic. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/check_bench_fabric.h"
#include "suite/test.h"
#include "training/links.h"
#include "training/sustained.h"

extern const struct test test_t12_1;

static void add(struct rows *rows, const char *kpi, unsigned trial, double value)
{
	struct row row = {
		.test = "T12.1", .strategy = "mpi-fare", .trial = trial, .value = value, .n = 1};

	strcpy(row.kpi, kpi);
	ck_assert_int_eq(row_param_set(&row.param[row.n_params++], "size", "1M"), 0);
	ck_assert_int_eq(rows_add(rows, &row), 0);
}

/* Two hours of a sample a minute; what is given is so from the hour on, for a minute. */
static const struct row *derived_of(struct rows **rows, double flaps, double unused, double ended,
				    double dropped, const char *kpi)
{
	struct rows_filter filter = {.test = "T12.1", .kpi = kpi, .trial = -1};
	size_t at;

	ck_assert_int_eq(rows_open(rows, NULL), 0);
	for (unsigned i = 0; i < 120; i++) {
		add(*rows, "at_s", i, 60. * i);
		add(*rows, "JCT_ratio", i, 1.2 + (i % 3) * 0.01);
		add(*rows, "Link_transitions", i, i == 60 ? flaps : 0);
		add(*rows, "Links_unused", i, i == 60 ? unused : 0);
		add(*rows, "Daemons_ended", i, i == 60 ? ended : 0);
		add(*rows, "Packet_drop_rate", i, i == 60 ? dropped : 0);
	}
	ck_assert_int_eq(test_t12_1.derive(&test_t12_1, *rows), 0);
	at = rows_next(*rows, &filter, 0);
	ck_assert_uint_lt(at, rows_count(*rows));
	return rows_at(*rows, at);
}

static const struct row *derived(struct rows **rows, double flaps, double unused, const char *kpi)
{
	return derived_of(rows, flaps, unused, 0, 0, kpi);
}

static double value_of(const struct trial *t, const char *kpi)
{
	for (unsigned i = 0; i < t->n_rows; i++)
		if (strcmp(t->row[i].kpi, kpi) == 0)
			return t->row[i].missing ? NAN : t->row[i].value;
	ck_abort_msg("no row %s", kpi);
	return NAN;
}

/* Two leaves of two uplinks: one has all on one link, the other sends as much evenly. */
START_TEST(the_balance_is_of_uplinks)
{
	static const char counters[] =
		"{\"monotonic_ns\": %d, \"hosts\": [{\"name\": \"l0\", \"devices\": [{\"dev\": "
		"\"up0\", \"tx_bytes\": %d}, {\"dev\": \"up1\", \"tx_bytes\": %d}]}, {\"name\": "
		"\"l1\", \"devices\": [{\"dev\": \"up0\", \"tx_bytes\": %d}, {\"dev\": \"up1\", "
		"\"tx_bytes\": %d}]}]}";
	struct topo_leaf leaves[2] = {{.name = "l0"}, {.name = "l1"}};
	struct topo topo = {.n_leaves = 2, .leaves = leaves, .n_uplinks = 4};
	struct fabric fabric = {.topo = &topo};
	struct trial t = {.test = &test_t12_1, .fabric = &fabric, .strategy_name = "mpi-fare"};
	char from[512], to[512];

	snprintf(from, sizeof(from), counters, 1, 7, 7, 7, 7);
	snprintf(to, sizeof(to), counters, 2, 1007, 7, 507, 507);
	ck_assert_int_eq(sustained_uplinks(&t, from, to), 0);
	ck_assert_double_eq_tol(value_of(&t, "MMR"), 1.5, 1e-9);
	ck_assert_double_eq_tol(value_of(&t, "JFI"), 0.75, 1e-9);
	trial_fini(&t);
	ck_assert_int_eq(sustained_uplinks(&t, from, from), 0);
	ck_assert(isnan(value_of(&t, "MMR")));
	trial_fini(&t);
	ck_assert_int_lt(sustained_uplinks(&t, from, "{}"), 0);
	topo.n_uplinks = 0;
	ck_assert_int_eq(sustained_uplinks(&t, NULL, NULL), 0);
	ck_assert(isnan(value_of(&t, "JFI")));
	trial_fini(&t);
}
END_TEST

START_TEST(what_was_not_ordered_is_named)
{
	struct rows *rows;

	ck_assert_str_eq(derived(&rows, 2, 0, "Anomalies")->text,
			 "3600 s, for 60 s: Link_transitions 2");
	rows_close(rows);
	ck_assert_str_eq(derived(&rows, 0, 1, "Anomalies")->text,
			 "3600 s, for 60 s: Links_unused 1");
	rows_close(rows);
	ck_assert_str_eq(derived_of(&rows, 0, 0, 1, 0, "Anomalies")->text,
			 "3600 s, for 60 s: Daemons_ended 1");
	rows_close(rows);
	/* a leaf that drops silently */
	ck_assert_str_eq(derived_of(&rows, 0, 0, 0, 25, "Anomalies")->text,
			 "3600 s, for 60 s: Packet_drop_rate 25");
	rows_close(rows);
	ck_assert_str_eq(derived(&rows, 0, 0, "Anomalies")->text, "none");
	rows_close(rows);
	ck_assert_double_eq_tol(derived(&rows, 0, 0, "JCT_ratio_std")->value, 0.0082, 1e-4);
	rows_close(rows);
	ck_assert_double_eq_tol(derived(&rows, 0, 0, "Duration")->value, 119. / 60, 1e-9);
	rows_close(rows);
}
END_TEST

/* Two GPUs, two planes of two sub-ports; one of the eight sends probes alone. */
START_TEST(a_link_that_is_not_used)
{
	struct topo_gpu gpus[2] = {0};
	struct topo topo = {.n_gpus = 2, .n_planes = 2, .gpus = gpus};
	uint64_t none[4 * FARE_MAX_SUB_PORTS] = {0}, sent[4 * FARE_MAX_SUB_PORTS] = {0};
	struct links from = {.tx_bytes = none}, to = {.at_ns = 1000000000, .tx_bytes = sent};
	struct links_use use;

	for (unsigned i = 0; i < 8; i++) {
		struct topo_plane *plane = &gpus[i / 4].plane[i / 2 % 2];

		plane->n_sub_ports = 2;
		plane->sub_port[i % 2] = (struct topo_sub_port){.rate_bps = 8000000, .up = true};
		sent[i / 2 * FARE_MAX_SUB_PORTS + i % 2] = i == 5 ? 20000 : 500000;
	}
	use = links_use(&from, &to, &topo, 2);
	ck_assert_uint_eq(use.n, 8);
	ck_assert_uint_eq(use.unused, 1);
	ck_assert_double_eq_tol(use.max, 0.5, 1e-9);
	ck_assert_double_eq_tol(use.min, 0.02, 1e-9);
	ck_assert_double_eq_tol(use.mean, 0.44, 1e-9);
	ck_assert_double_eq_tol(use.jfi, 3.52 * 3.52 / (8 * (7 * 0.25 + 0.0004)), 1e-9);
	ck_assert_uint_eq(links_use(&from, &to, &topo, 1).unused, 0);
}
END_TEST

/* An uplink that is 91% full bounds servers whose sub-ports are at 47%; one as full as a sub-port
 * does not, nor one with room. */
START_TEST(what_bounds)
{
	ck_assert(links_are_bound_above(.91, .47));
	ck_assert(!links_are_bound_above(.91, .90));
	ck_assert(!links_are_bound_above(.70, .10));
}
END_TEST

/* Carriers of a server's sub-ports and of what a switch has above it; its other devices are the
 * servers' and lower switches' own links. */
START_TEST(a_flap_nobody_ordered)
{
	static const char server[] =
		"[{\"ifname\":\"lo\",\"stats64\":{\"tx\":{\"bytes\":9,\"carrier_changes\":7}}},"
		"{\"ifname\":\"g0p1s0\",\"stats64\":{\"tx\":{\"bytes\":500,\"carrier_changes\":2}}}"
		"]";
	static const char leaf[] =
		"[{\"ifname\":\"s0g0s0\",\"stats64\":{\"tx\":{\"bytes\":1,\"carrier_changes\":2}}},"
		"{\"ifname\":\"up1\",\"stats64\":{\"tx\":{\"bytes\":2,\"carrier_changes\":4}}}]";
	struct topo_gpu gpu = {.server = 0};
	struct topo topo = {.n_gpus = 1, .n_planes = 2, .gpus = &gpu};
	uint64_t sent[2 * FARE_MAX_SUB_PORTS] = {0};
	struct links links = {.tx_bytes = sent};

	gpu.plane[1].n_sub_ports = 1;
	strcpy(gpu.plane[1].sub_port[0].dev, "g0p1s0");
	ck_assert_int_eq(links_parse(&links, &topo, 0, server), 0);
	ck_assert_uint_eq(links.transitions, 2);
	ck_assert_uint_eq(sent[FARE_MAX_SUB_PORTS], 500);
	ck_assert_int_eq(links_parse(&links, &topo, -1, leaf), 0);
	ck_assert_uint_eq(links.transitions, 6);
	ck_assert_int_eq(links_parse(&links, &topo, -1, "no JSON"), -EBADMSG);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sustained");
	TCase *tcase = tcase_create("sustained");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, the_balance_is_of_uplinks);
	tcase_add_test(tcase, what_was_not_ordered_is_named);
	tcase_add_test(tcase, a_link_that_is_not_used);
	tcase_add_test(tcase, a_flap_nobody_ordered);
	tcase_add_test(tcase, what_bounds);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
