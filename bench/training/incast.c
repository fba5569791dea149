/* SPDX-License-Identifier: BSD-2-Clause */
#include "training/incast.h"

#include <errno.h>
#include <stdlib.h>

/* A topology that these tests fit. */
#define INCAST_LAB "training-bench.yaml"

/* Of other servers than the last GPU's, and at its leaf: which queues are between them is known. */
static bool incast_sends(const struct topo *topo, unsigned gpu)
{
	return topo->gpus[gpu].server != topo->gpus[topo->n_gpus - 1].server &&
	       topo_same_leaf(topo, gpu, topo->n_gpus - 1, 0);
}

static unsigned incast_most(const struct topo *topo)
{
	unsigned n = 0;

	for (unsigned i = 0; i < topo->n_gpus; i++)
		n += incast_sends(topo, i);
	return n;
}

static bool incast_can(struct trial *t, unsigned senders, unsigned bytes)
{
	const struct topo *topo = t->fabric->topo;
	bool even = true;

	for (unsigned i = 0; i < topo->n_gpus; i++)
		even &= topo->gpus[i].plane[0].n_sub_ports == 1 &&
			topo->gpus[i].plane[0].sub_port[0].rate_bps ==
				topo->gpus[0].plane[0].sub_port[0].rate_bps;
	if (t->fabric->hosts)
		trial_missing(t, NULL, "datagrams without congestion control are for labs alone");
	else if (!even)
		trial_missing(t, NULL,
			      "a plane has several sub-ports or rates: which queue a flow meets is "
			      "chance; " INCAST_LAB " has one");
	else if (!topo->gpus[0].plane[0].sub_port[0].rate_bps)
		trial_missing(t, NULL, "links are not shaped");
	else if (senders < 2)
		trial_missing(t, NULL, "%u senders are no incast", senders);
	else if (senders > incast_most(topo) && topo->n_spines)
		trial_missing(t, NULL,
			      "%u senders: the receiver's leaf has %u, and of others uplinks are "
			      "queues, too; " INCAST_LAB " has one leaf",
			      senders, incast_most(topo));
	else if (senders > incast_most(topo) || senders > FLOOD_MOST_FLOW)
		trial_missing(t, NULL, "%u senders: the lab has %u, and %u is the most", senders,
			      incast_most(topo), FLOOD_MOST_FLOW);
	else if (bytes > flood_most_bytes(topo))
		trial_missing(t, NULL, "%u bytes: a frame of the lab has at most %u", bytes,
			      flood_most_bytes(topo));
	else
		return true;
	return false;
}

bool incast_init(struct incast *in, struct trial *t, unsigned senders, unsigned bytes)
{
	const struct topo *topo = t->fabric->topo;

	if (!incast_can(t, senders, bytes))
		return false;
	*in = (struct incast){.flood = {.topo = topo,
					.n = senders,
					.bytes = bytes,
					.seconds = t->seconds,
					.quiet_s = 0.5,
					.flow = calloc(senders, sizeof(*in->flood.flow))},
			      .bps = (double)topo->gpus[0].plane[0].sub_port[0].rate_bps,
			      .frame_bytes = flood_frame_bytes(topo, bytes)};
	if (!in->flood.flow)
		t->err = -ENOMEM;
	for (unsigned i = 0, n = 0; in->flood.flow && n < senders; i++)
		if (incast_sends(topo, i))
			in->flood.flow[n++] =
				(struct flood_flow){.from = i, .to = topo->n_gpus - 1};
	return in->flood.flow != NULL;
}

void incast_fini(struct incast *in)
{
	free(in->flood.flow);
}

int incast_flood(struct trial *t, struct flood *flood)
{
	struct cpu_times before;
	struct cpu_idle idle;
	int err = cpu_read(&before);

	if (!err)
		err = flood_run(flood);
	if (!err)
		err = cpu_idle_since(&before, &idle);
	if (!err &&
	    (t->idle.mean_percent < 0 || idle.busiest_core_percent < t->idle.busiest_core_percent))
		t->idle = idle;
	return err;
}

uint64_t incast_sent(const struct incast *in)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < in->flood.n; i++)
		sum += in->flood.flow[i].sent;
	return sum;
}

uint64_t incast_received(const struct incast *in)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < in->flood.n; i++)
		sum += in->flood.flow[i].received;
	return sum;
}
