/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "engine/moe.h"

static const struct moe model = {.gpus = 4,
				 .tokens = 256,
				 .top_k = 8,
				 .experts = 64,
				 .hidden = 7168,
				 .element_bytes = 1,
				 .seed = 1};

START_TEST(every_copy_goes_somewhere)
{
	struct moe one = model;
	uint64_t bytes[16];

	/* all experts chosen: every GPU gets exactly its quarter, and the own one is left out */
	one.top_k = one.experts;
	ck_assert_int_eq(moe_check(&one), 0);
	moe_round(&one, 3, bytes);
	for (int i = 0; i < 16; i++)
		ck_assert_uint_eq(bytes[i], i % 5 == 0 ? 0 : 256u * 16 * 7168);
}
END_TEST

/* Appendix E: B x k x H x P bytes leave a GPU in all; 3/4 of it for other GPUs, within chance. */
START_TEST(dispatch_arithmetic)
{
	double total = 0, expected = 4 * 256.0 * 8 * 7168 * 3 / 4;
	uint64_t bytes[16];

	for (uint64_t round = 0; round < 20; round++) {
		moe_round(&model, round, bytes);
		for (int i = 0; i < 16; i++) {
			ck_assert_uint_eq(bytes[i] % 7168, 0);
			total += (double)bytes[i];
		}
	}
	ck_assert_double_eq_tol(total / 20 / expected, 1, 0.01);
}
END_TEST

START_TEST(rounds_and_seeds_differ_and_repeat)
{
	uint64_t a[16], b[16];
	struct moe other = model;

	moe_round(&model, 1, a);
	moe_round(&model, 1, b);
	ck_assert_mem_eq(a, b, sizeof(a));
	moe_round(&model, 2, b);
	ck_assert_int_ne(memcmp(a, b, sizeof(a)), 0);
	other.seed++;
	moe_round(&other, 1, b);
	ck_assert_int_ne(memcmp(a, b, sizeof(a)), 0);
}
END_TEST

START_TEST(contradictions_are_refused)
{
	struct moe bad = model;

	ck_assert_int_eq(moe_check(&bad), 0);
	bad.top_k = 65;
	ck_assert_int_eq(moe_check(&bad), -EINVAL);
	bad = model;
	bad.experts = 62;
	ck_assert_int_eq(moe_check(&bad), -EINVAL);
	bad = model;
	bad.tokens = 1u << 20;
	ck_assert_int_eq(moe_check(&bad), -EINVAL);
	bad = model;
	bad.gpus = 0;
	ck_assert_int_eq(moe_check(&bad), -EINVAL);
}
END_TEST

/* Every expert takes as many tokens as any other, wherever they come from. */
START_TEST(experts_that_choose_are_loaded_alike)
{
	struct moe one = model;
	uint64_t bytes[16];

	one.routing = MOE_EXPERT_CHOICE;
	ck_assert_int_eq(moe_check(&one), 0);
	for (uint64_t round = 0; round < 5; round++) {
		moe_round(&one, round, bytes);
		for (int dst = 0; dst < 4; dst++) {
			uint64_t in = 0;

			for (int src = 0; src < 4; src++)
				in += bytes[src * 4 + dst];
			/* 3/4 of 16 experts x 128 tokens, by an urn */
			ck_assert_double_eq_tol((double)in / (16 * 128 * 7168.0), 0.75, 0.04);
		}
	}
}
END_TEST

START_TEST(what_is_dropped_is_not_sent)
{
	struct moe all = model, some = model;
	uint64_t a[16], b[16], kept = 0, sent = 0;

	all.skew = some.skew = 1.2;
	some.routing = MOE_TOKEN_DROP;
	some.capacity = 1;
	moe_round(&all, 0, a);
	moe_round(&some, 0, b);
	for (int i = 0; i < 16; i++) {
		ck_assert_uint_le(b[i], a[i]);
		sent += a[i];
		kept += b[i];
	}
	ck_assert_uint_lt(kept, sent);
	some.capacity = 0.5;
	ck_assert_int_eq(moe_check(&some), -EINVAL);
}
END_TEST

START_TEST(a_balanced_router_sends_everyone_the_same)
{
	struct moe one = model;
	uint64_t bytes[16];

	one.routing = MOE_AUX_LOSS;
	moe_round(&one, 3, bytes);
	for (int i = 0; i < 16; i++)
		ck_assert_uint_eq(bytes[i], i % 5 == 0 ? 0 : 256u * 8 / 4 * 7168);
}
END_TEST

START_TEST(combine_brings_back_what_was_dispatched)
{
	struct moe one = model;
	uint64_t out[16], back[16];

	one.combine = true;
	one.period = 6;
	moe_round(&one, 4, out);
	moe_round(&one, 5, back);
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 4; j++)
			ck_assert_uint_eq(out[i * 4 + j], back[j * 4 + i]);
	moe_round(&one, 10, back);
	ck_assert_mem_eq(out, back, sizeof(out));
	ck_assert_uint_ge(moe_largest(&one, 100), out[1]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("moe");
	TCase *tcase = tcase_create("moe");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, every_copy_goes_somewhere);
	tcase_add_test(tcase, dispatch_arithmetic);
	tcase_add_test(tcase, rounds_and_seeds_differ_and_repeat);
	tcase_add_test(tcase, contradictions_are_refused);
	tcase_add_test(tcase, experts_that_choose_are_loaded_alike);
	tcase_add_test(tcase, what_is_dropped_is_not_sent);
	tcase_add_test(tcase, a_balanced_router_sends_everyone_the_same);
	tcase_add_test(tcase, combine_brings_back_what_was_dispatched);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
