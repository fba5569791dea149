/* SPDX-License-Identifier: BSD-2-Clause */
#include "training/sustained.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fabric/class_probe.h"
#include "fabric/leaf_load.h"
#include "fabric/pauses.h"
#include "procedure/load.h"
#include "procedure/soak.h"
#include "procedure/uplinks.h"
#include "training/lab_changes.h"
#include "training/links.h"

#define PROBES	       8
#define PROBE_NS       10000000
#define DATA_DSCP      0
#define QUEUES_EVERY_S 2 /* to read them costs a process */

struct counts {
	struct links links;
	struct lab_packets packets;
	struct leaf_load leaves;
	char *text; /* of `farelab counters` */
	struct pauses pauses;
};

struct sample {
	struct trial *t;
	struct counts from, to;
	/* between the first rank's server and the last one's; NULL: hosts */
	struct class_probes *probes;
	struct hist latency, depth;
	double job_s, wall_s, jct_s, roofline_s,
		bits; /* sums of both; jct_s at the slowest ranks */
	/* of the all-reduce, and of the all-to-all */
	struct {
		double busbw_bps, jct_s;
		unsigned n;
	} of[2];
};

static const char sustained_lab[] = "it is read from the switches of labs alone";

static void counts_fini(struct counts *c)
{
	links_fini(&c->links);
	leaf_load_fini(&c->leaves);
	pauses_fini(&c->pauses);
	free(c->text);
}

static int counts_read(const struct trial *t, struct counts *out)
{
	const struct lab *lab = &t->fabric->lab;
	int err = links_read(&out->links, t->fabric);

	if (!err)
		err = fabric_packets(t->fabric, &out->packets);
	if (t->fabric->hosts)
		return err;
	if (!err)
		err = lab_counters(lab, &out->text);
	if (!err && !fabric_cannot(t->fabric, NEED_PFC))
		err = pauses_read(&out->pauses, lab);
	return err ? err : leaf_load_read(&out->leaves, t->fabric->topo, lab);
}

static void sustained_links(struct trial *t, const struct counts *from, const struct counts *to,
			    unsigned ranks)
{
	struct links_use use = training_links(t, &from->links, &to->links, ranks);
	const char *why = training_uncounted(t) ? training_uncounted(t) : "nothing was sent";

	if (isfinite(use.jfi) && !training_uncounted(t)) {
		trial_value(t, "Sub_port_MMR", use.max / use.mean, use.n);
		trial_value(t, "Sub_port_JFI", use.jfi, use.n);
		trial_value(t, "Links_unused", use.unused, use.n);
	} else {
		trial_missing(t, "Sub_port_MMR", "%s", why);
		trial_missing(t, "Sub_port_JFI", "%s", why);
		trial_missing(t, "Links_unused", "%s", why);
	}
	if (t->fabric->hosts)
		trial_missing(t, "Link_transitions", "hosts' counters have no changes of carriers");
	else
		trial_value(t, "Link_transitions",
			    (double)(to->links.transitions - from->links.transitions), 1);
}

static int sustained_balance(const struct topo *topo, const char *from, const char *to,
			     struct link_balance *out)
{
	struct lab_uplink *uplinks = calloc(2 * (size_t)topo->n_uplinks, sizeof(*uplinks));
	int err = uplinks ? 0 : -ENOMEM;
	uint64_t at_ns;

	if (!err)
		err = lab_uplinks_parse(topo, from, uplinks, &at_ns);
	if (!err)
		err = lab_uplinks_parse(topo, to, uplinks + topo->n_uplinks, &at_ns);
	if (!err)
		*out = link_balance(uplinks, uplinks + topo->n_uplinks, topo->n_uplinks, NULL);
	free(uplinks);
	return err;
}

int sustained_uplinks(struct trial *t, const char *from, const char *to)
{
	const char *why = t->fabric->hosts	       ? sustained_lab
			  : t->fabric->topo->n_uplinks ? NULL
						       : fabric_cannot(t->fabric, NEED_SPINES);
	struct link_balance use = {.n = 0};
	int err = why ? 0 : sustained_balance(t->fabric->topo, from, to, &use);

	if (err)
		return err;
	if (!why && !isfinite(use.jfi))
		why = "no byte left leaves by their uplinks";
	if (why) {
		trial_missing(t, "MMR", "%s", why);
		trial_missing(t, "JFI", "%s", why);
		return 0;
	}
	trial_value(t, "MMR", use.mmr, use.n);
	trial_value(t, "JFI", use.jfi, use.n);
	return 0;
}

