/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses and prefixes as text. */
#include "base/address.h"

#include <check.h>
#include <string.h>

START_TEST(addresses_there_and_back)
{
	static const char *const texts[] = {"198.19.0.1", "2001:db8:19::1", "::", "0.0.0.0"};
	static const char *const wrong[] = {"",		  "198.19.0", "198.19.0.1/32",
					    "fe80::1%lo", "s0",	      "1"};
	char text[ADDRESS_TEXT_MAX];
	struct in6_addr a;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		ck_assert_int_eq(address_parse(texts[i], &a), 0);
		ck_assert_str_eq(address_format(&a, text), texts[i]);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_msg(address_parse(wrong[i], &a) < 0, "'%s' was taken", wrong[i]);
}
END_TEST

START_TEST(prefixes_have_no_host_bits)
{
	static const char *const wrong[] = {
		"198.19.0.0",	  "198.19.0.1/16",  "198.19.0.0/33", "2001:db8::/",
		"2001:db8::1/64", "2001:db8::/129", "198.19.0.0/+8", "/8",
		"198.19.0.0/16x"};
	struct in6_addr a;
	uint8_t length;

	ck_assert_int_eq(address_prefix_parse("198.19.0.0/16", &a, &length), 0);
	ck_assert_uint_eq(length, 112);
	ck_assert_int_eq(address_prefix_parse("2001:db8:19::/48", &a, &length), 0);
	ck_assert_uint_eq(length, 48);
	ck_assert_int_eq(address_prefix_parse("::/0", &a, &length), 0);
	ck_assert_uint_eq(length, 0);
	ck_assert_int_eq(address_prefix_parse("198.19.0.7/32", &a, &length), 0);
	ck_assert_uint_eq(length, 128);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_msg(address_prefix_parse(wrong[i], &a, &length) < 0, "'%s' was taken",
			      wrong[i]);
}
END_TEST

START_TEST(an_address_is_in_a_prefix)
{
	static const struct {
		const char *address, *prefix;
		unsigned length;
		bool is_in;
	} cases[] = {{"198.19.0.1", "198.19.0.0", 112, true},
		     {"198.20.0.1", "198.19.0.0", 112, false},
		     {"198.18.0.1", "198.18.0.0", 127, true},
		     {"198.18.0.2", "198.18.0.0", 127, false},
		     {"2001:db8::1", "::", 0, true},
		     {"2001:db8::1", "2001:db8::1", 128, true},
		     {"2001:db8::2", "2001:db8::1", 128, false}};
	struct in6_addr address, prefix;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert(!address_parse(cases[i].address, &address) &&
			  !address_parse(cases[i].prefix, &prefix));
		ck_assert_msg(address_in_prefix(&address, &prefix, cases[i].length) ==
				      cases[i].is_in,
			      "%s in %s/%u", cases[i].address, cases[i].prefix, cases[i].length);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("address");
	TCase *tc = tcase_create("text");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_test(tc, addresses_there_and_back);
	tcase_add_test(tc, prefixes_have_no_host_bits);
	tcase_add_test(tc, an_address_is_in_a_prefix);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
