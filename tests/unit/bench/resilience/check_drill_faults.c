/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "resilience/drill_faults.h"
#include "fare_verdict.h"

#define MS UINT64_C(1000000)

static struct topo_server servers[2] = {{.name = "s0"}, {.name = "s1"}};
static struct topo_leaf leaves[2] = {{.name = "l0", .plane = 0}, {.name = "l1", .plane = 1}};
static struct topo_gpu gpus[2] = {{.name = "g0", .server = 0}, {.name = "g0", .server = 1}};
static const struct topo topo = {.n_planes = 2,
				 .n_servers = 2,
				 .n_gpus = 2,
				 .n_leaves = 2,
				 .servers = servers,
				 .gpus = gpus,
				 .leaves = leaves};

static int say(struct drill_faults *f, double at_s, const char *words)
{
	char line[300];

	snprintf(line, sizeof(line),
		 "{\"at_s\":1,\"began_s\":1,\"monotonic_s\":%f,\"do\":\"%s\",\"took_ms\":5,\"ok\":"
		 "true}",
		 at_s, words);
	return drill_faults_line(f, &topo, line);
}

START_TEST(faults_and_what_heals_them)
{
	struct drill_faults f = {.n = 0};

	ck_assert_int_eq(say(&f, 10, "fail subport s1/g0 1 0"), 0);
	ck_assert_int_eq(say(&f, 11, "gray leaf l1 --loss-percent 100 --direction to-leaf"), 0);
	ck_assert_int_eq(say(&f, 12, "heal subport s1/g0 1 0"), 0);
	ck_assert_int_eq(say(&f, 13, "gray leaf l1 --loss-percent 0"), 0);
	ck_assert_int_eq(say(&f, 14, "fail bgpd s1"), 0);
	ck_assert_uint_eq(f.n, 3);
	ck_assert_uint_eq(f.steps, 5);
	ck_assert_str_eq(f.fault[0].kind, "subport");
	ck_assert_int_eq(f.fault[0].gpu, 1);
	ck_assert_int_eq(f.fault[0].plane, 1);
	ck_assert_uint_eq(f.fault[0].healed_ns, 12005 * MS);
	ck_assert_str_eq(f.fault[1].kind, "leaf-gray-one-way");
	ck_assert_int_eq(f.fault[1].gpu, -1);
	ck_assert_uint_eq(f.fault[1].healed_ns, 13005 * MS);
	ck_assert_int_eq(f.fault[2].server, 1);
	ck_assert_uint_eq(f.fault[2].healed_ns, 0);
	drill_faults_fini(&f);
}
END_TEST

START_TEST(a_small_loss_is_a_fault_and_heals_none)
{
	struct drill_faults f = {.n = 0};

	ck_assert_int_eq(say(&f, 10, "gray subport s1/g0 1 0 --loss-percent 0.5"), 0);
	ck_assert_int_eq(say(&f, 11, "gray leaf l1 --loss-percent=0.25"), 0);
	ck_assert_uint_eq(f.n, 2);
	ck_assert_str_eq(f.fault[0].kind, "subport-gray");
	ck_assert_str_eq(f.fault[1].kind, "leaf-loss");
	/* another, of the same part */
	ck_assert_int_eq(say(&f, 12, "gray leaf l1 --loss-percent 0.5"), 0);
	ck_assert_uint_eq(f.n, 3);
	ck_assert_uint_eq(f.fault[1].healed_ns, 0);
	ck_assert_int_eq(say(&f, 13, "gray leaf l1 --loss-percent=0"), 0);
	ck_assert_int_eq(say(&f, 14, "gray subport s1/g0 1 0 --loss-percent 0"), 0);
	ck_assert_uint_eq(f.fault[0].healed_ns, 14005 * MS);
	ck_assert_uint_eq(f.fault[1].healed_ns, 13005 * MS);
	ck_assert_uint_eq(f.fault[2].healed_ns, 13005 * MS);
	drill_faults_fini(&f);
}
END_TEST

START_TEST(the_end_is_told)
{
	struct drill_faults f = {.n = 0};

	ck_assert_int_eq(
		drill_faults_line(&f, &topo,
				  "{\"steps\":4,\"converged\":true,\"converged_after_s\":2.5}"),
		0);
	ck_assert(f.converged);
	ck_assert_double_eq(f.converged_after_s, 2.5);
}
END_TEST

static const char *const nonsense[] = {
	"",
	"[]",
	"{}",
	"{\"do\":1}",
	"{\"do\":\"fail leaf l0\"}",
	"{\"do\":\"fail leaf l0\",\"monotonic_s\":-1,\"took_ms\":1,\"ok\":true}",
	"{\"do\":\"fail leaf l0\",\"monotonic_s\":1e99,\"took_ms\":1,\"ok\":true}",
	("{\"do\":"
	 "\"01234567890123456789012345678901234567890123456789012345678901234567890123456789"
	 "01234567890123456789\",\"monotonic_s\":1,\"took_ms\":1,\"ok\":true}"),
};

START_TEST(nonsense_is_refused)
{
	struct drill_faults f = {.n = 0};

	ck_assert_int_eq(drill_faults_line(&f, &topo, nonsense[_i]), -EBADMSG);
	ck_assert_uint_eq(f.n, 0);
}
END_TEST

START_TEST(a_step_that_failed_ends_it)
{
	struct drill_faults f = {.n = 0};

	ck_assert_int_eq(
		drill_faults_line(
			&f, &topo,
			"{\"do\":\"fail leaf l0\",\"monotonic_s\":1,\"took_ms\":1,\"ok\":false}"),
		-EREMOTEIO);
}
END_TEST

