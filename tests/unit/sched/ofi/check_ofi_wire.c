/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "ofi/ofi_wire.h"
#include "ofi/ofi_tables.h"

/* ---- wire ---- */

static const struct ofi_wire example = {.kind = OFI_RTS,
					.flags = OFI_WIRE_TAGGED | OFI_WIRE_DATA,
					.src_ep = 1,
					.dst_ep = 0x203,
					.tag = UINT64_C(0x0102030405060708),
					.data = UINT64_C(0x1112131415161718),
					.credit = 0x21222324,
					.cookie = 0x31323334,
					.status = 0x41424344,
					.length = UINT64_C(0x5152535455565758),
					.address = UINT64_C(0x6162636465666768),
					.rkey = 0x71727374};

START_TEST(the_format_is_this)
{
	static const uint8_t expected[OFI_WIRE_RTS_BYTES] = {
		2,    3,    0,	  1,	2,    3,    0,	  0,	1,    2,    3,	  4,	5,    6,
		7,    8,    0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x21, 0x22, 0x23, 0x24,
		0x31, 0x32, 0x33, 0x34, 0x41, 0x42, 0x43, 0x44, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56,
		0x57, 0x58, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x71, 0x72, 0x73, 0x74};
	uint8_t bytes[OFI_WIRE_RTS_BYTES];
	struct ofi_wire again;
	size_t payload;

	ofi_wire_encode(&example, bytes);
	ck_assert_mem_eq(bytes, expected, sizeof(bytes));
	ck_assert_int_eq(ofi_wire_decode(bytes, sizeof(bytes), &again, &payload), 0);
	ck_assert_mem_eq(&again, &example, sizeof(again));
	ck_assert_uint_eq(payload, OFI_WIRE_RTS_BYTES);
}
END_TEST

START_TEST(credit_is_set_in_place)
{
	uint8_t bytes[OFI_WIRE_RTS_BYTES];
	struct ofi_wire again;
	size_t payload;

	ofi_wire_encode(&example, bytes);
	ofi_wire_set_credit(bytes, 77);
	ck_assert_int_eq(ofi_wire_decode(bytes, sizeof(bytes), &again, &payload), 0);
	ck_assert_uint_eq(again.credit, 77);
	ck_assert_uint_eq(again.cookie, example.cookie);
	ck_assert_uint_eq(ofi_wire_kind(bytes), OFI_RTS);
}
END_TEST

/* An answer about a region carries its place; the question and what undoes it carry a key alone. */
START_TEST(regions_are_named)
{
	const struct {
		uint8_t kind;
		size_t bytes;
	} kinds[] = {{OFI_FIND, OFI_WIRE_BYTES},
		     {OFI_FOUND, OFI_WIRE_RTS_BYTES},
		     {OFI_FORGET, OFI_WIRE_BYTES}};
	uint8_t bytes[OFI_WIRE_RTS_BYTES];
	size_t payload;

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct ofi_wire w = example, again;

		w.kind = kinds[i].kind;
		ck_assert_uint_eq(ofi_wire_bytes(w.kind), kinds[i].bytes);
		ofi_wire_encode(&w, bytes);
		ck_assert_int_eq(ofi_wire_decode(bytes, kinds[i].bytes, &again, &payload), 0);
		ck_assert_uint_eq(again.tag, w.tag);
		ck_assert_uint_eq(again.cookie, w.cookie);
		ck_assert_uint_eq(again.rkey, kinds[i].bytes == OFI_WIRE_BYTES ? 0 : w.rkey);
		ck_assert_int_eq(ofi_wire_decode(bytes, OFI_WIRE_BYTES - 1, &again, &payload),
				 -EBADMSG);
	}
}
END_TEST

/* Every length but the right one; a kind and a flag that do not exist. */
START_TEST(what_is_malformed_is_refused)
{
	uint8_t bytes[OFI_WIRE_RTS_BYTES + 1] = {0};
	struct ofi_wire w = example;
	size_t payload;

	ofi_wire_encode(&w, bytes);
	for (size_t n = 0; n <= sizeof(bytes); n++)
		ck_assert_int_eq(ofi_wire_decode(bytes, n, &w, &payload),
				 n == OFI_WIRE_RTS_BYTES ? 0 : -EBADMSG);
	bytes[0] = 0;
	ck_assert_int_eq(ofi_wire_decode(bytes, OFI_WIRE_BYTES, &w, &payload), -EBADMSG);
	bytes[0] = OFI_RESULT + 1;
	ck_assert_int_eq(ofi_wire_decode(bytes, OFI_WIRE_BYTES, &w, &payload), -EBADMSG);
	bytes[0] = OFI_FIN;
	bytes[1] = 8;
	ck_assert_int_eq(ofi_wire_decode(bytes, OFI_WIRE_BYTES, &w, &payload), -EBADMSG);
	bytes[1] = 0;
	ck_assert_int_eq(ofi_wire_decode(bytes, OFI_WIRE_BYTES, &w, &payload), 0);
	bytes[7] = 1;
	ck_assert_int_eq(ofi_wire_decode(bytes, OFI_WIRE_BYTES, &w, &payload), -EBADMSG);
}
END_TEST

