/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <string.h>

#include "core/stats.h"
#include "procedure/dispatch.h"
#include "procedure/load.h"
#include "procedure/recovery.h"
#include "suite/kpis.h"

#define KV_BYTES  (256u << 10)
#define KV_SHARE  0.8  /* of the line */
#define SMOOTH_MS 100  /* rates are means over so long */
#define WITHIN	  0.05 /* of the steady state */

static bool convergence_is_dcqcn(const struct trial *t)
{
	return strcmp(trial_text(t, "control"), "dcqcn") == 0;
}

/* Why that control has nothing to go by here; NULL: it has. */
static const char *convergence_cannot(const struct trial *t)
{
	if (!convergence_is_dcqcn(t))
		return NULL;
	if (t->fabric->hosts && hosts_inventory(t->fabric->hosts)->verbs)
		return "a device has the congestion control that it is set up with";
	if (strategy_mode(t->strategy) == FARE_MODE_KERNEL)
		return "by the kernel's routing a QP knows no device and no rate";
	return t->fabric->hosts ? NULL : fabric_cannot(t->fabric, NEED_ECN);
}

static void plan_kv(struct trial *t, struct plan *plan, double delay_s)
{
	struct traffic_load kv = trial_load(t, "kv", 0);

	kv.law = ARRIVAL_EVEN;
	kv.mean_s = KV_BYTES * 8 / (fabric_line_bps(t->fabric, 0) * KV_SHARE);
	kv.delay_s = delay_s;
	kv.options.dcqcn.is_on = convergence_is_dcqcn(t);
	load_pools(t, plan, &kv, 32, KV_BYTES);
}

static void convergence_add(struct trial *t, const struct measured *m, double delay_s)
{
	size_t n = m->n_bins, from = (size_t)((delay_s - t->warm_s) * 1e3);
	double steady[2], settled, worst = 0, prefill = trial_prefill(t);

	for (unsigned i = 0; i < 2; i++) {
		double mean = recovery_bins_mean(m->load[i].bin_bytes, n - (n - from) / 2,
						 (n - from) / 2);

		settled =
			recovery_settled_ms(m->load[i].bin_bytes, n, from, mean, SMOOTH_MS, WITHIN);
		steady[i] = mean * 8e3;
		worst = isfinite(settled) && isfinite(worst) ? fmax(worst, settled) : NAN;
	}
	load_add_settled(t, "convergence", worst, SMOOTH_MS, WITHIN);
	trial_value(t, "KV_bandwidth", steady[0] / 8e6, 1);
	trial_value(t, "EP_bandwidth", steady[1] / 8e6, 1);
	trial_value(t, "JFI", stats_jfi(steady, 2), 2);
	trial_value(t, "Packet_drop_rate", load_links(t, m, NULL).drop_ppm, 1);
	trial_model(t, "KV_bandwidth",
		    fmin(prefill * KV_SHARE, trial_gpus(t) - prefill) *
			    fabric_line_bps(t->fabric, 0) / 8e6,
		    "");
}

static int convergence_run(struct trial *t)
{
	struct dispatch d = {.config = "M4",
			     .ep = trial_gpus(t),
			     .batch = 128,
			     .stretch = trial_count(t, "stretch")};
	double delay_s = t->warm_s + t->seconds / 3;
	bool kv_first = strcmp(trial_text(t, "first"), "kv") == 0;
	const char *cannot = convergence_cannot(t);
	struct plan plan = {0};
	struct traffic_load *ep;
	struct measured m;
	struct moe moe;
	char why[128];
	int err;

	if (cannot || dispatch_cannot(t, &d, why, sizeof(why))) {
		trial_missing(t, NULL, "%s", cannot ? cannot : why);
		return 0;
	}
	plan_kv(t, &plan, kv_first ? 0 : delay_s);
	ep = &plan.load[dispatch_plan(t, &d, &plan, &moe)];
	ep->delay_s = kv_first ? delay_s : 0;
	ep->options.dcqcn.is_on = convergence_is_dcqcn(t);
	t->bins = true;
	err = load_marks_begin(t);
	if (!err)
		err = trial_measure(t, &plan, NULL, NULL, &m);
	plan_fini(&plan);
	if (err)
		return err;
	convergence_add(t, &m, delay_s);
	measured_fini(&m);
	return load_add_marks(t);
}

const struct test test_8_3 = {
	INFERENCE_CLAUSE("8.3"),
	.name = "Congestion Control Convergence for Mixed Traffic",
	.dut = "DUT-F",
	.summary = "KV transfers at 80% of the line and dispatches of M4; one joins the other. "
		   "DCQCN of the soft provider with the published parameters, intervals in "
		   "proportion to the line, and the provider's own control.",
	.needs = NEED_TWO_SERVERS,
	.trials = {2, 10, 20},
	.seconds = {3, 9, 60},
	.params = PARAMS(PARAM("first", PARAM_NAME, "",
			       "which traffic is there before the other joins", "kv,ep"),
			 PARAM("control", PARAM_NAME, "",
			       "of congestion: dcqcn, by the soft provider; own: its window, or "
			       "what a device is set up with",
			       "dcqcn,own"),
			 PARAM_STRETCH),
	.kpis = KPIS(
		{"convergence", "ms", "DUT-F", "until both rates stay within 5%", BETTER_LOWER, 0},
		{"KV_bandwidth", "MB/s", "DUT-F", "of KV transfers, steady", BETTER_NONE, 0},
		{"EP_bandwidth", "MB/s", "DUT-F", "of dispatches, steady", BETTER_NONE, 0}, KPI_JFI,
		KPI_DROPS, KPI_MARKS, KPI_PAUSES, KPI_MODEL("KV_bandwidth", "MB/s")),
	.views = VIEWS(VIEW(VIEW_TABLE, "Convergence", "first", "control", "strategy",
			    "convergence", "KV_bandwidth", "EP_bandwidth", "JFI",
			    "Packet_drop_rate", "ECN_marking_rate", "model", "model_ratio")),
	.run = convergence_run,
};
