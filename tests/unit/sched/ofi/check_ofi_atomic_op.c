/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each type with each operation of each form, for every pair of values that are at an edge, against
 * what the C language's own types make of it.
 */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ofi/ofi_atomic_op.h"

/* ---- atomic op ---- */

#define VALUES 12

/* The reference for one element of a type: *at is changed as fi_atomic(3) has it. */
#define ARITHMETIC(name, type, wide)                                                               \
	static bool arithmetic_##name(unsigned op, type *at, type operand, type compare)           \
	{                                                                                          \
		type old = *at;                                                                    \
                                                                                                   \
		switch (op) {                                                                      \
		case FI_MIN:                                                                       \
			if (operand < old)                                                         \
				*at = operand;                                                     \
			return true;                                                               \
		case FI_MAX:                                                                       \
			if (operand > old)                                                         \
				*at = operand;                                                     \
			return true;                                                               \
		case FI_SUM:                                                                       \
			*at = (type)((wide)old + (wide)operand);                                   \
			return true;                                                               \
		case FI_PROD:                                                                      \
			*at = (type)((wide)old * (wide)operand);                                   \
			return true;                                                               \
		case FI_LOR:                                                                       \
			*at = old || operand;                                                      \
			return true;                                                               \
		case FI_LAND:                                                                      \
			*at = old && operand;                                                      \
			return true;                                                               \
		case FI_LXOR:                                                                      \
			*at = (old && !operand) || (!old && operand);                              \
			return true;                                                               \
		case FI_ATOMIC_READ:                                                               \
			return true;                                                               \
		case FI_ATOMIC_WRITE:                                                              \
			*at = operand;                                                             \
			return true;                                                               \
		case FI_CSWAP:                                                                     \
			*at = compare == old ? operand : old;                                      \
			return true;                                                               \
		case FI_CSWAP_NE:                                                                  \
			*at = compare != old ? operand : old;                                      \
			return true;                                                               \
		case FI_CSWAP_LE:                                                                  \
			*at = compare <= old ? operand : old;                                      \
			return true;                                                               \
		case FI_CSWAP_LT:                                                                  \
			*at = compare < old ? operand : old;                                       \
			return true;                                                               \
		case FI_CSWAP_GE:                                                                  \
			*at = compare >= old ? operand : old;                                      \
			return true;                                                               \
		case FI_CSWAP_GT:                                                                  \
			*at = compare > old ? operand : old;                                       \
			return true;                                                               \
		default:                                                                           \
			return false;                                                              \
		}                                                                                  \
	}

#define BITWISE(name, type)                                                                        \
	static bool bitwise_##name(unsigned op, type *at, type operand, type compare)              \
	{                                                                                          \
		switch (op) {                                                                      \
		case FI_BOR:                                                                       \
			*at = (type)(*at | operand);                                               \
			return true;                                                               \
		case FI_BAND:                                                                      \
			*at = (type)(*at & operand);                                               \
			return true;                                                               \
		case FI_BXOR:                                                                      \
			*at = (type)(*at ^ operand);                                               \
			return true;                                                               \
		case FI_MSWAP:                                                                     \
			*at = (type)((operand & compare) | (*at & (type)~compare));                \
			return true;                                                               \
		default:                                                                           \
			return false;                                                              \
		}                                                                                  \
	}

#define NO_BITWISE(name, type)                                                                     \
	static bool bitwise_##name(unsigned op, type *at, type operand, type compare)              \
	{                                                                                          \
		(void)op, (void)at, (void)operand, (void)compare;                                  \
		return false;                                                                      \
	}

/* False: there is no such operation for the type. */
#define REFERENCE(name, type)                                                                      \
	static bool reference_##name(unsigned op, void *at, const void *operand,                   \
				     const void *compare)                                          \
	{                                                                                          \
		type a, o, c;                                                                      \
		bool has;                                                                          \
                                                                                                   \
		memcpy(&a, at, sizeof(a));                                                         \
		memcpy(&o, operand, sizeof(o));                                                    \
		memcpy(&c, compare, sizeof(c));                                                    \
		has = arithmetic_##name(op, &a, o, c) || bitwise_##name(op, &a, o, c);             \
		memcpy(at, &a, sizeof(a));                                                         \
		return has;                                                                        \
	}

#define INTEGER(name, type)                                                                        \
	ARITHMETIC(name, type, uint64_t) BITWISE(name, type) REFERENCE(name, type)
#define REAL(name, type) ARITHMETIC(name, type, type) NO_BITWISE(name, type) REFERENCE(name, type)

INTEGER(i8, int8_t)
INTEGER(u8, uint8_t)
INTEGER(i16, int16_t)
INTEGER(u16, uint16_t)
INTEGER(i32, int32_t)
INTEGER(u32, uint32_t)
INTEGER(i64, int64_t)
INTEGER(u64, uint64_t)
REAL(f32, float)
REAL(f64, double)

