/* SPDX-License-Identifier: BSD-2-Clause */
/* What QPs cost that have nothing to do: memory, and time of a call that works for others. */
#include <malloc.h>
#include <unistd.h>

#include "base/clock.h"
#include "qp/soft/soft_endpoint.h"
#include "soft_pair.h"

#ifdef __SANITIZE_ADDRESS__
size_t __sanitizer_get_current_allocated_bytes(void);
#define allocated_bytes() __sanitizer_get_current_allocated_bytes()
#else
static size_t allocated_bytes(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}
#endif

#define FEW	   8
#define MANY	   8000
#define IDLE_BYTES 4096

/* Connects n more QPs of a and b, and writes from each: so each was in use. */
static void add_qps(unsigned n, int writes, bool order_free)
{
	struct qp_attr attr = attr_of(18, 7, 0);

	attr.order_free = both_order_free = order_free;
	while (n--) {
		struct qp_work w = write_of(1, 0, 100, QP_WR_IMM);
		struct qp *x, *y;

		ck_assert_int_eq(P->qp_create(a, &attr, &x), 0);
		ck_assert_int_eq(P->qp_create(b, &attr, &y), 0);
		join(x, y, "::ffff:127.0.0.2", "::ffff:127.0.0.3");
		for (unsigned i = 0; i < (unsigned)writes; i++)
			ck_assert_int_eq(P->post(x, &w), 0);
		RUN_UNTIL(n_wa == writes && n_wb == writes);
		n_wa = n_wb = 0;
	}
	both_order_free = false;
}

START_TEST(an_idle_qp_takes_little_memory)
{
	enum { N = 500 };
	size_t before;

	open_default();
	add_qps(20, 20, _i == 1);
	before = allocated_bytes();
	add_qps(N, 20, _i == 1); /* at both ends */
	ck_assert_msg((allocated_bytes() - before) / (2 * N) <= IDLE_BYTES, "%zu bytes a QP",
		      (allocated_bytes() - before) / (2 * N));
	close_pair();
}
END_TEST

/* The best of many runs of 64 writes, one after the other: others disturb, none makes it faster. */
static uint64_t cost_ns(void)
{
	uint64_t best = UINT64_MAX;

	for (unsigned run = 0; run < 200; run++) {
		uint64_t begun = clock_now_ns(), took;

		for (unsigned i = 0; i < 64; i++) {
			struct qp_work w = write_of(1, 0, 64, 0);

			ck_assert_int_eq(P->post(qa, &w), 0);
			for (n_wa = 0; !n_wa;) {
				P->endpoint_progress(b);
				P->endpoint_progress(a);
				n_wa = P->poll(a, wa, 1);
			}
		}
		took = clock_now_ns() - begun;
		best = took < best ? took : best;
	}
	return best;
}

START_TEST(idle_qps_cost_no_time)
{
	uint64_t few, many;

	acknowledge_now = true;
	open_default();
	add_qps(FEW, 1, false);
	few = cost_ns();
	add_qps(MANY - FEW, 1, false);
	many = cost_ns();
	printf("64 writes: %.0f us beside %u QPs, %.0f us beside %u\n", (double)few / 1e3, FEW,
	       (double)many / 1e3, MANY);
	ck_assert_uint_le(many * 2, few * 3);
	close_pair();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft_scale");
	TCase *t = tcase_create("all");
	int skip = enter_namespace();

	if (skip)
		return skip;
	tcase_add_loop_test(t, an_idle_qp_takes_little_memory, 0, 2);
	tcase_add_test(t, idle_qps_cost_no_time);
	suite_add_tcase(s, t);
	return run_suite(s);
}
