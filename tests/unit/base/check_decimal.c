/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers as text: the one form that is taken, and what strtol() and strtod() would take as well.
 */
#include <check.h>
#include <math.h>
#include <string.h>

#include "base/decimal.h"

static const struct {
	const char *text;
	double whole, fraction; /* -1: refused */
} forms[] = {
	{"0", 0, 0},	   {"7", 7, 7},		 {"400000", 400000, 400000},
	{"1.5", -1, 1.5},  {"0.001", -1, 0.001}, {"2.0", -1, 2},
	{"", -1, -1},	   {"-1", -1, -1},	 {"+1", -1, -1},
	{" 1", -1, -1},	   {"1 ", -1, -1},	 {"1 000", -1, -1},
	{"1,000", -1, -1}, {"5001,", -1, -1},	 {"0100", -1, -1},
	{"00", -1, -1},	   {"00.5", -1, -1},	 {"0x10", -1, -1},
	{"0o17", -1, -1},  {"400_000", -1, -1},	 {"400G", -1, -1},
	{"400e3", -1, -1}, {"10ms", -1, -1},	 {"2%", -1, -1},
	{"1.", -1, -1},	   {".5", -1, -1},	 {"1.5.2", -1, -1},
	{"1.5e3", -1, -1}, {"0x1p3", -1, -1},	 {"inf", -1, -1},
	{"nan", -1, -1},   {".nan", -1, -1},	 {"\xd9\xa3", -1, -1}, /* an Arabic-Indic digit */
};

START_TEST(a_form)
{
	const char *text = forms[_i].text;
	double value = -1;

	decimal_parse(text, strlen(text), true, &value);
	ck_assert_msg(value == forms[_i].whole, "'%s' as a whole number: %g", text, value);
	value = -1;
	decimal_parse(text, strlen(text), false, &value);
	ck_assert_msg(value == forms[_i].fraction, "'%s' as a fraction: %g", text, value);
}
END_TEST

START_TEST(the_length_counts_and_not_a_zero_byte)
{
	double value = -1;

	ck_assert(decimal_parse("12345", 2, true, &value));
	ck_assert_double_eq(value, 12);
	ck_assert(!decimal_parse("12\0", 3, true, &value));
	ck_assert_double_eq(value, 12);
}
END_TEST

START_TEST(of_any_length)
{
	static char text[2000];
	double value = -1;

	memset(text, '9', sizeof(text));
	ck_assert(decimal_parse(text, 400, true, &value));
	ck_assert(isinf(value));
	text[1] = '.';
	ck_assert(decimal_parse(text, sizeof(text), false, &value));
	ck_assert_double_eq(value, 10);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("decimal");
	TCase *tc = tcase_create("forms");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_loop_test(tc, a_form, 0, (int)(sizeof(forms) / sizeof(forms[0])));
	tcase_add_test(tc, the_length_counts_and_not_a_zero_byte);
	tcase_add_test(tc, of_any_length);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