static const struct {
	unsigned datatype;
	size_t size;
	bool (*reference)(unsigned op, void *at, const void *operand, const void *compare);
} types[] = {
	{FI_INT8, 1, reference_i8},    {FI_UINT8, 1, reference_u8},   {FI_INT16, 2, reference_i16},
	{FI_UINT16, 2, reference_u16}, {FI_INT32, 4, reference_i32},  {FI_UINT32, 4, reference_u32},
	{FI_INT64, 8, reference_i64},  {FI_UINT64, 8, reference_u64}, {FI_FLOAT, 4, reference_f32},
	{FI_DOUBLE, 8, reference_f64},
};
#define TYPES (sizeof(types) / sizeof(types[0]))

static unsigned form_of(unsigned op)
{
	return op >= FI_CSWAP	      ? OFI_ATOMIC_COMPARE
	       : op == FI_ATOMIC_READ ? OFI_ATOMIC_FETCH
				      : OFI_ATOMIC_BASE;
}

/* The n-th value at an edge. */
static void edge(unsigned type, unsigned n, uint8_t out[8])
{
	static const uint64_t integers[VALUES] = {0,
						  1,
						  2,
						  UINT64_MAX,
						  UINT64_MAX - 1,
						  UINT64_C(0x8080808080808080),
						  UINT64_C(0x7f7f7f7f7f7f7f7f),
						  UINT64_C(0x5555aaaa3333cccc),
						  INT64_MAX,
						  INT64_MAX / 3,
						  UINT64_C(0x8000000080008080),
						  UINT64_C(0x0123456789abcdef)};
	static const double reals[VALUES] = {0,	    -0.0,  1,	     -1,	0.1,	     1e30,
					     -1e30, 1e-30, INFINITY, -INFINITY, (double)NAN, 3.5};
	float f = (float)reals[n];

	if (types[type].datatype == FI_FLOAT)
		memcpy(out, &f, sizeof(f));
	else if (types[type].datatype == FI_DOUBLE)
		memcpy(out, &reals[n], sizeof(reals[n]));
	else
		memcpy(out, &integers[n], sizeof(integers[n])); /* the lowest bytes first */
}

static bool is_nan(unsigned type, const uint8_t *element)
{
	double d;
	float f;

	memcpy(&f, element, sizeof(f));
	memcpy(&d, element, sizeof(d));
	return types[type].datatype == FI_FLOAT	   ? isnan(f)
	       : types[type].datatype == FI_DOUBLE ? isnan(d)
						   : false;
}

/* The element in the middle of three; its neighbours stay as they were. */
static void try_one(unsigned type, unsigned op, unsigned form, const uint8_t *old,
		    const uint8_t *operand, const uint8_t *compare)
{
	size_t size = types[type].size;
	_Alignas(8) uint8_t memory[24];
	uint8_t expected[8], result[8] = {0};
	const struct ofi_atomic a = {.count = 1,
				     .form = (uint8_t)form,
				     .datatype = (uint8_t)types[type].datatype,
				     .op = (uint8_t)op,
				     .operands = op == FI_ATOMIC_READ ? NULL : operand,
				     .compares = form == OFI_ATOMIC_COMPARE ? compare : NULL};

	memset(memory, 0x5a, sizeof(memory));
	memcpy(memory + size, old, size);
	memset(expected, 0, sizeof(expected));
	memcpy(expected, old, size);
	ck_assert(types[type].reference(op, expected, operand, compare));
	ofi_atomic_apply(&a, memory + size, form == OFI_ATOMIC_BASE ? NULL : result);
	/* a NaN is a NaN, whichever */
	if (memcmp(memory + size, expected, size) &&
	    !(is_nan(type, memory + size) && is_nan(type, expected)))
		ck_abort_msg("type %u, operation %u: wrong", types[type].datatype, op);
	for (size_t i = 0; i < 3 * size; i++)
		ck_assert(i / size == 1 || memory[i] == 0x5a);
	if (form != OFI_ATOMIC_BASE)
		ck_assert_mem_eq(result, old, size);
}

START_TEST(each_operation_is_that_of_the_type)
{
	uint8_t old[8], operand[8], compare[8];
	unsigned n = 0;

	for (unsigned type = 0; type < TYPES; type++)
		for (unsigned op = 0; op < FI_ATOMIC_OP_LAST; op++)
			for (unsigned i = 0; i < VALUES * VALUES * VALUES; i++) {
				unsigned form = form_of(op);

				if (!ofi_atomic_is_offered(form, types[type].datatype, op))
					continue;
				edge(type, i % VALUES, old);
				edge(type, i / VALUES % VALUES, operand);
				edge(type, i / VALUES / VALUES, compare);
				try_one(type, op, form, old, operand, compare);
				if (form == OFI_ATOMIC_BASE)
					try_one(type, op, OFI_ATOMIC_FETCH, old, operand, compare);
				n++;
			}
	/* eight types of 19 operations, two of 15 */
	ck_assert_uint_eq(n, (8 * 19 + 2 * 15) * VALUES * VALUES * VALUES);
}
END_TEST

