/* SPDX-License-Identifier: BSD-2-Clause */
/* What becomes of a trial: it counts, is made again, is spoilt; and a run that goes on. */
#include <check.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/account.h"
#include "suite/suite.h"
#include "suite/trial.h"

static unsigned attempts;
static struct audit_counts counts; /* of each */
static bool again, fails, even_busy;
static double busiest_percent = -1; /* idle share of a core in the next trial; below 0: unknown */

static int fake_run(struct trial *t)
{
	attempts++;
	t->counts = counts;
	if (fails && attempts > 1)
		return -EIO;
	if (busiest_percent >= 0)
		t->idle = (struct cpu_idle){.mean_percent = 30,
					    .busiest_core_percent = busiest_percent};
	if (again && attempts == 1)
		t->again = "the first never counts";
	trial_value(t, "latency", 5, 1);
	return 0;
}

static const struct kpi kpis[] = {{"latency", "us", "", "", BETTER_LOWER, 0}, LIST_END};
static const struct test fake = {.id = "fake-one",
				 .name = "A test",
				 .clause = "none",
				 .dut = "",
				 .summary = "",
				 .no_strategies = true,
				 .no_fabric = true,
				 .trials = {1, 1, 1},
				 .kpis = kpis,
				 .run = fake_run};

static int run(const char *dir, bool resume, struct rows **rows, json_t **about)
{
	const struct test *const tests[] = {&fake};
	struct suite_options options = {
		.dir = dir, .resume = resume, .has_seed = true, .even_busy = even_busy};

	attempts = 0;
	return suite_run(&options, tests, 1, rows, about);
}

static int unlink_one(const char *path, const struct stat *st, int flag, struct FTW *at)
{
	(void)st, (void)flag, (void)at;
	return remove(path);
}

/* Something made or lost: the trial has no figure, and its reason says what. */
START_TEST(a_breach_spoils_the_trial)
{
	struct rows *rows;
	json_t *about;

	again = fails = false;
	counts = (struct audit_counts){.tokens = 3, .request_tokens = 3};
	ck_assert_int_eq(run(NULL, false, &rows, &about), 0);
	ck_assert_double_eq(rows_at(rows, 0)->value, 5);
	rows_close(rows);
	json_decref(about);
	counts.tokens = 4;
	ck_assert_int_eq(run(NULL, false, &rows, &about), 0);
	ck_assert_str_eq(rows_at(rows, 0)->missing,
			 "spoilt: 4 tokens came from batches, and of requests are 3");
	rows_close(rows);
	json_decref(about);
}
END_TEST

/* An attempt did not count, and the run ended before another did: when it goes on, the run and its
 * accounting still know of that attempt, and of one only. */
START_TEST(a_resumed_run_knows_every_attempt)
{
	char dir[] = "/tmp/check_suite_XXXXXX";
	struct account account;
	struct rows *rows;
	json_t *about;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	counts = (struct audit_counts){0};
	again = fails = true;
	ck_assert_int_eq(run(dir, false, &rows, &about), -EIO);
	rows_close(rows);
	json_decref(about);
	again = fails = false;
	ck_assert_int_eq(run(dir, true, &rows, &about), 0);
	account_read(&account, rows);
	ck_assert_uint_eq(account.included, 1);
	ck_assert_uint_eq(account.excluded, 1);
	ck_assert_int_eq(json_integer_value(json_object_get(about, "trials_repeated")), 1);
	rows_close(rows);
	json_decref(about);
	nftw(dir, unlink_one, 8, FTW_DEPTH | FTW_PHYS);
}
END_TEST

/* --even-busy keeps what has no idle time without trying again, and counts it. */
START_TEST(even_busy_trials_are_counted)
{
	struct account account;
	struct rows *rows;
	json_t *about;

	again = fails = false;
	even_busy = true;
	counts = (struct audit_counts){0};
	for (int busy = 0; busy < 2; busy++) {
		busiest_percent = busy ? 1 : 20;
		ck_assert_int_eq(run(NULL, false, &rows, &about), 0);
		account_read(&account, rows);
		ck_assert_uint_eq(attempts, 1);
		ck_assert_uint_eq(account.included, 1);
		ck_assert_uint_eq(account.excluded, 0);
		ck_assert_uint_eq(account.kept, (unsigned)busy);
		ck_assert_int_eq(json_integer_value(json_object_get(about, "trials_busy")), busy);
		rows_close(rows);
		json_decref(about);
	}
	busiest_percent = -1;
	even_busy = false;
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("suite");
	TCase *tcase = tcase_create("suite");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_breach_spoils_the_trial);
	tcase_add_test(tcase, a_resumed_run_knows_every_attempt);
	tcase_add_test(tcase, even_busy_trials_are_counted);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
