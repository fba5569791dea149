/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * latency.c - half a round trip between two processes, by several transports.
 */
#include "micro/transport/session.h"
#include "suite/trial.h"

static int latency_run(struct trial *t)
{
	static const char *const kpi[] = {"half_rtt_p50", "half_rtt_p99", "half_rtt_p999",
					  "half_rtt_max"};
	struct transport_outcome out;
	bool measured;
	int err = session_measure(t, &(struct session_how){.qps = 1, .latency = true}, &out,
				  &measured);

	if (err || !measured)
		return err;
	for (unsigned i = 0; i < 4; i++)
		trial_value(t, kpi[i], out.half_rtt_us[i], out.n);
	if (out.handover_ns >= 0)
		trial_value(t, "handover", out.handover_ns, 1);
	return 0;
}

const struct test test_transport_latency = {
	.id = "transport-latency",
	.name = "Half round trip",
	.summary = "One message at a time, there and back; both ends spin. " SESSION_REAL,
	SESSION_TEST,
	.params = PARAMS(
		SESSION_PARAM_METHOD(SESSION_PROBES "," SESSION_WRITES ",raw," SESSION_PEERS),
		PARAM("bytes", PARAM_BYTES, "", "of a message", "64"), SESSION_PARAM_HANDOVER),
	.kpis = KPIS({"half_rtt_p50", "us", "sender", "half a round trip, median of a trial",
		      BETTER_LOWER, 0},
		     {"half_rtt_p99", "us", "sender", "the same, 99 of 100", BETTER_LOWER, 0},
		     {"half_rtt_p999", "us", "sender", "the same, 999 of 1,000", BETTER_LOWER, 0},
		     {"half_rtt_max", "us", "sender", "the same, the longest", BETTER_NONE, 0},
		     SESSION_KPI_HANDOVER),
	.views = VIEWS(VIEW(VIEW_BARS, "Half round trip; both ends spin", "method", "bytes", NULL,
			    "half_rtt_p50"),
		       VIEW(VIEW_TABLE, "Half round trips", "method", "bytes", NULL, "half_rtt_p50",
			    "half_rtt_p99", "half_rtt_p999", "half_rtt_max", "handover")),
	.run = latency_run,
};
