/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * 09_collectives.c - tests 9.1 to 9.3: all-reduce, all-to-all, all-gather; and what libraries have
 * beside them.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats.h"
#include "fabric/optimum.h"
#include "suite/derive.h"
#include "suite/kpis.h"
#include "training/coll_rows.h"
#include "training/common.h"
#include "procedure/uplinks.h"
#include "training/peers.h"
#include "training/simulated.h"

/* ---- one trial ---- */

struct watched {
	struct trial *t;
	struct links from, to;
	struct lab_uplink *uplinks; /* NULL: one tier; else all of them before, and as many after */
	uint64_t uplinks_ns;	    /* when those before were read */
	struct peers peers;
	double *sent;  /* NULL: not counted; else peers.n^2 before, and as many after */
	int uncounted; /* why */
};

/* The job goes on meanwhile: what is read fastest comes first. */
static int watched_read(struct watched *w, struct links *links, unsigned half)
{
	const struct topo *topo = w->t->fabric->topo;
	uint64_t read_ns;
	int err = 0;

	if (w->sent)
		err = peers_read(&w->peers, w->sent + half * w->peers.n * w->peers.n);
	if (!err)
		err = links_read(links, w->t->fabric);
	if (!err && w->uplinks)
		err = lab_uplinks(&w->t->fabric->lab, topo, w->uplinks + half * topo->n_uplinks,
				  half ? &read_ns : &w->uplinks_ns);
	return err;
}

static int on_begun(void *arg)
{
	struct watched *w = arg;

	return watched_read(w, &w->from, 0);
}

static int on_ended(void *arg)
{
	struct watched *w = arg;

	return watched_read(w, &w->to, 1);
}

/* Without programs at devices nothing is counted, and the algorithm is read back alone. */
static int watched_begin(struct watched *w, struct trial *t, unsigned ranks)
{
	unsigned uplinks = t->fabric->topo->n_uplinks;
	int err = t->fabric->hosts ? -EREMOTE : peers_begin(&w->peers, t->fabric->topo, ranks);

	w->t = t;
	if (uplinks && !(w->uplinks = calloc(2 * (size_t)uplinks, sizeof(*w->uplinks))))
		return -ENOMEM;
	w->uncounted = err;
	if (err)
		return err == -ENOMEM ? err : 0;
	w->sent = calloc(2 * (size_t)ranks * ranks, sizeof(*w->sent));
	return w->sent ? 0 : -ENOMEM;
}

static void watched_end(struct watched *w)
{
	peers_end(&w->peers, w->t->fabric->topo);
	links_fini(&w->from);
	links_fini(&w->to);
	free(w->uplinks);
	free(w->sent);
}

/* Payload of an iteration, in place of what was read before. */
static const double *watched_sent(struct watched *w, unsigned iterations)
{
	unsigned n = w->peers.n * w->peers.n;
	double factor = optimum_goodput_factor(w->t->fabric->topo) / iterations;

	for (unsigned i = 0; w->sent && i < n; i++)
		w->sent[i] = (w->sent[n + i] - w->sent[i]) * factor;
	return w->sent;
}

/* Why nothing is known of the leaves' uplinks; NULL: it is. */
static const char *uplinks_unknown(const struct watched *w)
{
	if (!w->uplinks)
		return fabric_cannot(w->t->fabric, NEED_SPINES);
	return (w->to.at_ns - w->uplinks_ns) * 2 < w->to.at_ns - w->from.at_ns
		       ? "to read the leaves' counters took longer than half of the job"
		       : NULL;
}

static void add_bound(struct trial *t, double uplink, double sub_port)
{
	char text[96] = "not by uplinks";

	if (links_are_bound_above(uplink, sub_port))
		snprintf(text, sizeof(text),
			 "bound by uplinks: the busiest %.0f%% full, the busiest sub-port %.0f%%",
			 uplink * 100, sub_port * 100);
	trial_set_text(t, "Bound", text);
}

