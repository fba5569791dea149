/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "procedure/service.h"
#include "suite/derive.h"
#include "suite/kpis.h"

#define TENANTS 2

/* Half of the GPUs of both pools: as many workers, half of the load of a service that has all. */
static struct serving_options tenant_service(const struct trial *t, unsigned tenant)
{
	struct serving_options o = service_usual(t);

	o.tenant = tenant;
	o.tenants = TENANTS;
	o.n_prefill /= TENANTS;
	o.n_decode /= TENANTS;
	o.per_s = service_capacity(&o) * 0.5;
	return o;
}

static void add_tenant(struct trial *t, unsigned tenant, const struct serving_options *o,
		       struct serving_result *r)
{
	const char *const names[TENANTS] = {"first", "second"};

	trial_with(t, "tenant", names[tenant]);
	service_add(t, r);
	service_model(t, "TTFT", o, r);
	trial_with(t, "tenant", NULL);
}

/* n of them at once, from number first on. */
static int serve(struct trial *t, unsigned first, unsigned n)
{
	struct serving_options o[TENANTS];
	struct serving_result *r = calloc(n, sizeof(*r));
	int err = r ? 0 : -ENOMEM;

	for (unsigned i = 0; i < n; i++)
		o[i] = tenant_service(t, first + i);
	if (!err)
		err = serving_run_all(t, o, n, NULL, NULL, r);
	for (unsigned i = 0; r && i < n; i++) {
		if (!err)
			add_tenant(t, first + i, &o[i], &r[i]);
		serving_fini(&r[i]);
	}
	free(r);
	return err;
}

static int tenants_run(struct trial *t)
{
	unsigned prefill = trial_prefill(t);
	int err;

	if (prefill < TENANTS || trial_gpus(t) - prefill < TENANTS) {
		trial_missing(t, NULL,
			      "two tenants need two GPUs in each pool: there are %u and %u",
			      prefill, trial_gpus(t) - prefill);
		return 0;
	}
	if (strcmp(trial_text(t, "tenants"), "together") == 0)
		return serve(t, 0, TENANTS);
	err = serve(t, 0, 1);
	return err ? err : serve(t, 1, 1);
}

static int tenants_penalty(struct rows *rows, const struct row *row, const char *kpi,
			   const char *name)
{
	struct row_param alone[2] = {row->param[0], row->param[1]};
	double both = derive_median(rows, "10.3", row->strategy, kpi, 2, row->param, 0.99), one;

	row_param_set(&alone[0], "tenants", "alone");
	one = derive_median(rows, "10.3", row->strategy, kpi, 2, alone, 0.99);
	if (!isfinite(both) || !isfinite(one))
		return derive_value_or(rows, row, name, NAN,
				       "alone or together, too few were measured for a P99");
	return derive_value(rows, row, name, (both - one) / one * 100);
}

static bool tenants_dispatch(const struct rows *rows, const struct row *row)
{
	struct rows_filter filter = rows_like(row);
	size_t at;

	filter.kpi = "ITL_fabric";
	at = rows_next(rows, &filter, 0);
	return at < rows_count(rows) && rows_at(rows, at)->hist;
}

static int tenants_derive(const struct test *test, struct rows *rows)
{
	struct row_param both;
	struct rows_filter filter = {
		.test = test->id, .kpi = "TTFT", .n_params = 1, .param = &both, .trial = 0};
	int err = 0;

	row_param_set(&both, "tenants", "together");
	ROWS_EACH_WHILE (!err, i, rows, &filter) {
		struct row row = *rows_at(rows, i);

		if (row.n_params != 2)
			continue;
		err = tenants_penalty(rows, &row, "TTFT", "penalty_TTFT");
		if (!err && tenants_dispatch(rows, &row))
			err = tenants_penalty(rows, &row, "ITL", "penalty_ITL");
		else if (!err)
			err = derive_value_or(rows, &row, "penalty_ITL", NAN,
					      "no step of this tenant crosses the fabric: it has "
					      "one decode GPU");
	}
	return err;
}

const struct test test_10_3 = {
	INFERENCE_CLAUSE("10.3"),
	.name = "End-to-End Latency Under Multi-Tenant Load",
	.dut = "SUT-E",
	.summary =
		"Two services, each with half of the GPUs of both pools, at half of what its "
		"prefill can compute: each alone, then both at once. What they share is the links "
		"between leaves and spines: on one tier there is nothing. A tenant with one decode "
		"GPU has no dispatch, and its ITL says nothing of the fabric. Compute emulated.",
	/* on one tier they share no link */
	.needs = NEED_TWO_SERVERS | NEED_SPINES,
	.trials = {2, 10, 20},
	.seconds = {4, 20, 60},
	.params = PARAMS(PARAM("tenants", PARAM_NAME, "",
			       "services on the fabric, each with its own GPUs", "alone,together")),
	.added = PARAMS(PARAM("tenant", PARAM_NAME, "", "whose requests", "first,second")),
	.kpis = KPIS(
		KPI_TTFT, KPI_ITL, KPI_ITL_FABRIC, KPI_E2E, KPI_OFFERED,
		{"penalty_TTFT", "%", "SUT-E", "of P99, with the other tenant", BETTER_LOWER, 0},
		{"penalty_ITL", "%", "SUT-E", "of P99, with the other tenant", BETTER_LOWER, 0},
		KPI_MODEL("TTFT", "ms")),
	.correlated = NAMES("ITL"),
	.views = VIEWS(VIEW(VIEW_BARS, "Tail TTFT alone and beside another tenant", "tenants",
			    "tenant", "strategy", "TTFT@p99"),
		       VIEW(VIEW_TABLE, "Tenants", "tenants", "tenant", "strategy", "TTFT@p99",
			    "ITL@p99", "E2E_latency@p99", "penalty_TTFT", "penalty_ITL", "model",
			    "model_ratio")),
	.run = tenants_run,
	.derive = tenants_derive,
};
