/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "launch/agent_request.h"

static struct inventory_host host = {.equal = "e", .bgp = "b", .n_faults = 2}, bare;
static struct agent_request request;

static int read_from(const char *text, const struct inventory_host *of)
{
	json_t *message = json_loads(text, 0, NULL);
	const char *why = NULL;
	int err;

	ck_assert_ptr_nonnull(message);
	err = agent_request_read(message, of, &request, &why);
	ck_assert(err == 0 || why != NULL);
	json_decref(message);
	return err;
}

START_TEST(requests_are_read)
{
	ck_assert_int_eq(read_from("{\"op\":\"workers\",\"secret\":4294967295}", &host), 0);
	ck_assert_int_eq(request.op, AGENT_WORKERS);
	ck_assert_uint_eq(request.secret, UINT32_MAX);
	ck_assert_int_eq(read_from("{\"op\":\"fault\",\"fault\":1}", &host), 0);
	ck_assert_int_eq(request.op, AGENT_FAULT);
	ck_assert_uint_eq(request.fault, 1);
	ck_assert_int_eq(read_from("{\"op\":\"weights\",\"equal\":true}", &host), 0);
	ck_assert(request.equal);
	ck_assert_int_eq(read_from("{\"op\":\"clock\"}", &bare), 0);
	ck_assert_int_eq(read_from("{\"op\":\"heal\"}", &bare), 0);
	ck_assert_int_eq(read_from("{\"op\":\"quit\"}", &bare), 0);
	ck_assert_int_eq(request.op, AGENT_QUIT);
}
END_TEST

/* An agent does nothing that its own inventory does not have. */
START_TEST(what_this_host_lacks_is_refused)
{
	static const char *const bad[] = {
		"{\"op\":\"fault\",\"fault\":2}",
		"{\"op\":\"fault\",\"fault\":-1}",
		"{\"op\":\"fault\",\"fault\":0.5}",
		"{\"op\":\"fault\",\"down\":\"rm -rf /\"}",
		"{\"op\":\"weights\",\"equal\":1}",
		"{\"op\":\"workers\"}",
		"{\"op\":\"workers\",\"secret\":4294967296}",
		"{\"op\":\"shell\"}",
		"{\"op\":5}",
		"{}",
	};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_int_eq(read_from(bad[i], &host), -EBADMSG);
	ck_assert_int_eq(read_from("{\"op\":\"fault\",\"fault\":0}", &bare), -EBADMSG);
	ck_assert_int_eq(read_from("{\"op\":\"weights\",\"equal\":true}", &bare), -EBADMSG);
}
END_TEST

START_TEST(texts_are_harmless_on_a_terminal)
{
	ck_assert_int_eq(read_from("{\"op\":\"refuse\",\"text\":\"a\\u001b[2Jb\"}", &host), 0);
	ck_assert_str_eq(request.text, "a?[2Jb");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("agent_request");
	TCase *tcase = tcase_create("agent_request");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, requests_are_read);
	tcase_add_test(tcase, what_this_host_lacks_is_refused);
	tcase_add_test(tcase, texts_are_harmless_on_a_terminal);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