START_TEST(an_eager_message_has_its_payload_behind)
{
	uint8_t bytes[OFI_WIRE_BYTES + 3] = {0};
	struct ofi_wire w = {.kind = OFI_EAGER};
	size_t payload;

	ofi_wire_encode(&w, bytes);
	ck_assert_int_eq(ofi_wire_decode(bytes, sizeof(bytes), &w, &payload), 0);
	ck_assert_uint_eq(payload, OFI_WIRE_BYTES);
}
END_TEST

/* An atomic operation and its answer; the operation says how long the answer is. */
START_TEST(so_has_an_atomic_operation)
{
	struct ofi_wire w = {.kind = OFI_ATOMIC, .status = OFI_RECORD_MAX, .cookie = 7}, again;
	uint8_t bytes[OFI_WIRE_BYTES + 3] = {0};
	size_t payload;

	ofi_wire_encode(&w, bytes);
	ck_assert_int_eq(ofi_wire_decode(bytes, sizeof(bytes), &again, &payload), 0);
	ck_assert_uint_eq(payload, OFI_WIRE_BYTES);
	ck_assert_uint_eq(again.status, OFI_RECORD_MAX);
	w.status++;
	ofi_wire_encode(&w, bytes);
	ck_assert_int_eq(ofi_wire_decode(bytes, sizeof(bytes), &again, &payload), -EBADMSG);
	w.kind = OFI_RESULT;
	ofi_wire_encode(&w, bytes);
	ck_assert_int_eq(ofi_wire_decode(bytes, sizeof(bytes), &again, &payload), 0);
	ck_assert_uint_eq(payload, OFI_WIRE_BYTES);
}
END_TEST

/* Cut into records and put together again: payloads of one record, of two, of all that may be. */
START_TEST(a_long_message_is_several_records)
{
	static const uint64_t lengths[] = {0, 1, OFI_RECORD_MAX, OFI_RECORD_MAX + 1, OFI_EAGER_MAX};
	static uint8_t from[OFI_EAGER_MAX], to[OFI_EAGER_MAX], out[2 * OFI_EAGER_MAX];

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 7 + i / 256);
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint64_t length = lengths[i], got = 0, first = length / 3;
		const struct iovec iov[] = {
			{from, first}, {NULL, 0}, {from + first, length - first}};
		const struct ofi_wire w = {
			.kind = OFI_EAGER, .flags = OFI_WIRE_TAGGED, .tag = 5, .dst_ep = 9};
		size_t bytes = ofi_wire_eager_bytes(length), at = 0;

		ofi_wire_encode_eager(&w, iov, length, out);
		do {
			size_t n = bytes - at < OFI_RECORD_BYTES ? bytes - at : OFI_RECORD_BYTES, p;
			struct ofi_wire r;

			ck_assert_int_eq(ofi_wire_decode(out + at, n, &r, &p), 0);
			ck_assert_uint_eq(r.kind, at ? OFI_MORE : OFI_EAGER);
			ck_assert_uint_eq(r.tag, at ? 0 : 5);
			ck_assert_uint_eq(r.dst_ep, 9);
			memcpy(to + got, out + at + p, n - p);
			got += n - p;
			ck_assert_uint_eq(r.status, length - got);
			at += n;
		} while (at < bytes);
		ck_assert_uint_eq(got, length);
		ck_assert_mem_eq(to, from, length);
	}
}
END_TEST

/* More to come than a message may have. */
START_TEST(a_message_that_is_too_long_is_refused)
{
	struct ofi_wire w = {.kind = OFI_MORE, .status = OFI_EAGER_MAX};
	uint8_t bytes[OFI_WIRE_BYTES];
	size_t payload;

	ofi_wire_encode(&w, bytes);
	ck_assert_int_eq(ofi_wire_decode(bytes, sizeof(bytes), &w, &payload), 0);
	w.status++;
	ofi_wire_encode(&w, bytes);
	ck_assert_int_eq(ofi_wire_decode(bytes, sizeof(bytes), &w, &payload), -EBADMSG);
}
END_TEST

