/* SPDX-License-Identifier: BSD-2-Clause */
#include "procedure/dispatch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fabric/optimum.h"
#include "procedure/load.h"
#include "workload/model.h"

static struct moe dispatch_moe(const struct trial *t, const struct dispatch *d,
			       const struct moe_config *config)
{
	struct moe moe = moe_of_config(config, 0, d->ep, d->batch,
				       t->scale / (d->stretch ? d->stretch : 1), t->seed);

	moe.routing = d->routing;
	moe.skew = d->skew;
	moe.capacity = 1;
	moe.combine = d->combine;
	return moe;
}

static bool dispatch_is_inside(const struct topo *topo, unsigned ep)
{
	unsigned i = 1;

	while (i < ep && topo->gpus[i].server == topo->gpus[0].server)
		i++;
	return i >= ep;
}

bool dispatch_cannot(const struct trial *t, const struct dispatch *d, char *reason, size_t size)
{
	const struct moe_config *config = moe_config_find(d->config);
	struct moe moe;

	if (!config) {
		snprintf(reason, size, "%s is no configuration of table 7", d->config);
		return true;
	}
	moe = dispatch_moe(t, d, config);
	if (d->ep > trial_gpus(t))
		snprintf(reason, size, "the fabric has %u GPUs", trial_gpus(t));
	else if (d->ep < 2 || moe_check(&moe))
		snprintf(reason, size,
			 "%u GPUs and %u tokens: no dispatch, or more than 2 GiB of a pair", d->ep,
			 d->batch);
	else if (dispatch_is_inside(t->fabric->topo, d->ep))
		snprintf(reason, size,
			 "%u GPUs of one server: nothing crosses the fabric, and they have no "
			 "interconnect here",
			 d->ep);
	else
		return false;
	return true;
}

/*
 * In a lab bytes are divided by the scale, and so is what libfare posts at once: a packet (it is
 * cut to no less). A chunk of 50 KB takes 16 ms of a link of 25 Mb/s, and a dispatch is shorter.
 * On hosts: libfare's choice.
 */
static uint32_t dispatch_chunk(const struct trial *t)
{
	return t->scale > 1 && !t->fabric->hosts ? 1 : 0;
}

unsigned dispatch_plan(const struct trial *t, const struct dispatch *d, struct plan *plan,
		       struct moe *moe)
{
	struct traffic_load ep = trial_load(t, "ep", d->qps);
	unsigned load;

