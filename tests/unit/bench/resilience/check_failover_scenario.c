/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "resilience/failover.h"

/* Two sub-ports a plane, one GPU a server. */
static struct topo_server servers[4];
static struct topo_leaf leaves[4];
static struct topo_gpu gpus[4];
static struct topo topo = {.n_planes = 4,
			   .n_servers = 4,
			   .n_gpus = 4,
			   .n_leaves = 4,
			   .servers = servers,
			   .gpus = gpus,
			   .leaves = leaves};

static struct failover_scenario make(enum failover_scenario_id id)
{
	struct failover_scenario s;

	for (unsigned i = 0; i < 4; i++) {
		servers[i] =
			(struct topo_server){.bgpd_pid = 100 + (int)i, .fared_pid = 200 + (int)i};
		servers[i].name[0] = 's';
		leaves[i].name[0] = 'l';
		gpus[i].server = i;
		for (unsigned p = 0; p < 4; p++)
			gpus[i].plane[p] = (struct topo_plane){.leaf = p, .n_sub_ports = 2};
	}
	failover_scenario_make(&s, id, &topo, 0, 1, 2);
	return s;
}

START_TEST(each_has_a_name_of_its_own)
{
	for (int i = 0; i < FAILOVER_SCENARIOS; i++) {
		struct failover_scenario s = make((enum failover_scenario_id)i);

		ck_assert_ptr_nonnull(s.name);
		ck_assert_uint_ge(s.n_faults, 1);
		for (int k = 0; k < i; k++)
			ck_assert_str_ne(s.name,
					 failover_scenario_name((enum failover_scenario_id)k));
	}
}
END_TEST

START_TEST(half_a_port_of_one_gpu)
{
	struct failover_scenario s = make(FAILOVER_REMOTE_SUB_PORT);

	ck_assert_double_eq(failover_scenario_remaining(&s, 0, 1, 2), 0.5);
	ck_assert_double_eq(failover_scenario_remaining(&s, 1, 3, 2), 0.5);
	ck_assert_double_eq(failover_scenario_remaining(&s, 0, 1, 3), 1);
	ck_assert_double_eq(failover_scenario_remaining(&s, 0, 3, 2), 1);
	ck_assert_uint_eq(s.fault[0].n_devices, 1);
	ck_assert_str_eq(s.fault[0].device[0], "s1g0s0");
}
END_TEST

START_TEST(a_leaf_concerns_everybody)
{
	struct failover_scenario s = make(FAILOVER_LEAF_KILLED);

	for (unsigned src = 0; src < 4; src++)
		for (unsigned p = 0; p < 4; p++)
			ck_assert_double_eq(failover_scenario_remaining(&s, src, (src + 1) % 4, p),
					    p != 2);
	ck_assert_uint_eq(s.fault[0].n_devices, 8);
	ck_assert(s.carrier);
	ck_assert(!make(FAILOVER_LEAF_GRAY).carrier);
}
END_TEST

START_TEST(two_faults_on_two_planes)
{
	struct failover_scenario s = make(FAILOVER_TWO_FAULTS);

	ck_assert_double_eq(failover_scenario_remaining(&s, 0, 1, 2), 0.5);
	ck_assert_double_eq(failover_scenario_remaining(&s, 0, 1, 3), 0);
	ck_assert_double_eq(failover_scenario_remaining(&s, 0, 1, 0), 1);
}
END_TEST

START_TEST(a_daemon_killed_may_change_nothing)
{
	struct failover_scenario s = make(FAILOVER_BGPD_KILLED);

	ck_assert_int_eq(s.fault[0].pid, 100);
	ck_assert_int_eq(make(FAILOVER_FARED_KILLED).fault[0].pid, 200);
	for (unsigned p = 0; p < 4; p++)
		ck_assert_double_eq(failover_scenario_remaining(&s, 0, 1, p), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("failover_scenario");
	TCase *tc = tcase_create("all");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tc, each_has_a_name_of_its_own);
	tcase_add_test(tc, half_a_port_of_one_gpu);
	tcase_add_test(tc, a_leaf_concerns_everybody);
	tcase_add_test(tc, two_faults_on_two_planes);
	tcase_add_test(tc, a_daemon_killed_may_change_nothing);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
