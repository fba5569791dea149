/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "fabric/class_probe.h"
#include "training/common.h"
#include "training/failure_iterations.h"

#define BEFORE	    0.5 /* of the time is without the fault */
#define CLOCK_SHARE 0.1 /* of an iteration: the error of the hosts' clocks that is let pass */

#define PROBES	 CLASS_PROBE_MOST /* of 8 links that share traffic one that failed has some */
#define PROBE_NS 10000000
#define DSCP	 48 /* network control: overload does not lose it where links have a band for it */

struct failing {
	struct trial *t;
	char spec[96];
	uint64_t at_ns;
	struct lab_packets before, after;
	/* between the servers of the first rank and the last; NULL: hosts */
	struct class_probes *probes;
};

static int failing_begun(void *arg)
{
	struct failing *f = arg;
	uint64_t now_ns = clock_now_ns(), run_ns = (uint64_t)(f->t->seconds * 1e9);
	int err = f->probes ? class_probes_start(f->probes, now_ns + run_ns) : 0;

	if (!err)
		err = cluster_sleep_until(f->t->fabric->cluster,
					  now_ns + (uint64_t)((double)run_ns * BEFORE));
	if (!err)
		err = fabric_packets(f->t->fabric, &f->before);
	return err ? err : fabric_fail(f->t->fabric, f->spec, &f->at_ns);
}

static int failing_ended(void *arg)
{
	struct failing *f = arg;
	int err = f->probes ? class_probes_join(f->probes) : 0;

	return err ? err : fabric_packets(f->t->fabric, &f->after);
}

static void add_probes(struct trial *t, const struct class_probes *probes)
{
	uint64_t sent = 0, received = 0, lossy_ns = 0;

	for (unsigned i = 0; probes && i < PROBES; i++) {
		const struct class_probe *probe = &probes->probe[i];

		sent += probe->sent;
		received += probe->received;
		if (probe->lossy_ns > lossy_ns)
			lossy_ns = probe->lossy_ns;
	}
	if (probes) {
		trial_value(t, "Loss_duration", (double)lossy_ns / 1e6, sent);
		trial_value(t, "Probes_lost", (double)(sent - received), sent);
		return;
	}
	trial_missing(t, "Loss_duration", "small packets are sent beside the job in labs alone");
	trial_missing(t, "Probes_lost", "small packets are sent beside the job in labs alone");
}

static void add_losses(struct trial *t, const struct failing *f)
{
	add_probes(t, f->probes);
	/* a queue that went took its counts along */
	if (training_uncounted(t))
		trial_missing(t, "Packets_lost", "%s", training_uncounted(t));
	else if (f->after.dropped >= f->before.dropped)
		trial_value(t, "Packets_lost", (double)(f->after.dropped - f->before.dropped), 1);
	else
		trial_missing(t, "Packets_lost", "the fault took counters away");
}

static void add_rows(struct trial *t, const struct failing *f, const struct mpi_result *r)
{
	struct failure_iterations i;
	/* iterations have rank 0's times, the fault this process's */
	int64_t ahead_ns = fabric_clock_ahead_ns(t->fabric, t->fabric->topo->gpus[0].server);
	int err = failure_iterations(r->start_ns, r->took_ns, r->n, f->at_ns + (uint64_t)ahead_ns,
				     &i);

	if (err == -ERANGE) {
		trial_missing(t, NULL, "of %u iterations too few were before and after the fault",
			      r->n);
		return;
	}
	if (err) {
		t->err = err;
		return;
	}
	if (t->clock_error_ns > i.steady_ns * CLOCK_SHARE) {
		trial_missing(t, NULL,
			      "the hosts' clocks agree within %.1f us only, for iterations of "
			      "%.1f us",
			      t->clock_error_ns / 1e3, i.steady_ns / 1e3);
		return;
	}
	trial_value(t, "JCT_steady", i.steady_ns / 1e6, i.n_before);
	trial_value(t, "JCT_steady_max", i.steady_max_ns / 1e6, i.n_before);
	if (isfinite(i.steady_p99_ns)) {
		trial_value(t, "JCT_steady_P99", i.steady_p99_ns / 1e6, i.n_before);
		trial_value(t, "zero_impact", i.failure_ns <= i.steady_p99_ns, 1);
	} else {
		trial_missing(t, "JCT_steady_P99", "%u iterations before the fault are too few",
			      i.n_before);
		trial_missing(t, "zero_impact", "there is no P99 of the steady state");
	}
	trial_value(t, "JCT_failure", i.failure_ns / 1e6, 1);
	trial_value(t, "JCT_overhead", (i.failure_ns - i.steady_ns) / 1e6, 1);
	trial_value(t, "JCT_worst", i.worst_ns / 1e6, r->n - i.n_before);
	trial_value(t, "JCT_after", i.after_ns / 1e6, r->n - i.n_before);
	if (isfinite(i.redistributed_ns))
		trial_value(t, "redistributed", i.redistributed_ns / 1e6, 1);
	else if (!i.recovered)
		trial_missing(t, "redistributed",
			      "not recovered: iterations stay over the longest before the fault");
	else
		trial_missing(
			t, "redistributed",
			"%u iterations before the fault are too few to know how much they vary",
			i.n_before);
	add_losses(t, f);
}

