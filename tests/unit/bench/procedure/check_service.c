/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <math.h>
#include <string.h>

#include "procedure/service.h"

#define ONE(name)                                                                                  \
	{                                                                                          \
		name, "", "", "", BETTER_NONE, 0                                                   \
	}

static const struct kpi kpis[] = {
	ONE("TPS_output"),  ONE("TPS_per_GPU"),	    ONE("TPS_input"),  ONE("Inference_Goodput"),
	ONE("KV_BW"),	    ONE("unfinished"),	    ONE("efficiency"), ONE("T_transfer"),
	ONE("TTFT_fabric"), ONE("fabric_fraction"), ONE("TTFT"),       ONE("peak_bandwidth"),
	ONE("TTFT_p99"),    {.name = NULL}};
static const struct test test = {.id = "0.1", .kpis = kpis};

static const struct row *find(const struct trial *t, const char *kpi)
{
	for (unsigned i = 0; i < t->n_rows; i++)
		if (strcmp(t->row[i].kpi, kpi) == 0)
			return &t->row[i];
	ck_abort_msg("no row %s", kpi);
	return NULL;
}

/* 59 requests of 996 tokens in 2.8 s, 10 of them preempted with 170 tokens; two GPUs decode. */
static struct serving_result served(void)
{
	struct serving_result r = {.requests = 59,
				   .transfers = 59,
				   .arrived = 59,
				   .completed = 59,
				   .good = 49,
				   .output_tokens = 996,
				   .good_tokens = 826,
				   .input_tokens = 60000,
				   .kv_bps = 40e6,
				   .largest_cache = 3e6,
				   .bucket_bytes = 1e6,
				   .fabric_requests = 59,
				   .fabric_part_s = 59 * .025,
				   .fabric_of_s = 59 * .1,
				   .line_bps = 400e6,
				   .peak_bps = 390e6,
				   .decode_gpus = 2,
				   .seconds = 2.8};
	struct hist *all[] = {&r.ttft,	   &r.itl,	    &r.e2e,	   &r.prefill,
			      &r.transfer, &r.decode_init,  &r.kv_latency, &r.itl_fabric,
			      &r.burst_ns, &r.burst_gap_ns, &r.burst_bytes};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		hist_init(all[i]);
	for (int i = 0; i < 59; i++) {
		hist_add(&r.ttft, 100000000);
		hist_add(&r.transfer, 25000000);
	}
	return r;
}

/* Tokens over the seconds in which they came: 356 a second, not 293. */
START_TEST(tokens_a_second_by_hand)
{
	struct trial t = {.test = &test, .strategy_name = ""};
	struct serving_result r = served();

	service_add(&t, &r);
	ck_assert_double_eq_tol(find(&t, "TPS_output")->value, 996 / 2.8, 1e-9);
	ck_assert_double_eq_tol(find(&t, "TPS_per_GPU")->value, 996 / 5.6, 1e-9);
	ck_assert_double_eq_tol(find(&t, "TPS_input")->value, 60000 / 2.8, 1e-9);
	ck_assert_double_eq_tol(find(&t, "Inference_Goodput")->value, 826 / 2.8, 1e-9);
	ck_assert_double_eq_tol(find(&t, "efficiency")->value, 826 / 996., 1e-9);
	ck_assert_double_eq_tol(find(&t, "KV_BW")->value, 5, 1e-9);
	ck_assert_double_eq(find(&t, "unfinished")->value, 0);
	ck_assert_double_eq_tol(find(&t, "fabric_fraction")->value, .25, .01);
	ck_assert_ptr_nonnull(find(&t, "TTFT_fabric")->hist);
	ck_assert_double_eq_tol(find(&t, "peak_bandwidth")->value, 48.75, 1e-9);
	trial_fini(&t);
}
END_TEST

/* No cache arrived, no token came: nothing that could look best, and the failure has a number. */
START_TEST(where_nothing_ends_nothing_looks_good)
{
	struct trial t = {.test = &test, .strategy_name = ""};
	struct serving_result r = served();

	r.arrived = r.output_tokens = r.good_tokens = 0;
	r.tokenless = r.requests;
	service_add(&t, &r);
	ck_assert_ptr_nonnull(
		strstr(find(&t, "T_transfer")->missing, "59 caches were sent, and none"));
	ck_assert_ptr_nonnull(find(&t, "fabric_fraction")->missing);
	ck_assert(isnan(find(&t, "fabric_fraction")->value));
	ck_assert_ptr_nonnull(strstr(find(&t, "TTFT")->missing, "none had a token"));
	ck_assert_double_eq(find(&t, "unfinished")->value, 100);
	trial_fini(&t);
}
END_TEST

/* What passes through token buckets at once says nothing of the links. */
START_TEST(buckets_are_no_links)
{
	struct trial t = {.test = &test, .strategy_name = ""};
	struct serving_result r = served();

	r.largest_cache = 331e3;
	r.peak_bps = 1228.8e6; /* 153.6 MB/s of 50 */
	service_add(&t, &r);
	ck_assert_ptr_nonnull(strstr(find(&t, "T_transfer")->missing, "331 KB"));
	ck_assert_ptr_nonnull(strstr(find(&t, "peak_bandwidth")->missing, "carry 50.0"));
	ck_assert_ptr_nonnull(find(&t, "TTFT")->hist);
	trial_fini(&t);
}
END_TEST

