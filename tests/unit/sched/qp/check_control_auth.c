/* SPDX-License-Identifier: BSD-2-Clause */
/* The envelope of control messages: what has the key opens it, and nothing else does. */
#include "qp/control_auth.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct in6_addr a = {.s6_addr = {[15] = 1}}, b = {.s6_addr = {[15] = 2}};
static const char text[] = "LANE_RESET";
static char path[] = "/tmp/check_control_auth.XXXXXX";
static struct control_auth auth;
static uint8_t sealed[128];
static size_t sealed_bytes;

static void key(const char *content, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, content, strlen(content)), (ssize_t)strlen(content));
	ck_assert_int_eq(fchmod(fd, mode), 0);
	close(fd);
}

static void setup(void)
{
	memcpy(path + sizeof(path) - 7, "XXXXXX", 6);
	close(mkstemp(path));
	key("0123456789abcdef\n", 0600);
	ck_assert_int_eq(control_auth_load(&auth, path, 7), 0);
	memcpy(sealed + CONTROL_AUTH_BYTES, text, sizeof(text));
	control_auth_sign(&auth, &a, &b, sealed, sizeof(text));
	sealed_bytes = CONTROL_AUTH_BYTES + sizeof(text);
}

static void teardown(void)
{
	unlink(path);
}

/* From the heap and of exact size, so that a sanitizer sees any over-read. */
static int open_as(const struct control_auth *s, const struct in6_addr *from,
		   const struct in6_addr *to, size_t length)
{
	uint8_t *copy = malloc(length ? length : 1);
	const uint8_t *message;
	size_t n;
	int err;

	memcpy(copy, sealed, length);
	err = control_auth_verify(s, from, to, copy, length, &message, &n);
	if (!err && (n != sizeof(text) || memcmp(message, text, n)))
		err = 1;
	free(copy);
	return err;
}

START_TEST(opens_what_was_sealed)
{
	ck_assert_int_eq(open_as(&auth, &a, &b, sealed_bytes), 0);
	ck_assert_int_eq(open_as(&auth, &a, &b, sealed_bytes + 3), 0); /* padding */
	ck_assert_int_eq(open_as(&auth, &a, &b, sealed_bytes + 4), -EBADMSG);
	for (size_t n = 0; n < sealed_bytes; n++)
		ck_assert_int_eq(open_as(&auth, &a, &b, n), -EBADMSG);
}
END_TEST

START_TEST(a_bit_wrong_anywhere_is_refused)
{
	for (size_t bit = 0; bit < sealed_bytes * 8; bit++) {
		sealed[bit / 8] ^= (uint8_t)(1u << bit % 8);
		ck_assert_int_lt(open_as(&auth, &a, &b, sealed_bytes), 0);
		sealed[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}
END_TEST

START_TEST(others_do_not_count)
{
	struct control_auth other;

	/* sent back to who said it */
	ck_assert_int_eq(open_as(&auth, &b, &a, sealed_bytes), -EKEYREJECTED);
	ck_assert_int_eq(control_auth_load(&other, path, 8), 0); /* another job */
	ck_assert_int_eq(open_as(&other, &a, &b, sealed_bytes), -EKEYREJECTED);
	ck_assert_int_eq(control_auth_load(&other, NULL, 7), 0); /* no key */
	ck_assert_int_eq(open_as(&other, &a, &b, sealed_bytes), -EKEYREJECTED);
	key("0123456789abcdeF\n", 0600);
	ck_assert_int_eq(control_auth_load(&other, path, 7), 0);
	ck_assert_int_eq(open_as(&other, &a, &b, sealed_bytes), -EKEYREJECTED);
	key("0123456789abcdef \r\n\n", 0640); /* the same, but for white space at its end */
	ck_assert_int_eq(control_auth_load(&other, path, 7), 0);
	ck_assert_int_eq(open_as(&other, &a, &b, sealed_bytes), 0);
}
END_TEST

START_TEST(bad_keys_are_refused)
{
	char longest[KEY_FILE_MAX + 2];
	struct control_auth s;

	ck_assert_int_eq(control_auth_load(&s, "/nonexistent/key", 0), -ENOENT);
	key("too short", 0600);
	ck_assert_int_eq(control_auth_load(&s, path, 0), -EKEYREJECTED);
	key("0123456789abcdef", 0604); /* everybody's */
	ck_assert_int_eq(control_auth_load(&s, path, 0), -EKEYREJECTED);
	memset(longest, 'k', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	key(longest, 0600);
	ck_assert_int_eq(control_auth_load(&s, path, 0), -EKEYREJECTED);
	longest[sizeof(longest) - 2] = 0;
	key(longest, 0600);
	ck_assert_int_eq(control_auth_load(&s, path, UINT64_MAX), 0);
	ck_assert_int_eq(control_auth_load(&s, "/tmp", 0), -EINVAL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("control_auth");
	TCase *tc = tcase_create("envelope");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, opens_what_was_sealed);
	tcase_add_test(tc, a_bit_wrong_anywhere_is_refused);
	tcase_add_test(tc, others_do_not_count);
	tcase_add_test(tc, bad_keys_are_refused);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
