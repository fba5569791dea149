/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "procedure/uplinks.h"

/* Of 4 links: the means of 40,000 draws by another program. */
START_TEST(hashed_flows)
{
	static const struct {
		unsigned flows;
		double mmr, jfi;
	} want[] = {
		{1, 4, 0.25}, {4, 2.12, 0.62}, {8, 1.77, 0.75}, {16, 1.54, 0.85}, {32, 1.37, 0.92}};

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct link_balance got = link_balance_hashed(1, 4, want[i].flows, 7);

		ck_assert_double_eq_tol(got.mmr, want[i].mmr, 0.02);
		ck_assert_double_eq_tol(got.jfi, want[i].jfi, 0.015);
	}
	/* a flow takes one link of one leaf, however many leaves there are */
	ck_assert_double_eq_tol(link_balance_hashed(2, 4, 1, 7).mmr, 4, 1e-9);
}
END_TEST

/* Leaf 0: all on one of two; leaf 1, three times the bytes: even; leaf 2 only receives. */
START_TEST(bytes_of_links)
{
	const struct lab_uplink from[] = {{0, 50}, {0, 7}, {1, 0}, {1, 0}, {2, 0}, {2, 0}};
	const struct lab_uplink to[] = {{0, 150}, {0, 7}, {1, 150}, {1, 150}, {2, 9}, {2, 0}};
	const bool sends[] = {true, true, false}, none[] = {false, false, false};
	struct link_balance got = link_balance(from, to, 6, sends);

	ck_assert_uint_eq(got.n, 4);
	ck_assert_double_eq_tol(got.mmr, (2 * 100 + 1 * 300) / 400.0, 1e-9);
	ck_assert_double_eq_tol(got.jfi, (0.5 * 100 + 1 * 300) / 400.0, 1e-9);
	ck_assert_double_eq_tol(got.max, 150, 1e-9);
	ck_assert_double_eq_tol(got.min, 0, 1e-9);
	ck_assert_double_eq_tol(got.mean, 100, 1e-9);
	got = link_balance(from, to, 6, none);
	ck_assert_uint_eq(got.n, 0);
	ck_assert(isnan(got.mmr) && isnan(got.jfi));
}
END_TEST

/* What farelab prints, for a fabric of two leaves with a link each; what is missing is seen. */
START_TEST(counters_of_a_lab)
{
	struct topo_leaf leaves[2] = {{.name = "l0"}, {.name = "l1"}};
	const struct topo topo = {.n_leaves = 2, .leaves = leaves, .n_uplinks = 2};
	static const char both[] =
		"{\"monotonic_ns\": 5, \"hosts\": [{\"name\": \"s0\", \"devices\": [{\"dev\": "
		"\"up0\", "
		"\"tx_bytes\": 1}]}, {\"name\": \"l1\", \"devices\": [{\"dev\": \"s1g0s0\", "
		"\"tx_bytes\": 2}, {\"dev\": \"up0\", \"tx_bytes\": 3}]}, {\"name\": \"l0\", "
		"\"devices\": [{\"dev\": \"up0\", \"tx_bytes\": 4}]}]}";
	static const char one[] =
		"{\"monotonic_ns\": 5, \"hosts\": [{\"name\": \"l0\", \"devices\": "
		"[{\"dev\": \"up0\", \"tx_bytes\": 4}]}]}";
	struct lab_uplink got[2];
	uint64_t at_ns;

	ck_assert_int_eq(lab_uplinks_parse(&topo, both, got, &at_ns), 0);
	ck_assert_uint_eq(at_ns, 5);
	ck_assert_uint_eq(got[0].leaf, 1);
	ck_assert_uint_eq(got[0].tx_bytes, 3);
	ck_assert_uint_eq(got[1].leaf, 0);
	ck_assert_uint_eq(got[1].tx_bytes, 4);
	ck_assert_int_lt(lab_uplinks_parse(&topo, one, got, &at_ns), 0);
	ck_assert_int_lt(lab_uplinks_parse(&topo, "no JSON", got, &at_ns), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("link_balance");
	TCase *tcase = tcase_create("link_balance");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, hashed_flows);
	tcase_add_test(tcase, bytes_of_links);
	tcase_add_test(tcase, counters_of_a_lab);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
