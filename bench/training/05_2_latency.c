/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <string.h>

#include "fabric/optimum.h"
#include "procedure/ideal.h"
#include "suite/derive.h"
#include "suite/kpis.h"
#include "training/common.h"

/* Of the load: messages that are timed do not meet each other, and a trial of profile quick has the
 * six that carry a median. */
#define TAGGED_SHARE 0.05

/* What T5.1 found of the same parameters, which follow the load; NaN: it was not measured. */
static double full_bps(const struct trial *t)
{
	return derive_median(t->rows, "T5.1", t->strategy_name, "Throughput", t->n_params - 1,
			     t->param + 1, 0.5) *
	       1e9;
}

static void one_direction_add(struct trial *t, const struct hist *h)
{
	double typical_ns = h->n ? hist_quantile(h, 0.5) : 0;

	trial_one_way(t, "One_direction", h);
	if (!h->n) {
		trial_missing(t, "One_direction_min", "no message arrived");
		trial_missing(t, "One_direction_mean", "no message arrived");
		return;
	}
	trial_one_way_value(t, "One_direction_min", (double)h->min / 1e3, h->n, typical_ns);
	trial_one_way_value(t, "One_direction_mean", hist_mean(h) / 1e3, h->n, typical_ns);
}

static int latency_measure(struct trial *t, double load_bps)
{
	double size = trial_number(t, "size"),
	       line = fabric_pair_bps(t->fabric, 0, trial_gpus(t) - 1),
	       bucket = optimum_bucket_bytes(t->fabric->topo, 0), us;
	struct traffic_load tagged = trial_load(t, "tagged", 0),
			    other = trial_load(t, "load", trial_count(t, "qps"));
	struct plan plan = {0};
	struct measured m;
	int err;

	tagged.law = ARRIVAL_EVEN;
	tagged.mean_s = size * 8 / (TAGGED_SHARE * (load_bps > 0 ? load_bps : line));
	plan_stream(&plan, plan_load(&plan, &tagged), 0, trial_gpus(t) - 1, 4, (uint64_t)size);
	if (load_bps > 0) {
		other.law = ARRIVAL_EVEN;
		other.mean_s = size * 8 / (load_bps * (1 - TAGGED_SHARE));
		other.verify_every = 16;
		plan_stream(&plan, plan_load(&plan, &other), 0, trial_gpus(t) - 1, 16,
			    (uint64_t)size);
	}
	err = trial_measure(t, &plan, NULL, NULL, &m);
	plan_fini(&plan);
	if (err)
		return err;
	one_direction_add(t, &m.load[0].delivered);
	trial_hist(t, "Round_trip", &m.load[0].completed);
	trial_value(t, "Round_trip_min", (double)m.load[0].completed.min / 1e3,
		    m.load[0].completed.n);
	trial_value(t, "Round_trip_mean", hist_mean(&m.load[0].completed) / 1e3,
		    m.load[0].completed.n);
	us = load_bps > 0 ? 0 : ideal_transfer_s(size, line, bucket) * 1e6;
	trial_model(
		t, "One_direction", us > 0 ? us : NAN,
		load_bps > 0
			? "no closed form of a loaded fabric"
			: "a paced message of this size passes through the token buckets at once");
	measured_fini(&m);
	return 0;
}

static int rtt_run(struct trial *t)
{
	bool full = strcmp(trial_text(t, "load"), "full") == 0;
	double bps = full ? full_bps(t) : 0;

	if (trial_count(t, "pairs") != 1 || strcmp(trial_text(t, "direction"), "one") != 0) {
		trial_missing(t, NULL, "the load is of one pair and one direction");
		return 0;
	}
	if (isfinite(bps))
		return latency_measure(t, bps);
	trial_missing(t, NULL, "T5.1 did not find a rate of this size in this run");
	return 0;
}

