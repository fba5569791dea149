/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "notice_wire.h"

static const struct notice_keys keys = {.own = {"0123456789abcdef0123", 20}};
static const struct notice_keys no_keys;
static const struct notice_ends ends = {
	.from = {.s6_addr = {[10] = 0xff, [11] = 0xff, 198, 19, 0, 1}},
	.to = {.s6_addr = {[10] = 0xff, [11] = 0xff, 198, 19, 0, 2}},
};

static struct notice_trailer full(void)
{
	struct notice_trailer t = {.has_stamp = true,
				   .has_arrival = true,
				   .has_capacity = true,
				   .has_ack = true,
				   .has_received = true,
				   .has_held = true,
				   .has_receiver = true,
				   .receiver = UINT64_C(0x8877665544332211),
				   .held_us = 750,
				   .stamp = {77, UINT64_C(0x1122334455667788)},
				   .arrival = {3, 1, 2},
				   .ack = {42, 9}};

	t.capacity = (struct notice_capacity){
		.incarnation = 5, .sequence = 6, .expiry_ms = 7, .n_planes = 4};
	t.capacity.bps[0] = NOTICE_WIRE_ANY;
	t.capacity.bps[2] = UINT64_C(400000000000);
	return t;
}

static size_t encode(const struct notice_trailer *t, const struct notice_key *k, uint8_t *out)
{
	const struct sbfd_packet p = {
		.state = SBFD_UP, .detect_multiplier = 3, .my_discriminator = 1};

	sbfd_wire_encode(&p, out);
	return notice_wire_encode(t, k, &ends, out);
}

START_TEST(comes_back_whole)
{
	uint8_t bytes[NOTICE_WIRE_MAX_BYTES];
	struct notice_trailer t = full(), back;
	struct sbfd_wire_error error;
	size_t n = encode(&t, &keys.own, bytes);

	ck_assert_uint_le(n, sizeof(bytes));
	ck_assert_int_eq(notice_wire_decode(bytes, n, &keys, &ends, &back, &error), 0);
	ck_assert(back.authentic);
	ck_assert(back.has_stamp && back.has_arrival && back.has_capacity && back.has_ack);
	ck_assert_uint_eq(back.stamp.nonce, t.stamp.nonce);
	ck_assert_uint_eq(back.receiver, t.receiver);
	ck_assert_uint_eq(back.stamp.sequence, 77);
	ck_assert_uint_eq(back.arrival.sub_port, 1);
	ck_assert_uint_eq(back.capacity.n_planes, 4);
	ck_assert_uint_eq(back.capacity.bps[0], NOTICE_WIRE_ANY);
	ck_assert_uint_eq(back.capacity.bps[2], UINT64_C(400000000000));
	ck_assert_uint_eq(back.ack.sequence, 9);
	ck_assert(back.has_received);
	ck_assert(back.has_held && back.held_us == 750);
}
END_TEST

START_TEST(largest_fits)
{
	uint8_t bytes[NOTICE_WIRE_MAX_BYTES];
	struct notice_trailer t = full();

	t.capacity.n_planes = NOTICE_WIRE_MAX_PLANES;
	t.has_size = t.has_report = true;
	t.report.n_planes = REPORT_WIRE_MAX_PLANES;
	ck_assert_uint_le(encode(&t, &keys.own, bytes), NOTICE_WIRE_MAX_BYTES);
}
END_TEST

START_TEST(every_flipped_bit_shows)
{
	uint8_t bytes[NOTICE_WIRE_MAX_BYTES];
	struct notice_trailer t = full(), back;
	struct sbfd_wire_error error;
	size_t n = encode(&t, &keys.own, bytes);

	for (size_t i = 0; i < n * 8; i++) {
		bytes[i / 8] ^= (uint8_t)(1u << i % 8);
		if (!notice_wire_decode(bytes, n, &keys, &ends, &back, &error))
			ck_assert_msg(!back.authentic, "bit %zu", i);
		bytes[i / 8] ^= (uint8_t)(1u << i % 8);
	}
}
END_TEST

