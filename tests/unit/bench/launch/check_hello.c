/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "launch/hello.h"

static const struct control_auth key = {.secret = "0123456789abcdef", .length = 16},
				 other = {.secret = "0123456789abcdeF", .length = 16};
static const struct hello_challenge coordinator = {{1, 2, 3}}, agent = {{4, 5, 6}};
static enum hello_refusal why;

static int answers(json_t *message, const struct control_auth *with,
		   const struct hello_challenge *to)
{
	struct hello_challenge got = {{0}};
	int err = hello_read_answer(message, with, to, &got, &why);

	if (!err)
		ck_assert_mem_eq(&got, &agent, sizeof(got));
	json_decref(message);
	return err;
}

static int welcomes(json_t *message, const struct control_auth *with,
		    const struct hello_challenge *from, const struct hello_challenge *to)
{
	int err = hello_read_welcome(message, with, from, to, &why);

	json_decref(message);
	return err;
}

START_TEST(both_have_the_key)
{
	json_t *offer = hello_offer(&coordinator);
	struct hello_challenge got;

	ck_assert_int_eq(hello_read_offer(offer, &got, &why), 0);
	ck_assert_mem_eq(&got, &coordinator, sizeof(got));
	json_decref(offer);
	ck_assert_int_eq(answers(hello_answer(&key, &coordinator, &agent), &key, &coordinator), 0);
	ck_assert_int_eq(
		welcomes(hello_welcome(&key, &coordinator, &agent), &key, &coordinator, &agent), 0);
}
END_TEST

START_TEST(another_key_is_refused_at_both_ends)
{
	ck_assert_int_eq(answers(hello_answer(&other, &coordinator, &agent), &key, &coordinator),
			 -EACCES);
	ck_assert_int_eq(why, HELLO_KEY);
	why = HELLO_MESSAGE;
	ck_assert_int_eq(
		welcomes(hello_welcome(&other, &coordinator, &agent), &key, &coordinator, &agent),
		-EACCES);
	ck_assert_int_eq(why, HELLO_KEY);
}
END_TEST

/* What was recorded of another connection, or is sent back, proves nothing. */
START_TEST(proofs_are_of_one_connection_and_one_role)
{
	const struct hello_challenge later = {{9}};
	json_t *proof = hello_answer(&key, &coordinator, &agent);

	ck_assert_int_eq(answers(hello_answer(&key, &coordinator, &agent), &key, &later), -EACCES);
	ck_assert_int_eq(
		welcomes(hello_welcome(&key, &coordinator, &agent), &key, &coordinator, &later),
		-EACCES);
	ck_assert_int_eq(welcomes(proof, &key, &coordinator, &agent), -EACCES);
	ck_assert_int_eq(why, HELLO_KEY);
}
END_TEST

START_TEST(another_version_is_told_apart)
{
	json_t *offer = hello_offer(&coordinator);
	json_t *answer = hello_answer(&key, &coordinator, &agent);
	struct hello_challenge got;

	json_object_set_new(offer, "farebench", json_integer(HELLO_VERSION + 1));
	ck_assert_int_eq(hello_read_offer(offer, &got, &why), -EACCES);
	ck_assert_int_eq(why, HELLO_VERSIONS);
	json_decref(offer);
	json_object_set_new(answer, "farebench", json_integer(HELLO_VERSION + 1));
	why = HELLO_MESSAGE;
	ck_assert_int_eq(answers(answer, &key, &coordinator), -EACCES);
	ck_assert_int_eq(why, HELLO_VERSIONS);
}
END_TEST

START_TEST(refusals_arrive)
{
	for (unsigned i = 0; i < HELLO_REFUSALS; i++) {
		ck_assert_int_eq(
			welcomes(hello_refuse((enum hello_refusal)i), &key, &coordinator, &agent),
			-EACCES);
		ck_assert_uint_eq(why, i);
		ck_assert_str_ne(hello_refusal_text((enum hello_refusal)i), "");
	}
}
END_TEST

START_TEST(what_is_none_is_refused)
{
	static const char *const bad[] = {
		"{}",
		"{\"farebench\":\"1\"}",
		"{\"farebench\":1}",
		"{\"farebench\":1,\"challenge\":5}",
		"{\"farebench\":1,\"challenge\":\"00\"}",
		"{\"farebench\":1,\"challenge\":\"0000000000000000000000000000000g\"}",
		"{\"farebench\":1,\"challenge\":\"000000000000000000000000000000000\"}",
		("{\"farebench\":1,\"challenge\":\"00000000000000000000000000000000\","
		 "\"proof\":\"00\"}"),
	};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_t *message = json_loads(bad[i], 0, NULL);

		ck_assert_ptr_nonnull(message);
		why = HELLO_KEY;
		ck_assert_int_eq(answers(message, &key, &coordinator), -EACCES);
		ck_assert_int_eq(why, HELLO_MESSAGE);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hello");
	TCase *tcase = tcase_create("hello");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, both_have_the_key);
	tcase_add_test(tcase, another_key_is_refused_at_both_ends);
	tcase_add_test(tcase, proofs_are_of_one_connection_and_one_role);
	tcase_add_test(tcase, another_version_is_told_apart);
	tcase_add_test(tcase, refusals_arrive);
	tcase_add_test(tcase, what_is_none_is_refused);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
