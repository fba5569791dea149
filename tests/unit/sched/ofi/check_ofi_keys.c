/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>

#include "ofi/ofi_tables.h"

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
	Suite *suite = suite_create("ofi_keys");
	TCase *tcase = tcase_create("ofi_keys");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tcase, NULL, fini);
	tcase_add_test(tcase, a_key_is_asked_for_and_answered);
	tcase_add_test(tcase, all_are_forgotten);
	tcase_add_test(tcase, only_a_question_is_answered);
	tcase_add_test(tcase, forgetting_leaves_questions_alone);
	tcase_add_test(tcase, places_lie_within_the_region);
	tcase_add_test(tcase, the_oldest_answer_makes_room);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