static int failure_measure(struct trial *t, struct failing *f, unsigned ranks, uint64_t bytes)
{
	struct mpi_job job;
	struct mpi_result r = {0};
	int err = training_prepare(t), healed;

	job = training_job(t, COLLECTIVE_ALLREDUCE, ranks, bytes);
	job.on_begun = failing_begun;
	job.on_ended = failing_ended;
	job.arg = f;
	if (!err)
		err = fabric_clocks_begin(t->fabric);
	if (!err)
		err = training_run(t, &job, &r);
	if (!err)
		err = fabric_clocks_end(t->fabric, &t->clock_error_ns);
	if (f->probes)
		class_probes_join(f->probes); /* the job may have failed meanwhile */
	healed = training_restore(t);
	if (!err && !healed) {
		add_rows(t, f, &r);
		training_algorithm(t, COLLECTIVE_ALLREDUCE, &job, &r, NULL);
	}
	mpi_result_fini(&r);
	return err < 0 ? err : healed;
}

static int failure_run(struct trial *t)
{
	unsigned ranks = trial_count(t, "ranks");
	uint64_t bytes = (uint64_t)trial_number(t, "size");
	struct failing f = {.t = t};
	int err;

	if (!training_can(t, ranks, bytes))
		return 0;
	training_fault(t, trial_text(t, "failure"), ranks, f.spec);
	if (!f.spec[0]) {
		trial_missing(t, NULL, "%s: the fabric has no such part, or nothing beside it",
			      trial_text(t, "failure"));
		return 0;
	}
	if (fabric_cannot_fail(t->fabric, f.spec)) {
		trial_missing(t, NULL, "%s: %s", f.spec, fabric_cannot_fail(t->fabric, f.spec));
		return 0;
	}
	if (!t->fabric->hosts)
		f.probes =
			class_probes_create(t->fabric->topo, 0, ranks - 1, PROBES, DSCP, PROBE_NS);
	err = f.probes || t->fabric->hosts ? failure_measure(t, &f, ranks, bytes) : -ENOMEM;
	free(f.probes);
	return err;
}

const struct test test_t11_2 = {
	TRAINING_CLAUSE("11.2"),
	.name = "Link Failure Convergence",
	.dut = "DUT-F",
	.summary = "All-reduces without a pause; at half time a part of the last rank's GPU, a "
		   "leaf, a spine or a link above a leaf or spine fails. Times begin when the "
		   "command is given.",
	.needs = NEED_TWO_SERVERS | NEED_FAULTS,
	.headline = "JCT_failure",
	.unlike = NAMES("failure"),
	.strategies = mpi_strategies,
	.trials = {1, 5, 5},
	.seconds = {8, 60, 120},
	.params = training_failure_params,
	.kpis = KPIS(
		{"JCT_steady", "ms", "SUT-E", "an iteration before the fault, median", BETTER_LOWER,
		 0},
		{"JCT_steady_P99", "ms", "SUT-E", "99% of them are faster", BETTER_LOWER, 0},
		{"JCT_steady_max", "ms", "SUT-E", "the longest of them", BETTER_LOWER, 0},
		{"JCT_failure", "ms", "SUT-E", "the iteration in which the fault came",
		 BETTER_LOWER, 0},
		{"JCT_overhead", "ms", "SUT-E", "that less the steady median", BETTER_LOWER, 0},
		{"JCT_worst", "ms", "SUT-E", "the longest from the fault on", BETTER_LOWER, 0},
		{"JCT_after", "ms", "SUT-E", "median of the last quarter after the fault",
		 BETTER_LOWER, 0},
		{"redistributed", "ms", "DUT-F",
		 "from the fault until no iteration is 10% longer than those before the fault "
		 "vary: "
		 "JCT_after times JCT_steady_max over JCT_steady; 0: none was",
		 BETTER_LOWER, 0},
		{"zero_impact", "", "SUT-E", "1: JCT_failure is within JCT_steady_P99",
		 BETTER_HIGHER, 0},
		{"Loss_duration", "ms", "DUT-F",
		 "packets were lost for so long: from the first to the last that a flow of small "
		 "packets of network control lost, one each 10 ms, 32 flows by the kernel's routes "
		 "between the first rank and the last, the longest",
		 BETTER_LOWER, 0},
		{"Probes_lost", "", "DUT-F", "of all these flows", BETTER_LOWER, 0},
		{"Packets_lost", "", "DUT-F",
		 "packets that queues and devices dropped from the fault on, overload among them; "
		 "no byte of MPI's was lost",
		 BETTER_LOWER, 0},
		{"Algorithm", "", "SUT-E", "forced, and read back", BETTER_NONE, 0}),
	.views =
		VIEWS(VIEW(VIEW_TABLE, "All-reduce while a link fails", "failure", "strategy",
			   "balance", "JCT_steady", "JCT_steady_P99", "JCT_steady_max",
			   "JCT_failure", "JCT_overhead", "JCT_worst", "JCT_after", "redistributed",
			   "Loss_duration", "Probes_lost", "Packets_lost", "zero_impact"),
		      VIEW(VIEW_BARS, "The iteration in which a link fails", "failure", "strategy",
			   "balance", "JCT_failure")),
	.run = failure_run,
};
