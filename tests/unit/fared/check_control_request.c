/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of the control socket: what is taken, and that everything else is refused with a reason.
 */
#include "control_request.h"

#include <check.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse(const char *line, struct control_request *out, char *why, size_t size)
{
	/* exact size on the heap, so that a sanitizer sees any over-read */
	size_t length = strlen(line);
	char *copy = malloc(length ? length : 1);
	int rc;

	memcpy(copy, line, length);
	rc = control_request_parse(copy, length, out, why, size);
	free(copy);
	return rc;
}

START_TEST(what_is_taken)
{
	struct control_request r;
	char why[200];

	ck_assert_int_eq(parse("{\"cmd\":\"paths\",\"peer\":\"198.19.0.2\",\"plane\":3,\"limit\":5,"
			       "\"cursor\":7}",
			       &r, why, sizeof(why)),
			 0);
	ck_assert_int_eq(r.command, CONTROL_PATHS);
	ck_assert(r.has_peer && r.has_plane);
	ck_assert_uint_eq(r.plane, 3);
	ck_assert_uint_eq(r.limit, 5);
	ck_assert_uint_eq(r.cursor, 7);
	ck_assert_int_eq(
		parse("{\"cmd\":\"drain\",\"peer\":\"all\",\"plane\":0}", &r, why, sizeof(why)), 0);
	ck_assert(!r.has_peer && r.has_plane);
	ck_assert_int_eq(
		parse("{\"cmd\":\"attach\",\"name\":\"x\",\"pid\":12}", &r, why, sizeof(why)), 0);
	ck_assert_str_eq(r.name, "x");
	/* cut to 31 bytes, within a character of two */
	ck_assert_int_eq(parse("{\"cmd\":\"attach\",\"name\":\"123456789012345678901234567890"
			       "\xc3\xa4\"}",
			       &r, why, sizeof(why)),
			 0);
	ck_assert_str_eq(r.name, "123456789012345678901234567890");
	ck_assert_int_eq(parse(" {\"cmd\":\"events\",\"after\":9} ", &r, why, sizeof(why)), 0);
	ck_assert_uint_eq(r.cursor, 9);
	ck_assert_uint_eq(r.limit, CONTROL_LIMIT_MAX);
	ck_assert_int_eq(parse("{\"cmd\":\"qps\",\"cursor\":4}", &r, why, sizeof(why)), 0);
	ck_assert_int_eq(r.command, CONTROL_QPS);
}
END_TEST

/* Half a character in the answer would make no JSON: the client would be dropped without a word. */
START_TEST(a_name_is_cut_between_characters)
{
	struct control_request r;
	char why[200], line[120];

	/* 39 bytes, and a character of two */
	snprintf(line, sizeof(line), "{\"cmd\":\"planes\",\"%039d\xc3\xa4xx\":1}", 0);
	ck_assert_int_eq(parse(line, &r, why, sizeof(why)), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(why, "takes no \"0"));
	ck_assert_ptr_null(strchr(why, '\xc3'));
	json_t *answer = json_pack("{s:s}", "error", why);
	ck_assert_ptr_nonnull(answer);
	json_decref(answer);
}
END_TEST

