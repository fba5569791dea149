/* SPDX-License-Identifier: BSD-2-Clause */
/* Receives and messages, cookies, keys of a peer. */
#include <check.h>
#include <errno.h>

#include "ofi/ofi_tables.h"

/* ---- match ---- */

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

/* ---- cookies ---- */

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

/* ---- keys ---- */

static const struct ofi_wire found = {
	.kind = OFI_FOUND, .address = 0x10000, .length = 0x1000, .rkey = 0xabcd};
static const struct ofi_wire refused = {.kind = OFI_FOUND, .status = EACCES};

static struct ofi_keys keys;

static void fini(void)
{
	ofi_keys_fini(&keys);
	ck_assert_ptr_null(keys.by_key);
}

static enum ofi_key_state state_of(uint64_t key)
{
	const struct ofi_key *k = ofi_keys_find(&keys, key);

	ck_assert_ptr_nonnull(k);
	return k->state;
}

START_TEST(a_key_is_asked_for_and_answered)
{
	const struct ofi_key *k;

	ck_assert_ptr_null(ofi_keys_find(&keys, UINT64_MAX));
	ck_assert_int_eq(ofi_keys_ask(&keys, UINT64_MAX), 0);
	ck_assert_int_eq(state_of(UINT64_MAX), OFI_KEY_ASKED);
	ofi_keys_answer(&keys, UINT64_MAX, &found);
	k = ofi_keys_find(&keys, UINT64_MAX);
	ck_assert_int_eq(k->state, OFI_KEY_KNOWN);
	ck_assert_uint_eq(k->rkey, found.rkey);
	ck_assert_int_eq(ofi_keys_ask(&keys, 0), 0);
	ofi_keys_answer(&keys, 0, &refused);
	ck_assert_int_eq(state_of(0), OFI_KEY_REFUSED);
	/* it may have been registered since */
	ck_assert_int_eq(ofi_keys_ask(&keys, 0), 0);
	ck_assert_int_eq(state_of(0), OFI_KEY_ASKED);
}
END_TEST

/* A peer that answers what nobody asked, or twice, changes nothing. */
START_TEST(only_a_question_is_answered)
{
	const struct ofi_wire other = {.kind = OFI_FOUND, .address = 1, .length = 2, .rkey = 3};

	ofi_keys_answer(&keys, 5, &found);
	ck_assert_ptr_null(ofi_keys_find(&keys, 5));
	ck_assert_int_eq(ofi_keys_ask(&keys, 5), 0);
	ofi_keys_answer(&keys, 5, &found);
	ofi_keys_answer(&keys, 5, &other);
	ck_assert_uint_eq(ofi_keys_find(&keys, 5)->rkey, found.rkey);
}
END_TEST

/* An answer that is under way holds for the region that has the key now: it is not forgotten. */
START_TEST(forgetting_leaves_questions_alone)
{
	ck_assert_int_eq(ofi_keys_ask(&keys, 1), 0);
	ofi_keys_forget(&keys, 1);
	ck_assert_int_eq(state_of(1), OFI_KEY_ASKED);
	ofi_keys_answer(&keys, 1, &found);
	ofi_keys_unask(&keys, 1);
	ck_assert_int_eq(state_of(1), OFI_KEY_KNOWN);
	ofi_keys_forget(&keys, 1);
	ck_assert_ptr_null(ofi_keys_find(&keys, 1));
	ck_assert_int_eq(ofi_keys_ask(&keys, 1), 0);
	ofi_keys_unask(&keys, 1);
	ck_assert_ptr_null(ofi_keys_find(&keys, 1));
}
END_TEST

START_TEST(places_lie_within_the_region)
{
	const struct ofi_key k = {.address = 0x10000, .length = 0x1000};
	uint64_t address;

	ck_assert_int_eq(ofi_keys_place(&k, 0, 0x1000, &address), 0);
	ck_assert_uint_eq(address, 0x10000);
	ck_assert_int_eq(ofi_keys_place(&k, 0xfff, 1, &address), 0);
	ck_assert_uint_eq(address, 0x10fff);
	ck_assert_int_eq(ofi_keys_place(&k, 0x1000, 0, &address), 0);
	ck_assert_int_eq(ofi_keys_place(&k, 0x1000, 1, &address), -EACCES);
	ck_assert_int_eq(ofi_keys_place(&k, 0, 0x1001, &address), -EACCES);
	ck_assert_int_eq(ofi_keys_place(&k, UINT64_MAX, 2, &address), -EACCES);
	ck_assert_int_eq(ofi_keys_place(&k, 2, UINT64_MAX, &address), -EACCES);
}
END_TEST

START_TEST(the_oldest_answer_makes_room)
{
	ck_assert_int_eq(ofi_keys_ask(&keys, 0), 0); /* not answered: it stays */
	for (uint64_t key = 1; key < 2 * OFI_KEYS_MAX; key++) {
		ck_assert_int_eq(ofi_keys_ask(&keys, key), 0);
		ofi_keys_answer(&keys, key, &found);
		ck_assert_uint_le(HASH_COUNT(keys.by_key), OFI_KEYS_MAX);
	}
	ck_assert_int_eq(state_of(0), OFI_KEY_ASKED);
	ck_assert_ptr_null(ofi_keys_find(&keys, OFI_KEYS_MAX));
	ck_assert_int_eq(state_of(OFI_KEYS_MAX + 1), OFI_KEY_KNOWN);
}
END_TEST

/* All that is known; what was asked for gets its answer. */
START_TEST(all_are_forgotten)
{
	ck_assert_int_eq(ofi_keys_ask(&keys, 1), 0);
	ofi_keys_answer(&keys, 1, &found);
	ck_assert_int_eq(ofi_keys_ask(&keys, 2), 0);
	ofi_keys_forget_all(&keys);
	ck_assert_ptr_null(ofi_keys_find(&keys, 1));
	ofi_keys_answer(&keys, 2, &found);
	ck_assert_int_eq(ofi_keys_find(&keys, 2)->state, OFI_KEY_KNOWN);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ofi_tables");
	TCase *of_match = tcase_create("match");
	TCase *of_cookies = tcase_create("cookies");
	TCase *of_keys = tcase_create("keys");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(of_match, setup, NULL);
	tcase_add_test(of_match, ignored_bits_of_a_tag_do_not_count);
	tcase_add_test(of_match, tagged_and_untagged_do_not_meet);
	tcase_add_test(of_match, a_directed_receive_takes_from_its_source_alone);
	tcase_add_test(of_match, the_first_posted_gets_it);
	tcase_add_test(of_match, the_first_that_came_is_given);
	tcase_add_checked_fixture(of_cookies, NULL, teardown);
	tcase_add_test(of_cookies, a_cookie_names_its_thing);
	tcase_add_test(of_cookies, an_old_cookie_names_nothing);
	tcase_add_test(of_cookies, a_generation_comes_round_without_zero);
	tcase_add_test(of_cookies, no_more_than_fit);
	tcase_add_checked_fixture(of_keys, NULL, fini);
	tcase_add_test(of_keys, a_key_is_asked_for_and_answered);
	tcase_add_test(of_keys, all_are_forgotten);
	tcase_add_test(of_keys, only_a_question_is_answered);
	tcase_add_test(of_keys, forgetting_leaves_questions_alone);
	tcase_add_test(of_keys, places_lie_within_the_region);
	tcase_add_test(of_keys, the_oldest_answer_makes_room);
	suite_add_tcase(s, of_match);
	suite_add_tcase(s, of_cookies);
	suite_add_tcase(s, of_keys);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