static void sustained_pauses(struct trial *t, const struct counts *from, const struct counts *to)
{
	const char *why = fabric_cannot(t->fabric, NEED_PFC);
	double longest_s = 0;

	for (unsigned i = 0; !why && i < from->pauses.n && i < to->pauses.n; i++)
		longest_s = fmax(longest_s,
				 to->pauses.port[i].paused_s - from->pauses.port[i].paused_s);
	if (why)
		trial_missing(t, "PFC_pause", "%s", why);
	else
		trial_value(t, "PFC_pause", longest_s * 1e3, to->pauses.n);
}

static int sustained_daemons(struct trial *t, const struct counts *from, const struct counts *to)
{
	unsigned switches = leaf_load_switches(t->fabric->topo);
	static const char *const kpis[] = {"CPU", "Memory", "Daemons_ended", "Counter_wraps"};
	struct lab_changes changes;
	int err;

	for (size_t i = 0; t->fabric->hosts && i < sizeof(kpis) / sizeof(kpis[0]); i++)
		trial_missing(t, kpis[i], "%s", sustained_lab);
	if (t->fabric->hosts)
		return 0;
	err = lab_changes(from->text, to->text, &changes);
	if (err)
		return err;
	trial_value(t, "CPU", leaf_load_cpu_percent(&from->leaves, &to->leaves, switches), 1);
	trial_value(t, "Memory", leaf_load_rss_bytes(&to->leaves, switches) / 1048576, 1);
	trial_value(t, "Daemons_ended", changes.ended, 1);
	trial_value(t, "Counter_wraps", changes.smaller, 1);
	return 0;
}

/* Section 4 of the draft has these, too. */
static void sustained_absent(struct trial *t)
{
	bool rdma = strcmp(t->strategy_name, "mpi-fare") == 0;

	trial_missing(t, "Retransmissions", "%s",
		      rdma ? "the QPs are those of MPI's ranks, which end with the collective"
			   : "this transport is TCP: no NIC sends again");
	trial_missing(t, "Out_of_order", "%s",
		      rdma ? "the QPs are those of MPI's ranks, which end with the collective"
			   : "this transport is TCP, which sorts silently");
	trial_missing(t, "ACK_delay", "MPI's transports do not stamp their control messages");
	trial_missing(t, "CC_convergence", "the load has no onset: T7.3 measures it");
	trial_missing(t, "Route_convergence", "no topology change is ordered: T11.1 measures it");
	trial_missing(t, "CRC_errors", "%s", fabric_lacks(t->fabric, FABRIC_CRC));
	trial_missing(t, "Power", "%s",
		      t->fabric->hosts
			      ? "real switches' sensors are not read from here"
			      : "a lab's switches are namespaces of this machine: no sensor");
}

/* ---- a collective ---- */

/* Probes, and all queues now and then, while it goes on. */
static int sustained_begun(void *arg)
{
	struct sample *s = arg;
	const struct fabric *fabric = s->t->fabric;
	uint64_t now_ns = clock_now_ns();
	unsigned readings = 1 + (unsigned)(s->job_s / QUEUES_EVERY_S);
	int err = class_probes_start(s->probes, now_ns + (uint64_t)(s->job_s * 1e9));

	for (unsigned i = 1; !err && i <= readings; i++) {
		uint64_t at_ns = (uint64_t)(s->job_s * 1e9 * i / (readings + 1));
		char *text = NULL;

		err = cluster_sleep_until(fabric->cluster, now_ns + at_ns);
		if (!err)
			err = lab_counters(&fabric->lab, &text);
		if (!err)
			err = lab_changes_queues(text, &s->depth);
		free(text);
	}
	return err;
}

static int sustained_ended(void *arg)
{
	struct sample *s = arg;
	int err = class_probes_join(s->probes);

	for (unsigned i = 0; !err && i < PROBES; i++)
		hist_merge(&s->latency, &s->probes->probe[i].delay);
	return err;
}