/* The 99th of 59 is none: 300 carry it. */
START_TEST(a_tail_takes_so_many_requests)
{
	struct trial t = {.test = &test, .strategy_name = ""};
	struct serving_result r = served();

	service_add(&t, &r);
	ck_assert_ptr_nonnull(find(&t, "TTFT_p99")->missing);
	ck_assert_str_eq(find(&t, "TTFT_p99")->missing,
			 "a trial had fewer than the 300 measurements that carry a P99");
	trial_fini(&t);
	t = (struct trial){.test = &test, .strategy_name = ""};
	for (int i = 59; i < 300; i++)
		hist_add(&r.ttft, 100000000);
	service_add(&t, &r);
	ck_assert_double_eq_tol(find(&t, "TTFT_p99")->value, 100, 2);
	ck_assert_uint_eq(find(&t, "TTFT_p99")->n, 300);
	trial_fini(&t);
}
END_TEST

/*
 * Two requests in a window of 1 s that counts from 0.2 s on, a line of 80 Mb/s, a step of 20
 * ms: the cache of 1 MB takes 100 ms, so 0.3 + 0.1 s, tokens at 0.42 to 0.60: 10. The other was
 * computed at 0.95, and is there at 1.05: none. Caches that arrived: 1 MB in 0.8 s. By their
 * law it would have been two requests' mean.
 */
START_TEST(a_model_is_of_the_requests_that_came)
{
	struct serving_came came[] = {{.3, 1e6, 0, 10}, {.95, 1e6, 1, 500}};
	const struct serving_result r = {.came = came, .n_came = 2, .warm_s = .2, .seconds = .8};
	const struct serving_options o = {.model = model_find("CFG-B"), .batch = 64};

	ck_assert_double_eq_tol(service_ideal_tokens(&o, &r, 80e6, 0), 10 / .8, 1e-9);
	ck_assert_double_eq_tol(service_ideal_kv(&r, 80e6, 0), 1e6 / .8, 1e-6);
	/* buckets pass half of a cache at once: the other one is there at 1 s, when it ends */
	ck_assert_double_eq_tol(service_ideal_kv(&r, 80e6, 0.5e6 + 1000), 2e6 / .8, 1e-6);
}
END_TEST

/* 12 of 16 look-ups hit, 2 without looking; 40 of 100 MB are sent, tokens 15/s instead of 10. */
START_TEST(what_a_router_gains_by_prefixes)
{
	struct serving_result unaware = served(), aware = served(), over = served(),
			      more = served();
	struct service_prefix gain;

	unaware.prefix_lookups = aware.prefix_lookups = 16;
	unaware.prefix_hits = 2;
	aware.prefix_hits = 12;
	unaware.sent_bytes = 100e6;
	aware.sent_bytes = 40e6;
	hist_init(&aware.ttft);
	hist_add(&aware.ttft, 70000000); /* 100 ms without */
	over.seconds = more.seconds = 2;
	over.output_tokens = 20;
	more.output_tokens = 30;
	gain = service_prefix(&unaware, &aware, &over, &more);
	ck_assert_double_eq(gain.hit_percent, 75);
	ck_assert_double_eq(gain.hit_unaware_percent, 12.5);
	ck_assert_double_eq_tol(gain.saved_percent, 60, 1e-9);
	ck_assert_double_eq_tol(gain.ttft_saved_ms, 30, 1.5);
	ck_assert_double_eq_tol(gain.tokens_more_percent, 50, 1e-9);
	aware.prefix_lookups = aware.prefix_hits = 0;
	ck_assert(isnan(service_prefix(&unaware, &aware, &over, &more).hit_percent));
}
END_TEST

/*
 * First tokens at 1.0, 1.9 | 2.1, 2.9 | 3.1 s: of 0.2 and 0.1 s before, P99 0.199; the worst of the
 * second behind 0.5. From 0.6 s on 2 tokens a ms, from 2 on 1.5: a quarter fewer.
 */
START_TEST(a_service_before_and_after_a_fault)
{
	double done[] = {1.0, 1.9, 2.1, 2.9, 3.1}, ttft[] = {.2, .1, .3, .5, .9}, tokens[4000];
	const struct serving_result r = {.n_done = 5,
					 .done_s = done,
					 .done_ttft_s = ttft,
					 .bin_tokens = tokens,
					 .n_bins = 4000,
					 .seconds = 3.4};
	struct service_change change;

	for (int i = 0; i < 4000; i++)
		tokens[i] = i < 600 ? 9 : i < 2000 ? 2 : i < 3000 ? 1.5 : 7;
	change = service_change(&r, 2);
	ck_assert_uint_eq(change.n_before, 2);
	ck_assert_uint_eq(change.n_after, 2);
	ck_assert_double_eq_tol(change.before_s, .199, 1e-9);
	ck_assert_double_eq(change.after_s, .5);
	ck_assert_double_eq_tol(change.tokens_fewer_percent, 25, 1e-9);
	ck_assert(isnan(service_change(&r, 0.5).before_s));
	ck_assert(isnan(service_change(&r, 0.5).tokens_fewer_percent));
	ck_assert(isnan(service_change(&r, 3.5).tokens_fewer_percent));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("service");
	TCase *tcase = tcase_create("service");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, tokens_a_second_by_hand);
	tcase_add_test(tcase, where_nothing_ends_nothing_looks_good);
	tcase_add_test(tcase, buckets_are_no_links);
	tcase_add_test(tcase, a_tail_takes_so_many_requests);
	tcase_add_test(tcase, a_model_is_of_the_requests_that_came);
	tcase_add_test(tcase, what_a_router_gains_by_prefixes);
	tcase_add_test(tcase, a_service_before_and_after_a_fault);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
