/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "launch/host_counters.h"

START_TEST(what_grew_is_named)
{
	json_t *before = json_pack("{s:i, s:i, s:i, s:s}", "a", 1, "b", 5, "c", 9, "d", "x");
	json_t *after =
		json_pack("{s:i, s:i, s:i, s:i, s:i}", "a", 4, "b", 5, "c", 2, "d", 1, "e", 7);
	char *grown = host_counters_grown(before, after);

	ck_assert_str_eq(grown, "a +3");
	free(grown);
	grown = host_counters_grown(NULL, after);
	ck_assert_str_eq(grown, "");
	free(grown);
	json_decref(before);
	json_decref(after);
}
END_TEST

START_TEST(an_interface_counts)
{
	const char *dev[] = {"lo", "no-such-device"};
	json_t *counters = host_counters_read("/sys", dev, 2);

	ck_assert(json_is_integer(json_object_get(counters, "lo.rx_packets")));
	ck_assert(json_is_integer(json_object_get(counters, "lo.tx_dropped")));
	json_decref(counters);
}
END_TEST

START_TEST(devices_are_described)
{
	char text[128];

	host_device_describe("no-such-device", text, sizeof(text));
	ck_assert_str_eq(text, "unknown");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("host_counters");
	TCase *tcase = tcase_create("host_counters");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, what_grew_is_named);
	tcase_add_test(tcase, an_interface_counts);
	tcase_add_test(tcase, devices_are_described);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
