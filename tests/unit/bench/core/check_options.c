/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/options.h"
#include "engine/strategy.h"

START_TEST(numbers)
{
	uint64_t n = 0;

	ck_assert_int_eq(options_number("x", "12", 1, 100, &n), 0);
	ck_assert_uint_eq(n, 12);
	ck_assert_int_eq(options_number("x", "4K", 1, 4096, &n), 0);
	ck_assert_uint_eq(n, 4096);
	ck_assert_int_eq(options_number("x", "4K", 1, 4095, &n), -EINVAL);
	ck_assert_int_eq(options_number("x", "0", 1, 4095, &n), -EINVAL);
	ck_assert_int_eq(options_number("x", "-1", 0, 4095, &n), -EINVAL);
	ck_assert_int_eq(options_number("x", "", 0, 4095, &n), -EINVAL);
	ck_assert_int_eq(options_number("x", "1x", 0, 4095, &n), -EINVAL);
	ck_assert_int_eq(options_number("x", "99999999999999999999", 0, UINT64_MAX, &n), -EINVAL);
	ck_assert_int_eq(options_number("x", "18446744073709551615G", 0, UINT64_MAX, &n), -EINVAL);
}
END_TEST

START_TEST(lists)
{
	uint64_t list[2];

	ck_assert_int_eq(options_strategies("fare-spray,ecmp-stripe", list, 2), 2);
	ck_assert_uint_eq(list[0], STRATEGY_FARE_SPRAY);
	ck_assert_uint_eq(list[1], STRATEGY_ECMP);
	ck_assert_int_eq(options_strategies("best", list, 2), -EINVAL);
	ck_assert_int_eq(options_strategies("fare-spray,", list, 2), -EINVAL);
	ck_assert_int_eq(options_strategies("fare-spray,ecmp-flow,fare-flow", list, 2), -EINVAL);
	ck_assert_int_eq(options_strategies("fare-packet", list, 2), 1);
	ck_assert_uint_eq(list[0], STRATEGY_FARE_PACKET);
	ck_assert_int_eq(strategy_mode(STRATEGY_FARE_PACKET), FARE_MODE_PACKET);
	ck_assert_uint_ge(list[0], STRATEGY_COMPARED); /* only where it is named */
}
END_TEST

/* What options say on stderr. */
static char said[512];

static void listen_to(FILE **file, int *saved)
{
	*file = tmpfile();
	ck_assert_ptr_nonnull(*file);
	*saved = dup(STDERR_FILENO);
	dup2(fileno(*file), STDERR_FILENO);
}

static void heard(FILE *file, int saved)
{
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(file);
	said[fread(said, 1, sizeof(said) - 1, file)] = '\0';
	fclose(file);
}

START_TEST(names)
{
	static const char *const parts[] = {"pick", "publish", "lookup"};
	FILE *file;
	int saved;

	ck_assert_int_eq(options_name("part", "publish", parts, 3), 1);
	listen_to(&file, &saved);
	ck_assert_int_eq(options_name("only", "pikc", parts, 3), -EINVAL);
	heard(file, saved);
	ck_assert_str_eq(
		said,
		"farebench: --only: nothing is named 'pikc'; there are pick, publish, lookup\n");
}
END_TEST

START_TEST(a_lab_and_nothing_else)
{
	FILE *file;
	int saved;

	optind = 3;
	ck_assert_int_eq(options_lab("farebench x", 3, "mine"), 0);
	listen_to(&file, &saved);
	ck_assert_int_eq(options_lab("farebench x", 3, NULL), -EINVAL);
	heard(file, saved);
	/* what it says has to work as it stands: without a daemon no worker begins */
	ck_assert_ptr_nonnull(strstr(said, "farelab run TOPOLOGY --fared PATH -- farebench x"));
	ck_assert_int_eq(options_lab("farebench x", 4, "mine"), -EINVAL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("options");
	TCase *tcase = tcase_create("options");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, numbers);
	tcase_add_test(tcase, lists);
	tcase_add_test(tcase, names);
	tcase_add_test(tcase, a_lab_and_nothing_else);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
