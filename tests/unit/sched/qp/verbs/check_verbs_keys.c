/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdlib.h>

#include "qp/verbs/verbs_keys.h"

static struct verbs_keys keys;
static struct verbs_key_peer peer = {.port = 4798}, other = {.port = 4798}, beside = {.port = 4799};

static void set_up(void)
{
	memset(&keys, 0, sizeof(keys));
	inet_pton(AF_INET6, "::ffff:198.19.0.1", &peer.address);
	beside.address = peer.address;
	inet_pton(AF_INET6, "::ffff:198.19.0.2", &other.address);
}

static struct verbs_wire_message reply(uint32_t key, uint64_t nonce)
{
	struct verbs_wire_message m = {.type = VERBS_WIRE_KEY_REPLY,
				       .key = key,
				       .nonce = nonce,
				       .n_keys = 2,
				       .keys = {{0, 1, 111}, {3, 0, 333}}};

	return m;
}

START_TEST(asks_once_a_while_and_believes_the_answer)
{
	struct verbs_wire_message m;
	uint64_t nonce;
	uint32_t rkey = 0;

	ck_assert_int_eq(verbs_keys_lookup(&keys, &peer, 7, 0, 1, 1000, 42, &rkey, &nonce),
			 -EAGAIN);
	ck_assert_uint_eq(nonce, 42);
	ck_assert_int_eq(verbs_keys_lookup(&keys, &peer, 7, 0, 1, 1001, 43, &rkey, &nonce),
			 -EAGAIN);
	ck_assert_uint_eq(nonce, 0); /* under way */
	ck_assert_int_eq(verbs_keys_lookup(&keys, &peer, 7, 0, 1, 1000 + VERBS_KEYS_ASK_NS, 44,
					   &rkey, &nonce),
			 -EAGAIN);
	ck_assert_uint_eq(nonce, 42); /* the same question again: an answer to either counts */
	m = reply(7, 42);
	ck_assert_int_eq(verbs_keys_answer(&keys, &peer.address, &m, 2000), 0);
	ck_assert_int_eq(verbs_keys_lookup(&keys, &peer, 7, 0, 1, 2001, 45, &rkey, &nonce), 0);
	ck_assert_uint_eq(rkey, 111);
	ck_assert_int_eq(verbs_keys_lookup(&keys, &peer, 7, 3, 0, 2001, 45, &rkey, &nonce), 0);
	ck_assert_uint_eq(rkey, 333);
}
END_TEST

START_TEST(believes_nobody_who_was_not_asked)
{
	struct verbs_wire_message m = reply(7, 42);
	uint64_t nonce;
	uint32_t rkey = 0;

	ck_assert_int_eq(verbs_keys_answer(&keys, &peer.address, &m, 1), -ENOENT);
	verbs_keys_lookup(&keys, &peer, 7, 0, 1, 1000, 41, &rkey, &nonce);
	ck_assert_int_eq(verbs_keys_answer(&keys, &peer.address, &m, 2), -ENOENT); /* nonce */
	m = reply(7, 41);
	ck_assert_int_eq(verbs_keys_answer(&keys, &other.address, &m, 2), -ENOENT); /* sender */
	ck_assert_int_eq(verbs_keys_answer(&keys, &peer.address, &m, 2), 0);
	ck_assert_int_eq(verbs_keys_answer(&keys, &peer.address, &m, 3),
			 -ENOENT); /* a second time */
	m = reply(7, 0);
	ck_assert_int_eq(verbs_keys_answer(&keys, &peer.address, &m, 3), -ENOENT);
}
END_TEST

/* Their regions may have one key and are different ones. */
START_TEST(two_processes_at_an_address_are_not_confused)
{
	struct verbs_wire_message m = reply(7, 43);
	uint64_t nonce;
	uint32_t rkey = 0;

	verbs_keys_lookup(&keys, &peer, 7, 0, 1, 1000, 42, &rkey, &nonce);
	verbs_keys_lookup(&keys, &beside, 7, 0, 1, 1000, 43, &rkey, &nonce);
	ck_assert_uint_eq(nonce, 43);
	ck_assert_int_eq(verbs_keys_answer(&keys, &peer.address, &m, 2000), 0);
	ck_assert_int_eq(verbs_keys_lookup(&keys, &beside, 7, 0, 1, 2001, 44, &rkey, &nonce), 0);
	ck_assert_uint_eq(rkey, 111);
	ck_assert_int_eq(verbs_keys_lookup(&keys, &peer, 7, 0, 1, 2001, 44, &rkey, &nonce),
			 -EAGAIN);
	verbs_keys_forget(&keys, &peer, 0, 1);
	ck_assert_int_eq(verbs_keys_lookup(&keys, &beside, 7, 0, 1, 2002, 45, &rkey, &nonce), 0);
	verbs_keys_forget(&keys, &beside, 0, 1);
	ck_assert_int_eq(verbs_keys_lookup(&keys, &beside, 7, 0, 1, 2003, 46, &rkey, &nonce),
			 -EAGAIN);
}
END_TEST