/* One collective, the first or the second; its sums are added. */
static int sustained_job(struct sample *s, unsigned number, enum collective c, unsigned ranks,
			 uint64_t bytes)
{
	struct trial *t = s->t;
	struct mpi_job job = training_job(t, c, ranks, bytes);
	struct mpi_result r;
	double seconds;
	int err;

	job.seconds = s->job_s;
	job.on_begun = s->probes ? sustained_begun : NULL;
	job.on_ended = s->probes ? sustained_ended : NULL;
	job.arg = s;
	err = training_run(t, &job, &r);
	if (s->probes)
		class_probes_join(s->probes); /* the job may have failed meanwhile */
	if (!err) {
		seconds = mpi_result_mean_s(&r);
		s->wall_s += r.wall_s;
		s->jct_s += seconds * r.n;
		s->bits += collective_factor(c, ranks) * 8 * (double)bytes * ranks * r.n;
		s->roofline_s += r.n * collective_roofline_s(t->fabric->topo, c, ranks, bytes, 0,
							     training_line_bps(t), 0);
		s->of[number].busbw_bps = collective_busbw_bps(c, ranks, bytes, seconds);
		s->of[number].jct_s = seconds;
		s->of[number].n = r.n;
	}
	mpi_result_fini(&r);
	return err;
}

static int sustained_add(struct sample *s, unsigned ranks)
{
	struct trial *t = s->t;
	int err;

	trial_value(t, "BusBW", s->of[0].busbw_bps / 1e9, s->of[0].n);
	trial_value(t, "JCT", s->of[0].jct_s * 1e3, s->of[0].n);
	trial_value(t, "BusBW_alltoall", s->of[1].busbw_bps / 1e9, s->of[1].n);
	trial_value(t, "JCT_alltoall", s->of[1].jct_s * 1e3, s->of[1].n);
	trial_value(t, "JCT_ratio", s->jct_s / s->roofline_s, 1);
	trial_value(t, "Load_share",
		    s->wall_s / ((double)(s->to.links.at_ns - s->from.links.at_ns) / 1e9) * 100, 1);
	trial_value(t, "Aggregate_throughput", s->bits / s->wall_s / 1e9, 1);
	if (s->probes) {
		trial_hist(t, "Latency", &s->latency);
		trial_hist(t, "Queue_depth", &s->depth);
	} else {
		trial_missing(t, "Latency", "small packets are sent beside the job in labs alone");
		trial_missing(t, "Queue_depth", "%s", sustained_lab);
	}
	sustained_links(t, &s->from, &s->to, ranks);
	training_drops(t, &s->from.packets, &s->to.packets);
	sustained_pauses(t, &s->from, &s->to);
	sustained_absent(t);
	err = sustained_uplinks(t, s->from.text, s->to.text);
	return err ? err : sustained_daemons(t, &s->from, &s->to);
}

static int sustained_measure(struct trial *t, unsigned ranks, uint64_t bytes)
{
	struct sample *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->t = t;
	s->job_s = t->seconds / 2;
	if (!t->fabric->hosts)
		s->probes = class_probes_create(t->fabric->topo, 0, ranks - 1, PROBES, DATA_DSCP,
						PROBE_NS);
	err = s->probes || t->fabric->hosts ? counts_read(t, &s->from) : -ENOMEM;
	if (!err)
		err = sustained_job(s, 0, COLLECTIVE_ALLREDUCE, ranks, bytes);
	if (!err)
		err = sustained_job(s, 1, COLLECTIVE_ALLTOALL, ranks, bytes);
	if (!err)
		err = counts_read(t, &s->to);
	if (!err)
		err = sustained_add(s, ranks);
	counts_fini(&s->from);
	counts_fini(&s->to);
	free(s->probes);
	free(s);
	return err;
}

int sustained_sample(struct trial *t)
{
	unsigned ranks = trial_count(t, "ranks");
	uint64_t bytes = (uint64_t)trial_number(t, "size");
	double at_s = soak_at_s(t);
	int err;

	if (!training_can(t, ranks, bytes))
		return 1;
	err = training_prepare(t);
	if (!err)
		err = load_marks_begin(t);
	if (!err)
		err = sustained_measure(t, ranks, bytes);
	if (err)
		return err;
	trial_value(t, "at_s", at_s, 1);
	return load_add_marks(t);
}
