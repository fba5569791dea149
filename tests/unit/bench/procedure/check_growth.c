/* SPDX-License-Identifier: BSD-2-Clause */
/* Growth of daemons: a sample a second, of processes that are there; slopes by least squares. */
#include <check.h>
#include <math.h>
#include <unistd.h>

#include "procedure/soak.h"
#include "procedure/growth.h"

#define S UINT64_C(1000000000)

START_TEST(a_line_has_its_slope)
{
	const double x[] = {0, 1, 2, 3}, line[] = {5, 7, 9, 11}, bent[] = {0, 3, 3, 6};
	const double same[] = {2, 2, 2, 2};

	ck_assert_double_eq_tol(soak_regression(x, line, 4), 2, 1e-12);
	ck_assert_double_eq_tol(soak_regression(x, bent, 4), 1.8, 1e-12);
	ck_assert(isnan(soak_regression(x, line, 2)));
	ck_assert(isnan(soak_regression(same, line, 4)));
}
END_TEST

START_TEST(a_sample_a_second_of_what_runs)
{
	struct topo_server servers[] = {{.fared_pid = getpid()}, {.fared_pid = getpid()}};
	const struct topo topo = {.n_servers = 2, .servers = servers};
	struct growth *g = growth_create(&topo);

	ck_assert_ptr_nonnull(g);
	growth_sample(g, 5 * S);
	growth_sample(g, 5 * S + S / 2);
	growth_sample(g, 6 * S);
	ck_assert_uint_eq(g->n, 2);
	ck_assert_double_gt(g->memory_kib[0], 0);
	ck_assert_double_eq(g->descriptors[1], soak_descriptors(getpid()));
	ck_assert(!g->ended);
	servers[1].fared_pid = -1;
	growth_sample(g, 7 * S);
	ck_assert(g->ended);
	growth_destroy(g);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("growth");
	TCase *tc = tcase_create("growth");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_test(tc, a_line_has_its_slope);
	tcase_add_test(tc, a_sample_a_second_of_what_runs);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
