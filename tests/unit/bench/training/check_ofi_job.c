/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdlib.h>

#include "training/ofi_job.h"

/* Of 404 ms until the end of the first write 168 ms are the write: 236 are the set-up. */
START_TEST(a_write_is_no_set_up)
{
	json_t *answer = json_pack("{s:[I,I], s:[I,I]}", "setup_ns", (json_int_t)404740000,
				   (json_int_t)300000, "first_ns", (json_int_t)168740000,
				   (json_int_t)100000);
	struct hist *h = malloc(sizeof(*h));

	ck_assert_ptr_nonnull(answer);
	ck_assert_ptr_nonnull(h);
	ofi_job_setup(answer, h);
	ck_assert_uint_eq(h->n, 2);
	ck_assert_uint_eq(h->max, 236000000);
	ck_assert_uint_eq(h->min, 200000);
	json_decref(answer);
	answer = json_object();
	ofi_job_setup(answer, h);
	ck_assert_uint_eq(h->n, 0);
	json_decref(answer);
	free(h);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ofi_job");
	TCase *tcase = tcase_create("ofi_job");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, a_write_is_no_set_up);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
