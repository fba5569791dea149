/* SPDX-License-Identifier: BSD-2-Clause */
/* What a dispatch must reach on an ideal fabric, by hand. */
#include <check.h>
#include <math.h>

#include "bench/check_bench_fabric.h"
#include "fabric/optimum.h"
#include "procedure/dispatch.h"
#include "suite/kpis.h"

static const struct kpi kpis[] = {KPI_EP_LATENCY,
				  KPI_EP_BANDWIDTH,
				  KPI_VOLUME,
				  {.name = "BusBW"},
				  {.name = "inter_fraction"},
				  {.name = "parameters"},
				  {.name = "beyond_bytes"},
				  KPI_MODEL("EP_alltoall_bandwidth", "MB/s"),
				  LIST_END};
static const struct test test = {.id = "7.1", .kpis = kpis};

/* Every pair carries 1,000,000 bytes: 3 MB leave each of 4 GPUs. */
static const struct moe even = {.gpus = 4,
				.tokens = 1,
				.top_k = 1,
				.experts = 4,
				.hidden = 1,
				.element_bytes = 1,
				.pad_bytes = 1000000,
				.period = 2};

/* 8 sub-ports of 200 Mb/s: 1.6 Gb/s of wire, of which 4096 in 4168 are payload. */
START_TEST(all_to_all_takes_its_bytes_over_the_line)
{
	struct topo *topo = parsed(fabric(4));
	struct dispatch d = {.ep = 4};
	double line = 200e6 * topo_goodput_factor(topo_path_mtu(4200, false), false), ideal;

	topo->bucket_bytes = 1;
	ideal = dispatch_ideal_bytes_per_s(topo, &d, &even);
	ck_assert_double_eq_tol(ideal, 4 * line, 4 * line * 1e-6);
	/* two GPUs alone: 1 MB each way */
	d.ep = 2;
	ideal = dispatch_ideal_bytes_per_s(topo, &d,
					   &(struct moe){.gpus = 2,
							 .tokens = 1,
							 .top_k = 1,
							 .experts = 2,
							 .hidden = 1,
							 .element_bytes = 1,
							 .pad_bytes = 1000000});
	ck_assert_double_eq_tol(ideal, 2 * line, 2 * line * 1e-6);
	topo_destroy(topo);
}
END_TEST

/* Without buckets a frame takes 21 us on the second link: 4200 bytes at 200 Mb/s are 168 us. */
START_TEST(an_unloaded_fabric_has_a_latency)
{
	struct topo *topo = parsed(fabric(4)), *tiers = parsed(two_tiers());
	const struct dispatch d = {.ep = 4};
	double factor = topo_goodput_factor(topo_path_mtu(4200, false), false),
	       cut_s = 3e6 / (200e6 * factor);

	topo->bucket_bytes = tiers->bucket_bytes = 0;
	ck_assert_double_eq_tol(12e6 / dispatch_ideal_bytes_per_s(topo, &d, &even), cut_s + 168e-6,
				1e-7);
	ck_assert_double_eq_tol(12e6 / dispatch_ideal_bytes_per_s(tiers, &d, &even),
				cut_s + 3 * 168e-6, 1e-7);
	topo_destroy(topo);
	topo_destroy(tiers);
}
END_TEST

static double value(const struct trial *t, const char *kpi)
{
	for (unsigned i = 0; i < t->n_rows; i++)
		if (strcmp(t->row[i].kpi, kpi) == 0)
			return t->row[i].value;
	return NAN;
}

/* The model is of the links that there should be: rounds that take twice as long are half of it,
 * though a GPU's own waits agree with its rounds. */
START_TEST(a_fabric_at_half_its_rate_shows_a_ratio_of_half)
{
	struct topo *topo = parsed(fabric(4));
	struct fabric f = {.topo = topo};
	const struct dispatch d = {.config = "M1", .ep = 4, .modelled = true};

	topo->bucket_bytes = 1;
	for (unsigned slow = 1; slow <= 2; slow++) {
		struct trial t = {.test = &test, .strategy_name = "", .fabric = &f, .scale = 1};
		double ns = 3e6 / (200e6 * optimum_goodput_factor(topo)) * 1e9 * slow;
		struct measured_load ep = {.bps = 12e6 * 8 / (ns / 1e9)};

		hist_init(&ep.round);
		hist_init(&ep.wait);
		hist_add(&ep.round, (uint64_t)ns);
		hist_add(&ep.wait, (uint64_t)ns);
		dispatch_add(&t, &d, &even, &ep);
		ck_assert_double_eq_tol(value(&t, "model_ratio"), 1. / slow, 1e-3);
		ck_assert_double_eq_tol(value(&t, "beyond_bytes"), ns / 1e3 * (slow - 1) / slow,
					ns * 1e-6);
		ck_assert_double_eq(value(&t, "inter_fraction"), 1);
		trial_fini(&t);
	}
	topo_destroy(topo);
}
END_TEST

