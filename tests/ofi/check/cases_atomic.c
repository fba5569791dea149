/* SPDX-License-Identifier: BSD-2-Clause */
/* cases_atomic.c - fi_atomic(3). */
#include <rdma/fi_atomic.h>

#include "base/clock.h"
#include "case.h"

#define COUNT	  3		   /* elements of an operation */
#define COMPARES  64		   /* where in t.out these are: behind the operands */
#define RESULTS	  4096		   /* and where in t.in results are: behind what the peer changes */
#define TOGETHER  3000u		   /* operations of each end */
#define WINDOW	  200u		   /* of them at a time */
#define OLD	  6		   /* what is there before */
#define OPERAND	  3		   /* what is given */
#define NOT_THERE UINT64_C(0x5555) /* a key */

static const enum fi_datatype types[] = {FI_INT8,   FI_UINT8, FI_INT16,	 FI_UINT16, FI_INT32,
					 FI_UINT32, FI_INT64, FI_UINT64, FI_FLOAT,  FI_DOUBLE};
#define TYPES (sizeof(types) / sizeof(types[0]))

/* ---- small values, which every type has alike ---- */

static void put(void *at, enum fi_datatype type, unsigned i, unsigned value)
{
	switch (type) {
	case FI_INT8:
	case FI_UINT8:
		((uint8_t *)at)[i] = (uint8_t)value;
		return;
	case FI_INT16:
	case FI_UINT16:
		((uint16_t *)at)[i] = (uint16_t)value;
		return;
	case FI_INT32:
	case FI_UINT32:
		((uint32_t *)at)[i] = value;
		return;
	case FI_INT64:
	case FI_UINT64:
		((uint64_t *)at)[i] = value;
		return;
	case FI_FLOAT:
		((float *)at)[i] = (float)value;
		return;
	default:
		((double *)at)[i] = value;
	}
}

static unsigned get(const void *at, enum fi_datatype type, unsigned i)
{
	switch (type) {
	case FI_INT8:
	case FI_UINT8:
		return ((const uint8_t *)at)[i];
	case FI_INT16:
	case FI_UINT16:
		return ((const uint16_t *)at)[i];
	case FI_INT32:
	case FI_UINT32:
		return ((const uint32_t *)at)[i];
	case FI_INT64:
	case FI_UINT64:
		return (unsigned)((const uint64_t *)at)[i];
	case FI_FLOAT:
		return (unsigned)((const float *)at)[i];
	default:
		return (unsigned)((const double *)at)[i];
	}
}

/* What OLD and OPERAND give; the i-th element is compared with OLD - 1 + i. */
static unsigned expected(enum fi_op op, unsigned i)
{
	const unsigned compare = OLD - 1 + i;

	switch (op) {
	case FI_MIN:
	case FI_ATOMIC_WRITE:
		return OPERAND;
	case FI_SUM:
		return OLD + OPERAND;
	case FI_PROD:
		return OLD * OPERAND;
	case FI_LOR:
	case FI_LAND:
		return 1;
	case FI_LXOR:
		return 0;
	case FI_BOR:
		return OLD | OPERAND;
	case FI_BAND:
		return OLD & OPERAND;
	case FI_BXOR:
		return OLD ^ OPERAND;
	case FI_CSWAP:
		return compare == OLD ? OPERAND : OLD;
	case FI_CSWAP_NE:
		return compare != OLD ? OPERAND : OLD;
	case FI_CSWAP_LE:
		return compare <= OLD ? OPERAND : OLD;
	case FI_CSWAP_LT:
		return compare < OLD ? OPERAND : OLD;
	case FI_CSWAP_GE:
		return compare >= OLD ? OPERAND : OLD;
	case FI_CSWAP_GT:
		return compare > OLD ? OPERAND : OLD;
	case FI_MSWAP:
		return (OPERAND & compare) | (OLD & ~compare);
	default: /* FI_MAX, FI_ATOMIC_READ */
		return OLD;
	}
}

/* ---- each operation of each type ---- */

enum form { BASE, FETCH, COMPARE };

static void *const in_front = NULL; /* of what is ignored */

