/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <poll.h>
#include <stdlib.h>

#include "ofi/ofi.h"

static bool is_readable(const struct ofi_signal *signal)
{
	struct pollfd p = {.fd = signal->fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

START_TEST(readable_while_raised)
{
	struct ofi_signal signal;

	ck_assert_int_eq(ofi_signal_init(&signal), 0);
	ck_assert(!is_readable(&signal));
	ofi_signal_clear(&signal); /* does not block */
	ofi_signal_raise(&signal);
	ofi_signal_raise(&signal);
	ck_assert(is_readable(&signal));
	ofi_signal_clear(&signal);
	ck_assert(!is_readable(&signal));
	ofi_signal_raise(&signal);
	ck_assert(is_readable(&signal));
	ofi_signal_fini(&signal);
	ck_assert_int_eq(signal.fd, -1);
}
END_TEST

START_TEST(without_a_descriptor_nothing_happens)
{
	struct ofi_signal signal = OFI_SIGNAL_NONE;

	ofi_signal_raise(&signal);
	ck_assert(!signal.raised);
	ofi_signal_clear(&signal);
	ofi_signal_fini(&signal);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ofi_signal");
	TCase *tcase = tcase_create("ofi_signal");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, readable_while_raised);
	tcase_add_test(tcase, without_a_descriptor_nothing_happens);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