/* What leaves sent to spines. */
static void add_uplinks(struct trial *t, const struct watched *w, const struct links_use *ports)
{
	static const char *const kpis[] = {"Uplink_utilization_max", "Uplink_utilization_min",
					   "Uplink_utilization_mean", "Uplink_JFI", "Uplink_MMR"};
	const struct topo *topo = t->fabric->topo;
	bool *sends = calloc(topo->n_leaves + 1, sizeof(*sends));
	const char *why = uplinks_unknown(w);
	struct link_balance use = {.n = 0};
	double full = 1;

	if (!sends) {
		t->err = -ENOMEM;
		return;
	}
	for (unsigned leaf = 0; leaf < topo->n_leaves; leaf++)
		sends[leaf] = true;
	if (!why) {
		use = link_balance(w->uplinks, w->uplinks + topo->n_uplinks, topo->n_uplinks,
				   sends);
		/* the job had ended before the second reading began, and nothing more was sent */
		full = (double)topo->uplinks[0].rate_bps / 8e2 *
		       (double)(w->to.at_ns - w->uplinks_ns) / 1e9;
		why = isfinite(use.jfi) ? NULL : "no byte left leaves by their uplinks";
	}
	free(sends);
	for (size_t i = 0; i < sizeof(kpis) / sizeof(kpis[0]); i++) {
		const double value[] = {use.max / full, use.min / full, use.mean / full, use.jfi,
					use.mmr};

		if (why)
			trial_missing(t, kpis[i], "%s", why);
		else
			trial_value(t, kpis[i], value[i], use.n);
	}
	if (!why && training_uncounted(t))
		why = training_uncounted(t);
	if (why)
		trial_missing(t, "Bound", "%s", why);
	else
		add_bound(t, use.max / full / 100, ports->max);
}

static void add_sent(struct trial *t, const struct watched *w, const double *sent, unsigned ranks,
		     unsigned n)
{
	double sum = 0;

	for (unsigned i = 0; sent && i < ranks * ranks; i++)
		sum += sent[i];
	if (sent)
		trial_value(t, "Fabric_bytes", sum / 1e6, n);
	else
		trial_missing(t, "Fabric_bytes", "not counted: %s",
			      w->uncounted == -EOPNOTSUPP
				      ? "this kernel has no BPF programs at a device"
			      : t->fabric->hosts ? "programs at the devices count in labs alone"
						 : strerror(-w->uncounted));
}

static int collectives_measure(struct trial *t, enum collective c, unsigned ranks, uint64_t bytes)
{
	struct watched w = {.t = t};
	struct mpi_job job = training_job(t, c, ranks, bytes);
	struct mpi_result r = {.n = 0};
	struct links_use ports;
	const double *sent;
	int err = watched_begin(&w, t, ranks);

	job.alternates = true;
	job.on_begun = on_begun;
	job.on_ended = on_ended;
	job.arg = &w;
	if (!err)
		err = training_job_run(t, &job, &r);
	if (!err) {
		coll_rows_add(t, c, &job, &r);
		ports = training_links(t, &w.from, &w.to, ranks);
		add_uplinks(t, &w, &ports);
		sent = watched_sent(&w, r.n);
		add_sent(t, &w, sent, ranks, r.n);
		training_algorithm(t, c, &job, &r, sent);
	}
	watched_end(&w);
	mpi_result_fini(&r);
	return err;
}

static enum collective collectives_of(const struct trial *t)
{
	/* the tests follow each other as enum collective has them */
	return test_param(t->test, "operation")
		       ? collective_parse(trial_text(t, "operation"))
		       : (enum collective)(t->test->id[strlen("T9.")] - '1');
}