static void start(enum form form, enum fi_datatype type, enum fi_op op, fi_addr_t peer,
		  struct place p)
{
	void *o = desc(t.out_mr), *i = desc(t.in_mr);

	if (form == BASE)
		RETRY(fi_atomic(t.ep, t.out, COUNT, o, peer, p.addr, p.key, type, op, &t));
	else if (form == FETCH)
		RETRY(fi_fetch_atomic(t.ep, op == FI_ATOMIC_READ ? in_front : t.out, COUNT, o,
				      t.in + RESULTS, i, peer, p.addr, p.key, type, op, &t));
	else
		RETRY(fi_compare_atomic(t.ep, t.out, COUNT, o, t.out + COMPARES, o, t.in + RESULTS,
					i, peer, p.addr, p.key, type, op, &t));
}

static void set_there(enum fi_datatype type, fi_addr_t peer, struct place p)
{
	for (unsigned i = 0; i < COUNT; i++)
		put(t.out, type, i, OLD);
	start(BASE, type, FI_ATOMIC_WRITE, peer, p);
	wait_entry(t.tx, NULL);
}

static void try_one(enum form form, enum fi_datatype type, enum fi_op op, fi_addr_t peer,
		    struct place p)
{
	struct fi_cq_tagged_entry e;

	set_there(type, peer, p);
	memset(t.in + RESULTS, 0, 64);
	for (unsigned i = 0; i < COUNT; i++) {
		put(t.out, type, i, OPERAND);
		put(t.out + COMPARES, type, i, OLD - 1 + i);
	}
	start(form, type, op, peer, p);
	e = wait_entry(t.tx, NULL);
	CHECK(e.op_context == &t && e.flags & FI_ATOMIC);
	CHECK(e.flags & (form == BASE ? FI_WRITE : FI_READ));
	for (unsigned i = 0; i < COUNT && form != BASE; i++)
		CHECK(get(t.in + RESULTS, type, i) == OLD);
	start(FETCH, type, FI_ATOMIC_READ, peer, p);
	wait_entry(t.tx, NULL);
	for (unsigned i = 0; i < COUNT; i++)
		if (get(t.in + RESULTS, type, i) != expected(op, i))
			die("form %d, type %d, operation %d: %u, not %u", form, type, op,
			    get(t.in + RESULTS, type, i), expected(op, i));
}

static int is_valid(enum form form, enum fi_datatype type, enum fi_op op, size_t *count)
{
	return form == BASE    ? fi_atomicvalid(t.ep, type, op, count)
	       : form == FETCH ? fi_fetch_atomicvalid(t.ep, type, op, count)
			       : fi_compare_atomicvalid(t.ep, type, op, count);
}

static void try_all(fi_addr_t peer, struct place p)
{
	unsigned n = 0;
	size_t count;

	for (unsigned type = 0; type < TYPES; type++)
		for (unsigned op = 0; op <= FI_MSWAP; op++)
			for (enum form form = BASE; form <= COMPARE; form++)
				if (!is_valid(form, types[type], (enum fi_op)op, &count)) {
					CHECK(count >= COUNT);
					try_one(form, types[type], (enum fi_op)op, peer, p);
					n++;
				}
	/* 11, 12 and 7 of an integer; three and one fewer of a real number */
	CHECK(!t.is_fare || n == 8 * (11 + 12 + 7) + 2 * (8 + 9 + 6));
	CHECK(n);
}

static void atomic(void)
{
	struct place p = exchange_place();

	if (!t.server)
		try_all(t.peer, p);
	meet();
}

static void atomic_self(void)
{
	struct place p = {.addr = t.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)t.in
										 : 0,
			  .key = fi_mr_key(t.in_mr)};

	try_all(t.self, p);
}

/* ---- many at once ---- */

