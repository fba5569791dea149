/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/stats.h"
#include "engine/stream.h"
#include "procedure/load.h"
#include "procedure/recovery.h"
#include "qp/soft/dcqcn.h"
#include "suite/derive.h"
#include "suite/kpis.h"
#include "training/common.h"

#define GROUPS	  PLAN_MAX_LOADS /* whose rates are seen apart: half of them join */
#define SMOOTH_MS 400		 /* the shortest mean */
#define WITHIN	  0.1
#define UNDERWAY  (128u << 10) /* of a flow: the control is to limit it, not this */
#define MESSAGES  40	       /* of a flow in a mean, at least: one more or less is no tenth */
#define JFI_PARTS 8	       /* of the time after they join */

/* Rates are never constant: each CNP lowers one, so the mean decides what stays within 10%. */
static const size_t means_ms[] = {SMOOTH_MS, 1000, 2000};

static bool is_dcqcn(const struct trial *t)
{
	return strcmp(trial_text(t, "control"), "dcqcn") == 0;
}

static struct qp_dcqcn tuning_of(const struct trial *t)
{
	return (struct qp_dcqcn){.is_on = is_dcqcn(t),
				 .g_ppb = (uint32_t)lround(trial_number(t, "g") * 1e9),
				 .timer_us = (uint32_t)lround(trial_number(t, "timer") * 1e3),
				 .counter_bytes = trial_count(t, "counter"),
				 .rai_kbps = (uint32_t)lround(trial_number(t, "rai") * 1e3)};
}

/* What the senders' QPs go by: their devices' lines are those of all sub-ports. */
static void add_used(struct trial *t)
{
	const struct qp_dcqcn tuning = tuning_of(t);
	struct dcqcn_config c = dcqcn_tuned(
		(double)t->fabric->topo->gpus[0].plane[0].sub_port[0].rate_bps, &tuning);
	char text[160];

	if (tuning.is_on)
		snprintf(
			text, sizeof(text),
			"g %.5f, timer %.3g ms, CNPs %.3g ms apart, counter %.3g MB, Rai %.3g Mb/s",
			c.g, (double)c.timer_ns / 1e6, (double)c.cnp_ns / 1e6,
			(double)c.bytes / 1e6, c.rai_bps / 1e6);
	else
		snprintf(text, sizeof(text), "none of DCQCN's");
	trial_set_text(t, "Parameters", text);
}

/* Whole messages are counted. */
static uint64_t message_bytes(const struct trial *t, unsigned flows)
{
	double share = fabric_line_bps(t->fabric, trial_gpus(t) - 1) / 8 / (2 * flows),
	       most = share * SMOOTH_MS / 1e3 / MESSAGES;

	return (uint64_t)fmin(fmax(most, 1u << 10), 64u << 10);
}

/* Bytes of a flow: of hundreds of flows no more than the line carries in a second, as all is to
 * arrive when the trial ends. */
static unsigned underway(const struct trial *t, unsigned flows)
{
	double second = fabric_line_bps(t->fabric, trial_gpus(t) - 1) / 8 / (2 * flows);

	return (unsigned)fmin(UNDERWAY, second);
}

/* Half of the groups send from the start, the others join after the delay. */
static void plan_flows(struct trial *t, struct plan *plan, unsigned flows, double delay_s)
{
	unsigned half = flows < GROUPS / 2 ? flows : GROUPS / 2, to = trial_gpus(t) - 1, from = 0;
	struct traffic_load load = trial_load(t, "flow", 0);
	uint64_t bytes = message_bytes(t, flows);
	unsigned slots = underway(t, flows) / (unsigned)bytes;

	if (slots > STREAM_MAX_SLOTS)
		slots = STREAM_MAX_SLOTS;
	if (!slots)
		slots = 1;
	load.verify_every = 16;
	load.options.dcqcn = tuning_of(t);
	for (unsigned i = 0; i < 2 * half; i++) {
		load.delay_s = i < half ? 0 : delay_s;
		plan_load(plan, &load);
		for (unsigned k = i % half; k < flows; k += half)
			plan_stream(plan, i, from++ % to, to, slots, bytes);
	}
}

/* Means of n bins from number from on; their sum. */
static double rates(const struct measured *m, size_t from, size_t n, double out[GROUPS])
{
	double sum = 0;

	for (unsigned i = 0; i < m->n_loads; i++)
		sum += out[i] = recovery_bins_mean(m->load[i].bin_bytes, from, n);
	return sum;
}

