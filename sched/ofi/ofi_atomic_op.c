/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_atomic_op.h"

#include <errno.h>
#include <string.h>

#include "base/octets.h"

enum class { NONE, UNSIGNED, SIGNED, REAL };

struct type {
	enum class class;
	unsigned bytes;
};

static const struct type types[] = {
	[FI_INT8] = {SIGNED, 1},     [FI_UINT8] = {UNSIGNED, 1},  [FI_INT16] = {SIGNED, 2},
	[FI_UINT16] = {UNSIGNED, 2}, [FI_INT32] = {SIGNED, 4},	  [FI_UINT32] = {UNSIGNED, 4},
	[FI_INT64] = {SIGNED, 8},    [FI_UINT64] = {UNSIGNED, 8}, [FI_FLOAT] = {REAL, 4},
	[FI_DOUBLE] = {REAL, 8},
};

/* ---- which there are ---- */

size_t ofi_atomic_size(unsigned datatype)
{
	return datatype < sizeof(types) / sizeof(types[0]) ? types[datatype].bytes : 0;
}

static bool form_has(unsigned form, unsigned op)
{
	switch (form) {
	case OFI_ATOMIC_BASE:
		return op <= FI_BXOR || op == FI_ATOMIC_WRITE;
	case OFI_ATOMIC_FETCH:
		return op <= FI_ATOMIC_WRITE;
	case OFI_ATOMIC_COMPARE:
		return op >= FI_CSWAP && op <= FI_MSWAP;
	default:
		return false;
	}
}

bool ofi_atomic_is_offered(unsigned form, unsigned datatype, unsigned op)
{
	bool is_bitwise = op == FI_BOR || op == FI_BAND || op == FI_BXOR || op == FI_MSWAP;

	return ofi_atomic_size(datatype) && form_has(form, op) &&
	       !(is_bitwise && types[datatype].class == REAL);
}

static uint64_t bytes_of(const struct ofi_atomic *a)
{
	return (uint64_t)a->count * ofi_atomic_size(a->datatype);
}

uint64_t ofi_atomic_operand_bytes(const struct ofi_atomic *a)
{
	return ofi_atomic_changes(a) ? bytes_of(a) : 0;
}

uint64_t ofi_atomic_compare_bytes(const struct ofi_atomic *a)
{
	return a->form == OFI_ATOMIC_COMPARE ? bytes_of(a) : 0;
}

uint64_t ofi_atomic_result_bytes(const struct ofi_atomic *a)
{
	return a->form == OFI_ATOMIC_BASE ? 0 : bytes_of(a);
}

bool ofi_atomic_changes(const struct ofi_atomic *a)
{
	return a->op != FI_ATOMIC_READ;
}

/* ---- values: the bits of an element, in the lowest bits of 64 ---- */

static int64_t signed_of(const struct type *t, uint64_t bits)
{
	unsigned unused = 64 - 8 * t->bytes;

	return (int64_t)(bits << unused) >> unused;
}

static double real_of(const struct type *t, uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	double d;
	float f;

	if (t->bytes == sizeof(d)) {
		memcpy(&d, &bits, sizeof(d));
		return d;
	}
	memcpy(&f, &low, sizeof(f));
	return (double)f;
}

/*
 * A sum or product of two floats that is computed as a double and rounded is what it is as a float:
 * a double has more than twice the digits.
 */
static uint64_t bits_of(const struct type *t, double d)
{
	float f = (float)d;
	uint64_t bits;
	uint32_t low;

	if (t->bytes == sizeof(d)) {
		memcpy(&bits, &d, sizeof(bits));
		return bits;
	}
	memcpy(&low, &f, sizeof(low));
	return low;
}

enum relation { LESS = 1, EQUAL = 2, GREATER = 4, UNORDERED = 8 };

#define RELATION(a, b) ((a) < (b) ? LESS : (a) > (b) ? GREATER : EQUAL)

static enum relation relation(const struct type *t, uint64_t a, uint64_t b)
{
	if (t->class == UNSIGNED)
		return RELATION(a, b);
	if (t->class == SIGNED)
		return RELATION(signed_of(t, a), signed_of(t, b));
	if (__builtin_isunordered(real_of(t, a), real_of(t, b)))
		return UNORDERED;
	return RELATION(real_of(t, a), real_of(t, b));
}

static bool is_true(const struct type *t, uint64_t bits)
{
	return relation(t, bits, 0) != EQUAL;
}

static uint64_t from_bool(const struct type *t, bool b)
{
	return t->class == REAL ? bits_of(t, b) : b;
}

static uint64_t sum(const struct type *t, uint64_t a, uint64_t b)
{
	return t->class == REAL ? bits_of(t, real_of(t, a) + real_of(t, b)) : a + b;
}

static uint64_t product(const struct type *t, uint64_t a, uint64_t b)
{
	return t->class == REAL ? bits_of(t, real_of(t, a) * real_of(t, b)) : a * b;
}

/* How what is compared must stand to the target for an exchange. */
static unsigned exchanges_if(unsigned op)
{
	switch (op) {
	case FI_CSWAP:
		return EQUAL;
	case FI_CSWAP_NE:
		return LESS | GREATER | UNORDERED;
	case FI_CSWAP_LE:
		return LESS | EQUAL;
	case FI_CSWAP_LT:
		return LESS;
	case FI_CSWAP_GE:
		return GREATER | EQUAL;
	case FI_CSWAP_GT:
		return GREATER;
	default:
		return 0;
	}
}

