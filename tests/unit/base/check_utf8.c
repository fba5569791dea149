/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

static void expect(const char *text, const uint32_t *codes, unsigned n)
{
	const char *end = text + strlen(text);

	for (unsigned i = 0; i < n; i++) {
		ck_assert(text < end);
		ck_assert_uint_eq(utf8_take(&text), codes[i]);
	}
	ck_assert_ptr_eq(text, end);
}

START_TEST(whole_characters)
{
	expect("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
	       (const uint32_t[]){'a', 0xe4, 0x20ac, 0x1f600}, 4);
}
END_TEST

START_TEST(what_is_none_costs_one_byte)
{
	const uint32_t bad = UTF8_INVALID;

	expect("\xff"
	       "a",
	       (const uint32_t[]){bad, 'a'}, 2);
	expect("\x80"
	       "a",
	       (const uint32_t[]){bad, 'a'}, 2);
	expect("\xc3", (const uint32_t[]){bad}, 1); /* ends too soon */
	expect("\xe2\x82"
	       "a",
	       (const uint32_t[]){bad, bad, 'a'}, 3);
	expect("\xc0\xbc", (const uint32_t[]){bad, bad}, 2); /* '<', written too long */
	expect("\xe0\x80\xbc", (const uint32_t[]){bad, bad, bad}, 3);
	expect("\xf0\x80\x80\xbc", (const uint32_t[]){bad, bad, bad, bad}, 4);
	expect("\xed\xa0\x80", (const uint32_t[]){bad, bad, bad}, 3); /* half of a surrogate pair */
	expect("\xf4\x90\x80\x80", (const uint32_t[]){bad, bad, bad, bad}, 4);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("utf8");
	TCase *tcase = tcase_create("utf8");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, whole_characters);
	tcase_add_test(tcase, what_is_none_costs_one_byte);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