static const struct {
	const char *line, *says;
} refused[] = {
	{"", "JSON"},
	{"{", "offset"},
	{"[]", "object"},
	{"{}", "cmd"},
	{"{\"cmd\":1}", "cmd"},
	{"{\"cmd\":\"reboot\"}", "unknown command"},
	{"{\"cmd\":\"planes\",\"peer\":\"198.19.0.2\"}", "takes no"},
	{"{\"cmd\":\"planes\",\"cmd\":\"peers\"}", "JSON"},
	{"{\"cmd\":\"drain\",\"peer\":\"all\",\"planes\":[]}", "array"},
	{"{\"cmd\":\"drain\",\"peer\":\"all\",\"planes\":[1,16]}", "integer"},
	{"{\"cmd\":\"drain\",\"peer\":\"all\",\"planes\":[1],\"plane\":1}", "exclude"},
	{"{\"cmd\":\"drain\",\"peer\":\"all\",\"planes\":[1],\"sub_port\":1}", "one of a"},
	{"{\"cmd\":\"why\",\"peer\":\"198.19.0.2\",\"planes\":[1]}", "takes no"},
	{"{\"cmd\":\"drain\",\"peer\":\"all\",\"sub_port\":0}", "\"sub_port\" is one of a"},
	{"{\"cmd\":\"drain\",\"peer\":\"198.19.0.2\",\"plane\":0,\"sub_port\":0}", "\"sub_port\""},
	{"{\"cmd\":\"drain\",\"peer\":\"all\",\"plane\":0,\"sub_port\":8}", "integer"},
	{"{\"cmd\":\"drain\",\"peer\":\"all\",\"gpu\":\"\"}", "gpu"},
	{"{\"cmd\":\"drain\",\"peer\":\"all\",\"gpu\":\"0123456789012345678901234567890123\"}",
	 "gpu"},
	{"{\"cmd\":\"drain\",\"plane\":1}", "needs \"peer\""},
	{"{\"cmd\":\"events\",\"level\":\"loud\"}", "level"},
	{"{\"cmd\":\"events\",\"level\":3}", "level"},
	{"{\"cmd\":\"events\",\"since_ns\":-1}", "integer"},
	{"{\"cmd\":\"events\",\"topic\":\"\"}", "topic"},
	{"{\"cmd\":\"events\",\"topic\":\"no such topic\"}", "topic"},
	{"{\"cmd\":\"events\",\"topic\":\"lin\"}", "bandwidth peer"},
	{"{\"cmd\":\"watch\",\"topic\":\"path\"}", "takes no"},
	{"{\"cmd\":\"reload\",\"dry_run\":1}", "true or false"},
	{"{\"cmd\":\"trace\",\"peer\":\"::1\"}", "needs \"plane\""},
	{"{\"cmd\":\"trace\",\"peer\":\"::1\",\"plane\":0,\"count\":0}", "at least 1"},
	{"{\"cmd\":\"trace\",\"peer\":\"::1\",\"plane\":0,\"count\":10001}", "integer"},
	{"{\"cmd\":\"trace\",\"peer\":\"all\",\"plane\":0}", "no IP address"},
	{"{\"cmd\":\"reload\",\"confirm_s\":0}", "at least 1"},
	{"{\"cmd\":\"reload\",\"confirm_s\":86401}", "integer"},
	{"{\"cmd\":\"reload\",\"dry_run\":true,\"confirm_s\":5}", "nothing to confirm"},
	{"{\"cmd\":\"confirm\",\"confirm_s\":5}", "takes no"},
	{"{\"cmd\":\"why\",\"peer\":\"all\"}", "IP address"},
	{"{\"cmd\":\"why\",\"peer\":7}", "string"},
	{"{\"cmd\":\"qps\",\"peer\":\"198.19.0.2\"}", "takes no"},
	{"{\"cmd\":\"paths\",\"plane\":-1}", "integer"},
	{"{\"cmd\":\"paths\",\"plane\":16}", "integer"},
	{"{\"cmd\":\"paths\",\"plane\":1.5}", "integer"},
	{"{\"cmd\":\"paths\",\"limit\":0}", "limit"},
	{"{\"cmd\":\"paths\",\"limit\":5000}", "limit"},
	{"{\"cmd\":\"attach\",\"name\":\"\"}", "name"},
	{"{\"cmd\":\"attach\",\"name\":\"a\\u0000b\"}", "JSON"},
};

START_TEST(what_is_refused)
{
	struct control_request r;
	char why[200] = "";

	ck_assert_int_eq(parse(refused[_i].line, &r, why, sizeof(why)), -EBADMSG);
	ck_assert_msg(strstr(why, refused[_i].says), "'%s' for %s", why, refused[_i].line);
}
END_TEST

START_TEST(length_is_bounded)
{
	static char line[CONTROL_REQUEST_MAX + 2];
	struct control_request r;
	char why[200];

	memset(line, ' ', sizeof(line) - 1);
	ck_assert_int_eq(parse(line, &r, why, sizeof(why)), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(why, "longer"));
	memset(line, '[', CONTROL_REQUEST_MAX);
	line[CONTROL_REQUEST_MAX] = '\0';
	ck_assert_int_eq(parse(line, &r, why, sizeof(why)), -EBADMSG);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("control_request");
	TCase *tc = tcase_create("parse");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_test(tc, what_is_taken);
	tcase_add_test(tc, a_name_is_cut_between_characters);
	tcase_add_loop_test(tc, what_is_refused, 0, (int)(sizeof(refused) / sizeof(refused[0])));
	tcase_add_test(tc, length_is_bounded);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