/* What replaces old; bits above the element's are left to the caller. */
static uint64_t replacement(const struct type *t, unsigned op, uint64_t old, uint64_t operand,
			    uint64_t compare)
{
	switch (op) {
	case FI_MIN:
		return relation(t, operand, old) == LESS ? operand : old;
	case FI_MAX:
		return relation(t, operand, old) == GREATER ? operand : old;
	case FI_SUM:
		return sum(t, old, operand);
	case FI_PROD:
		return product(t, old, operand);
	case FI_LOR:
		return from_bool(t, is_true(t, old) || is_true(t, operand));
	case FI_LAND:
		return from_bool(t, is_true(t, old) && is_true(t, operand));
	case FI_LXOR:
		return from_bool(t, is_true(t, old) != is_true(t, operand));
	case FI_BOR:
		return old | operand;
	case FI_BAND:
		return old & operand;
	case FI_BXOR:
		return old ^ operand;
	case FI_ATOMIC_WRITE:
		return operand;
	case FI_MSWAP:
		return (operand & compare) | (old & ~compare);
	default:
		return relation(t, compare, old) & exchanges_if(op) ? operand : old;
	}
}

/* ---- memory ---- */

/* Each gives what was there before. */
#define EXCHANGE(bits)                                                                             \
	static uint64_t exchange##bits(const struct type *t, unsigned op, uint##bits##_t *at,      \
				       uint64_t operand, uint64_t compare)                         \
	{                                                                                          \
		uint##bits##_t old = __atomic_load_n(at, __ATOMIC_SEQ_CST), new;                   \
                                                                                                   \
		if (op == FI_ATOMIC_READ)                                                          \
			return old;                                                                \
		do                                                                                 \
			new = (uint##bits##_t)replacement(t, op, old, operand, compare);           \
		while (!__atomic_compare_exchange_n(at, &old, new, false, __ATOMIC_SEQ_CST,        \
						    __ATOMIC_SEQ_CST));                            \
		return old;                                                                        \
	}

EXCHANGE(8)
EXCHANGE(16)
EXCHANGE(32)
EXCHANGE(64)

static uint64_t exchange(const struct type *t, unsigned op, void *at, uint64_t operand,
			 uint64_t compare)
{
	switch (t->bytes) {
	case 1:
		return exchange8(t, op, at, operand, compare);
	case 2:
		return exchange16(t, op, at, operand, compare);
	case 4:
		return exchange32(t, op, at, operand, compare);
	default:
		return exchange64(t, op, at, operand, compare);
	}
}

union value {
	uint8_t e1;
	uint16_t e2;
	uint32_t e4;
	uint64_t e8;
};

/* The i-th element; 0: there are none. */
static uint64_t value_load(const uint8_t *elements, uint32_t i, unsigned bytes)
{
	union value v;

	if (!elements)
		return 0;
	memcpy(&v, elements + (size_t)i * bytes, bytes);
	return bytes == 1 ? v.e1 : bytes == 2 ? v.e2 : bytes == 4 ? v.e4 : v.e8;
}

static void value_store(uint8_t *elements, uint32_t i, unsigned bytes, uint64_t bits)
{
	union value v = {.e8 = bits};

	if (bytes == 1)
		v.e1 = (uint8_t)bits;
	else if (bytes == 2)
		v.e2 = (uint16_t)bits;
	else if (bytes == 4)
		v.e4 = (uint32_t)bits;
	memcpy(elements + (size_t)i * bytes, &v, bytes);
}

void ofi_atomic_apply(const struct ofi_atomic *a, void *target, uint8_t *results)
{
	const struct type *t = &types[a->datatype];
	uint8_t *at = target;

	for (uint32_t i = 0; i < a->count; i++, at += t->bytes) {
		uint64_t old = exchange(t, a->op, at, value_load(a->operands, i, t->bytes),
					value_load(a->compares, i, t->bytes));

		if (a->form != OFI_ATOMIC_BASE)
			value_store(results, i, t->bytes, old);
	}
}

/* ---- in a record ---- */

uint32_t ofi_atomic_most(unsigned form, unsigned datatype)
{
	size_t each = ofi_atomic_size(datatype) * (form == OFI_ATOMIC_COMPARE ? 2 : 1);

	return (uint32_t)(OFI_ATOMIC_VALUES_MAX / each);
}

uint8_t *ofi_atomic_encode(const struct ofi_atomic *a, uint8_t *out)
{
	out = octets_store(out, a->address, 8);
	out = octets_store(out, a->key, 8);
	out = octets_store(out, a->count, 4);
	out = octets_store(out, a->form, 1);
	out = octets_store(out, a->datatype, 1);
	out = octets_store(out, a->op, 1);
	return octets_store(out, 0, 1);
}

int ofi_atomic_decode(const uint8_t *in, size_t bytes, uint64_t result_bytes,
		      struct ofi_atomic *out)
{
	struct octets o;
	uint64_t zero;

	memset(out, 0, sizeof(*out));
	octets_init(&o, in, bytes);
	out->address = octets_get(&o, 8);
	out->key = octets_get(&o, 8);
	out->count = (uint32_t)octets_get(&o, 4);
	out->form = (uint8_t)octets_get(&o, 1);
	out->datatype = (uint8_t)octets_get(&o, 1);
	out->op = (uint8_t)octets_get(&o, 1);
	zero = octets_get(&o, 1);
	if (o.failed || zero || !ofi_atomic_is_offered(out->form, out->datatype, out->op) ||
	    !out->count || out->count > ofi_atomic_most(out->form, out->datatype))
		return -EBADMSG;
	if (ofi_atomic_result_bytes(out) != result_bytes ||
	    o.left != ofi_atomic_operand_bytes(out) + ofi_atomic_compare_bytes(out))
		return -EBADMSG;
	out->operands = o.left ? o.p : NULL;
	out->compares = ofi_atomic_compare_bytes(out) ? o.p + ofi_atomic_operand_bytes(out) : NULL;
	return 0;
}