/* An operation is offered where the reference has it, in the form that fi_atomic(3) names. */
START_TEST(what_is_offered)
{
	for (unsigned type = 0; type < TYPES; type++)
		for (unsigned op = 0; op < FI_ATOMIC_OP_LAST; op++) {
			uint8_t at[8] = {0};
			bool has = types[type].reference(op, at, at, at);
			unsigned t = types[type].datatype;

			ck_assert_int_eq(ofi_atomic_is_offered(OFI_ATOMIC_BASE, t, op),
					 has && op < FI_CSWAP && op != FI_ATOMIC_READ);
			ck_assert_int_eq(ofi_atomic_is_offered(OFI_ATOMIC_FETCH, t, op),
					 has && op < FI_CSWAP);
			ck_assert_int_eq(ofi_atomic_is_offered(OFI_ATOMIC_COMPARE, t, op),
					 has && op >= FI_CSWAP);
			ck_assert(!ofi_atomic_is_offered(OFI_ATOMIC_FORMS, t, op));
			ck_assert_uint_eq(ofi_atomic_size(t), types[type].size);
		}
	for (unsigned t = 0; t < 300; t++)
		if (t > FI_DOUBLE) {
			ck_assert(!ofi_atomic_is_offered(OFI_ATOMIC_FETCH, t, FI_SUM));
			ck_assert_uint_eq(ofi_atomic_size(t), 0);
		}
	for (unsigned op = FI_ATOMIC_OP_LAST; op < 300; op++)
		for (unsigned form = 0; form < 300; form++)
			ck_assert(!ofi_atomic_is_offered(form, FI_UINT64, op));
}
END_TEST

/* Operands need not be aligned; each element has its own. */
START_TEST(several_elements)
{
	_Alignas(4) uint32_t target[5] = {1, 2, 3, 4, 0xdeadbeef};
	uint8_t operands[17], compares[17], results[17];
	const uint32_t add[4] = {10, 20, UINT32_MAX, 40}, expect[4] = {1, 0, 3, 0};
	struct ofi_atomic a = {.count = 4,
			       .form = OFI_ATOMIC_FETCH,
			       .datatype = FI_UINT32,
			       .op = FI_SUM,
			       .operands = operands + 1};

	memcpy(operands + 1, add, 16);
	memcpy(compares + 1, expect, 16);
	ofi_atomic_apply(&a, target, results + 1);
	ck_assert_uint_eq(target[0], 11);
	ck_assert_uint_eq(target[1], 22);
	ck_assert_uint_eq(target[2], 2);
	ck_assert_uint_eq(target[3], 44);
	ck_assert_mem_eq(results + 1, ((uint32_t[]){1, 2, 3, 4}), 16);
	a.form = OFI_ATOMIC_COMPARE;
	a.op = FI_CSWAP;
	a.compares = compares + 1;
	target[0] = 1;
	target[2] = 3;
	ofi_atomic_apply(&a, target, results + 1);
	ck_assert_mem_eq(target, ((uint32_t[]){10, 22, UINT32_MAX, 44, 0xdeadbeef}), 20);
	ck_assert_mem_eq(results + 1, ((uint32_t[]){1, 22, 3, 44}), 16);
	ck_assert_uint_eq(ofi_atomic_operand_bytes(&a), 16);
	ck_assert_uint_eq(ofi_atomic_compare_bytes(&a), 16);
	ck_assert_uint_eq(ofi_atomic_result_bytes(&a), 16);
}
END_TEST

/* ---- atomicity ---- */

#define TIMES 200000u /* of each of both, at the same time */

static _Alignas(8) uint64_t shared_counter;
static _Atomic uint32_t n_local;
static _Atomic bool is_over;

static void *add_locally(void *arg)
{
	(void)arg;
	for (; !is_over; n_local++)
		__atomic_fetch_add(&shared_counter, UINT64_C(1) << 32, __ATOMIC_RELAXED);
	return NULL;
}

/* Beside the application's own atomic operations. */
START_TEST(an_element_is_changed_as_a_whole)
{
	const uint64_t one = 1;
	const struct ofi_atomic a = {.count = 1,
				     .form = OFI_ATOMIC_BASE,
				     .datatype = FI_UINT64,
				     .op = FI_SUM,
				     .operands = (const uint8_t *)&one};
	uint32_t n = 0;
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, add_locally, NULL), 0);
	for (; n < TIMES || n_local < TIMES; n++)
		ofi_atomic_apply(&a, &shared_counter, NULL);
	is_over = true;
	pthread_join(thread, NULL);
	ck_assert_uint_eq(shared_counter, ((uint64_t)n_local << 32) + n);
}
END_TEST