	*moe = dispatch_moe(t, d, moe_config_find(d->config));
	if (d->padded)
		moe_pad(moe);
	ep.moe = moe;
	ep.options.chunk_bytes = dispatch_chunk(t);
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

/* One frame more on every link behind the first: of links that nothing shapes. Buckets of labs pass
 * a frame at once. */
static double dispatch_unloaded_s(const struct topo *topo)
{
	unsigned links = topo->n_spines ? 4 : 2;

	if (topo->bucket_bytes)
		return 0;
	return (links - 1) * 8. * topo->mtu_bytes /
	       (double)topo->gpus[0].plane[0].sub_port[0].rate_bps;
}

/* What crosses the fabric in a round, between all its GPUs. */
static double dispatch_matrix(const struct topo *topo, const struct dispatch *d,
			      const struct moe *moe, uint64_t round, uint64_t *drawn,
			      uint64_t *bytes)
{
	double sum = 0;

	moe_round(moe, round, drawn);
	for (unsigned src = 0; src < d->ep; src++)
		for (unsigned dst = 0; dst < d->ep; dst++) {
			uint64_t pair = topo->gpus[src].server == topo->gpus[dst].server
						? 0
						: drawn[(size_t)src * d->ep + dst];

			bytes[(size_t)src * topo->n_gpus + dst] = pair;
			sum += (double)pair;
		}
	return sum;
}

double dispatch_ideal_bytes_per_s(const struct topo *topo, const struct dispatch *d,
				  const struct moe *moe)
{
	uint64_t *drawn = calloc((size_t)d->ep * d->ep, sizeof(*drawn)),
		 *bytes = calloc((size_t)topo->n_gpus * topo->n_gpus, sizeof(*bytes));
	double factor = optimum_goodput_factor(topo), sum = 0, seconds = 0;

	for (uint64_t r = 0; drawn && bytes && r < (moe->period ? moe->period : 1); r++) {
		sum += dispatch_matrix(topo, d, moe, r, drawn, bytes);
		/* a round begins when the one before has ended everywhere */
		seconds += optimum_all_to_all_s(topo, bytes) / factor + dispatch_unloaded_s(topo);
	}
	free(drawn);
	free(bytes);
	return sum / seconds;
}

double dispatch_unfinished(const struct measured_load *ep, double period_s, uint64_t from_ns,
			   uint64_t to_ns)
{
	double period_ns = period_s * 1e9, first, due = 0, ended = 0;

	if (!ep->n_rounds)
		return 1;
	first = (double)ep->round_start[0];
	for (uint64_t r = 0; first + (double)r * period_ns < (double)to_ns; r++) {
		if (first + (double)r * period_ns < (double)from_ns)
			continue;
		due++;
		ended += r < ep->n_rounds && ep->round_end[r] < to_ns;
	}
	return due > 0 ? 1 - ended / due : NAN;
}

void dispatch_add_volume(struct trial *t, const struct dispatch *d, const struct moe *moe)
{
	struct moe_spread spread = dispatch_spread(t, d, moe);

	trial_value_asked(t, "T_egress", spread.egress / d->ep / 1e3, moe->period);
	trial_value_asked(t, "S_fabric", spread.bytes / d->ep / 1e3, moe->period);
}

/* Of the terminology draft, MB/s: bytes x (n - 1) / n over the time of a round; bytes are all of a
 * GPU, with those that stay on it. */
static double dispatch_busbw(const struct dispatch *d, const struct moe *moe,
			     const struct moe_spread *spread, const struct measured_load *ep)
{
	double round_s = spread->bytes * 8 / ep->bps,
	       bytes = (double)moe->tokens * moe->top_k * moe->hidden * moe->element_bytes;

	return bytes * (d->ep - 1) / d->ep / round_s / 1e6;
}

/* What would count an interconnect inside servers, too. */
static void dispatch_add_whole(struct trial *t, const char *kpi, const struct moe_spread *spread,
			       double value, uint64_t n)
{
	if (spread->intra_share > 0)
		trial_missing(t, kpi,
			      "GPUs of one server have no interconnect here: %.0f%% of the bytes, "
			      "which it would carry, are not sent",
			      spread->intra_share * 100);
	else
		trial_value_asked(t, kpi, value, n);
}

static void dispatch_add_config(struct trial *t, const struct dispatch *d)
{
	const struct moe_config *config = moe_config_find(d->config);
	char text[96];

	snprintf(text, sizeof(text), "E=%u, k=%u, H_model=%u, P_bytes=2, N=%u, B=%u",
		 config->experts, config->top_k, config->hidden, d->ep, d->batch);
	trial_set_text(t, "parameters", text);
}

/* How full the links were, and what queues dropped. */
static void dispatch_add_links(struct trial *t, const struct measured *m)
{
	struct load_links use = load_links(t, m, NULL);

	if (use.n)
		trial_value(t, "Link_utilization_max", use.max * 100, use.n);
	else
		trial_missing(t, "Link_utilization_max", "no counter of the links can be read");
	trial_value(t, "Packet_drop_rate", use.drop_ppm, 1);
}

void dispatch_add(struct trial *t, const struct dispatch *d, const struct moe *moe,
		  const struct measured_load *ep)
{
	struct moe_spread spread = dispatch_spread(t, d, moe);
	double wait_s = hist_mean(&ep->wait) / 1e9, line = 0, ideal;

	for (unsigned i = 0; i < d->ep; i++)
		line += fabric_line_bps(t->fabric, i);
	trial_one_way(t, "EP_alltoall_latency", &ep->round);
	trial_value(t, "EP_alltoall_bandwidth", ep->bps / 8e6, ep->round.n);
	trial_value_asked(t, "GPU_idle", wait_s * 1e6, ep->wait.n);
	trial_value_asked(t, "imbalance", spread.imbalance, moe->period);
	trial_value_asked(t, "intra_fraction", spread.intra_share, moe->period);
	trial_value_asked(t, "of_line", ep->bps / line * 100, ep->round.n);
	dispatch_add_whole(t, "BusBW", &spread, dispatch_busbw(d, moe, &spread, ep), ep->round.n);
	dispatch_add_whole(t, "inter_fraction", &spread, 1, 1);
	trial_value_asked(t, "QPs", d->qps, 1);
	if (test_kpi(t->test, "parameters"))
		dispatch_add_config(t, d);
	dispatch_add_volume(t, d, moe);
	if (!d->modelled)
		return;
	ideal = dispatch_ideal_bytes_per_s(t->fabric->topo, d, moe);
	trial_value_asked(t, "beyond_bytes",
			  hist_mean(&ep->round) / 1e3 - spread.bytes / ideal * 1e6, ep->round.n);
	trial_model(t, "EP_alltoall_bandwidth", ideal / 1e6,
		    "no pair of this dispatch crosses the fabric");
}

int dispatch_run(struct trial *t, const struct dispatch *d)
{
	bool congestion = test_kpi(t->test, "Link_utilization_max");
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
	err = congestion ? load_marks_begin(t) : 0;
	if (!err)
		err = trial_measure(t, &plan, NULL, NULL, &m);
	plan_fini(&plan);
	if (err)
		return err;
	dispatch_add(t, d, &moe, &m.load[0]);
	if (congestion)
		dispatch_add_links(t, &m);
	measured_fini(&m);
	return congestion ? load_add_marks(t) : 0;
}
