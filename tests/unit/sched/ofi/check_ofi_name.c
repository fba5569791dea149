/* SPDX-License-Identifier: BSD-2-Clause */
/* An address in each of the formats that applications have. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ofi/ofi_name.h"

static struct peer_address place(const char *text, uint16_t port)
{
	struct peer_address at = {.port = port};
	char mapped[64];

	snprintf(mapped, sizeof(mapped), "%s%s", strchr(text, ':') ? "" : "::ffff:", text);
	ck_assert_int_eq(inet_pton(AF_INET6, mapped, &at.address), 1);
	return at;
}

START_TEST(a_name_is_an_address_without_incarnation)
{
	struct peer_address at = place("198.18.0.1", 9228);
	struct ofi_address name, process = {.ep = 3};
	struct fare_address back;

	ofi_name_make(&at, &name);
	peer_address_encode(&at, 77, &process.process);
	ck_assert(ofi_name_is(&name));
	ck_assert(!ofi_name_is(&process));
	ofi_name_of(&process.process, &back);
	ck_assert_mem_eq(&back, &name.process, sizeof(back));
}
END_TEST

START_TEST(each_format_comes_back)
{
	static const struct {
		uint32_t format;
		const char *text, *printed;
		size_t bytes;
	} rows[] = {
		{FI_FORMAT_UNSPEC, "198.18.0.1", "fi_fare://0100240c", 40},
		{FI_FORMAT_UNSPEC, "2001:db8::7", "fi_fare://0100240c", 40},
		{FI_SOCKADDR_IN, "198.18.0.1", "fi_sockaddr_in://198.18.0.1:9228", 16},
		{FI_SOCKADDR_IN6, "2001:db8::7", "fi_sockaddr_in6://[2001:db8::7]:9228", 28},
	};
	struct peer_address at = place(rows[_i].text, 9228), out;
	uint8_t bytes[OFI_NAME_BYTES_MAX];
	struct ofi_address name, back;
	char text[128];
	size_t n;

	ofi_name_make(&at, &name);
	ck_assert_uint_eq(ofi_name_bytes(rows[_i].format), rows[_i].bytes);
	ofi_name_encode(rows[_i].format, &name, bytes);
	ck_assert_int_eq(ofi_name_decode(rows[_i].format, bytes, rows[_i].bytes, &back), 0);
	ck_assert_int_eq(ofi_name_place(&back, &out), 0);
	ck_assert(peer_address_equal(&at, &out));
	n = ofi_name_print(rows[_i].format, &name, text, sizeof(text));
	ck_assert_uint_eq(n, strlen(text) + 1);
	ck_assert_int_eq(strncmp(text, rows[_i].printed, strlen(rows[_i].printed)), 0);
	/* into less room: cut, and as long as it would be */
	ck_assert_uint_eq(ofi_name_print(rows[_i].format, &name, text, 5), n);
	ck_assert_uint_eq(strlen(text), 4);
	for (size_t short_by = 1; short_by < rows[_i].bytes; short_by++)
		ck_assert_int_eq(
			ofi_name_decode(rows[_i].format, bytes, rows[_i].bytes - short_by, &back),
			-EINVAL);
}
END_TEST

START_TEST(what_is_no_address_is_refused)
{
	struct sockaddr_in6 in6 = {.sin6_family = AF_UNIX};
	uint8_t zero[OFI_NAME_BYTES_MAX] = {0};
	struct ofi_address out;

	ck_assert_int_eq(ofi_name_decode(FI_SOCKADDR, &in6, sizeof(in6), &out), -EINVAL);
	in6.sin6_family = AF_INET6;
	ck_assert_int_eq(ofi_name_decode(FI_SOCKADDR, &in6, sizeof(in6), &out), 0);
	ck_assert_int_eq(ofi_name_decode(FI_SOCKADDR, &in6, 16, &out), -EINVAL);
	ck_assert_int_eq(ofi_name_decode(FI_SOCKADDR_IB, zero, sizeof(zero), &out), -EINVAL);
	ck_assert_int_eq(ofi_name_decode(FI_FORMAT_UNSPEC, zero, sizeof(zero), &out), -EINVAL);
}
END_TEST

START_TEST(nodes_count_up)
{
	static const struct {
		const char *node;
		unsigned i;
		const char *next; /* NULL: there is none */
	} rows[] = {
		{"198.18.0.255", 2, "198.18.1.1"},
		{"255.255.255.255", 1, NULL},
		{"2001:db8::ff", 1, "2001:db8::100"},
		{"node7", 5, "node12"},
		{"node007", 5, "node012"},
		{"9228", 3, "9231"},
		{"node", 0, "node"},
		{"node", 1, NULL},
	};
	char out[16];
	int err = ofi_name_count_up(rows[_i].node, rows[_i].i, out, sizeof(out));

	ck_assert_int_eq(err, rows[_i].next ? 0 : -EINVAL);
	if (rows[_i].next)
		ck_assert_str_eq(out, rows[_i].next);
	ck_assert_int_eq(ofi_name_count_up("a-node-whose-name-is-long", 0, out, sizeof(out)),
			 -EINVAL);
}
END_TEST

START_TEST(names_are_looked_up)
{
	struct peer_address at[OFI_NAME_PLACES], local = place("127.0.0.1", 9228);
	bool found = false;
	const char *why;
	int n = ofi_name_resolve("localhost", "9228", false, at, &why);

	for (int i = 0; i < n; i++)
		found |= peer_address_equal(&at[i], &local);
	ck_assert(found);
	ck_assert_int_eq(ofi_name_resolve("127.0.0.1", NULL, true, at, &why), 1);
	ck_assert_uint_eq(at[0].port, 0);
	ck_assert_int_lt(ofi_name_resolve("localhost", NULL, true, at, &why), 0);
	ck_assert_int_lt(ofi_name_resolve("127.0.0.1", "70000", true, at, &why), 0);
	ck_assert_ptr_nonnull(why);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ofi_name");
	TCase *tc = tcase_create("core");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, a_name_is_an_address_without_incarnation);
	tcase_add_loop_test(tc, each_format_comes_back, 0, 4);
	tcase_add_test(tc, what_is_no_address_is_refused);
	tcase_add_loop_test(tc, nodes_count_up, 0, 8);
	tcase_add_test(tc, names_are_looked_up);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
