/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>

#include "ofi/ofi_tables.h"
#include "ofi/ofi_wire.h"

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
	Suite *suite = suite_create("ofi_limits");
	TCase *tcase = tcase_create("ofi_limits");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, kept_bytes);
	tcase_add_test(tcase, a_reserve);
	tcase_add_test(tcase, answers_due);
	tcase_add_test(tcase, results_not_taken);
	tcase_add_test(tcase, small_kinds_are_free);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