/* 3 MB leave each of four GPUs; with two GPUs in each of two servers, 2 of them the server. */
START_TEST(bytes_that_the_fabric_sees)
{
	struct topo *topo = parsed(fabric(4));
	struct fabric f = {.topo = topo};
	const struct dispatch d = {.ep = 4};
	struct trial t = {.test = &test, .strategy_name = "", .fabric = &f, .scale = 1};

	topo->gpus[1].server = topo->gpus[0].server;
	topo->gpus[3].server = topo->gpus[2].server;
	dispatch_add_volume(&t, &d, &even);
	ck_assert_double_eq(value(&t, "T_egress"), 3000);
	ck_assert_double_eq(value(&t, "S_fabric"), 2000);
	trial_fini(&t);
	topo_destroy(topo);
}
END_TEST

/*
 * 4 GPUs of 8,192 bytes each, a quarter of them for itself: 6,144 leave each. In 1 ms a dispatch of
 * theirs is 6.144 MB/s of a GPU, whatever the fabric's own count of its bytes is.
 */
START_TEST(busbw_by_hand)
{
	struct topo *topo = parsed(fabric(4));
	struct fabric f = {.topo = topo};
	const struct dispatch d = {.config = "M1", .ep = 4, .batch = 2};
	const struct moe moe = {.gpus = 4,
				.tokens = 2,
				.top_k = 2,
				.experts = 8,
				.hidden = 2048,
				.element_bytes = 1,
				.pad_bytes = 2048,
				.period = 2};
	struct measured_load ep = {.bps = 4 * 3 * 2048 * 8 / 1e-3};

	hist_init(&ep.round);
	hist_init(&ep.wait);
	hist_add(&ep.round, 1000000);
	for (unsigned shared = 0; shared < 2; shared++) {
		struct trial t = {.test = &test, .strategy_name = "", .fabric = &f, .scale = 1};

		if (shared) /* a server of two GPUs: what they exchange is not sent */
			topo->gpus[1].server = topo->gpus[0].server;
		dispatch_add(&t, &d, &moe, &ep);
		if (shared) {
			ck_assert_double_nan(value(&t, "BusBW"));
			ck_assert_double_nan(value(&t, "inter_fraction"));
		} else {
			ck_assert_double_eq_tol(value(&t, "BusBW"), 6.144, 1e-9);
		}
		trial_fini(&t);
	}
	topo_destroy(topo);
}
END_TEST

/* A group of one server sends nothing. */
START_TEST(a_group_of_one_server)
{
	struct topo *topo = parsed(fabric(4));
	struct fabric f = {.topo = topo};
	struct trial t = {.test = &test, .fabric = &f, .scale = 1};
	struct dispatch d = {.config = "M1", .ep = 2, .batch = 2};
	char why[128];

	ck_assert(!dispatch_cannot(&t, &d, why, sizeof(why)));
	topo->gpus[1].server = topo->gpus[0].server;
	ck_assert(dispatch_cannot(&t, &d, why, sizeof(why)));
	ck_assert_ptr_nonnull(strstr(why, "2 GPUs of one server"));
	d.ep = 3;
	ck_assert(!dispatch_cannot(&t, &d, why, sizeof(why)));
	topo_destroy(topo);
}
END_TEST

/* What M1 is stands beside its figures. */
START_TEST(parameters_are_told)
{
	struct topo *topo = parsed(fabric(4));
	struct fabric f = {.topo = topo};
	struct trial t = {.test = &test, .strategy_name = "", .fabric = &f, .scale = 1};
	struct measured_load ep = {.bps = 1};
	const struct dispatch d = {.config = "M1", .ep = 4, .batch = 2};

	hist_init(&ep.round);
	hist_init(&ep.wait);
	dispatch_add(&t, &d, &even, &ep);
	for (unsigned i = 0; i < t.n_rows; i++)
		if (strcmp(t.row[i].kpi, "parameters") == 0)
			ck_assert_str_eq(t.row[i].text,
					 "E=8, k=2, H_model=4096, P_bytes=2, N=4, B=2");
	trial_fini(&t);
	topo_destroy(topo);
}
END_TEST

/* A round is due each 10 ms from 5 ms on; measured are 100 to 200 ms: rounds 10 to 19 (105 to 195
 * ms). Of these 10 and 11 end in time, 12 does later, and no other ends at all. */
START_TEST(dispatches_that_did_not_end)
{
	uint64_t start[13] = {5000000}, end[13] = {9000000};
	struct measured_load ep = {.round_start = start, .round_end = end, .n_rounds = 13};

	end[10] = 150000000;
	end[11] = 199000000;
	end[12] = 240000000;
	ck_assert_double_eq_tol(dispatch_unfinished(&ep, .01, 100000000, 200000000), .8, 1e-12);
	ep.n_rounds = 0;
	ck_assert_double_eq(dispatch_unfinished(&ep, .01, 100000000, 200000000), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("dispatch");
	TCase *tcase = tcase_create("dispatch");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, all_to_all_takes_its_bytes_over_the_line);
	tcase_add_test(tcase, an_unloaded_fabric_has_a_latency);
	tcase_add_test(tcase, a_fabric_at_half_its_rate_shows_a_ratio_of_half);
	tcase_add_test(tcase, bytes_that_the_fabric_sees);
	tcase_add_test(tcase, busbw_by_hand);
	tcase_add_test(tcase, a_group_of_one_server);
	tcase_add_test(tcase, parameters_are_told);
	tcase_add_test(tcase, dispatches_that_did_not_end);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
