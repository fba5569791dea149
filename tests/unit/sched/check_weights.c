/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "weights.h"

START_TEST(reduces_exactly)
{
	static const struct {
		uint64_t bps[4];
		uint32_t w[4], sum;
	} t[] = {
		{{800000000000, 800000000000, 800000000000, 400000000000}, {2, 2, 2, 1}, 7},
		{{400, 400, 400, 400}, {1, 1, 1, 1}, 4},
		{{800, 800, 400, 0}, {2, 2, 1, 0}, 5},
		{{0, 0, 0, 5}, {0, 0, 0, 1}, 1},
		{{0, 0, 0, 0}, {0, 0, 0, 0}, 0},
		{{800000000000, 25000000000, 0, 0}, {32, 1, 0, 0}, 33},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct weights w;

		weights_from_bps(&w, t[i].bps, 4);
		ck_assert_uint_eq(w.sum, t[i].sum);
		ck_assert_mem_eq(w.w, t[i].w, sizeof(t[i].w));
	}
}
END_TEST

/* Float noise on a bandwidth must not make a period of billions, nor lose a thin plane. */
START_TEST(rounds_what_is_not_exact)
{
	uint64_t bps[3] = {799999999999, 400000000007, 1};
	struct weights w;

	weights_from_bps(&w, bps, 3);
	ck_assert_uint_le(w.sum, WEIGHTS_MAX_SUM);
	ck_assert_uint_eq(w.w[2], 1);
	ck_assert_double_eq_tol((double)w.w[0] / w.w[1], 2.0, 0.02);
}
END_TEST

START_TEST(any_input_is_bounded)
{
	srand(1);
	for (int i = 0; i < 20000; i++) {
		uint64_t bps[FARE_MAX_PLANES];
		unsigned n = 1 + (unsigned)rand() % FARE_MAX_PLANES;
		struct weights w;
		uint32_t sum = 0;

		for (unsigned p = 0; p < n; p++)
			bps[p] = rand() % 4 ? (uint64_t)rand() << (rand() % 33) : 0;
		weights_from_bps(&w, bps, n);
		for (unsigned p = 0; p < n; p++) {
			ck_assert_int_eq(w.w[p] > 0, bps[p] > 0);
			sum += w.w[p];
		}
		ck_assert_uint_eq(sum, w.sum);
		ck_assert_uint_le(sum, WEIGHTS_MAX_SUM);
	}
}
END_TEST

/* Pairs of 64 GPUs start spread over the period, not in step. */
START_TEST(phases_are_spread)
{
	unsigned bucket[8] = {0};

	for (unsigned s = 0; s < 64; s++) {
		for (unsigned d = 0; d < 64; d++) {
			struct in6_addr a = {0}, b = {0};
			double u;

			inet_pton(AF_INET6, "::ffff:198.19.0.0", &a);
			b = a;
			a.s6_addr[15] = (uint8_t)(s + 1);
			b.s6_addr[15] = (uint8_t)(d + 1);
			u = weights_phase(&a, &b);
			ck_assert(u >= 0 && u < 1);
			bucket[(int)(u * 8)]++;
		}
	}
	for (int i = 0; i < 8; i++)
		ck_assert_uint_ge(bucket[i], 64 * 64 / 8 * 9 / 10);
}
END_TEST

/*
 * However addresses are spaced: consecutive turns over all destinations of a source, and over all
 * sources of a destination.
 */
START_TEST(turns_are_consecutive_at_both_ends)
{
	for (unsigned fixed = 0; fixed < 20; fixed++) {
		bool out[41] = {false}, in[41] = {false};
		unsigned n_out = 0, n_in = 0;

		for (unsigned other = 0; other < 20; other++) {
			struct in6_addr a = {0}, b = {0};
			unsigned between = (unsigned)abs((int)fixed - (int)other) - 1;

			if (other == fixed)
				continue;
			a.s6_addr[14] = (uint8_t)(fixed * 11);
			b.s6_addr[14] = (uint8_t)(other * 11);
			out[weights_turn(&a, &b, between) + 20] = true;
			in[weights_turn(&b, &a, between) + 20] = true;
		}
		for (unsigned i = 0; i < 41; i++) {
			n_out += out[i];
			n_in += in[i];
			ck_assert(!out[i] || n_out == 1 || out[i - 1]);
			ck_assert(!in[i] || n_in == 1 || in[i - 1]);
		}
		ck_assert(n_out == 19 && n_in == 19);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("weights");
	TCase *t = tcase_create("core");
	SRunner *r;
	int failed;

	tcase_add_test(t, reduces_exactly);
	tcase_add_test(t, rounds_what_is_not_exact);
	tcase_add_test(t, any_input_is_bounded);
	tcase_add_test(t, phases_are_spread);
	tcase_add_test(t, turns_are_consecutive_at_both_ends);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
