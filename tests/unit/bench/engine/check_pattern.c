/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "engine/pattern.h"

#define BYTES 4099 /* neither a multiple of a word nor of a block */

static uint64_t proof;

START_TEST(fill_then_verify_every_length)
{
	uint8_t buf[300];

	for (size_t n = 0; n < sizeof(buf); n++) {
		memset(buf, 0xee, sizeof(buf));
		pattern_fill(buf, n, 7);
		ck_assert_uint_eq(pattern_verify(buf, n, 7, &proof), n);
		if (n < sizeof(buf))
			ck_assert_uint_eq(buf[n], 0xee);
	}
}
END_TEST

START_TEST(one_wrong_byte_is_found_where_it_is)
{
	uint8_t buf[BYTES];

	for (size_t at = 0; at < BYTES; at += 13) {
		pattern_fill(buf, BYTES, 42);
		buf[at] ^= 0x10;
		ck_assert_uint_eq(pattern_verify(buf, BYTES, 42, &proof), at);
	}
}
END_TEST

START_TEST(words_of_a_message_differ)
{
	uint64_t words[1024];

	pattern_fill(words, sizeof(words), pattern_seed(1, 2, 3, 4));
	for (size_t i = 0; i < 1024; i++)
		for (size_t j = i + 1; j < 1024; j++)
			ck_assert(words[i] != words[j]);
}
END_TEST

START_TEST(stale_or_misplaced_chunks_are_found)
{
	uint8_t old[BYTES], buf[BYTES];

	/* the previous message of the slot shows through in one chunk */
	pattern_fill(old, BYTES, pattern_seed(9, 0, 1, 8));
	pattern_fill(buf, BYTES, pattern_seed(9, 0, 1, 16));
	memcpy(buf + 1024, old + 1024, 512);
	ck_assert_uint_eq(pattern_verify(buf, BYTES, pattern_seed(9, 0, 1, 16), &proof), 1024);
	/* two chunks of the same message change places */
	pattern_fill(buf, BYTES, 5);
	memcpy(old, buf, BYTES);
	memcpy(buf + 512, old + 2048, 512);
	memcpy(buf + 2048, old + 512, 512);
	ck_assert_uint_lt(pattern_verify(buf, BYTES, 5, &proof), 520);
	/* zeros, as memory comes from the kernel */
	memset(buf, 0, BYTES);
	ck_assert_uint_lt(pattern_verify(buf, BYTES, pattern_seed(0, 0, 0, 0), &proof), 8);
}
END_TEST

START_TEST(seeds_tell_run_ends_and_sequence_apart)
{
	uint64_t seed = pattern_seed(1, 2, 3, 4);

	ck_assert(seed != pattern_seed(2, 2, 3, 4));
	ck_assert(seed != pattern_seed(1, 3, 2, 4));
	ck_assert(seed != pattern_seed(1, 2, 3, 5));
	ck_assert(seed == pattern_seed(1, 2, 3, 4));
}
END_TEST

/* What is read adds up to what is computed, at any length and alignment. */
START_TEST(the_proof_of_reading)
{
	static uint8_t buf[BYTES + 8];

	for (size_t n = 0; n <= 300; n++) {
		uint64_t read = 0;

		pattern_fill(buf + n % 8, n, 1000 + n);
		ck_assert_uint_eq(pattern_verify(buf + n % 8, n, 1000 + n, &read), n);
		ck_assert_uint_eq(read, pattern_proof(n, 1000 + n));
		ck_assert(n == 0 || read != 0);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pattern");
	TCase *tcase = tcase_create("pattern");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, the_proof_of_reading);
	tcase_add_test(tcase, fill_then_verify_every_length);
	tcase_add_test(tcase, one_wrong_byte_is_found_where_it_is);
	tcase_add_test(tcase, words_of_a_message_differ);
	tcase_add_test(tcase, stale_or_misplaced_chunks_are_found);
	tcase_add_test(tcase, seeds_tell_run_ends_and_sequence_apart);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