/* How much longer the mean is under load: means need fewer messages than medians. */
static int latency_derive(const struct test *test, struct rows *rows)
{
	static const char kpi[] = "Round_trip_mean";
	struct rows_filter filter = {.test = test->id, .kpi = kpi, .trial = 0};
	int err = 0;

	ROWS_EACH_WHILE (!err, i, rows, &filter) {
		const struct row row = *rows_at(rows, i);
		struct row_param none[ROWS_MAX_PARAMS];

		memcpy(none, row.param, sizeof(none));
		if (strcmp(none[0].text, "full") != 0 || row_param_set(&none[0], "load", "none"))
			continue;
		err = derive_value_or(rows, &row, "Loaded_factor",
				      derive_median(rows, test->id, row.strategy, kpi, row.n_params,
						    row.param, 0.5) /
					      derive_median(rows, test->id, row.strategy, kpi,
							    row.n_params, none, 0.5),
				      "no round trip without load, or under it, was measured");
	}
	return err;
}

const struct test test_t5_2 = {
	TRAINING_CLAUSE("5.2"),
	.name = "Latency",
	.dut = "DUT-F",
	.summary = "Writes of a pair at 5% of the load are timed, alone and at the rate that T5.1 "
		   "found in the same run. Both ends of a lab read one clock.",
	.headline = "Round_trip@p99",
	.headline_where = "load=none",
	.unlike = NAMES("load"),
	.needs = NEED_TWO_SERVERS,
	.trials = {1, 5, 20},
	.seconds = {2, 10, 120},
	.params = PARAMS(
		PARAM("load", PARAM_NAME, "",
		      "beside the messages that are timed: none, or T5.1's rate, which each "
		      "strategy has of its own",
		      "none,full"),
		PARAM("size", PARAM_BYTES, "bytes", "of a message", "64K", "1K,4K,64K,1M",
		      "64,256,1K,4K,64K,256K,1M,4M"),
		PARAM("qps", PARAM_COUNT, "", "QPs of the load", "8", "8,16,32", "1,4,16,32"),
		PARAM("pairs", PARAM_COUNT, "", "of hosts", "1"),
		PARAM("direction", PARAM_NAME, "", "of the writes", "one")),
	.kpis = KPIS({"One_direction", "us", "DUT-F",
		      "from when a message was due until its receiver was notified", BETTER_LOWER,
		      1e-3},
		     {"One_direction_min", "us", "DUT-F", "the shortest", BETTER_LOWER, 0},
		     {"One_direction_mean", "us", "DUT-F", "of a trial", BETTER_LOWER, 0},
		     {"Round_trip", "us", "DUT-F", "until the sender had its acknowledgement",
		      BETTER_LOWER, 1e-3},
		     {"Round_trip_min", "us", "DUT-F", "the shortest", BETTER_LOWER, 0},
		     {"Round_trip_mean", "us", "DUT-F", "of a trial", BETTER_LOWER, 0},
		     {"Loaded_factor", "", "DUT-F", "mean round trip under load over that without",
		      BETTER_LOWER, 0},
		     KPI_MODEL("One_direction", "us")),
	.views =
		VIEWS(VIEW(VIEW_TABLE, "Round trip by size", "size", "load", "strategy",
			   "Round_trip_min", "Round_trip_mean", "Round_trip@p50", "Round_trip@p95",
			   "Round_trip@p99", "Round_trip@p99.9", "Round_trip@max", "Loaded_factor"),
		      VIEW(VIEW_TABLE, "One direction by size", "size", "load", "strategy",
			   "One_direction_min", "One_direction_mean", "One_direction@p50",
			   "One_direction@p95", "One_direction@p99", "One_direction@p99.9",
			   "One_direction@max", "model", "model_ratio"),
		      {VIEW_FIELDS(VIEW_CDF, "Distribution of the round trip", "load", "strategy",
				   "size", "Round_trip"),
		       .log_x = true}),
	.run = rtt_run,
	.derive = latency_derive,
};
