/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "engine/crew.h"
#include "engine/message.h"

static unsigned char buf[4096];

static struct message_header filled(size_t bytes, bool whole)
{
	struct message_header h = {
		.seed = 42, .arrival_ns = 5, .post_ns = 6, .id = 7, .whole = whole};

	memset(buf, 0xee, sizeof(buf));
	message_fill(buf, bytes, &h, NULL);
	return h;
}

static uint64_t proof;

START_TEST(times_come_back)
{
	struct message_header h = filled(1000, true), got;

	ck_assert_uint_eq(message_verify(buf, 1000, 42, true, &got, &proof, NULL), 1000);
	ck_assert_mem_eq(&got, &h, sizeof(h));
	ck_assert_uint_eq(buf[1000], 0xee);
}
END_TEST

START_TEST(a_wrong_byte_is_found_wherever_it_is)
{
	struct message_header got;

	for (size_t at = 0; at < 500; at++) {
		filled(500, true);
		/* times and the coordinator's number may be anything */
		if (at >= 8 && at < 32)
			continue;
		buf[at] ^= 1;
		ck_assert_uint_lt(message_verify(buf, 500, 42, true, &got, &proof, NULL), 500);
	}
}
END_TEST

START_TEST(another_message_is_none)
{
	struct message_header got;

	filled(500, true);
	ck_assert_uint_eq(message_verify(buf, 500, 43, true, &got, &proof, NULL), 0);
	filled(500, false);
	ck_assert_uint_eq(message_verify(buf, 500, 43, false, &got, &proof, NULL), 0);
	/* whoever expects the whole must not take a header alone for it */
	ck_assert_uint_eq(message_verify(buf, 500, 42, true, &got, &proof, NULL), 0);
	ck_assert_uint_eq(message_verify(buf, 500, 42, false, &got, &proof, NULL), 500);
}
END_TEST

START_TEST(short_ones_have_no_times)
{
	struct message_header got;

	for (size_t bytes = 0; bytes < sizeof(got); bytes++) {
		filled(bytes, true);
		ck_assert_uint_eq(message_verify(buf, bytes, 42, true, &got, &proof, NULL), bytes);
		ck_assert_uint_eq(got.arrival_ns, 0);
	}
	filled(20, true);
	buf[19] ^= 1;
	ck_assert_uint_eq(message_verify(buf, 20, 42, true, &got, &proof, NULL), 19);
}
END_TEST

/* What is read adds up to what is computed, with a header or without, whole or not. */
START_TEST(the_proof_of_reading)
{
	for (size_t bytes = 1; bytes <= 500; bytes++)
		for (uint64_t whole = 0; whole < 2; whole++) {
			struct message_header header = {.seed = bytes * 77, .whole = whole}, got;
			uint64_t read = 0;

			if (bytes < sizeof(header) && !whole)
				continue;
			message_fill(buf, bytes, &header, NULL);
			ck_assert_uint_eq(
				message_verify(buf, bytes, header.seed, whole, &got, &read, NULL),
				bytes);
			ck_assert_uint_eq(read, message_proof(bytes, header.seed, whole));
			ck_assert_uint_ne(read, 0);
		}
}
END_TEST

/* Times of a message that was made up before they were known: the rest of it stays. */
START_TEST(a_header_is_stamped_anew)
{
	struct message_header header = {.seed = 9, .whole = 1}, got;
	uint64_t seen = 0;

	message_fill(buf, 400, &header, NULL);
	header.arrival_ns = 5000;
	header.post_ns = 6000;
	message_stamp(buf, 400, &header);
	ck_assert_uint_eq(message_verify(buf, 400, 9, true, &got, &seen, NULL), 400);
	ck_assert_uint_eq(got.arrival_ns, 5000);
	ck_assert_uint_eq(got.post_ns, 6000);
	message_fill(buf, 8, &header, NULL);
	message_stamp(buf, 8, &header); /* too short for one */
	ck_assert_uint_eq(message_verify(buf, 8, 9, true, &got, &seen, NULL), 8);
}
END_TEST

/* A crew fills what one thread fills, and finds a wrong byte in any part, the first of two. */
START_TEST(a_crew_is_as_one)
{
	enum { BYTES = (1 << 20) + 13 };
	struct message_header header = {.seed = 77, .whole = 1}, got;
	unsigned char *one = malloc(BYTES), *many = malloc(BYTES);
	uint64_t read = 0;
	struct crew *crew;

	ck_assert_int_eq(crew_create(&crew, 3), 0);
	message_fill(one, BYTES, &header, NULL);
	for (unsigned i = 0; i < 50; i++) {
		memset(many, 0, BYTES);
		message_fill(many, BYTES, &header, crew);
		ck_assert_mem_eq(one, many, BYTES);
	}
	ck_assert_uint_eq(message_verify(many, BYTES, 77, true, &got, &read, crew), BYTES);
	ck_assert_uint_eq(read, message_proof(BYTES, 77, true));
	for (size_t at = 40; at < BYTES - 1; at += 4999) {
		many[at] ^= 1;
		many[BYTES - 1] ^= 1;
		ck_assert_uint_eq(message_verify(many, BYTES, 77, true, &got, &read, crew), at);
		many[at] ^= 1;
		ck_assert_uint_eq(message_verify(many, BYTES, 77, true, &got, &read, crew),
				  BYTES - 1);
		many[BYTES - 1] ^= 1;
	}
	ck_assert_uint_eq(read, message_proof(BYTES, 77, true));
	crew_destroy(crew);
	free(one);
	free(many);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("message");
	TCase *tc = tcase_create("all");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, the_proof_of_reading);
	tcase_add_test(tc, a_crew_is_as_one);
	tcase_add_test(tc, times_come_back);
	tcase_add_test(tc, a_wrong_byte_is_found_wherever_it_is);
	tcase_add_test(tc, another_message_is_none);
	tcase_add_test(tc, short_ones_have_no_times);
	tcase_add_test(tc, a_header_is_stamped_anew);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