/* All fetched values are each once in 0 to the sum; of one end they grow, where order is kept. */
static void add_many(fi_addr_t peer, struct place p, uint64_t *got)
{
	uint64_t *results = (uint64_t *)(t.in + RESULTS);
	unsigned posted = 0, done = 0;
	uint64_t since = clock_now_ms();

	memset(t.out, 0, 8);
	t.out[0] = 1;
	while (done < TOGETHER) {
		struct fi_cq_tagged_entry e;
		ssize_t err = posted == TOGETHER || posted - done == WINDOW
				      ? -FI_EAGAIN
				      : fi_fetch_atomic(t.ep, t.out, 1, desc(t.out_mr),
							&results[posted], desc(t.in_mr), peer,
							p.addr, p.key, FI_UINT64, FI_SUM, NULL);

		if (err != -FI_EAGAIN)
			ok(err, "fi_fetch_atomic");
		posted += !err;
		if (err && fi_cq_read(t.tx, &e, 1) == 1) {
			done++;
			since = clock_now_ms();
		}
		if (t.is_fare && t.server)
			__atomic_fetch_add((uint64_t *)t.in, UINT64_C(1) << 32, __ATOMIC_RELAXED);
		late(since, "an operation");
	}
	for (unsigned i = 0; i < TOGETHER; i++) {
		got[i] = (uint32_t)results[i];
		CHECK(!t.is_fare || !i || got[i] > got[i - 1]);
	}
}

/* Both ends add to the server's number, and the server's processor to its upper half. */
static void atomic_together(void)
{
	static uint64_t got[TOGETHER], others[TOGETHER];
	static bool seen[2 * TOGETHER];
	struct place p, own = {.addr = (uintptr_t)t.in, .key = fi_mr_key(t.in_mr)};

	memset(t.in, 0, 8);
	p = exchange_place();
	if (!(t.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR))
		own.addr = 0;
	meet();
	add_many(t.server ? t.self : t.peer, t.server ? own : p, got);
	put_file("fetched", got, sizeof(got));
	CHECK(get_file("fetched", others, sizeof(others)) == sizeof(others));
	memset(seen, 0, sizeof(seen));
	for (unsigned i = 0; i < 2 * TOGETHER; i++) {
		uint64_t value = i < TOGETHER ? got[i] : others[i - TOGETHER];

		CHECK(value < 2 * TOGETHER && !seen[value]);
		seen[value] = true;
	}
	CHECK(!t.server || *(uint32_t *)t.in == 2 * TOGETHER);
}

/* ---- what is refused ---- */

static void is_refused(struct place p, enum fi_datatype type, int err)
{
	start(FETCH, type, FI_SUM, t.peer, p);
	CHECK(wait_error(t.tx).err == err);
}

/* Memory that is not there, that ends before, that is not aligned: an error of that alone. */
static void atomic_refused(void)
{
	struct place p = exchange_place();
	size_t most;

	if (!t.server) {
		fill(t.out, 64, 1);
		is_refused((struct place){p.addr, p.key ^ NOT_THERE}, FI_UINT64, FI_EACCES);
		is_refused((struct place){p.addr + LONG, p.key}, FI_UINT64, FI_EACCES);
		is_refused((struct place){p.addr + LONG - 8 * COUNT + 8, p.key}, FI_UINT64,
			   FI_EACCES);
		is_refused((struct place){UINT64_MAX - 7, p.key}, FI_UINT64, FI_EACCES);
		is_refused((struct place){p.addr + 4, p.key}, FI_DOUBLE, FI_EINVAL);
		is_refused((struct place){p.addr + 1, p.key}, FI_INT16, FI_EINVAL);
		CHECK(fi_atomicvalid(t.ep, FI_LONG_DOUBLE, FI_SUM, &most) == -FI_EOPNOTSUPP);
		ok(fi_atomicvalid(t.ep, FI_UINT8, FI_SUM, &most), "fi_atomicvalid");
		CHECK(fi_atomic(t.ep, t.out, most + 1, NULL, t.peer, p.addr, p.key, FI_UINT8,
				FI_SUM, NULL) == -FI_EMSGSIZE);
		try_one(FETCH, FI_UINT64, FI_SUM, t.peer, p);
	}
	meet();
}

const struct ofi_case cases_atomic[] = {
	{.name = "atomic", .run = atomic},
	{.name = "atomic-self", .run = atomic_self},
	{.name = "atomic-together", .run = atomic_together},
	{.name = "atomic-refused", .run = atomic_refused, .not_tcp = "reports success"},
	{.name = NULL},
};
