/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * goodput.c - bytes from one process to another: by message size, by the number of QPs, and what
 * they cost when both ends sleep. The soft provider and the QP group beside other transports.
 */
#include "micro/transport/session.h"

static int goodput_run(struct trial *t)
{
	return session_goodput(t, &(struct session_how){.qps = 1});
}

static int run_qps(struct trial *t)
{
	return session_goodput(t, &(struct session_how){.qps = trial_count(t, "qps")});
}

static int run_cpu(struct trial *t)
{
	return session_goodput(t, &(struct session_how){.qps = 1, .block = true});
}

#define GOODPUT_METHODS "raw," SESSION_WRITES "," SESSION_READS "," SESSION_SENDS

static const struct kpi kpis[] = {SESSION_KPI_GOODPUT, SESSION_KPI_OF_CEILING, SESSION_KPI_CPU,
				  SESSION_KPI_HANDOVER, LIST_END};

const struct test test_transport_goodput = {
	.id = "transport-goodput",
	.name = "Goodput by message size",
	.summary = "One QP or connection; both ends spin. " SESSION_REAL,
	SESSION_TEST,
	.params = PARAMS(
		SESSION_PARAM_METHOD(GOODPUT_METHODS "," SESSION_PEERS),
		PARAM("bytes", PARAM_BYTES, "", "of a message", "64,1K,8K,64K,256K,1M,8M,64M"),
		SESSION_PARAM_HANDOVER),
	.kpis = kpis,
	.views = VIEWS({VIEW_FIELDS(VIEW_LINES, "Goodput by message size", "bytes", "method", NULL,
				    "goodput"),
			.log_x = true},
		       VIEW(VIEW_TABLE, "Goodput; both ends spin, a core each", "bytes", "method",
			    NULL, "goodput", "of_ceiling", "cpu", "handover")),
	.run = goodput_run,
	.derive = session_derive,
};

const struct test test_transport_qps = {
	.id = "transport-qps",
	.name = "Goodput by number of QPs",
	.summary = "Both ends spin. The ceiling, raw, has no QPs. " SESSION_REAL,
	SESSION_TEST,
	.params = PARAMS(SESSION_PARAM_METHOD(GOODPUT_METHODS),
			 PARAM("qps", PARAM_COUNT, "", "or connections", "1,4,16,64,256"),
			 PARAM("bytes", PARAM_BYTES, "", "of a message", "1M"),
			 SESSION_PARAM_HANDOVER),
	.kpis = kpis,
	.views = VIEWS({VIEW_FIELDS(VIEW_LINES, "Goodput by number of QPs or connections", "qps",
				    "method", NULL, "goodput"),
			.log_x = true},
		       VIEW(VIEW_TABLE, "Goodput; both ends spin, a core each", "qps", "method",
			    NULL, "goodput", "of_ceiling", "cpu", "handover")),
	.run = run_qps,
	.derive = session_derive,
};

const struct test test_transport_cpu = {
	.id = "transport-cpu",
	.name = "Processor time of moving bytes",
	.summary = "One QP or connection; both ends sleep whenever nothing is due. " SESSION_REAL,
	SESSION_TEST,
	.params = PARAMS(SESSION_PARAM_METHOD(GOODPUT_METHODS "," SESSION_PEERS),
			 PARAM("bytes", PARAM_BYTES, "", "of a message", "1M"),
			 SESSION_PARAM_HANDOVER),
	.kpis = kpis,
	.views = VIEWS(VIEW(VIEW_BARS, "Processor time, both ends asleep while nothing is due",
			    "method", "bytes", NULL, "cpu"),
		       VIEW(VIEW_TABLE, "Processor time", "method", "bytes", NULL, "cpu", "goodput",
			    "of_ceiling", "handover")),
	.run = run_cpu,
	.derive = session_derive,
};
