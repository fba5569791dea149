/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/moe.h"
#include "workload/model.h"

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
	bad.experts = MOE_MAX_EXPERTS + 1;
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

/*
 * Table 7 on the groups of 7.1 and 7.3, 48 and 96 GPUs among them: B x k copies of H x P bytes
 * leave a GPU (appendix E), but for those of its own experts, and every GPU has experts.
 */
START_TEST(any_group_has_all_experts)
{
	static const char *const configs[] = {"M1", "M2", "M3", "M4"};
	static const unsigned groups[] = {2, 4, 8, 16, 32, 48, 64, 96};
	const struct moe_config *config = moe_config_find(configs[_i / 8]);
	unsigned n = groups[_i % 8], fewest = config->experts < n ? config->experts : n;
	struct moe one = moe_of_config(config, 0, n, 128, 1, 7);
	uint64_t *bytes = calloc((size_t)n * n, sizeof(*bytes));
	double sent = 0, all = 128. * config->top_k * config->hidden * 2 * n;

	ck_assert_int_eq(moe_check(&one), 0);
	moe_round(&one, 1, bytes);
	for (unsigned dst = 0; dst < n; dst++) {
		double in = 0;

		for (unsigned src = 0; src < n; src++)
			in += (double)bytes[src * n + dst];
		ck_assert_double_gt(in, 0);
		sent += in;
	}
	ck_assert_double_ge(sent / all, 1 - 1. / fewest - .02);
	ck_assert_double_le(sent / all, 1);
	free(bytes);
}
END_TEST

/* 64 experts on 48 GPUs: one or two each; 64 on 96: one or two GPUs each. */
START_TEST(blocks_differ_by_one_at_most)
{
	struct moe one = model;
	uint64_t bytes[96 * 96];

	one.top_k = one.experts;
	one.gpus = 48;
	moe_round(&one, 0, bytes);
	for (unsigned i = 1; i < 48; i++)
		ck_assert(bytes[i] == 256u * 7168 || bytes[i] == 2 * 256u * 7168);
	one.gpus = 96;
	moe_round(&one, 0, bytes);
	for (unsigned src = 0; src < 96; src++) {
		uint64_t out = 0;

		for (unsigned dst = 0; dst < 96; dst++)
			out += bytes[src * 96 + dst];
		ck_assert(out == 64u * 256 * 7168 || out == 63u * 256 * 7168);
	}
}
END_TEST

/* Low-latency dispatch of 8 tokens (M3) among 4 GPUs: a balanced router needs room for 4 copies a
 * pair, one with popular experts for more, and one that drops for no more than that. */
START_TEST(padding_follows_the_routing)
{
	struct moe even = moe_of_config(moe_config_find("M3"), 0, 4, 8, 1, 7), uneven, drops;
	uint64_t bytes[16];

	uneven = drops = even;
	even.routing = MOE_AUX_LOSS;
	uneven.skew = drops.skew = 2;
	drops.routing = MOE_TOKEN_DROP;
	drops.capacity = 1;
	moe_pad(&even);
	moe_pad(&uneven);
	moe_pad(&drops);
	ck_assert_uint_eq(even.pad_bytes, 4u * 7168 * 2);
	ck_assert_uint_gt(uneven.pad_bytes, even.pad_bytes);
	ck_assert_uint_lt(drops.pad_bytes, uneven.pad_bytes);
	moe_round(&uneven, 5, bytes);
	for (int i = 0; i < 16; i++)
		ck_assert_uint_eq(bytes[i], i % 5 == 0 ? 0 : uneven.pad_bytes);
}
END_TEST

/* 8 tokens, 2 experts each: 64 copies among 256 experts, so that only a quarter takes one. */
START_TEST(experts_choose_among_few_tokens)
{
	struct moe one = moe_of_config(moe_config_find("M3"), 0, 4, 8, 1, 7);
	uint64_t bytes[16], sent = 0;

	one.routing = MOE_EXPERT_CHOICE;
	moe_round(&one, 1, bytes);
	for (int i = 0; i < 16; i++)
		sent += bytes[i] / (7168 * 2);
	ck_assert_uint_ge(sent, 36); /* 48 but for chance */
	ck_assert_uint_le(sent, 60);
}
END_TEST

/* Two servers of two GPUs, all experts chosen: of 12 pairs 4 are inside a server. */
START_TEST(what_stays_inside_servers)
{
	static const unsigned server[] = {0, 0, 1, 1};
	struct moe one = model;
	struct moe_spread spread;

	one.top_k = one.experts;
	one.period = 3;
	spread = moe_spread(&one, server);
	ck_assert_double_eq_tol(spread.intra_share, 4 / 12., 1e-12);
	ck_assert_double_eq(spread.bytes, 8 * 256. * 16 * 7168);
	ck_assert_double_eq_tol(spread.imbalance, 1, 1e-12);
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
	tcase_add_loop_test(tcase, any_group_has_all_experts, 0, 32);
	tcase_add_test(tcase, blocks_differ_by_one_at_most);
	tcase_add_test(tcase, padding_follows_the_routing);
	tcase_add_test(tcase, what_stays_inside_servers);
	tcase_add_test(tcase, experts_choose_among_few_tokens);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