START_TEST(addresses_are_recognised)
{
	struct ofi_address a = {.ep = 0x1234}, again;
	uint8_t bytes[OFI_ADDRESS_BYTES];

	memset(a.process.bytes, 0x5a, sizeof(a.process.bytes));
	ofi_address_encode(&a, bytes);
	ck_assert_int_eq(ofi_address_decode(bytes, &again), 0);
	ck_assert_mem_eq(&again.process, &a.process, sizeof(a.process));
	ck_assert_uint_eq(again.ep, a.ep);
	bytes[FARE_ADDRESS_BYTES] ^= 1;
	ck_assert_int_eq(ofi_address_decode(bytes, &again), -EINVAL);
}
END_TEST

START_TEST(a_greeting_is_recognised)
{
	struct ofi_greeting a = {.version = OFI_WIRE_VERSION, .window_bytes = 0x01020304}, again;
	uint8_t bytes[OFI_GREETING_BYTES];

	ofi_greeting_encode(&a, bytes);
	ck_assert_mem_eq(bytes, "fareofi6\1\2\3\4", sizeof(bytes));
	ck_assert_int_eq(ofi_greeting_decode(bytes, sizeof(bytes), &again), 0);
	ck_assert(again.version == a.version && again.window_bytes == a.window_bytes);
	ck_assert_int_eq(ofi_greeting_decode(bytes, sizeof(bytes) - 1, &again), -EBADMSG);
	ck_assert_int_eq(ofi_greeting_decode(bytes, 7, &again), -EBADMSG);
	ck_assert_int_eq(ofi_greeting_decode(NULL, 0, &again), -EBADMSG);
	bytes[6]++;
	ck_assert_int_eq(ofi_greeting_decode(bytes, sizeof(bytes), &again), -EBADMSG);
}
END_TEST

/* Of whatever length: an earlier one had an address behind. */
START_TEST(another_version_is_named)
{
	uint8_t bytes[OFI_GREETING_BYTES + FARE_ADDRESS_BYTES] = "fareofi4";
	struct ofi_greeting g;

	ck_assert_int_eq(ofi_greeting_decode(bytes, sizeof(bytes), &g), -EPROTONOSUPPORT);
	ck_assert_int_eq(g.version, '4');
	ck_assert_int_eq(ofi_greeting_decode(bytes, 8, &g), -EPROTONOSUPPORT);
}
END_TEST

/* ---- limits ---- */

#define WINDOW 4096u

static const struct ofi_wire eager = {.kind = OFI_EAGER}, rts = {.kind = OFI_RTS},
			     acked = {.kind = OFI_EAGER, .flags = OFI_WIRE_ACK},
			     find = {.kind = OFI_FIND}, atomic = {.kind = OFI_ATOMIC},
			     fin = {.kind = OFI_FIN}, credit = {.kind = OFI_CREDIT},
			     written = {.kind = OFI_WRITTEN, .length = UINT64_MAX};

/* Twice what the sender allows itself, to the byte; more when one was taken. */
START_TEST(kept_bytes)
{
	struct ofi_limits l = {0};
	uint64_t length = WINDOW / 2 - ofi_wire_cost(OFI_EAGER, 0);

	for (int i = 0; i < 4; i++)
		ck_assert(ofi_limits_admit(&l, WINDOW, &eager, length));
	ck_assert_uint_eq(l.bytes, 2 * WINDOW);
	ck_assert(!ofi_limits_admit(&l, WINDOW, &eager, 0));
	ofi_limits_taken(&l, ofi_wire_cost(OFI_EAGER, length));
	ck_assert(!ofi_limits_admit(&l, WINDOW, &eager, length + 1));
	ck_assert(ofi_limits_admit(&l, WINDOW, &eager, length));
	ofi_limits_taken(&l, 10 * WINDOW);
	ck_assert_uint_eq(l.bytes, 0);
	ck_assert(!ofi_limits_admit(&l, 0, &eager, 0));
}
END_TEST