START_TEST(a_refusal_holds_for_a_while)
{
	struct verbs_wire_message m = reply(7, 42);
	uint64_t nonce;
	uint32_t rkey = 0;

	verbs_keys_lookup(&keys, &peer, 7, 0, 1, 1000, 42, &rkey, &nonce);
	m.n_keys = 0;
	ck_assert_int_eq(verbs_keys_answer(&keys, &peer.address, &m, 2000), 0);
	ck_assert_int_eq(verbs_keys_lookup(&keys, &peer, 7, 0, 1, 2001, 43, &rkey, &nonce),
			 -EACCES);
	ck_assert_uint_eq(nonce, 0);
	ck_assert_int_eq(verbs_keys_lookup(&keys, &peer, 7, 0, 1, 2000 + VERBS_KEYS_REFUSE_NS, 44,
					   &rkey, &nonce),
			 -EAGAIN);
	ck_assert_uint_eq(nonce, 44);
}
END_TEST

START_TEST(a_device_that_was_not_named_is_asked_for_again)
{
	struct verbs_wire_message m = reply(7, 42);
	uint64_t nonce;
	uint32_t rkey = 0;

	verbs_keys_lookup(&keys, &peer, 7, 0, 1, 1000, 42, &rkey, &nonce);
	verbs_keys_answer(&keys, &peer.address, &m, 2000);
	ck_assert_int_eq(verbs_keys_lookup(&keys, &peer, 7, 2, 0, 2001, 43, &rkey, &nonce),
			 -EAGAIN);
	ck_assert_uint_eq(nonce, 43);
	ck_assert_int_eq(
		verbs_keys_lookup(&keys, &peer, 7, FARE_MAX_PLANES, 0, 2001, 44, &rkey, &nonce),
		-EACCES);
}
END_TEST

START_TEST(a_device_made_anew_is_asked_for_again)
{
	struct verbs_wire_message m = reply(7, 42);
	uint64_t nonce;
	uint32_t rkey = 0;

	verbs_keys_lookup(&keys, &peer, 7, 0, 1, 1000, 42, &rkey, &nonce);
	verbs_keys_answer(&keys, &peer.address, &m, 2000);
	verbs_keys_forget(&keys, &other, 0, 1);
	verbs_keys_forget(&keys, &peer, FARE_MAX_PLANES, 0);
	ck_assert_int_eq(verbs_keys_lookup(&keys, &peer, 7, 0, 1, 2001, 43, &rkey, &nonce), 0);
	verbs_keys_forget(&keys, &peer, 0, 1);
	ck_assert_int_eq(verbs_keys_lookup(&keys, &peer, 7, 3, 0, 2001, 43, &rkey, &nonce), 0);
	ck_assert_int_eq(verbs_keys_lookup(&keys, &peer, 7, 0, 1, 2001, 43, &rkey, &nonce),
			 -EAGAIN);
	ck_assert_uint_eq(nonce, 43);
	/* an answer that was under way when the device came back may name the old key */
	verbs_keys_forget(&keys, &peer, 0, 1);
	m.nonce = 43;
	ck_assert_int_eq(verbs_keys_answer(&keys, &peer.address, &m, 2002), -ENOENT);
}
END_TEST

START_TEST(stays_bounded_and_forgets_the_longest_unused)
{
	uint64_t nonce;
	uint32_t rkey = 0;

	for (uint32_t key = 1; key <= 10 * VERBS_KEYS_SETS * VERBS_KEYS_PER_SET; key++) {
		struct verbs_wire_message m = reply(key, key);

		ck_assert_int_eq(
			verbs_keys_lookup(&keys, &peer, key, 0, 1, key, key, &rkey, &nonce),
			-EAGAIN);
		ck_assert_uint_eq(nonce, key);
		ck_assert_int_eq(verbs_keys_answer(&keys, &peer.address, &m, key), 0);
		/* what is in use stays, however many come by */
		if (key > 1)
			ck_assert_int_eq(
				verbs_keys_lookup(&keys, &peer, 1, 0, 1, key, 1, &rkey, &nonce), 0);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("verbs_keys");
	TCase *t = tcase_create("core");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, set_up, NULL);
	tcase_add_test(t, asks_once_a_while_and_believes_the_answer);
	tcase_add_test(t, believes_nobody_who_was_not_asked);
	tcase_add_test(t, two_processes_at_an_address_are_not_confused);
	tcase_add_test(t, a_refusal_holds_for_a_while);
	tcase_add_test(t, a_device_that_was_not_named_is_asked_for_again);
	tcase_add_test(t, a_device_made_anew_is_asked_for_again);
	tcase_add_test(t, stays_bounded_and_forgets_the_longest_unused);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
