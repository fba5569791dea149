/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpu.c - what moving bytes costs when both ends sleep whenever nothing is due.
 */
#include "inference/common.h"
#include "micro/transport/session.h"

static int run(struct trial *t)
{
	return session_goodput(t, &(struct session_how){.qps = 1, .block = true});
}

static int derive(struct rows *rows)
{
	return session_derive(rows, "transport-cpu");
}

static const struct param params[] = {
	SESSION_PARAM_METHOD("raw," SESSION_WRITES "," SESSION_READS "," SESSION_PEERS),
	PARAM("bytes", PARAM_BYTES, "", "of a message", "1M"), SESSION_PARAM_HANDOVER, LIST_END};

static const struct kpi kpis[] = {SESSION_KPI_GOODPUT, SESSION_KPI_OF_CEILING, SESSION_KPI_CPU,
				  SESSION_KPI_HANDOVER, LIST_END};

static const struct view views[] = {VIEW(VIEW_BARS,
					 "Processor time, both ends asleep while nothing is due",
					 "method", "bytes", NULL, "cpu"),
				    VIEW(VIEW_TABLE, "Processor time", "method", "bytes", NULL,
					 "cpu", "goodput", "of_ceiling", "handover"),
				    VIEWS_END};

const struct test test_transport_cpu = {
	.id = "transport-cpu",
	.name = "Processor time of moving bytes",
	.clause = "none",
	.dut = "transport",
	.summary = "One QP or connection; both ends sleep whenever nothing is due. " SESSION_REAL,
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
