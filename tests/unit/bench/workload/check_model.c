/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdlib.h>

#include "workload/model.h"

/* Appendix F, step by step. */
START_TEST(cache_of_the_draft)
{
	const struct model *model = model_find("CFG-B");

	ck_assert_ptr_nonnull(model);
	ck_assert_double_eq(model_kv_bytes(model, 4096), 1342177280);
	ck_assert_double_eq(model_kv_bytes(model_find("CFG-D"), 4096), 671088640);
	ck_assert_ptr_null(model_find("CFG-Z"));
}
END_TEST

/* Steps of 20 ms: 15 of them whatever the batch, 5 ms for each 64 requests. */
START_TEST(a_larger_batch_takes_longer_steps)
{
	const struct model *model = model_find("CFG-B");

	ck_assert_double_eq_tol(model_batch_step_s(model, 64), model->step_s, 1e-12);
	ck_assert_double_eq_tol(model_batch_step_s(model, 128), 0.025, 1e-12);
	ck_assert_double_eq_tol(model_batch_step_s(model, 1), 0.015 + 0.005 / 64, 1e-12);
}
END_TEST

/* Appendix E: 256 tokens, top 2, 7,168, BF16 among 96 GPUs: 76 KB a pair on average. */
START_TEST(dispatch_of_the_draft)
{
	struct moe_config m3 = *moe_config_find("M3");
	struct moe moe = moe_of_config(&m3, 0, 64, 256, 1, 1);
	double leaves = (double)moe.tokens * moe.top_k * moe.hidden * moe.element_bytes;

	ck_assert_double_eq(leaves, 256.0 * 2 * 7168 * 2);
	ck_assert_double_eq_tol(leaves / 96, 76459, 1);
	ck_assert_int_eq(moe_check(&moe), 0);
}
END_TEST

START_TEST(no_copy_is_less_than_a_byte)
{
	struct moe moe = moe_of_config(moe_config_find("M1"), 2, 4, 8, 1e9, 1);

	ck_assert_uint_eq(moe.hidden, 1);
	ck_assert_uint_eq(moe.first, 2);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("model");
	TCase *tc = tcase_create("all");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, cache_of_the_draft);
	tcase_add_test(tc, a_larger_batch_takes_longer_steps);
	tcase_add_test(tc, dispatch_of_the_draft);
	tcase_add_test(tc, no_copy_is_less_than_a_byte);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
