/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>

#include "ofi/ofi_tables.h"

static struct ofi_cookies cookies;
static int things[OFI_COOKIES_MAX];

static void teardown(void)
{
	ofi_cookies_fini(&cookies);
}

static uint32_t add(int *what)
{
	uint32_t cookie = 0;

	ck_assert_int_eq(ofi_cookies_add(&cookies, what, &cookie), 0);
	ck_assert_uint_ne(cookie, 0);
	return cookie;
}

START_TEST(a_cookie_names_its_thing)
{
	uint32_t a = add(&things[0]), b = add(&things[1]);

	ck_assert_ptr_eq(ofi_cookies_find(&cookies, a), &things[0]);
	ck_assert_ptr_eq(ofi_cookies_find(&cookies, b), &things[1]);
	ck_assert_ptr_null(ofi_cookies_find(&cookies, 0));
	ck_assert_ptr_null(ofi_cookies_find(&cookies, a + OFI_COOKIES_MAX));
}
END_TEST

START_TEST(an_old_cookie_names_nothing)
{
	uint32_t a = add(&things[0]), b;

	ofi_cookies_remove(&cookies, a);
	ck_assert_ptr_null(ofi_cookies_find(&cookies, a));
	b = add(&things[1]); /* in the same place */
	ck_assert_uint_ne(a, b);
	ck_assert_ptr_null(ofi_cookies_find(&cookies, a));
	ofi_cookies_remove(&cookies, a); /* once more: takes nothing away */
	ck_assert_ptr_eq(ofi_cookies_find(&cookies, b), &things[1]);
}
END_TEST

START_TEST(a_generation_comes_round_without_zero)
{
	for (unsigned i = 0; i < 3 * OFI_COOKIES_MAX; i++) {
		uint32_t a = add(&things[0]);

		ofi_cookies_remove(&cookies, a);
	}
}
END_TEST

START_TEST(no_more_than_fit)
{
	uint32_t cookie, first = add(&things[0]);

	for (unsigned i = 1; i < OFI_COOKIES_MAX; i++)
		add(&things[i]);
	ck_assert_int_eq(ofi_cookies_add(&cookies, &things[0], &cookie), -ENOSPC);
	ck_assert_ptr_eq(ofi_cookies_find(&cookies, first), &things[0]);
	ofi_cookies_remove(&cookies, first);
	add(&things[0]);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ofi_cookies");
	TCase *t = tcase_create("cookies");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(t, NULL, teardown);
	tcase_add_test(t, a_cookie_names_its_thing);
	tcase_add_test(t, an_old_cookie_names_nothing);
	tcase_add_test(t, a_generation_comes_round_without_zero);
	tcase_add_test(t, no_more_than_fit);
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