static int collectives_run(struct trial *t)
{
	unsigned ranks = trial_count(t, "ranks");
	uint64_t bytes = (uint64_t)trial_number(t, "size");
	int err, healed;

	simulated_add(t, collectives_of(t), ranks, bytes, 0);
	if (!training_can(t, ranks, bytes))
		return 0;
	err = training_prepare(t);
	if (!err)
		err = training_degrade(t, trial_text(t, "fabric"), ranks);
	if (!err)
		err = collectives_measure(t, collectives_of(t), ranks, bytes);
	healed = training_restore(t);
	return err < 0 ? err : healed;
}

/* ---- all of them ---- */

static double collectives_busbw(const struct rows *rows, const struct row *at)
{
	return derive_median(rows, at->test, at->strategy, "BusBW", at->n_params, at->param, 0.5);
}

/* Of the trials there: the median of their mean iterations, ns; NaN: there are none. */
static double collectives_jct(const struct rows *rows, const struct row *at)
{
	struct rows_filter filter = rows_like(at);
	struct stats_summary summary = {.median = NAN};
	double *means = calloc(rows_count(rows) + 1, sizeof(*means));
	size_t n = 0;

	filter.kpi = "JCT";
	ROWS_EACH_WHILE (means, i, rows, &filter)
		if (rows_at(rows, i)->hist)
			means[n++] = hist_mean(rows_at(rows, i)->hist);
	if (!n || stats_summarise(means, n, &summary))
		summary.median = NAN;
	free(means);
	return summary.median;
}

/* The same by the leaves' ECMP; NaN: it is that row, or was not measured. */
static double collectives_by_ecmp(const struct rows *rows, struct row row,
				  double (*of)(const struct rows *rows, const struct row *at))
{
	bool other = false;

	for (unsigned p = 0; p < row.n_params; p++)
		if (strcmp(row.param[p].name, "balance") == 0) {
			other = strcmp(row.param[p].text, BALANCE_BASE) != 0;
			row_param_set(&row.param[p], "balance", BALANCE_BASE);
		}
	return other ? of(rows, &row) : NAN;
}

static int collectives_derive(const struct test *test, struct rows *rows)
{
	struct rows_filter filter = {.test = test->id, .kpi = "BusBW", .trial = 0};
	int err = 0;

	ROWS_EACH_WHILE (!err, i, rows, &filter) {
		const struct row row = *rows_at(rows, i);
		double own = collectives_busbw(rows, &row);
		double base = derive_median(rows, test->id, BASELINE, "BusBW", row.n_params,
					    row.param, 0.5);

		err = derive_value(rows, &row, "over_" BASELINE, own / base);
		if (!err)
			err = derive_value(rows, &row, "over_ecmp",
					   own / collectives_by_ecmp(rows, row, collectives_busbw));
		if (!err)
			err = derive_value(rows, &row, "JCT_over_ecmp",
					   collectives_jct(rows, &row) /
						   collectives_by_ecmp(rows, row, collectives_jct));
		if (!err && strcmp(test->id, "T9.3") == 0)
			err = derive_value(rows, &row, "over_allreduce",
					   own / derive_median(rows, "T9.1", row.strategy, "BusBW",
							       row.n_params, row.param, 0.5));
	}
	return err;
}

/* ---- declarations ---- */

#define COLLECTIVE_PARAMS                                                                          \
	PARAM("size", PARAM_BYTES, "bytes",                                                        \
	      "of each rank's vector; of an all-gather the whole one, of all ranks", "1M,8M",      \
	      "1M,8M,64M", "1M,8M,64M,256M,1G,4G"),                                                \
		PARAM("ranks", PARAM_COUNT, "accelerators", "a rank on each GPU", "4", "4",        \
		      "8,16,32,64,128,256,512,1024"),                                              \
		TRAINING_BALANCE, TRAINING_FABRIC, LIST_END

static const struct param params[] = {COLLECTIVE_PARAMS};
static const struct param more_params[] = {
	PARAM("operation", PARAM_NAME, "", "of MPI", "reduce_scatter,bcast,sendrecv"),
	COLLECTIVE_PARAMS};

