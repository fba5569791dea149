/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "qp/admission.h"

#define MS UINT64_C(1000000)

static struct admission admission;
static uint8_t nonce[CONTROL_NONCE_BYTES];

static struct admission_opener opener(uint32_t group)
{
	struct admission_opener o = {.incarnation = 77, .group = group};

	o.address.address.s6_addr[15] = 1;
	o.address.port = 4791;
	return o;
}

static void setup(void)
{
	uint8_t secret[ADMISSION_SECRET] = {1, 2, 3};

	admission_init(&admission, secret);
}

static bool is_fresh(const struct admission_opener *o, uint64_t now_ns)
{
	return admission_is_fresh(&admission, o, now_ns, nonce);
}

START_TEST(a_nonce_is_the_openers_alone)
{
	struct admission_opener own = opener(5), other;

	admission_challenge(&admission, &own, 100 * MS, nonce);
	ck_assert(is_fresh(&own, 100 * MS));
	ck_assert(is_fresh(&own, 100 * MS + ADMISSION_NS - 1));
	other = own, other.group++;
	ck_assert(!is_fresh(&other, 100 * MS));
	other = own, other.incarnation++;
	ck_assert(!is_fresh(&other, 100 * MS));
	other = own, other.address.port++;
	ck_assert(!is_fresh(&other, 100 * MS));
	other = own, other.address.address.s6_addr[15]++;
	ck_assert(!is_fresh(&other, 100 * MS));
	for (unsigned i = 0; i < sizeof(nonce) * 8; i++) {
		nonce[i / 8] ^= (uint8_t)(1u << i % 8);
		ck_assert_msg(!is_fresh(&own, 100 * MS), "bit %u", i);
		nonce[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	admission.secret[31]++; /* another domain's */
	ck_assert(!is_fresh(&own, 100 * MS));
}
END_TEST

START_TEST(a_nonce_ends)
{
	struct admission_opener own = opener(5);

	admission_challenge(&admission, &own, 100 * MS, nonce);
	ck_assert(!is_fresh(&own, 100 * MS + ADMISSION_NS));
	ck_assert(!is_fresh(&own, 99 * MS)); /* not made yet */
	memset(nonce, 0, sizeof(nonce));     /* none was given */
	ck_assert(!is_fresh(&own, MS));
}
END_TEST

START_TEST(a_group_is_admitted_once)
{
	struct admission_opener own = opener(5), other = opener(6);
	uint64_t now = 100 * MS;

	ck_assert_ptr_null(admission_find(&admission, &own, now));
	admission_add(&admission, &own, now)->error = -5;
	ck_assert_int_eq(admission_find(&admission, &own, now)->error, -5);
	ck_assert_ptr_null(admission_find(&admission, &other, now));
	/* its nonces are all over then */
	ck_assert_ptr_nonnull(admission_find(&admission, &own, now + ADMISSION_NS - 1));
	ck_assert_ptr_null(admission_find(&admission, &own, now + ADMISSION_NS));
}
END_TEST

/* What the list forgets too soon cannot come back by a nonce that was made before. */
START_TEST(the_list_is_bounded)
{
	struct admission_opener own = opener(5), late = opener(6);
	uint8_t own_nonce[CONTROL_NONCE_BYTES];
	uint64_t now = 100 * MS;

	admission_challenge(&admission, &own, now, own_nonce);
	admission_add(&admission, &own, now + 1);
	for (uint32_t i = 0; i < ADMISSION_ADMITTED; i++) {
		struct admission_opener o = opener(1000 + i);

		now += 1000;
		admission_challenge(&admission, &o, now, nonce);
		ck_assert(is_fresh(&o, now + 1));
		admission_add(&admission, &o, now + 1);
	}
	ck_assert_ptr_null(admission_find(&admission, &own, now));
	ck_assert(!admission_is_fresh(&admission, &own, now, own_nonce));
	/* and others are not refused for that */
	admission_challenge(&admission, &late, now, nonce);
	ck_assert(is_fresh(&late, now + 1));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("admission");
	TCase *t = tcase_create("core");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, a_nonce_is_the_openers_alone);
	tcase_add_test(t, a_nonce_ends);
	tcase_add_test(t, a_group_is_admitted_once);
	tcase_add_test(t, the_list_is_bounded);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
