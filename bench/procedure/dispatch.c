/* SPDX-License-Identifier: BSD-2-Clause */
#include "procedure/dispatch.h"

#include <math.h>
#include <stdio.h>

#include "workload/model.h"

bool dispatch_cannot(const struct trial *t, const struct dispatch *d, char *reason, size_t size)
{
	const struct moe_config *config = moe_config_find(d->config);
	struct moe moe;

	if (!config) {
		snprintf(reason, size, "%s is no configuration of table 7", d->config);
		return true;
	}
	moe = moe_of_config(config, 0, d->ep, d->batch, t->scale, t->seed);
	moe.routing = d->routing;
	moe.skew = d->skew;
	moe.capacity = 1;
	if (d->ep > trial_gpus(t))
		snprintf(reason, size, "the fabric has %u GPUs", trial_gpus(t));
	else if (d->ep < 2 || moe_check(&moe))
		snprintf(reason, size,
			 "%u GPUs and %u tokens: no dispatch, or more than 2 GiB of a "
			 "pair",
			 d->ep, d->batch);
	else
		return false;
	return true;
}

unsigned dispatch_plan(const struct trial *t, const struct dispatch *d, struct plan *plan,
		       struct moe *moe)
{
	struct traffic_load ep = trial_load(t, "ep", 0);
	unsigned load;

	*moe = moe_of_config(moe_config_find(d->config), 0, d->ep, d->batch, t->scale, t->seed);
	moe->routing = d->routing;
	moe->skew = d->skew;
	moe->capacity = 1;
	moe->combine = d->combine;
	if (d->padded)
		moe_pad(moe);
	ep.moe = moe;
	ep.rounds = TRAFFIC_ROUNDS;
	ep.period_s = d->period_s;
	load = plan_load(plan, &ep);
	plan_all_to_all(plan, t->fabric->topo, load, 0, d->ep, 1, moe_largest(moe, moe->period));
	return load;
}

struct moe_spread dispatch_spread(const struct trial *t, const struct dispatch *d,
				  const struct moe *moe)
{
	unsigned server[MOE_MAX_GPUS];

	for (unsigned i = 0; i < d->ep; i++)
		server[i] = t->fabric->topo->gpus[i].server;
	return moe_spread(moe, server);
}

void dispatch_add(struct trial *t, const struct dispatch *d, const struct moe *moe,
		  const struct measured_load *ep)
{
	struct moe_spread spread = dispatch_spread(t, d, moe);
	double wait_s = hist_mean(&ep->wait) / 1e9, line = 0;

	for (unsigned i = 0; i < d->ep; i++)
		line += fabric_line_bps(t->fabric, i);
	trial_one_way(t, "EP_alltoall_latency", &ep->round);
	trial_value(t, "EP_alltoall_bandwidth", ep->bps / 8e6, ep->round.n);
	if (test_kpi(t->test, "GPU_idle"))
		trial_value(t, "GPU_idle", wait_s * 1e6, ep->wait.n);
	if (test_kpi(t->test, "imbalance"))
		trial_value(t, "imbalance", spread.imbalance, moe->period);
	if (test_kpi(t->test, "intra_fraction"))
		trial_value(t, "intra_fraction", spread.intra_share, moe->period);
	if (test_kpi(t->test, "of_line"))
		trial_value(t, "of_line", ep->bps / line * 100, ep->round.n);
	if (!d->modelled)
		return;
	/* a GPU that waits for nothing but dispatches has one after the other */
	trial_model(t, "EP_alltoall_bandwidth", ep->wait.n ? spread.bytes / wait_s / 1e6 : NAN,
		    "no dispatch ended in the window");
}

int dispatch_run(struct trial *t, const struct dispatch *d)
{
	struct plan plan = {0};
	struct measured m;
	struct moe moe;
	char why[128];
	int err;

	if (dispatch_cannot(t, d, why, sizeof(why))) {
		trial_missing(t, NULL, "%s", why);
		return 0;
	}
	dispatch_plan(t, d, &plan, &moe);
	err = trial_measure(t, &plan, NULL, NULL, &m);
	plan_fini(&plan);
	if (err)
		return err;
	dispatch_add(t, d, &moe, &m.load[0]);
	measured_fini(&m);
	return 0;
}
