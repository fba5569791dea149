/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdlib.h>

#include "engine/traffic.h"

START_TEST(bins)
{
	const double bytes[] = {10, 20, 40};
	const uint64_t ms = TRAFFIC_BIN_NS, base = 7 * ms;

	ck_assert(traffic_bins_bytes(bytes, 3, base, base, base + 3 * ms) == 70);
	ck_assert(traffic_bins_bytes(bytes, 3, base, base + ms, base + 2 * ms) == 20);
	ck_assert(traffic_bins_bytes(bytes, 3, base, base + ms / 2, base + 2 * ms + ms / 4) ==
		  5 + 20 + 10);
	ck_assert(traffic_bins_bytes(bytes, 3, base, base + ms / 4, base + ms / 2) == 2.5);
	ck_assert(traffic_bins_bytes(bytes, 3, base, 0, base + 100 * ms) == 70);
	ck_assert(traffic_bins_bytes(bytes, 3, base, base + 3 * ms, base + 9 * ms) == 0);
	ck_assert(traffic_bins_bytes(bytes, 3, base, base + 2 * ms, base + ms) == 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("traffic");
	TCase *tcase = tcase_create("traffic");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, bins);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