static const struct kpi kpis[] = {
	{"BusBW", "Gb/s", "DUT-F",
	 "a rank's bytes times algo_factor over the mean iteration at its slowest rank (JCT)",
	 BETTER_HIGHER, 0},
	{"BusBW_P50", "Gb/s", "DUT-F", "of an iteration; half of them are faster", BETTER_HIGHER,
	 0},
	{"BusBW_P95", "Gb/s", "DUT-F", "95% of the iterations are faster", BETTER_HIGHER, 0},
	{"BusBW_P99", "Gb/s", "DUT-F", "99% of the iterations are faster", BETTER_HIGHER, 0},
	{"BusBW_efficiency", "%", "DUT-F",
	 "what the busiest rank sends to other servers, in that time, over a whole GPU's line rate",
	 BETTER_HIGHER, 0},
	{"Fabric_bytes", "MB", "DUT-F",
	 "payload of an iteration, of all ranks, as counted where it leaves servers; what stays "
	 "within a server is not in it",
	 BETTER_NONE, 0},
	{"of_optimum", "", "DUT-F",
	 "the fluid's time for what the algorithm sends, on the links that live, over the mean "
	 "iteration",
	 BETTER_HIGHER, 0},
	{"over_" BASELINE, "", "DUT-F", "median BusBW over that of " BASELINE, BETTER_HIGHER, 0},
	{"over_ecmp", "", "DUT-F",
	 "median BusBW over that with the leaves by ECMP; below 1: slower than by ECMP",
	 BETTER_HIGHER, 0},
	{"JCT_over_ecmp", "", "SUT-E",
	 "mean iteration at its slowest rank over that with the leaves by ECMP, medians of trials; "
	 "above 1: slower than by ECMP",
	 BETTER_LOWER, 0},
	{"over_allreduce", "", "DUT-F",
	 "of T9.3: median BusBW over that of T9.1 in the same run; 1 if both use the links alike",
	 BETTER_NONE, 0},
	{"JCT", "ms", "SUT-E", "an iteration at its slowest rank", BETTER_LOWER, 1e-6},
	{"time", "ms", "SUT-E", "an iteration of one place at its slowest rank", BETTER_LOWER,
	 1e-6},
	{"time_min", "ms", "SUT-E", "the fastest of them", BETTER_LOWER, 0},
	{"time_mean", "ms", "SUT-E", "their mean", BETTER_LOWER, 0},
	{"algbw", "GB/s", "SUT-E", "a rank's bytes over the mean time", BETTER_HIGHER, 0},
	{"busbw", "GB/s", "SUT-E", "algbw times algo_factor", BETTER_HIGHER, 0},
	{"wrong", "", "SUT-E",
	 "numbers that were wrong, of the iterations that ranks checked; one ends the run",
	 BETTER_LOWER, 0},
	{"Algorithm", "", "SUT-E", "forced, read back, and compared with what each sent to each",
	 BETTER_NONE, 0},
	TRAINING_LINKS,
	{"Uplink_utilization_max", "%", "DUT-F", "of the leaves' busiest link to a spine",
	 BETTER_NONE, 0},
	{"Uplink_utilization_min", "%", "DUT-F", "of the idlest", BETTER_NONE, 0},
	{"Uplink_utilization_mean", "%", "DUT-F", "of all of them", BETTER_NONE, 0},
	{"Uplink_JFI", "", "DUT-F", "of a leaf's uplinks, by bytes", BETTER_HIGHER, 0},
	{"Uplink_MMR", "", "DUT-F", "busiest uplink over the leaf's mean", BETTER_LOWER, 0},
	{"Bound", "", "DUT-F",
	 "whether the busiest uplink is full, and a quarter fuller than the busiest sub-port",
	 BETTER_NONE, 0},
	KPI_DROPS,
	KPI_MARKS,
	KPI_PAUSES,
	SIMULATED_KPIS,
	LIST_END};