START_TEST(another_key_and_another_pair_are_not_believed)
{
	static const struct notice_keys other = {.own = {"0123456789abcdef0124", 20}};
	const struct notice_ends reversed = {ends.to, ends.from};
	uint8_t bytes[NOTICE_WIRE_MAX_BYTES];
	struct notice_trailer t = full(), back;
	struct sbfd_wire_error error;
	size_t n = encode(&t, &keys.own, bytes);

	ck_assert_int_eq(notice_wire_decode(bytes, n, &other, &ends, &back, &error), 0);
	ck_assert(!back.authentic);
	ck_assert_int_eq(notice_wire_decode(bytes, n, &keys, &reversed, &back, &error), 0);
	ck_assert(!back.authentic);
	n = encode(&t, &no_keys.own, bytes);
	ck_assert_int_eq(notice_wire_decode(bytes, n, &keys, &ends, &back, &error), 0);
	ck_assert(!back.authentic);
	n = encode(&t, &keys.own, bytes);
	ck_assert_int_eq(notice_wire_decode(bytes, n, &no_keys, &ends, &back, &error), 0);
	ck_assert(!back.authentic);
}
END_TEST

/* As servers are given another key one by one: whoever has both understands old and new. */
START_TEST(a_second_key_is_accepted_and_told_apart)
{
	static const struct notice_key next = {"another key of 23 bytes", 23};
	const struct notice_keys before = {keys.own, next}, after = {next, keys.own};
	static const struct notice_keys neither = {{"0123456789abcdef0124", 20},
						   {"another key of 23 bytez", 23}};
	const struct {
		const struct notice_key *sender;
		const struct notice_keys *receiver;
		bool authentic, second_key;
	} cases[] = {
		{&keys.own, &before, true, false},     {&next, &before, true, true},
		{&keys.own, &after, true, true},       {&next, &after, true, false},
		{&next, &keys, false, false},	       {&next, &neither, false, false},
		{&no_keys.own, &before, false, false},
	};
	uint8_t bytes[NOTICE_WIRE_MAX_BYTES];
	struct notice_trailer t = full(), back;
	struct sbfd_wire_error error;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t n = encode(&t, cases[i].sender, bytes);

		ck_assert_int_eq(
			notice_wire_decode(bytes, n, cases[i].receiver, &ends, &back, &error), 0);
		ck_assert_msg(back.authentic == cases[i].authentic, "case %zu", i);
		ck_assert_msg(back.second_key == cases[i].second_key, "case %zu", i);
	}
}
END_TEST

START_TEST(truncations_are_refused_or_unsigned)
{
	uint8_t bytes[NOTICE_WIRE_MAX_BYTES];
	struct notice_trailer t = full(), back;
	struct sbfd_wire_error error;
	size_t n = encode(&t, &keys.own, bytes);

	for (size_t i = SBFD_WIRE_BYTES; i < n; i++)
		if (!notice_wire_decode(bytes, i, &keys, &ends, &back, &error))
			ck_assert(!back.authentic);
}
END_TEST

/* 8 and 9 were once sent, 10 to 19 are or will be known; newer versions may send others. */
START_TEST(unknown_elements_are_skipped)
{
	for (unsigned type = 8; type < 256; type += type == 9 ? 11 : 1) {
		const struct notice_trailer t = {.has_stamp = true, .stamp = {1, 2}};
		uint8_t bytes[NOTICE_WIRE_MAX_BYTES];
		struct sbfd_wire_error error;
		struct notice_trailer back;
		size_t n = encode(&t, &no_keys.own, bytes);

		bytes[n++] = (uint8_t)type;
		bytes[n++] = 15;
		memset(bytes + n, 0, 15);
		ck_assert_int_eq(notice_wire_decode(bytes, n + 15, &no_keys, &ends, &back, &error),
				 0);
		ck_assert(back.has_stamp && back.stamp.nonce == 2);
	}
}
END_TEST

/* To every length but one more than it is; and as long it is read as before. */
START_TEST(padding_makes_any_length)
{
	const struct notice_trailer t = {.has_stamp = true, .has_size = true, .stamp = {1, 2}};
	struct notice_trailer back;
	struct sbfd_wire_error error;
	uint8_t bytes[5000];
	size_t n = encode(&t, &no_keys.own, bytes);

	ck_assert_uint_eq(notice_wire_pad(bytes, n, 0), n);
	ck_assert_uint_eq(notice_wire_pad(bytes, n, n), n);
	ck_assert_uint_eq(notice_wire_pad(bytes, n, n + 1), n);
	for (size_t wanted = n + 2; wanted <= sizeof(bytes); wanted++) {
		ck_assert_uint_eq(notice_wire_pad(bytes, n, wanted), wanted);
		ck_assert_int_eq(notice_wire_decode(bytes, wanted, &no_keys, &ends, &back, &error),
				 0);
		ck_assert(back.has_stamp && back.has_size && back.stamp.nonce == 2);
	}
}
END_TEST

