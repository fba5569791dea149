/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a run of a service met its objectives, what kept it, and the rate that all are given. */
#include <check.h>
#include <string.h>

#include "procedure/bound.h"

static struct serving_result r;

/* n requests of a TTFT in ms, tokens of an ITL in ms. */
static void served(unsigned n, double ttft_ms, double itl_ms)
{
	struct hist *all[] = {&r.ttft,	   &r.itl,	   &r.prefill,
			      &r.transfer, &r.decode_init, &r.itl_fabric};

	memset(&r, 0, sizeof(r));
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		hist_init(all[i]);
	r.requests = n;
	for (unsigned i = 0; i < n; i++)
		hist_add(&r.ttft, (uint64_t)(ttft_ms * 1e6));
	for (unsigned i = 0; i < 400; i++)
		hist_add(&r.itl, (uint64_t)(itl_ms * 1e6));
}

static const char *judged(void)
{
	return bound_text(bound_judge(&r, 500, 50));
}

/* One request of 50 ms held 1.6 req/s: it cannot. */
START_TEST(few_requests_judge_nothing)
{
	served(1, 50, 20);
	ck_assert_str_eq(judged(), "too few requests");
	ck_assert(!bound_is_met(bound_judge(&r, 500, 50)));
	served(BOUND_REQUESTS - 1, 50, 20);
	ck_assert_str_eq(judged(), "too few requests");
	served(BOUND_REQUESTS, 50, 20);
	ck_assert_str_eq(judged(), "met");
	ck_assert(bound_is_met(bound_judge(&r, 500, 50)));
	r.tokenless = 1;
	ck_assert_str_eq(judged(), "requests without a token");
}
END_TEST

/* 50.07 ms lies in [49.81, 50.33): that it is more than 50 cannot be seen. 51 can. */
START_TEST(a_bucket_hides_what_is_within_it)
{
	served(40, 487, 50.07);
	ck_assert_double_lt((double)hist_floor(50070000), 50e6);
	ck_assert_str_eq(judged(), "met");
	served(40, 487, 51);
	ck_assert_str_eq(judged(), "ITL exceeded");
	served(40, 612, 20);
	ck_assert_str_eq(judged(), "TTFT exceeded");
	served(40, 612, 60);
	ck_assert_str_eq(judged(), "TTFT and ITL exceeded");
}
END_TEST

/* 38 of 462 ms, and the two largest 490 and 521: the P99 of 40 is rank 38.61, between them, 509. */
START_TEST(what_is_judged_is_next_to_the_largest)
{
	served(38, 462, 20);
	hist_add(&r.ttft, 490000000);
	hist_add(&r.ttft, 521000000);
	r.requests = 40;
	ck_assert_double_eq_tol(bound_p99_ms(&r.ttft), 490 + .61 * 31, 5);
	ck_assert_str_eq(judged(), "TTFT exceeded");
}
END_TEST

/* 400 of 612 ms wait for prefill, or for the transfer; dispatches of 35 of 60 ms, or of 5. */
START_TEST(what_limits_is_the_largest_part)
{
	served(40, 612, 20);
	ck_assert_str_eq(bound_limit(&r, bound_judge(&r, 500, 50)), "");
	hist_add(&r.prefill, 400000000);
	hist_add(&r.transfer, 180000000);
	hist_add(&r.decode_init, 32000000);
	ck_assert_str_eq(bound_limit(&r, bound_judge(&r, 500, 50)), "TTFT: prefill and its queue");
	hist_add(&r.transfer, 900000000);
	ck_assert_str_eq(bound_limit(&r, bound_judge(&r, 500, 50)), "TTFT: transfer (fabric)");
	served(40, 100, 60);
	hist_add(&r.itl_fabric, 5000000);
	ck_assert_str_eq(bound_limit(&r, bound_judge(&r, 500, 50)), "ITL: compute of a step");
	hist_init(&r.itl_fabric);
	hist_add(&r.itl_fabric, 35000000);
	ck_assert_str_eq(bound_limit(&r, bound_judge(&r, 500, 50)), "ITL: dispatch (fabric)");
	served(40, 100, 20);
	ck_assert_str_eq(bound_limit(&r, bound_judge(&r, 500, 50)), "");
}
END_TEST

/* Latencies of 6 s count for 4.2: 40 requests are 9.5 a second. */
START_TEST(the_floor_has_requests_enough)
{
	ck_assert_double_eq_tol(bound_floor(6), 40 / 4.2, 1e-9);
	ck_assert_double_lt(bound_floor(60), 1); /* from 1 req/s on, as the draft has it */
}
END_TEST

static void found(struct rows *rows, const char *strategy, double per_s)
{
	struct row row = {.test = "11.1", .kpi = "Request_Rate", .value = per_s, .n = 1};

	strcpy(row.strategy, strategy);
	ck_assert_int_eq(rows_add(rows, &row), 0);
}

/* Services are compared at one load: 17.2 and 15.6 found, none by ecmp-flow. */
START_TEST(all_strategies_have_one_load)
{
	struct row none = {.test = "11.1",
			   .strategy = "ecmp-flow",
			   .kpi = "Request_Rate",
			   .missing = (char[]){"no bound"}};
	struct rows *rows;
	double per_s;

	ck_assert_int_eq(rows_open(&rows, NULL), 0);
	ck_assert(!bound_common(rows, false, &per_s));
	ck_assert_int_eq(rows_add(rows, &none), 0);
	ck_assert(!bound_common(rows, false, &per_s));
	found(rows, "fare-spray", 17.2);
	found(rows, "ecmp-stripe", 15.6);
	ck_assert(bound_common(rows, false, &per_s));
	ck_assert_double_eq(per_s, 15.6);
	ck_assert(bound_common(rows, true, &per_s));
	ck_assert_double_eq(per_s, 17.2);
	rows_close(rows);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bound");
	TCase *tcase = tcase_create("bound");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, few_requests_judge_nothing);
	tcase_add_test(tcase, a_bucket_hides_what_is_within_it);
	tcase_add_test(tcase, what_is_judged_is_next_to_the_largest);
	tcase_add_test(tcase, what_limits_is_the_largest_part);
	tcase_add_test(tcase, the_floor_has_requests_enough);
	tcase_add_test(tcase, all_strategies_have_one_load);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
