/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "qp/timers.h"

START_TEST(later_is_lazy_and_still_right)
{
	struct timers t = {0};
	struct timer a = {0}, b = {0};

	ck_assert_uint_eq(timers_next(&t), 0);
	ck_assert_int_eq(timers_reserve(&t, 2), 0);
	timers_set(&t, &a, 10);
	timers_set(&t, &b, 20);
	timers_set(&t, &a, 30);
	ck_assert_uint_le(timers_next(&t), 20);
	ck_assert_ptr_null(timers_expire(&t, 15));
	ck_assert_uint_eq(timers_next(&t), 20);
	ck_assert_ptr_eq(timers_expire(&t, 30), &b);
	ck_assert_ptr_eq(timers_expire(&t, 30), &a);
	ck_assert_ptr_null(timers_expire(&t, 1000));
	timers_set(&t, &a, 50);
	timers_set(&t, &a, 0);
	ck_assert_ptr_null(timers_expire(&t, 1000));
	ck_assert_uint_eq(timers_next(&t), 0);
	timers_fini(&t);
}
END_TEST

/* Whether the model has a deadline at or before now. */
static bool overdue(const uint64_t *model, unsigned n, uint64_t now)
{
	for (unsigned i = 0; i < n; i++)
		if (model[i] && model[i] <= now)
			return true;
	return false;
}

/* Against the plainest model there is: look at all of them. */
START_TEST(random_use_agrees_with_a_list)
{
	enum { N = 40 };
	struct timer timer[N];
	uint64_t model[N] = {0}, now = 0;
	struct timers t = {0};

	memset(timer, 0, sizeof(timer));
	srandom((unsigned)_i);
	ck_assert_int_eq(timers_reserve(&t, N), 0);
	for (unsigned step = 0; step < 4000; step++) {
		long i = random() % N;
		struct timer *gone;

		switch (random() % 4) {
		case 0:
			timers_remove(&t, &timer[i]);
			model[i] = 0;
			break;
		case 1:
			model[i] = random() % 8 ? now + 1 + (uint64_t)random() % 300 : 0;
			timers_set(&t, &timer[i], model[i]);
			break;
		default:
			now += (uint64_t)random() % 5;
			while ((gone = timers_expire(&t, now))) {
				i = gone - timer;
				ck_assert(model[i] && model[i] <= now);
				model[i] = 0;
			}
			ck_assert(!overdue(model, N, now));
		}
		/* with an empty heap this is the end of time: then the model must be empty too */
		ck_assert(!overdue(model, N, timers_next(&t) - 1));
	}
	timers_fini(&t);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("timers");
	TCase *t = tcase_create("all");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_add_test(t, later_is_lazy_and_still_right);
	tcase_add_loop_test(t, random_use_agrees_with_a_list, 1, 6);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