START_TEST(a_size_is_of_two_octets)
{
	const struct notice_trailer t = {.has_size = true, .size = {4132}};
	struct notice_trailer back;
	struct sbfd_wire_error error;
	uint8_t bytes[NOTICE_WIRE_MAX_BYTES];
	size_t n = encode(&t, &no_keys.own, bytes);

	ck_assert_int_eq(notice_wire_decode(bytes, n, &no_keys, &ends, &back, &error), 0);
	ck_assert(back.has_size && back.size.bytes == 4132);
	memcpy(bytes + n, bytes + n - 4, 4); /* a second one */
	ck_assert_int_eq(notice_wire_decode(bytes, n + 4, &no_keys, &ends, &back, &error),
			 -EBADMSG);
	bytes[n - 3] = 1;
	ck_assert_int_eq(notice_wire_decode(bytes, n - 1, &no_keys, &ends, &back, &error),
			 -EBADMSG);
}
END_TEST

START_TEST(others_trailers_count_as_absent)
{
	uint8_t bytes[64] = {0};
	struct notice_trailer back;
	struct sbfd_wire_error error;

	ck_assert_int_eq(notice_wire_decode(bytes, sizeof(bytes), &keys, &ends, &back, &error), 0);
	ck_assert(!back.has_stamp && !back.has_capacity && !back.authentic);
	ck_assert_int_eq(notice_wire_decode(bytes, SBFD_WIRE_BYTES, &keys, &ends, &back, &error),
			 0);
	ck_assert(!back.has_stamp);
}
END_TEST

START_TEST(stamps_alone_are_not_signed)
{
	uint8_t bytes[NOTICE_WIRE_MAX_BYTES];
	struct notice_trailer t = {.has_stamp = true, .stamp = {1, 2}};

	/* head 8, element 14: no signature is spent on probes */
	ck_assert_uint_eq(encode(&t, &keys.own, bytes), SBFD_WIRE_BYTES + 8 + 14);
}
END_TEST

START_TEST(second_and_misfit_elements_are_refused)
{
	uint8_t bytes[NOTICE_WIRE_MAX_BYTES];
	struct notice_trailer t = {.has_arrival = true, .arrival = {0, 1, 2}}, back;
	struct sbfd_wire_error error;
	size_t n = encode(&t, &keys.own, bytes), element = n - SBFD_WIRE_BYTES - 8;

	memcpy(bytes + n, bytes + n - element, element);
	ck_assert_int_eq(notice_wire_decode(bytes, n + element, &keys, &ends, &back, &error),
			 -EBADMSG);
	ck_assert_uint_eq(error.offset, n);
	bytes[n - 2] = 2; /* sub-port 2 of 2 */
	ck_assert_int_eq(notice_wire_decode(bytes, n, &keys, &ends, &back, &error), -EBADMSG);
	bytes[n - 2] = 8; /* of 9: more than there may be */
	bytes[n - 1] = 9;
	ck_assert_int_eq(notice_wire_decode(bytes, n, &keys, &ends, &back, &error), -EBADMSG);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("notice_wire");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, comes_back_whole);
	tcase_add_test(tc, largest_fits);
	tcase_add_test(tc, every_flipped_bit_shows);
	tcase_add_test(tc, another_key_and_another_pair_are_not_believed);
	tcase_add_test(tc, a_second_key_is_accepted_and_told_apart);
	tcase_add_test(tc, truncations_are_refused_or_unsigned);
	tcase_add_test(tc, unknown_elements_are_skipped);
	tcase_add_test(tc, padding_makes_any_length);
	tcase_add_test(tc, a_size_is_of_two_octets);
	tcase_add_test(tc, others_trailers_count_as_absent);
	tcase_add_test(tc, stamps_alone_are_not_signed);
	tcase_add_test(tc, second_and_misfit_elements_are_refused);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
