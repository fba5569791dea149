/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "ofi/ofi_atomic_op.h"

static const struct ofi_atomic example = {.address = UINT64_C(0x0102030405060708),
					  .key = UINT64_C(0x1112131415161718),
					  .count = 2,
					  .form = OFI_ATOMIC_COMPARE,
					  .datatype = FI_UINT16,
					  .op = FI_MSWAP};
/* two operands, and two that they are compared with */
static const uint8_t bytes[OFI_ATOMIC_BYTES + 8] = {
	1, 2, 3, 4, 5, 6,	  7,	    8, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
	0, 0, 0, 2, 2, FI_UINT16, FI_MSWAP, 0, 'a',  'A',  'b',	 'B',  'c',  'C',  'd',	 'D'};

START_TEST(the_format_is_this)
{
	uint8_t out[OFI_ATOMIC_BYTES];
	struct ofi_atomic a;

	ck_assert_ptr_eq(ofi_atomic_encode(&example, out), out + sizeof(out));
	ck_assert_mem_eq(out, bytes, sizeof(out));
	ck_assert_int_eq(ofi_atomic_decode(bytes, sizeof(bytes), 4, &a), 0);
	ck_assert(a.address == example.address && a.key == example.key && a.count == 2);
	ck_assert(a.form == OFI_ATOMIC_COMPARE && a.datatype == FI_UINT16 && a.op == FI_MSWAP);
	ck_assert_ptr_eq(a.operands, bytes + OFI_ATOMIC_BYTES);
	ck_assert_ptr_eq(a.compares, bytes + OFI_ATOMIC_BYTES + 4);
}
END_TEST

/* Every other length, and every other length of the result. */
START_TEST(lengths_are_exact)
{
	uint8_t longer[sizeof(bytes) + 1] = {0};
	struct ofi_atomic a;

	memcpy(longer, bytes, sizeof(bytes));
	for (size_t n = 0; n <= sizeof(longer); n++)
		for (uint64_t result = 0; result < 10; result++)
			ck_assert_int_eq(ofi_atomic_decode(longer, n, result, &a),
					 n == sizeof(bytes) && result == 4 ? 0 : -EBADMSG);
	ck_assert_int_eq(ofi_atomic_decode(bytes, sizeof(bytes), UINT64_MAX, &a), -EBADMSG);
}
END_TEST

/* Of a count that is too large for its product not to wrap, too. */
START_TEST(counts_are_bounded)
{
	static const uint32_t bad[] = {0,	   1,	       3,	   UINT32_C(1) << 31,
				       UINT32_MAX, 0x80000002, 0x40000000, 0x10001};
	uint8_t other[sizeof(bytes)];
	struct ofi_atomic a;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		for (uint64_t result = 0; result < 8; result += 2) {
			memcpy(other, bytes, sizeof(bytes));
			for (int b = 0; b < 4; b++)
				other[16 + b] = (uint8_t)(bad[i] >> 8 * (3 - b));
			ck_assert_int_eq(ofi_atomic_decode(other, sizeof(other), result, &a),
					 -EBADMSG);
		}
}
END_TEST

/* Form, type, operation and the byte behind them: of all values, only those that are offered. */
START_TEST(names_are_checked)
{
	for (unsigned at = 20; at < OFI_ATOMIC_BYTES; at++)
		for (unsigned value = 0; value < 256; value++) {
			uint8_t other[sizeof(bytes)];
			struct ofi_atomic a;
			int err;

			memcpy(other, bytes, sizeof(bytes));
			other[at] = (uint8_t)value;
			err = ofi_atomic_decode(other, sizeof(other), 4, &a);
			ck_assert(err == 0 || err == -EBADMSG);
			if (!err)
				ck_assert(ofi_atomic_is_offered(other[20], other[21], other[22]) &&
					  !other[23] && ofi_atomic_size(other[21]) == 2);
			else
				ck_assert_uint_ne(value, bytes[at]);
		}
}
END_TEST

/* A record of the most elements is a record; what it says of one more is refused. */
START_TEST(the_most_has_room)
{
	static uint8_t record[2 * OFI_RECORD_BYTES];
	unsigned n = 0;

	for (unsigned form = 0; form < OFI_ATOMIC_FORMS; form++)
		for (unsigned type = 0; type <= FI_DOUBLE; type++)
			for (unsigned op = 0; op < FI_ATOMIC_OP_LAST; op++) {
				struct ofi_atomic a = {.form = (uint8_t)form,
						       .datatype = (uint8_t)type,
						       .op = (uint8_t)op},
						  again;
				size_t size;

				if (!ofi_atomic_is_offered(form, type, op))
					continue;
				for (unsigned more = 0; more < 2; more++) {
					a.count = ofi_atomic_most(form, type) + more;
					size = OFI_ATOMIC_BYTES + ofi_atomic_operand_bytes(&a) +
					       ofi_atomic_compare_bytes(&a);
					ofi_atomic_encode(&a, record);
					ck_assert_int_eq(
						ofi_atomic_decode(record, size,
								  ofi_atomic_result_bytes(&a),
								  &again),
						more ? -EBADMSG : 0);
					ck_assert(more || size <= OFI_RECORD_MAX);
				}
				ck_assert_uint_le(ofi_atomic_result_bytes(&again), OFI_RECORD_MAX);
				n++;
			}
	ck_assert_uint_eq(n, 8 * (11 + 12 + 7) + 2 * (8 + 9 + 6));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ofi_atomic_wire");
	TCase *t = tcase_create("core");
	SRunner *runner;
	int failed;

	tcase_add_test(t, the_format_is_this);
	tcase_add_test(t, lengths_are_exact);
	tcase_add_test(t, counts_are_bounded);
	tcase_add_test(t, names_are_checked);
	tcase_add_test(t, the_most_has_room);
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
