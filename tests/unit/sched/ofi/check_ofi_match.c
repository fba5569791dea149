/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>

#include "ofi/ofi_tables.h"

static struct ofi_match match;

static void setup(void)
{
	match = (struct ofi_match){0};
}

START_TEST(ignored_bits_of_a_tag_do_not_count)
{
	struct ofi_posted p = {
		.source = OFI_ANY_SOURCE, .tagged = true, .tag = 0xa0, .ignore = 0xf};
	struct ofi_arrived a = {.source = 3, .tagged = true, .tag = 0xa7};

	ck_assert(ofi_match_accepts(&p, &a));
	a.tag = 0xb7;
	ck_assert(!ofi_match_accepts(&p, &a));
}
END_TEST

START_TEST(tagged_and_untagged_do_not_meet)
{
	struct ofi_posted p = {.source = OFI_ANY_SOURCE, .ignore = UINT64_MAX, .tagged = true};
	struct ofi_arrived a = {.source = 3};

	ck_assert(!ofi_match_accepts(&p, &a));
	p.tagged = false;
	a.tag = 5; /* is not looked at */
	ck_assert(ofi_match_accepts(&p, &a));
}
END_TEST

START_TEST(a_directed_receive_takes_from_its_source_alone)
{
	struct ofi_posted p = {.source = 3};
	struct ofi_arrived a = {.source = 4};

	ck_assert(!ofi_match_accepts(&p, &a));
	a.source = OFI_ANY_SOURCE; /* whose sender is not known */
	ck_assert(!ofi_match_accepts(&p, &a));
	a.source = 3;
	ck_assert(ofi_match_accepts(&p, &a));
}
END_TEST

START_TEST(the_first_posted_gets_it)
{
	struct ofi_posted first = {.source = OFI_ANY_SOURCE, .tagged = true, .tag = 1},
			  second = first;
	struct ofi_arrived a = {.tagged = true, .tag = 1};

	ofi_match_post(&match, &first);
	ofi_match_post(&match, &second);
	ck_assert_ptr_eq(ofi_match_posted(&match, &a), &first);
	ofi_match_unpost(&match, &first);
	ck_assert_ptr_eq(ofi_match_posted(&match, &a), &second);
	ofi_match_unpost(&match, &second);
	ck_assert_ptr_null(ofi_match_posted(&match, &a));
	ck_assert_uint_eq(match.n_posted, 0);
}
END_TEST

START_TEST(the_first_that_came_is_given)
{
	struct ofi_posted p = {.source = OFI_ANY_SOURCE, .tagged = true, .tag = 2};
	struct ofi_arrived other = {.tagged = true, .tag = 1}, first = {.tagged = true, .tag = 2},
			   second = first;

	ofi_match_arrive(&match, &other);
	ofi_match_arrive(&match, &first);
	ofi_match_arrive(&match, &second);
	ck_assert_ptr_eq(ofi_match_arrived(&match, &p), &first);
	ofi_match_remove(&match, &first);
	ck_assert_ptr_eq(ofi_match_arrived(&match, &p), &second);
	ck_assert_uint_eq(match.n_arrived, 2);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ofi_match");
	TCase *t = tcase_create("match");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, ignored_bits_of_a_tag_do_not_count);
	tcase_add_test(t, tagged_and_untagged_do_not_meet);
	tcase_add_test(t, a_directed_receive_takes_from_its_source_alone);
	tcase_add_test(t, the_first_posted_gets_it);
	tcase_add_test(t, the_first_that_came_is_given);
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
