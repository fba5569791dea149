/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdlib.h>

#include "micro/probes/probes.h"

static struct probes_found found;

START_TEST(all_found)
{
	const uint64_t down_ns[] = {5000000, 6000000, 7500000};

	probes_found_set(&found, down_ns, 3, 5000000);
	ck_assert_uint_eq(found.n, 3);
	ck_assert_uint_eq(found.n_paths, 3);
	ck_assert(found.ms[0] == 0 && found.ms[1] == 1 && found.ms[2] == 2.5);
}
END_TEST

/* The last of them is what a figure asks for: it must not be the last of those that were found. */
START_TEST(what_is_not_found_counts_as_long_as_it_was_waited_for)
{
	/* the last one went down before, and is no find */
	const uint64_t down_ns[] = {6000000, 0, 4000000};

	probes_found_set(&found, down_ns, 3, 5000000);
	ck_assert_uint_eq(found.n, 1);
	ck_assert_uint_eq(found.n_paths, 3);
	ck_assert(found.ms[0] == 1 && found.ms[1] == PROBES_FOUND_MS &&
		  found.ms[2] == PROBES_FOUND_MS);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("probes_found");
	TCase *tcase = tcase_create("probes_found");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, all_found);
	tcase_add_test(tcase, what_is_not_found_counts_as_long_as_it_was_waited_for);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