static void add_jfi_over_time(struct trial *t, const struct measured *m, size_t from)
{
	size_t part = (m->n_bins - from) / JFI_PARTS;
	double rate[GROUPS];
	char text[ROW_NAME_MAX];

	for (unsigned i = 0; i < JFI_PARTS; i++) {
		rates(m, from + i * part, part, rate);
		snprintf(text, sizeof(text), "%zu", i * part);
		trial_with(t, "after_ms", text);
		trial_value(t, "JFI_then", stats_jfi(rate, m->n_loads), m->n_loads);
		trial_with(t, "after_ms", NULL);
	}
}

static void add_settled(struct trial *t, const struct measured *m, size_t from, double fair)
{
	char text[ROW_NAME_MAX];

	for (size_t k = 0; k < sizeof(means_ms) / sizeof(means_ms[0]); k++) {
		double worst = 0;

		for (unsigned i = 0; i < m->n_loads; i++) {
			double settled = recovery_settled_ms(m->load[i].bin_bytes, m->n_bins, from,
							     fair, means_ms[k], WITHIN);

			worst = isfinite(settled) && isfinite(worst) ? fmax(worst, settled) : NAN;
		}
		snprintf(text, sizeof(text), "%zu", means_ms[k]);
		trial_with(t, "mean_ms", text);
		load_add_settled(t, is_dcqcn(t) ? "Convergence" : "Window_convergence", worst,
				 means_ms[k], WITHIN);
		trial_with(t, "mean_ms", NULL);
	}
	trial_missing(t, is_dcqcn(t) ? "Window_convergence" : "Convergence", "the control is %s",
		      is_dcqcn(t) ? "DCQCN" : "the provider's window");
}

static void convergence_add(struct trial *t, const struct measured *m, unsigned flows,
			    double delay_s)
{
	size_t n = m->n_bins, from = (size_t)((delay_s - t->warm_s) * 1e3), last = (n - from) / 2;
	double rate[GROUPS], sum = rates(m, n - last, last, rate),
			     line = fabric_line_bps(t->fabric, trial_gpus(t) - 1);

	/* of the line, not of what they share at last: half of it, evenly, is no fair share */
	add_settled(t, m, from, line / 8e3 / m->n_loads);
	add_used(t);
	trial_value(t, "JFI", stats_jfi(rate, m->n_loads), m->n_loads);
	add_jfi_over_time(t, m, from);
	trial_value(t, "Flow_rate", sum * 8e3 / (2 * flows) / 1e6, 2 * flows);
	trial_value(t, "Packet_drop_rate", load_links(t, m, NULL).drop_ppm, 1);
	trial_model(t, "Flow_rate", line / (2 * flows) / 1e6, "");
}

static int convergence_run(struct trial *t)
{
	unsigned flows = trial_count(t, "flows");
	double delay_s = t->warm_s + t->seconds / 4;
	struct plan plan = {0};
	struct qp_dcqcn tuning = tuning_of(t);
	const char *wrong = dcqcn_wrong(&tuning);
	struct measured m;
	int err;

	if (wrong) {
		trial_missing(t, NULL, "%s is out of DCQCN's range", wrong);
		return 0;
	}
	if (flows > GROUPS / 2 && flows % (GROUPS / 2)) {
		trial_missing(t, NULL, "%u flows are no multiple of the %d groups they are seen in",
			      flows, GROUPS / 2);
		return 0;
	}
	if (tuning.is_on && strategy_mode(t->strategy) == FARE_MODE_KERNEL) {
		trial_missing(t, NULL, "by the kernel's routing a QP knows no device and no rate");
		return 0;
	}
	plan_flows(t, &plan, flows, delay_s);
	t->bins = true;
	err = load_marks_begin(t);
	if (!err)
		err = trial_measure(t, &plan, NULL, NULL, &m);
	plan_fini(&plan);
	if (err)
		return err;
	convergence_add(t, &m, flows, delay_s);
	measured_fini(&m);
	return load_add_marks(t);
}

static bool is_tuning(const struct row_param *param)
{
	static const char *const names[] = {"g", "timer", "counter", "rai"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(param->name, names[i]) == 0)
			return true;
	return false;
}

