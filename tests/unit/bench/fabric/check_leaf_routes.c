/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>

#include "fabric/leaf_routes.h"

#define HOP(dev, via)                                                                              \
	"{\"gateway\": \"" via "\", \"dev\": \"" dev "\", \"weight\": 1, \"flags\": []}"

static const char route[] = "[{\"dst\": \"198.19.0.3\", \"protocol\": \"bgp\", \"metric\": 20, "
			    "\"flags\": [], \"nexthops\": [" HOP("up0", "10.0.0.1") ", " HOP(
				    "up2", "10.0.0.5") ", " HOP("up1", "10.0.0.3") "]}]";

START_TEST(hops_by_their_number)
{
	struct leaf_hop hop[LEAF_ROUTES_MAX_HOPS];

	ck_assert_int_eq(leaf_routes_pick(route, 1, 2, hop), 0);
	ck_assert_str_eq(hop[0].dev, "up1");
	ck_assert_str_eq(hop[0].via, "10.0.0.3");
	ck_assert_str_eq(hop[1].dev, "up2");
	ck_assert_str_eq(hop[1].via, "10.0.0.5");
}
END_TEST

START_TEST(hops_that_are_not_there)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"[7]",
		"[{\"nexthops\": 7}]",
		"[{\"nexthops\": [7, {\"dev\": 7}]}]",
		"[{\"dst\": \"198.19.0.3\", \"gateway\": \"10.0.0.1\", \"dev\": \"up0\"}]"};
	struct leaf_hop hop[LEAF_ROUTES_MAX_HOPS];

	ck_assert_int_eq(leaf_routes_pick(route, 2, 2, hop), -ENOENT);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		ck_assert_int_eq(leaf_routes_pick(texts[i], 0, 1, hop), -ENOENT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("leaf_routes");
	TCase *tcase = tcase_create("leaf_routes");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, hops_by_their_number);
	tcase_add_test(tcase, hops_that_are_not_there);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
