/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "workload/prefix_cache.h"

#define ROOM 5

START_TEST(what_was_used_last_stays)
{
	static const uint64_t abc[] = {7, 8, 9}, other[] = {1, 2, 3};
	struct prefix_cache c;

	ck_assert_int_eq(prefix_cache_init(&c, 4), 0);
	ck_assert_uint_eq(prefix_cache_match(&c, abc, 3), 0);
	prefix_cache_use(&c, abc, 3);
	ck_assert_uint_eq(prefix_cache_match(&c, abc, 3), 3);
	/* two of three leave: those farthest from the beginning */
	prefix_cache_use(&c, other, 3);
	ck_assert_uint_eq(prefix_cache_match(&c, other, 3), 3);
	ck_assert_uint_eq(prefix_cache_match(&c, abc, 3), 1);
	prefix_cache_fini(&c);
	ck_assert_uint_eq(prefix_cache_match(&c, abc, 3), 0);
	prefix_cache_use(&c, abc, 3); /* no room: nothing happens */
	ck_assert_uint_eq(prefix_cache_match(&c, abc, 3), 0);
}
END_TEST

/* Against a list that is searched and shifted. */
START_TEST(as_a_list_would)
{
	uint64_t list[ROOM], random = 3, n = 0;
	struct prefix_cache c;

	ck_assert_int_eq(prefix_cache_init(&c, ROOM), 0);
	for (int step = 0; step < 20000; step++) {
		uint64_t id = (uint64_t)rng_below(&random, 9) << 40, at = 0;

		while (at < n && list[at] != id)
			at++;
		ck_assert_uint_eq(prefix_cache_match(&c, &id, 1), at < n);
		prefix_cache_use(&c, &id, 1);
		if (at == n)
			at = n < ROOM ? n++ : n - 1;
		memmove(&list[1], list, at * sizeof(*list));
		list[0] = id;
		for (uint64_t i = 0; i < n; i++)
			ck_assert_uint_eq(prefix_cache_match(&c, &list[i], 1), 1);
	}
	prefix_cache_fini(&c);
}
END_TEST

/* Ids of one bucket of one process are not those of the next. */
START_TEST(buckets_are_drawn)
{
	struct prefix_cache a, b;

	ck_assert_int_eq(prefix_cache_init(&a, 4), 0);
	ck_assert_int_eq(prefix_cache_init(&b, 4), 0);
	ck_assert_uint_ne(a.factor, b.factor);
	ck_assert_uint_eq(a.factor & b.factor & 1, 1);
	prefix_cache_fini(&a);
	prefix_cache_fini(&b);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("prefix_cache");
	TCase *tcase = tcase_create("prefix_cache");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, what_was_used_last_stays);
	tcase_add_test(tcase, as_a_list_would);
	tcase_add_test(tcase, buckets_are_drawn);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