/* Sensitivity: what parameters change against the published ones, of the medians. */
static int convergence_derive(const struct test *test, struct rows *rows)
{
	struct rows_filter filter = {.test = test->id, .kpi = "JFI", .trial = 0};
	int err = 0;

	ROWS_EACH_WHILE (!err, i, rows, &filter) {
		const struct row row = *rows_at(rows, i);
		struct row published = row;
		bool is_other = false;
		double own, base;

		for (unsigned p = 0; p < row.n_params; p++) {
			if (!is_tuning(&row.param[p]))
				continue;
			is_other |= strcmp(row.param[p].text, "0") != 0;
			row_param_set(&published.param[p], row.param[p].name, "0");
		}
		own = derive_median(rows, test->id, row.strategy, "JFI", row.n_params, row.param,
				    0.5);
		base = derive_median(rows, test->id, row.strategy, "JFI", row.n_params,
				     published.param, 0.5);
		if (is_other) /* also where the first trial has none, and others have */
			err = derive_value(rows, &row, "JFI_change", own - base);
	}
	return err;
}

const struct test test_t7_3 = {
	TRAINING_CLAUSE("7.3"),
	.name = "DCQCN Convergence",
	.dut = "DUT-F",
	.summary = "Flows to one GPU; as many join. DCQCN with the published parameters, intervals "
		   "in proportion to the line, and the soft provider's window beside it.",
	.needs = NEED_TWO_SERVERS | NEED_ECN,
	.trials = {1, 10, 20},
	.seconds = {12, 30, 60},
	.params = PARAMS(
		PARAM("flows", PARAM_COUNT, "", "that send at first; as many join them", "4",
		      "4,16", "4,16,64,256"),
		PARAM("control", PARAM_NAME, "",
		      "of the soft provider: DCQCN's rate, or its own window", "dcqcn,window"),
		PARAM("g", PARAM_NUMBER, "", "gain of DCQCN's alpha, up to 1; 0: 1/256", "0", "0",
		      "0,0.0625"),
		PARAM("timer", PARAM_NUMBER, "ms",
		      "between increases; 10/11 of it between CNPs; 0.01 to 10000; 0: 0.055, below "
		      "40 Gb/s longer in proportion",
		      "0", "0,5"),
		PARAM("counter", PARAM_BYTES, "bytes",
		      "sent between increases, 1000 to 1,000,000,000; 0: 10,000,000", "0"),
		PARAM("rai", PARAM_NUMBER, "Mb/s", "additive increase; 0: a thousandth of the line",
		      "0", "0", "0,0.1")),
	.added = PARAMS(PARAM("mean_ms", PARAM_NUMBER, "ms", "that a rate is the mean of"),
			PARAM("after_ms", PARAM_NUMBER, "ms", "since they joined")),
	.headline = "JFI",
	.headline_where = "control=dcqcn",
	.unlike = NAMES("control", "mean_ms"),
	.kpis = KPIS({"Convergence", "ms", "DUT-F",
		      "from when they join until the rate of each, of at most 16 groups of flows, "
		      "a mean of so many ms, stays within 10% of its share of the line, by DCQCN",
		      BETTER_LOWER, 0},
		     {"Window_convergence", "ms", "DUT-F", "the same by the provider's own window",
		      BETTER_LOWER, 0},
		     {"Parameters", "", "DUT-F", "of DCQCN, as the QPs had them", BETTER_NONE, 0},
		     KPI_JFI,
		     {"JFI_change", "", "DUT-F", "median less that with the published parameters",
		      BETTER_HIGHER, 0},
		     {"JFI_then", "", "DUT-F",
		      "of the groups, in an eighth of the time after they join", BETTER_HIGHER, 0},
		     {"Flow_rate", "Mb/s", "DUT-F",
		      "payload of a flow in the second half of that time", BETTER_NONE, 0},
		     KPI_DROPS, KPI_MARKS, KPI_PAUSES, KPI_MODEL("Flow_rate", "Mb/s")),
	.views = VIEWS(
		VIEW(VIEW_TABLE, "Convergence by what is averaged", "mean_ms", "strategy", "timer",
		     "Convergence", "Window_convergence"),
		VIEW(VIEW_TABLE, "Sensitivity to DCQCN's parameters", "timer", "g", "rai",
		     "Parameters", "JFI", "JFI_change", "ECN_marking_rate"),
		VIEW(VIEW_TABLE, "Convergence", "flows", "control", "strategy", "Parameters", "JFI",
		     "Flow_rate", "ECN_marking_rate", "Packet_drop_rate", "model", "model_ratio"),
		VIEW(VIEW_TABLE, "JFI over time", "after_ms", "control", "flows", "JFI_then")),
	.run = convergence_run,
	.derive = convergence_derive,
};
