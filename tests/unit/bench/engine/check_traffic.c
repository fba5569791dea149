/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdlib.h>

#include "../check_bench_fabric.h"
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

/* What may be under way takes longer than an answer may: 1,600 Mb/s into GPU 3, and 200 MB each. */
START_TEST(patience_is_for_what_is_under_way)
{
	struct topo *topo = parsed(fabric(4));
	const struct traffic_stream streams[] = {
		{.src = 0, .dst = 3, .slots = 2, .slot_bytes = 100u << 20},
		{.src = 1, .dst = 3, .slots = 100, .slot_bytes = 2u << 20}};
	int alone = traffic_patience_ms(topo, streams, 1) - TRAFFIC_TIMEOUT_MS,
	    both = traffic_patience_ms(topo, streams, 2) - TRAFFIC_TIMEOUT_MS;

	ck_assert_int_eq(traffic_patience_ms(topo, streams, 0), TRAFFIC_TIMEOUT_MS);
	ck_assert_int_ge(alone, 1048); /* by 200 MiB at 1,600 Mb/s */
	ck_assert_int_ge(both, 2 * alone - 1);
	topo_destroy(topo);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("traffic");
	TCase *tcase = tcase_create("traffic");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, bins);
	tcase_add_test(tcase, patience_is_for_what_is_under_way);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
