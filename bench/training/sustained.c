/* SPDX-License-Identifier: BSD-2-Clause */
#include "training/sustained.h"

#include "fabric/leaf_load.h"
#include "procedure/load.h"
#include "procedure/soak.h"
#include "training/links.h"

struct counts {
	struct links links;
	struct lab_packets packets;
	struct leaf_load leaves;
};

static void counts_fini(struct counts *c)
{
	links_fini(&c->links);
	leaf_load_fini(&c->leaves);
}

static int counts_read(const struct trial *t, struct counts *out)
{
	int err = links_read(&out->links, t->fabric->topo);

	if (!err)
		err = lab_packets(&t->fabric->lab, &out->packets);
	return err ? err : leaf_load_read(&out->leaves, t->fabric->topo, &t->fabric->lab);
}

static void counts_add(struct trial *t, const struct counts *from, const struct counts *to,
		       unsigned ranks)
{
	const struct topo *topo = t->fabric->topo;
	struct links_use use = links_use(&from->links, &to->links, topo, ranks);
	unsigned switches = leaf_load_switches(topo);

	trial_value(t, "Link_utilization_max", use.max * 100, use.n);
	trial_value(t, "Link_utilization_min", use.min * 100, use.n);
	trial_value(t, "Link_utilization_mean", use.mean * 100, use.n);
	trial_value(t, "Links_unused", use.unused, use.n);
	trial_value(t, "Link_transitions",
		    (double)(to->links.transitions - from->links.transitions), 1);
	training_drops(t, &from->packets, &to->packets);
	trial_value(t, "CPU", leaf_load_cpu_percent(&from->leaves, &to->leaves, switches), 1);
	trial_value(t, "Memory", leaf_load_rss_bytes(&to->leaves, switches) / 1048576, 1);
}

/* BusBW of one collective; its time, and that of its bytes at line rate, are added. */
static int sustained_job(struct trial *t, enum collective c, unsigned ranks, uint64_t bytes,
			 const char *busbw, double *wall_s, double *roofline_s)
{
	struct mpi_job job = training_job(t, c, ranks, bytes);
	struct mpi_result r;
	int err;

	job.seconds = t->seconds / 2;
	err = mpi_job_run(&job, &r);
	if (!err) {
		*wall_s += r.wall_s;
		*roofline_s += r.n * collective_roofline_s(t->fabric->topo, c, ranks, bytes, 0,
							   training_line_bps(t), 0);
		trial_value(t, busbw, collective_busbw_bps(c, ranks, bytes, r.wall_s / r.n) / 1e9,
			    r.n);
	}
	mpi_result_fini(&r);
	return err;
}

static int sustained_measure(struct trial *t, unsigned ranks, uint64_t bytes)
{
	struct counts from = {0}, to = {0};
	double wall_s = 0, roofline_s = 0;
	int err = counts_read(t, &from);

	if (!err)
		err = sustained_job(t, COLLECTIVE_ALLREDUCE, ranks, bytes, "BusBW", &wall_s,
				    &roofline_s);
	if (!err)
		err = sustained_job(t, COLLECTIVE_ALLTOALL, ranks, bytes, "BusBW_alltoall", &wall_s,
				    &roofline_s);
	if (!err)
		err = counts_read(t, &to);
	if (!err) {
		trial_value(t, "JCT_ratio", wall_s / roofline_s, 1);
		counts_add(t, &from, &to, ranks);
	}
	counts_fini(&from);
	counts_fini(&to);
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
