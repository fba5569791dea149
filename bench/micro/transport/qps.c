/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qps.c - bytes from one process to another by the number of QPs or connections.
 */
#include "inference/common.h"
#include "micro/transport/session.h"

static int run(struct trial *t)
{
	return session_goodput(t, &(struct session_how){.qps = trial_count(t, "qps")});
}

static int derive(struct rows *rows)
{
	return session_derive(rows, "transport-qps");
}

static const struct param params[] = {
	SESSION_PARAM_METHOD("raw," SESSION_WRITES "," SESSION_READS),
	PARAM("qps", PARAM_COUNT, "", "or connections", "1,4,16,64,256"),
	PARAM("bytes", PARAM_BYTES, "", "of a message", "1M"), SESSION_PARAM_HANDOVER, LIST_END};

static const struct kpi kpis[] = {SESSION_KPI_GOODPUT, SESSION_KPI_OF_CEILING, SESSION_KPI_CPU,
				  SESSION_KPI_HANDOVER, LIST_END};

static const struct view views[] = {
	{VIEW_FIELDS(VIEW_LINES, "Goodput by number of QPs or connections", "qps", "method", NULL,
		     "goodput"),
	 .log_x = true},
	VIEW(VIEW_TABLE, "Goodput; both ends spin, a core each", "qps", "method", NULL, "goodput",
	     "of_ceiling", "cpu", "handover"),
	VIEWS_END};

const struct test test_transport_qps = {
	.id = "transport-qps",
	.name = "Goodput by number of QPs",
	.clause = "none",
	.dut = "transport",
	.summary = "Both ends spin. The ceiling, raw, has no QPs. " SESSION_REAL,
	.no_strategies = true,
	.no_fabric = true,
	.trials = {5, 7, 20},
	.seconds = {0.4, 0.4, 2},
	.params = params,
	.kpis = kpis,
	.views = views,
	.run = run,
	.close = session_close,
	.derive = derive,
};