START_TEST(cost_is_looked_for_until_a_second_after_healing)
{
	static double bytes[2][5000];
	const struct recovery gpu[2] = {{.from_ns = 10000 * MS, .n = 5000, .bytes = bytes[0]},
					{.from_ns = 10000 * MS, .n = 5000, .bytes = bytes[1]}};
	struct drill_faults f = {.n = 0};

	for (int i = 0; i < 5000; i++)
		bytes[0][i] = bytes[1][i] = 100;
	for (int i = 1500; i < 1600; i++) /* both, in the fault */
		bytes[0][i] = bytes[1][i] = 0;
	for (int i = 2500; i < 2650; i++) /* one of them, after healing */
		bytes[1][i] = 0;
	for (int i = 3500; i < 4500; i++) /* too late to be its */
		bytes[1][i] = 0;
	ck_assert_int_eq(say(&f, 11, "fail subport s1/g0 1 0"), 0);
	ck_assert_int_eq(say(&f, 12, "heal subport s1/g0 1 0"), 0);
	drill_faults_cost(&f, gpu, 2, 200);
	ck_assert_double_eq(f.fault[0].hole_ms, 150);
	ck_assert_double_eq_tol(f.fault[0].dip_ratio, 0, 1e-9);
	drill_faults_fini(&f);
}
END_TEST

static bool explained(const struct drill_faults *f, double at_s, int src, int dst, unsigned plane,
		      enum fare_verdict verdict)
{
	struct observe_event e = {.t_ns = (uint64_t)(at_s * 1e9),
				  .who = (uint16_t)(src * (int)topo.n_gpus + dst)};

	e.verdict[plane] = (uint8_t)verdict;
	return drill_faults_explain(f, &topo, &e, plane, 5000 * MS);
}

START_TEST(a_fault_explains_its_own_until_it_has_settled)
{
	struct drill_faults f = {.n = 0};

	ck_assert_int_eq(say(&f, 11, "fail plane s1/g0 1"), 0);
	ck_assert_int_eq(say(&f, 12, "heal plane s1/g0 1"), 0);
	ck_assert(!explained(&f, 10.9, 0, 1, 1, FARE_VERDICT_PROBE_DOWN));
	ck_assert(explained(&f, 11.1, 0, 1, 1, FARE_VERDICT_PROBE_DOWN));
	ck_assert(explained(&f, 16.9, 1, 0, 1, FARE_VERDICT_NO_ROUTE));
	ck_assert(!explained(&f, 17.1, 1, 0, 1, FARE_VERDICT_NO_ROUTE));
	ck_assert(!explained(&f, 11.1, 0, 1, 0, FARE_VERDICT_PROBE_DOWN));
	drill_faults_fini(&f);
}
END_TEST

START_TEST(a_bgpd_explains_lost_probes_and_what_it_was_learning)
{
	struct drill_faults f = {.n = 0};

	ck_assert_int_eq(say(&f, 14, "fail bgpd s1"), 0);
	ck_assert_int_eq(say(&f, 15, "heal bgpd s1"), 0);
	ck_assert(explained(&f, 17, 0, 1, 1, FARE_VERDICT_PROBE_DOWN));
	ck_assert(explained(&f, 17, 1, 0, 1, FARE_VERDICT_STALE));
	ck_assert(explained(&f, 17, 1, 0, 1, FARE_VERDICT_NOT_INSTALLED));
	ck_assert(!explained(&f, 20.5, 1, 0, 1, FARE_VERDICT_NOT_INSTALLED));
	ck_assert(!explained(&f, 17, 0, 1, 1, FARE_VERDICT_NO_ROUTE));
	ck_assert(!explained(&f, 17, 0, 1, 1, FARE_VERDICT_OK)); /* BGP has a say again */
	ck_assert(!explained(&f, 20.5, 1, 0, 1, FARE_VERDICT_STALE));
	ck_assert_int_eq(say(&f, 11, "gray leaf l1 --loss-percent 100"), 0);
	ck_assert_int_eq(say(&f, 12, "gray leaf l1 --loss-percent 0"), 0);
	ck_assert(!explained(&f, 17.5, 0, 1, 1, FARE_VERDICT_NO_ROUTE)); /* took no route */
	ck_assert_int_eq(say(&f, 11, "fail plane s1/g0 1"), 0);
	ck_assert_int_eq(say(&f, 12, "heal plane s1/g0 1"), 0);
	ck_assert(explained(&f, 17.5, 0, 1, 1, FARE_VERDICT_NO_ROUTE));
	ck_assert(!explained(&f, 17.5, 0, 1, 0, FARE_VERDICT_NO_ROUTE)); /* not of that plane */
	ck_assert(explained(&f, 17.5, 0, 1, 1, FARE_VERDICT_OK));	 /* one sub-port less */
	ck_assert(!explained(&f, 20.5, 0, 1, 1, FARE_VERDICT_NO_ROUTE));
	drill_faults_fini(&f);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("drill_faults");
	TCase *tc = tcase_create("all");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tc, faults_and_what_heals_them);
	tcase_add_test(tc, a_small_loss_is_a_fault_and_heals_none);
	tcase_add_test(tc, the_end_is_told);
	tcase_add_loop_test(tc, nonsense_is_refused, 0, sizeof(nonsense) / sizeof(*nonsense));
	tcase_add_test(tc, a_step_that_failed_ends_it);
	tcase_add_test(tc, cost_is_looked_for_until_a_second_after_healing);
	tcase_add_test(tc, a_fault_explains_its_own_until_it_has_settled);
	tcase_add_test(tc, a_bgpd_explains_lost_probes_and_what_it_was_learning);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