/* ---- atomic wire ---- */

static const struct ofi_atomic example = {.address = UINT64_C(0x0102030405060708),
					  .key = UINT64_C(0x1112131415161718),
					  .count = 2,
					  .form = OFI_ATOMIC_COMPARE,
					  .datatype = FI_UINT16,
					  .op = FI_MSWAP};
/* two operands, and two that they are compared with */
static const uint8_t record_bytes[OFI_ATOMIC_BYTES + 8] = {
	1, 2, 3, 4, 5, 6,	  7,	    8, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
	0, 0, 0, 2, 2, FI_UINT16, FI_MSWAP, 0, 'a',  'A',  'b',	 'B',  'c',  'C',  'd',	 'D'};

START_TEST(the_format_is_this)
{
	uint8_t out[OFI_ATOMIC_BYTES];
	struct ofi_atomic a;

	ck_assert_ptr_eq(ofi_atomic_encode(&example, out), out + sizeof(out));
	ck_assert_mem_eq(out, record_bytes, sizeof(out));
	ck_assert_int_eq(ofi_atomic_decode(record_bytes, sizeof(record_bytes), 4, &a), 0);
	ck_assert(a.address == example.address && a.key == example.key && a.count == 2);
	ck_assert(a.form == OFI_ATOMIC_COMPARE && a.datatype == FI_UINT16 && a.op == FI_MSWAP);
	ck_assert_ptr_eq(a.operands, record_bytes + OFI_ATOMIC_BYTES);
	ck_assert_ptr_eq(a.compares, record_bytes + OFI_ATOMIC_BYTES + 4);
}
END_TEST

/* Every other length, and every other length of the result. */
START_TEST(lengths_are_exact)
{
	uint8_t longer[sizeof(record_bytes) + 1] = {0};
	struct ofi_atomic a;

	memcpy(longer, record_bytes, sizeof(record_bytes));
	for (size_t n = 0; n <= sizeof(longer); n++)
		for (uint64_t result = 0; result < 10; result++)
			ck_assert_int_eq(ofi_atomic_decode(longer, n, result, &a),
					 n == sizeof(record_bytes) && result == 4 ? 0 : -EBADMSG);
	ck_assert_int_eq(ofi_atomic_decode(record_bytes, sizeof(record_bytes), UINT64_MAX, &a),
			 -EBADMSG);
}
END_TEST

/* Of a count that is too large for its product not to wrap, too. */
START_TEST(counts_are_bounded)
{
	static const uint32_t bad[] = {0,	   1,	       3,	   UINT32_C(1) << 31,
				       UINT32_MAX, 0x80000002, 0x40000000, 0x10001};
	uint8_t other[sizeof(record_bytes)];
	struct ofi_atomic a;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		for (uint64_t result = 0; result < 8; result += 2) {
			memcpy(other, record_bytes, sizeof(record_bytes));
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
			uint8_t other[sizeof(record_bytes)];
			struct ofi_atomic a;
			int err;

			memcpy(other, record_bytes, sizeof(record_bytes));
			other[at] = (uint8_t)value;
			err = ofi_atomic_decode(other, sizeof(other), 4, &a);
			ck_assert(err == 0 || err == -EBADMSG);
			if (!err)
				ck_assert(ofi_atomic_is_offered(other[20], other[21], other[22]) &&
					  !other[23] && ofi_atomic_size(other[21]) == 2);
			else
				ck_assert_uint_ne(value, record_bytes[at]);
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
	Suite *s = suite_create("ofi_atomic_op");
	TCase *atomic_op = tcase_create("atomic_op");
	TCase *atomic_wire = tcase_create("atomic_wire");
	SRunner *runner;
	int failed;

	tcase_add_test(atomic_op, each_operation_is_that_of_the_type);
	tcase_add_test(atomic_op, what_is_offered);
	tcase_add_test(atomic_op, several_elements);
	tcase_add_test(atomic_op, an_element_is_changed_as_a_whole);
	tcase_set_timeout(atomic_op, 120);
	tcase_add_test(atomic_wire, the_format_is_this);
	tcase_add_test(atomic_wire, lengths_are_exact);
	tcase_add_test(atomic_wire, counts_are_bounded);
	tcase_add_test(atomic_wire, names_are_checked);
	tcase_add_test(atomic_wire, the_most_has_room);
	suite_add_tcase(s, atomic_op);
	suite_add_tcase(s, atomic_wire);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