static const struct view views[] = {
	VIEW(VIEW_TABLE, "Bus bandwidth", "size", "strategy", "fabric", "BusBW", "BusBW_P50",
	     "BusBW_P95", "BusBW_P99", "BusBW_efficiency", "of_optimum", "over_" BASELINE,
	     "over_ecmp", "over_allreduce", "Algorithm"),
	VIEW(VIEW_BARS, "Bus bandwidth by how leaves spread", "balance", "strategy", "size",
	     "BusBW"),
	VIEW(VIEW_BARS, "Iteration's time over that by ECMP, by how leaves spread", "balance",
	     "strategy", "size", "JCT_over_ecmp"),
	VIEW(VIEW_TABLE, "Links of leaves to spines", "size", "strategy", "balance",
	     "Uplink_utilization_max", "Uplink_utilization_min", "Uplink_utilization_mean",
	     "Uplink_JFI", "Uplink_MMR", "Bound", "JCT_over_ecmp"),
	VIEW(VIEW_TABLE, "Out of place and in place, as nccl-tests print it", "size", "place",
	     "strategy", "time_min", "time_mean", "time@p50", "time@p95", "time@p99", "algbw",
	     "busbw", "wrong"),
	VIEW(VIEW_BARS, "Bus bandwidth over the fluid optimum", "size", "strategy", "fabric",
	     "of_optimum"),
	{VIEW_FIELDS(VIEW_LINES, "Bus bandwidth by accelerators", "ranks", "strategy", "size",
		     "BusBW"),
	 .log_x = true},
	VIEW(VIEW_TABLE, "Iterations and links", "size", "strategy", "fabric", "JCT@p50", "JCT@p95",
	     "JCT@p99", "Link_utilization_max", "Link_utilization_min", "Link_utilization_mean",
	     "Packet_drop_rate", "ECN_marking_rate", "PFC_frame_count", "Fabric_bytes"),
	SIMULATED_VIEW("balance"),
	VIEWS_END};

#define COLLECTIVE_TEST(of, title, in, swept, means)                                               \
	{                                                                                          \
		.id = of, .name = title, .clause = TRAINING_DRAFT in, .dut = "DUT-F",              \
		.summary = means, .needs = NEED_TWO_SERVERS, .strategies = mpi_strategies,         \
		.trials = {1, 3, 3}, .seconds = {2, 10, 60}, .params = swept,                      \
		.unlike = NAMES("fabric"), .fits = training_fits, .kpis = kpis, .views = views,    \
		.run = collectives_run, .derive = collectives_derive,                              \
	}

const struct test test_t9_1 = COLLECTIVE_TEST(
	"T9.1", "AllReduce Benchmark", "9.1", params,
	"MPI_Allreduce() of whole numbers by an unmodified OpenMPI, over libfabric and UCX on TCP "
	"by the kernel's ECMP, and over libfabric on fare; leaves of two tiers spread by each mode "
	"in turn (of labs: BPF, emulated). Also the all-reduce of tensor parallelism.");

const struct test test_t9_2 = COLLECTIVE_TEST(
	"T9.2", "AlltoAll Benchmark", "9.2", params,
	"MPI_Alltoall() by an unmodified OpenMPI, over the transports and modes of T9.1.");

const struct test test_t9_3 = COLLECTIVE_TEST(
	"T9.3", "AllGather Benchmark", "9.3", params,
	"MPI_Allgather() by an unmodified OpenMPI, over the transports and modes of T9.1.");

const struct test test_collectives = COLLECTIVE_TEST(
	"collectives", "Collectives beside those of the training draft", "9", more_params,
	"MPI_Reduce_scatter(), MPI_Bcast() and MPI_Sendrecv() as T9.1 has MPI_Allreduce().");