/* Announcements and remote CQ data have a reserve beside the window; eager messages have not. */
START_TEST(a_reserve)
{
	struct ofi_limits l = {0};
	unsigned n = 0;

	while (ofi_limits_admit(&l, WINDOW, n & 1 ? &rts : &written, 1u << 30))
		n++;
	ck_assert_uint_eq(n, 2 * (WINDOW + OFI_RESERVE_BYTES) / OFI_KEPT_BYTES);
	ck_assert(!ofi_limits_admit(&l, WINDOW, &eager, 0));
	ofi_limits_taken(&l, OFI_KEPT_BYTES);
	ck_assert(!ofi_limits_admit(&l, WINDOW, &eager, 0));
	ck_assert(ofi_limits_admit(&l, WINDOW, &written, 0));
	l = (struct ofi_limits){0};
	ck_assert(ofi_limits_admit(&l, 0, &written, 0));
	ck_assert(ofi_limits_admit(&l, 0, &rts, 0));
}
END_TEST

START_TEST(answers_due)
{
	struct ofi_limits l = {0};

	for (unsigned i = 0; i < OFI_COOKIES_MAX; i++)
		ck_assert(ofi_limits_admit(&l, UINT32_MAX, i & 1 ? &rts : &acked, 0));
	ck_assert(!ofi_limits_admit(&l, UINT32_MAX, &rts, 0));
	ck_assert(!ofi_limits_admit(&l, UINT32_MAX, &acked, 0));
	ck_assert(!ofi_limits_admit(&l, UINT32_MAX, &find, 0));
	ck_assert_uint_eq(l.bytes, OFI_COOKIES_MAX * OFI_KEPT_BYTES);
	ck_assert(ofi_limits_admit(&l, UINT32_MAX, &eager, 0));
	ofi_limits_answered(&l);
	ck_assert(ofi_limits_admit(&l, UINT32_MAX, &find, 0));
	ck_assert(!ofi_limits_admit(&l, UINT32_MAX, &rts, 0));
}
END_TEST

/* What is kept of an atomic operation is its answer: it counts with its result until it is sent. */
START_TEST(results_not_taken)
{
	const uint64_t bound = 2 * (WINDOW + OFI_RESERVE_BYTES), result = 4000;
	struct ofi_limits l = {0};
	unsigned n = 0;

	while (ofi_limits_admit(&l, WINDOW, &atomic, result))
		n++;
	ck_assert_uint_eq(n, bound / (result + OFI_KEPT_BYTES));
	ck_assert_uint_eq(l.due, n);
	ofi_limits_taken(&l, ofi_wire_cost(OFI_ATOMIC, result));
	ofi_limits_answered(&l);
	ck_assert(ofi_limits_admit(&l, WINDOW, &atomic, result));
	ck_assert(!ofi_limits_admit(&l, WINDOW, &atomic, result));
	l = (struct ofi_limits){.due = OFI_COOKIES_MAX};
	ck_assert(!ofi_limits_admit(&l, UINT32_MAX, &atomic, 0));
}
END_TEST

/* Nothing is kept of these, so nothing limits them. */
START_TEST(small_kinds_are_free)
{
	struct ofi_limits l = {0};

	for (int i = 0; i < 1000; i++) {
		ck_assert(ofi_limits_admit(&l, 0, &fin, 0));
		ck_assert(ofi_limits_admit(&l, 0, &credit, 0));
	}
	ck_assert_uint_eq(l.bytes + l.due, 0);
	ofi_limits_answered(&l);
	ck_assert_uint_eq(l.due, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ofi_wire");
	TCase *wire = tcase_create("wire");
	TCase *limits = tcase_create("limits");
	SRunner *runner;
	int failed;

	tcase_add_test(wire, the_format_is_this);
	tcase_add_test(wire, credit_is_set_in_place);
	tcase_add_test(wire, what_is_malformed_is_refused);
	tcase_add_test(wire, regions_are_named);
	tcase_add_test(wire, an_eager_message_has_its_payload_behind);
	tcase_add_test(wire, so_has_an_atomic_operation);
	tcase_add_test(wire, a_long_message_is_several_records);
	tcase_add_test(wire, a_message_that_is_too_long_is_refused);
	tcase_add_test(wire, addresses_are_recognised);
	tcase_add_test(wire, a_greeting_is_recognised);
	tcase_add_test(wire, another_version_is_named);
	tcase_add_test(limits, kept_bytes);
	tcase_add_test(limits, a_reserve);
	tcase_add_test(limits, answers_due);
	tcase_add_test(limits, results_not_taken);
	tcase_add_test(limits, small_kinds_are_free);
	suite_add_tcase(s, wire);
	suite_add_tcase(s, limits);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
