/* SPDX-License-Identifier: BSD-2-Clause */
#include "procedure/dispatch.h"

#include <stdio.h>

#include "workload/model.h"

#define ROUNDS 50000

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
		snprintf(reason, size, "%u experts do not lie in equal blocks on %u GPUs",
			 config->experts, d->ep);
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
	moe->padded = d->padded;
	moe->combine = d->combine;
	ep.moe = moe;
	ep.rounds = ROUNDS;
	ep.period_s = d->period_s;
	load = plan_load(plan, &ep);
	plan_all_to_all(plan, t->fabric->topo, load, 0, d->ep, 1, moe_largest(moe, ROUNDS));
	return load;
}

/* Bytes of the first period of rounds: what leaves the busiest GPU over the mean. */
static double imbalance(const struct moe *moe)
{
	double sum[MOE_MAX_GPUS] = {0}, most = 0, all = 0;
	static uint64_t bytes[64 * 64];

	if (moe->gpus > 64)
		return 0;
	for (unsigned round = 0; round < moe->period; round++) {
		moe_round(moe, round, bytes);
		for (unsigned i = 0; i < moe->gpus * moe->gpus; i++)
			sum[i % moe->gpus] += (double)bytes[i];
	}
	for (unsigned i = 0; i < moe->gpus; i++) {
		most = sum[i] > most ? sum[i] : most;
		all += sum[i];
	}
	return all > 0 ? most / (all / moe->gpus) : 0;
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
	trial_one_way(t, "EP_alltoall_latency", &m.load[0].round);
	trial_value(t, "EP_alltoall_bandwidth", m.load[0].bps / 8e6, m.load[0].round.n);
	if (test_kpi(t->test, "GPU_idle"))
		trial_one_way_value(t, "GPU_idle", hist_mean(&m.load[0].round) / 1e3,
				    m.load[0].round.n, hist_mean(&m.load[0].round));
	if (test_kpi(t->test, "imbalance"))
		trial_value(t, "imbalance", imbalance(&moe), moe.period);
	measured_fini(&m);
	return 0;
}
