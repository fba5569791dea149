/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * goodput.c - bytes from one process to another by message size: the soft provider and the QP group
 * beside other transports.
 */
#include "inference/common.h"
#include "micro/transport/session.h"

static int run(struct trial *t)
{
	return session_goodput(t, &(struct session_how){.qps = 1});
}

static int derive(struct rows *rows)
{
	return session_derive(rows, "transport-goodput");
}

static const struct param params[] = {
	SESSION_PARAM_METHOD("raw," SESSION_WRITES "," SESSION_READS "," SESSION_PEERS),
	PARAM("bytes", PARAM_BYTES, "", "of a message", "64,1K,8K,64K,256K,1M,8M,64M"),
	SESSION_PARAM_HANDOVER, LIST_END};

static const struct kpi kpis[] = {SESSION_KPI_GOODPUT, SESSION_KPI_OF_CEILING, SESSION_KPI_CPU,
				  SESSION_KPI_HANDOVER, LIST_END};

static const struct view views[] = {
	{VIEW_FIELDS(VIEW_LINES, "Goodput by message size", "bytes", "method", NULL, "goodput"),
	 .log_x = true},
	VIEW(VIEW_TABLE, "Goodput; both ends spin, a core each", "bytes", "method", NULL, "goodput",
	     "of_ceiling", "cpu", "handover"),
	VIEWS_END};

const struct test test_transport_goodput = {
	.id = "transport-goodput",
	.name = "Goodput by message size",
	.clause = "none",
	.dut = "transport",
	.summary = "One QP or connection; both ends spin. " SESSION_REAL,
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
