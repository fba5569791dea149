/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>

#include "ofi/ofi_cookies.h"
#include "ofi/ofi_limits.h"

#define WINDOW 4096u

static const struct ofi_wire eager = {.kind = OFI_EAGER}, rts = {.kind = OFI_RTS},
			     acked = {.kind = OFI_EAGER, .flags = OFI_WIRE_ACK},
			     find = {.kind = OFI_FIND}, fin = {.kind = OFI_FIN},
			     credit = {.kind = OFI_CREDIT},
			     written = {.kind = OFI_WRITTEN, .length = UINT64_MAX};

/* As many as fit, to the byte; more when one was taken. */
START_TEST(eager_bytes)
{
	struct ofi_limits l = {0};
	uint64_t length = WINDOW / 4 - ofi_eager_cost(0);

	for (int i = 0; i < 4; i++)
		ck_assert(ofi_limits_admit(&l, WINDOW, &eager, length));
	ck_assert_uint_eq(l.eager_bytes, WINDOW);
	ck_assert(!ofi_limits_admit(&l, WINDOW, &eager, 0));
	ck_assert(ofi_limits_admit(&l, WINDOW, &rts, 1u << 30));
	ofi_limits_taken(&l, ofi_eager_cost(length));
	ck_assert(!ofi_limits_admit(&l, WINDOW, &eager, length + 1));
	ck_assert(ofi_limits_admit(&l, WINDOW, &eager, length));
	ofi_limits_taken(&l, 10 * WINDOW);
	ck_assert_uint_eq(l.eager_bytes, 0);
	ck_assert(!ofi_limits_admit(&l, 0, &eager, 0));
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
	ck_assert(ofi_limits_admit(&l, UINT32_MAX, &eager, 0));
	ofi_limits_answered(&l);
	ck_assert(ofi_limits_admit(&l, UINT32_MAX, &find, 0));
	ck_assert(!ofi_limits_admit(&l, UINT32_MAX, &rts, 0));
}
END_TEST

/* Nothing is kept of these, so nothing limits them. */
START_TEST(small_kinds_are_free)
{
	struct ofi_limits l = {0};

	for (int i = 0; i < 1000; i++) {
		ck_assert(ofi_limits_admit(&l, 0, &fin, 0));
		ck_assert(ofi_limits_admit(&l, 0, &credit, 0));
		ck_assert(ofi_limits_admit(&l, 0, &written, 0));
	}
	ck_assert_uint_eq(l.eager_bytes + l.due, 0);
	ofi_limits_answered(&l);
	ck_assert_uint_eq(l.due, 0);
}
END_TEST

START_TEST(a_second_link_has_a_window_of_its_own)
{
	struct ofi_limits l = {0};
	uint64_t length = WINDOW - ofi_eager_cost(0);

	ck_assert(ofi_limits_admit(&l, WINDOW, &eager, length));
	ofi_limits_relinked(&l);
	ck_assert(ofi_limits_admit(&l, WINDOW, &eager, length));
	ck_assert(!ofi_limits_admit(&l, WINDOW, &eager, 0));
	ofi_limits_relinked(&l);
	ck_assert(!ofi_limits_admit(&l, WINDOW, &eager, 0));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ofi_limits");
	TCase *tcase = tcase_create("ofi_limits");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, eager_bytes);
	tcase_add_test(tcase, answers_due);
	tcase_add_test(tcase, small_kinds_are_free);
	tcase_add_test(tcase, a_second_link_has_a_window_of_its_own);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
