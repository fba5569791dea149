/* SPDX-License-Identifier: BSD-2-Clause */
#include "inference/common.h"

#include <string.h>

/* The other tenant is traffic as its service would send: its transfers and its dispatches. */
static int run(struct trial *t)
{
	struct serving_options o = usual_service(t);
	struct serving_result r;
	int err;

	o.per_s = service_capacity(&o) * 0.5;
	if (strcmp(trial_text(t, "tenants"), "two") == 0) {
		o.background = 0.5;
		o.extra_dispatch = true;
	}
	err = serving_run(t, &o, NULL, NULL, &r);
	if (!err)
		add_service(t, &r);
	serving_fini(&r);
	return err;
}

static int penalty(struct rows *rows, const struct row *row, const char *kpi, const char *name)
{
	struct row_param one = row->param[0];
	double both = kpi_median(rows, "10.3", row->strategy, kpi, 1, &row->param[0], 0.99), alone;

	row_param_set(&one, "tenants", "one");
	alone = kpi_median(rows, "10.3", row->strategy, kpi, 1, &one, 0.99);
	return derive_value(rows, row, name, (both - alone) / alone * 100);
}

static int derive(struct rows *rows)
{
	struct row_param two;
	struct rows_filter filter = {
		.test = "10.3", .kpi = "TTFT", .n_params = 1, .param = &two, .trial = 0};
	int err = 0;

	row_param_set(&two, "tenants", "two");
	for (size_t i = rows_next(rows, &filter, 0); !err && i < rows_count(rows);
	     i = rows_next(rows, &filter, i + 1)) {
		struct row row = *rows_at(rows, i);

		err = penalty(rows, &row, "TTFT", "penalty_TTFT");
		if (!err)
			err = penalty(rows, &row, "ITL", "penalty_ITL");
	}
	return err;
}

static const struct param params[] = {
	{"tenants", PARAM_NAME, "", "services on the fabric", {"one,two", NULL, NULL}}, LIST_END};

static const struct kpi kpis[] = {
	KPI_TTFT,
	KPI_ITL,
	{"penalty_TTFT", "%", "SUT-E", "of P99, with a second tenant", BETTER_LOWER, 0},
	{"penalty_ITL", "%", "SUT-E", "of P99, with a second tenant", BETTER_LOWER, 0},
	LIST_END};

static const struct view views[] = {{VIEW_BARS,
				     "Tail TTFT alone and beside another tenant",
				     "tenants",
				     "strategy",
				     NULL,
				     {"TTFT@p99"},
				     false,
				     false,
				     NULL,
				     NULL},
				    {VIEW_TABLE,
				     "Tenants",
				     "tenants",
				     "strategy",
				     NULL,
				     {"TTFT@p99", "ITL@p99", "penalty_TTFT", "penalty_ITL"},
				     false,
				     false,
				     NULL,
				     NULL},
				    VIEWS_END};

const struct test test_10_3 = {
	.id = "10.3",
	.name = "End-to-End Latency Under Multi-Tenant Load",
	.clause = DRAFT "10.3",
	.dut = "SUT-E",
	.summary =
		"A service, alone and beside a second tenant, which is played by traffic of half "
		"of the line and dispatches of its own.",
	.needs = NEED_TWO_SERVERS,
	.trials = {2, 10, 20},
	.seconds = {4, 20, 60},
	.params = params,
	.kpis = kpis,
	.views = views,
	.run = run,
	.derive = derive,
};
