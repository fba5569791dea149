/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <stdio.h>

#include "core/stats.h"
#include "procedure/anomaly.h"
#include "procedure/soak.h"
#include "suite/derive.h"
#include "training/common.h"
#include "training/sustained.h"

#define MAX_LISTED 8 /* anomalies of a KPI that are listed */

static int sustained_run(struct trial *t)
{
	int err = sustained_sample(t);

	return err > 0 ? 0 : err;
}

/* ---- anomalies ---- */

struct listing {
	char text[1024];
	size_t at;
	unsigned count;
	bool few; /* samples: of what varies none could be unusual */
};

/* Adds what of a KPI was unlike the rest, or not 0 where nothing is allowed. */
static int list_anomalies(struct listing *out, const struct rows *rows, const struct row *like,
			  const char *kpi, bool allowed)
{
	struct anomaly found[MAX_LISTED];
	struct soak_series s;
	int err = soak_series(rows, like, kpi, &s);
	double end_s = /* the last sample is as long as the one before */
		s.n > 1 ? 2 * s.at_s[s.n - 1] - s.at_s[s.n - 2] : 0;
	size_t n = err ? 0
		       : anomaly_find(s.at_s, end_s, s.value, s.n,
				      allowed ? anomaly_usual(s.value, s.n)
					      : (struct anomaly_band){0, 0},
				      found, MAX_LISTED);

	for (size_t i = 0; i < n && i < MAX_LISTED && out->at < sizeof(out->text); i++)
		out->at += (size_t)snprintf(out->text + out->at, sizeof(out->text) - out->at,
					    "%s%.0f s, for %.0f s: %s %.4g", out->at ? "; " : "",
					    found[i].at_s, found[i].lasted_s, kpi, found[i].value);
	out->count += (unsigned)n;
	out->few |= allowed && s.n && s.n < ANOMALY_LEAST_SAMPLES;
	soak_series_fini(&s);
	return err;
}

static int add_anomalies(struct rows *rows, const struct row *like)
{
	static const struct {
		const char *kpi;
		bool allowed;
	} watched[] = {{"Daemons_ended", false}, {"Link_transitions", false},
		       {"Links_unused", false},	 {"Packet_drop_rate", false},
		       {"JCT_ratio", true},	 {"BusBW", true},
		       {"BusBW_alltoall", true}, {"CPU", true},
		       {"Memory", true}};
	struct listing l = {.text = "none"};
	struct row row = *like;
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(watched) / sizeof(watched[0]); i++)
		err = list_anomalies(&l, rows, like, watched[i].kpi, watched[i].allowed);
	if (err)
		return err;
	if (l.few && l.at < sizeof(l.text))
		snprintf(l.text + l.at, sizeof(l.text) - l.at,
			 "%stoo few samples to judge times, rates, CPU and memory",
			 l.at ? "; " : "");
	snprintf(row.kpi, sizeof(row.kpi), "Anomalies");
	row.trial = DERIVED_TRIAL;
	row.value = NAN;
	row.n = 1;
	row.text = l.text;
	err = rows_add(rows, &row);
	return err ? err : derive_value(rows, like, "Anomaly_count", l.count);
}

static int add_spread(struct rows *rows, const struct row *like, const struct soak_series *s,
		      const char *name)
{
	struct stats_summary summary;
	int err = stats_summarise(s->value, s->n, &summary);

	if (!err)
		err = derive_value(rows, like, name, stats_cv(s->value, s->n) * summary.mean);
	if (!err)
		err = derive_value(rows, like, "Duration", s->at_s[s->n - 1] / 3600);
	return err ? err : add_anomalies(rows, like);
}

static int sustained_derive(const struct test *test, struct rows *rows)
{
	return soak_derive(rows, test->id, "JCT_ratio", add_spread, "JCT_ratio_std");
}

/* ---- declarations ---- */

const struct test test_t12_1 = {
	TRAINING_CLAUSE("12.1"),
	.name = "24-Hour Sustained Load",
	.dut = "DUT-F",
	.summary = "An all-reduce and an all-to-all in turn, a sample each time; 24 h in profile "
		   "draft. To start MPI and to read counters takes seconds in which nothing is "
		   "sent (Load_share). What no sample may have, and what is unlike the others, is "
		   "listed.",
	.needs = NEED_TWO_SERVERS,
	.strategies = mpi_strategies,
	.trials = {4, 60, 1440},
	.seconds = {1, 20, 60},
	.params = PARAMS(SUSTAINED_PARAMS),
	.kpis = KPIS(SUSTAINED_KPIS,
		     {"JCT_ratio_std", "", "SUT-E", "standard deviation of it over the run",
		      BETTER_LOWER, 0},
		     {"Duration", "h", "", "until the last sample began; the draft asks for 24 h",
		      BETTER_NONE, 0},
		     {"Anomalies", "", "", "when, for how long, and what was unlike the rest",
		      BETTER_NONE, 0},
		     {"Anomaly_count", "", "", "how many", BETTER_LOWER, 0}),
	.views = VIEWS(
		VIEW(VIEW_TREND, "JCT ratio over time", "at_s", "strategy", NULL, "JCT_ratio"),
		VIEW(VIEW_TREND, "Bus bandwidth over time", "at_s", "strategy", NULL, "BusBW",
		     "BusBW_alltoall"),
		VIEW(VIEW_TREND, "Marked packets over time", "at_s", "strategy", NULL,
		     "ECN_marking_rate"),
		VIEW(VIEW_TREND, "Pause frames over time", "at_s", "strategy", NULL,
		     "PFC_frame_count"),
		VIEW(VIEW_TREND, "Processors over time", "at_s", "strategy", NULL, "CPU"),
		VIEW(VIEW_TREND, "Memory over time", "at_s", "strategy", NULL, "Memory"),
		VIEW(VIEW_TABLE, "Section 4 of the draft", "strategy", NULL, NULL, "JCT",
		     "JCT_alltoall", "Aggregate_throughput", "Latency@p99", "Latency@p99.9",
		     "Queue_depth@p95", "Queue_depth@max", "MMR", "JFI", "PFC_pause",
		     "Daemons_ended", "Counter_wraps"),
		VIEW(VIEW_TABLE, "Balance of links", "strategy", NULL, NULL, "MMR", "JFI",
		     "Sub_port_MMR", "Sub_port_JFI", "Link_utilization_max", "Link_utilization_min",
		     "Link_utilization_mean", "Links_unused"),
		VIEW(VIEW_TABLE, "Samples", "strategy", NULL, NULL, "Duration", "Load_share",
		     "JCT_ratio", "JCT_ratio_std", "BusBW", "BusBW_alltoall", "Packet_drop_rate",
		     "Link_utilization_mean", "Links_unused", "Link_transitions", "Anomaly_count",
		     "Anomalies")),
	.run = sustained_run,
	.derive = sustained_derive,
};
