/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sharing.c - two senders to one receiver: how evenly its ports are shared.
 */

#include "core/stats.h"
#include "demo/demo.h"
#include "suite/kpis.h"
#include "suite/trial.h"

#define MESSAGE_BYTES (1u << 20)
#define DEPTH	      8
#define SENDERS	      2

/* The second sender: a GPU of another server than the receiver's, behind it; n_gpus: there is none.
 */
static unsigned second_of(const struct topo *topo, unsigned dst)
{
	unsigned gpu = dst;

	while (gpu < topo->n_gpus && topo->gpus[gpu].server == topo->gpus[dst].server)
		gpu++;
	return gpu;
}

static void sharing_add(struct trial *t, const struct measured *m, unsigned dst)
{
	double bps[SENDERS], sum = 0;

	for (unsigned i = 0; i < SENDERS; i++) {
		bps[i] = m->load[i].bps;
		sum += bps[i];
	}
	trial_value(t, "JFI", stats_jfi(bps, SENDERS), SENDERS);
	trial_value(t, "of_live", sum / fabric_line_bps(t->fabric, dst), 1);
}

static int sharing_run(struct trial *t)
{
	unsigned dst = demo_victim(t->fabric->topo), second = second_of(t->fabric->topo, dst);
	struct plan plan = {0};
	struct measured m;
	int err;

	if (second == t->fabric->topo->n_gpus) {
		trial_missing(t, NULL, "the fabric has two servers, and three are needed");
		return 0;
	}
	for (unsigned i = 0; i < SENDERS; i++) {
		struct traffic_load load = trial_load(t, i ? "second" : "first", 0);

		plan_stream(&plan, plan_load(&plan, &load), i ? second : 0, dst, DEPTH,
			    MESSAGE_BYTES);
	}
	err = trial_measure(t, &plan, NULL, NULL, &m);
	plan_fini(&plan);
	if (err)
		return err;
	sharing_add(t, &m, dst);
	measured_fini(&m);
	return 0;
}

const struct test test_transport_sharing = {
	.id = "transport-sharing",
	.name = "Two senders to one receiver",
	.clause = "FARE-in-SUN 3.1",
	.dut = "DUT-F",
	.summary = "From two servers to a third, 8 messages of 1 MB each under way, all sub-ports "
		   "up. Real: FRR, daemons, kernel routes and hashes. Emulated: links (shaped veth "
		   "pairs), switches (namespaces).",
	.needs = NEED_TWO_SERVERS,
	.trials = {5, 7, 20},
	.seconds = {1, 1, 2},
	.params = NULL,
	.kpis = KPIS(KPI_JFI, {"of_live", "", "DUT-F",
			       "goodput of both over what the receiver's sub-ports can carry",
			       BETTER_HIGHER, 0}),
	.views = VIEWS(VIEW(VIEW_BARS, "Two senders, one receiver: fairness", "strategy", NULL,
			    NULL, "JFI"),
		       VIEW(VIEW_TABLE, "Two senders, one receiver", "strategy", NULL, NULL, "JFI",
			    "of_live")),
	.run = sharing_run,
};
