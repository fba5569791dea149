/* SPDX-License-Identifier: BSD-2-Clause */
#include "training/common.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "core/machine.h"
#include "procedure/fault.h"
#include "procedure/load.h"

#define PREFIX		  "mpi-"
#define TRAINING_OWN_MODE "own"
#define WORKER_BYTES	  (1u << 20) /* the workers are there to see what libfare sees */
#define MUCH_MORE	  1.1	     /* than acknowledgements and control are */
#define TO_HEAL_S	  2	     /* of max_run_s: a fault is healed before its agent does it */
#define GIB		  1073741824.

const char *const mpi_strategies[] = {PREFIX "ofi-tcp", PREFIX "ucx-tcp", PREFIX "fare", NULL};

bool training_fits(const struct topo *topo, const char *param, const char *level)
{
	if (strcmp(param, "balance") == 0)
		return topo->n_uplinks || strcmp(level, BALANCE_BASE) == 0;
	return strcmp(param, "fabric") != 0 || !topo->n_uplinks || strcmp(level, "healthy") == 0;
}

int training_spread(struct trial *t, const char *mode, unsigned gap_us)
{
	int err = fabric_balance(t->fabric, mode, gap_us, t->seed);

	if (err == -EOPNOTSUPP) {
		trial_missing(t, NULL, "%s", t->fabric->why);
		return 1;
	}
	return err;
}

static bool training_is_fare(const struct trial *t)
{
	return strcmp(t->strategy_name, PREFIX "fare") == 0;
}

/* Why MPI's ranks cannot run on these hosts; "": they can, or it is a lab. */
static void training_hosts(const struct trial *t, unsigned ranks, char why[240])
{
	const struct topo *topo = t->fabric->topo;
	const struct hosts *hosts = t->fabric->hosts;
	unsigned gpu = 0;
	double max_bps;

	why[0] = '\0';
	if (!hosts)
		return;
	if (!hosts_options(hosts)->mpirun) {
		snprintf(why, 240, "MPI's ranks on hosts are started by --mpirun COMMAND");
		return;
	}
	max_bps = (double)hosts_inventory(hosts)->limits.max_bps;
	if (max_bps > 0 && max_bps < fabric_line_bps(t->fabric, 0)) {
		snprintf(why, 240,
			 "MPI's ranks do not keep to the inventory's max_rate_mbps, which is below "
			 "the line rate");
		return;
	}
	while (gpu < ranks && gpu < topo->n_gpus && hosts_gpu_device(hosts, gpu))
		gpu++;
	if (!training_is_fare(t) && gpu < ranks && gpu < topo->n_gpus)
		snprintf(why, 240,
			 "%.24s: no device but a loopback one has %s, and this transport leaves "
			 "those out: give the address to another device as well",
			 topo->servers[topo->gpus[gpu].server].name, topo->gpus[gpu].ipv4);
}

bool training_can(struct trial *t, unsigned ranks, uint64_t bytes)
{
	const struct topo *topo = t->fabric->topo;
	const char *missing = mpi_job_missing(t->fabric->hosts);
	char why[240];

	training_hosts(t, ranks, why);
	if (bytes > MPI_JOB_MAX_BYTES)
		trial_missing(t, NULL, "%llu bytes: fare-mpi-coll takes less than 8 GiB",
			      (unsigned long long)bytes);
	else if (missing)
		trial_missing(t, NULL, "%s", missing);
	else if (ranks < 2 || ranks > topo->n_gpus)
		trial_missing(t, NULL, "%u ranks, one a GPU: there are %u GPUs", ranks,
			      topo->n_gpus);
	else if (topo->gpus[0].server == topo->gpus[ranks - 1].server)
		trial_missing(t, NULL, "%u ranks are all on one server: nothing crosses the fabric",
			      ranks);
	else if (topo->n_gpus != topo->n_servers && strcmp(t->strategy_name, PREFIX "ucx-tcp") == 0)
		trial_missing(t, NULL,
			      "a server has several GPUs: UCX's tcp does not bind what it "
			      "connects, so the first GPU's address is the source of all");
	else if (test_param(t->test, "balance") && !topo->n_uplinks &&
		 strcmp(trial_text(t, "balance"), BALANCE_BASE) != 0 &&
		 strcmp(trial_text(t, "balance"), TRAINING_OWN_MODE) != 0)
		trial_missing(t, NULL, "one tier: leaves have no uplinks to choose from");
	else if (!topo->gpus[0].ipv4[0])
		trial_missing(t, NULL, "MPI runs over IPv4 alone");
	else if (why[0])
		trial_missing(t, NULL, "%s", why);
	else if (bytes % (4 * ranks))
		trial_missing(t, NULL, "%llu bytes are no whole numbers for %u ranks",
			      (unsigned long long)bytes, ranks);
	else
		return true;
	return false;
}

void training_fault(const struct trial *t, const char *state, unsigned ranks, char spec[96])
{
	char gpu[2 * TOPO_NAME_MAX];

	/* what is all that a server has would leave no job */
	bool has_others = t->fabric->topo->n_planes > 1;

	spec[0] = '\0';
	topo_gpu_label(t->fabric->topo, ranks - 1, gpu, sizeof(gpu));
	if (strcmp(state, "subport-lost") == 0)
		snprintf(spec, 96, "subport %.60s 0 0", gpu);
	else if (strcmp(state, "plane-lost") == 0 && has_others)
		snprintf(spec, 96, "plane %.60s 0", gpu);
	else if (strcmp(state, "leaf-lost") == 0 && has_others)
		snprintf(spec, 96, "leaf l0");
	else if (strcmp(state, "spine-uplink") == 0)
		fault_uplink(t->fabric->topo, ranks - 1, 0, spec, 96);
	else if (strcmp(state, "superspine-uplink") == 0)
		fault_spine_uplink(t->fabric->topo, ranks - 1, 0, spec, 96);
	else if (strcmp(state, "spine-lost") == 0 && t->fabric->topo->n_spines)
		snprintf(spec, 96, "spine %.60s", t->fabric->topo->spines[0].name);
}

int training_degrade(struct trial *t, const char *state, unsigned ranks)
{
	uint64_t at_ns;
	char spec[96];
	int err;

	training_fault(t, state, ranks, spec);
	if (!spec[0])
		return 0;
	if (fabric_cannot_fail(t->fabric, spec)) {
		trial_missing(t, NULL, "%s: %s", spec, fabric_cannot_fail(t->fabric, spec));
		return 1;
	}
	err = fabric_fail(t->fabric, spec, &at_ns);
	return err ? err : fabric_settle(t->fabric);
}

int training_restore(struct trial *t)
{
	uint64_t at_ns;
	bool broken = t->fabric->n_faults;
	int err = fabric_heal(t->fabric, &at_ns);

	return err || !broken ? err : fabric_settle(t->fabric);
}

const struct param training_failure_params[] = {
	PARAM("failure", PARAM_NAME, "", "what fails at half time",
	      "subport-lost,plane-lost,leaf-lost,spine-uplink,spine-lost,superspine-uplink"),
	PARAM("balance", PARAM_NAME, "", "how leaves spread: as the lab has it, or by another mode",
	      TRAINING_OWN_MODE, TRAINING_OWN_MODE, "ecmp,flowlet,spray,adaptive"),
	PARAM("size", PARAM_BYTES, "bytes", "of each rank's vector", "1M", "1M", "1G"),
	PARAM("ranks", PARAM_COUNT, "accelerators", "a rank on each GPU", "4", "4", "128"),
	LIST_END};

int training_prepare(struct trial *t)
{
	const char *mode =
		test_param(t->test, "balance") ? trial_text(t, "balance") : TRAINING_OWN_MODE;
	int err = fabric_cluster(t->fabric, WORKER_BYTES);

	if (!err)
		err = fabric_prepare(t->fabric, STRATEGY_ECMP);
	if (err == -EOPNOTSUPP && training_is_fare(t))
		err = 0; /* the kernel's weights are nothing to it */
	if (err == -EOPNOTSUPP) {
		trial_missing(t, NULL, "%s", t->fabric->why);
		return 1;
	}
	if (err || !t->fabric->topo->n_uplinks || strcmp(mode, TRAINING_OWN_MODE) == 0)
		return err;
	return training_spread(t, mode, 0);
}

struct mpi_job training_job(const struct trial *t, enum collective c, unsigned ranks,
			    uint64_t bytes)
{
	static const unsigned least[PROFILE_COUNT] = {3, 5, 100}; /* 100: the draft's */
	/* an iteration moves what a rank has twice at most, and one is for warming up */
	double bits = 2.0 * 8 * (double)bytes * (least[t->profile] + 1);

	return (struct mpi_job){.fabric = t->fabric,
				.transport = t->strategy_name + strlen(PREFIX),
				.operation = collective_name(c),
				.algorithm = collective_algorithm(c),
				.bytes = bytes,
				.ranks = ranks,
				.min_iterations = least[t->profile],
				.seconds = t->seconds,
				.least_s = bits / training_line_bps(t)};
}

void training_algorithm(struct trial *t, enum collective c, const struct mpi_job *job,
			const struct mpi_result *r, const double *sent)
{
	const struct topo *topo = t->fabric->topo;
	const char *want = job->algorithm ? collective_algorithm_name(c) : NULL, *seen = NULL;
	char text[256], more[48] = "";
	double times;

	if (sent) {
		seen = collective_seen(topo, c, job->ranks, job->bytes, sent, &times);
		if (times > MUCH_MORE)
			snprintf(more, sizeof(more), ", %.2f times its bytes sent", times);
	}
	if (want && strcmp(r->algorithm, want) != 0)
		snprintf(text, sizeof(text), "%s, not %s", r->algorithm, want);
	else if (seen && strcmp(seen, collective_shape(c)) != 0 &&
		 collective_covered(topo, c, job->ranks, job->bytes, sent))
		snprintf(text, sizeof(text),
			 "%s read back, not verified: its bytes were sent, and so much again "
			 "(in all %.2f times as much) that the %s cannot be seen",
			 r->algorithm, times, collective_shape(c));
	else if (seen && strcmp(seen, collective_shape(c)) != 0)
		snprintf(text, sizeof(text), "%s read back, but %s was sent, not %s", r->algorithm,
			 seen, collective_shape(c));
	else
		snprintf(text, sizeof(text), "%s (%s%s)", collective_algorithm_name(c),
			 !seen				  ? "read back"
			 : topo->n_gpus > topo->n_servers ? "verified between servers"
							  : "verified",
			 more);
	trial_set_text(t, "Algorithm", text);
	trial_set_text(t, SUITE_LIBRARY, r->library);
}

double training_line_bps(const struct trial *t)
{
	const struct topo_gpu *gpu = &t->fabric->topo->gpus[0];
	double sum = 0;

	for (unsigned p = 0; p < t->fabric->topo->n_planes; p++)
		for (unsigned s = 0; s < gpu->plane[p].n_sub_ports; s++)
			sum += (double)gpu->plane[p].sub_port[s].rate_bps;
	return sum;
}

double training_uplinks_bps(const struct trial *t)
{
	const struct topo *topo = t->fabric->topo;
	double sum = 0;

	for (unsigned p = 0; p < topo->n_planes; p++)
		sum += (double)topo_uplinks_bps(topo, topo->gpus[0].plane[p].leaf);
	return sum;
}

const char *training_uncounted(const struct trial *t)
{
	const struct hosts *hosts = t->fabric->hosts;

	return hosts && hosts_inventory(hosts)->verbs && training_is_fare(t)
		       ? "the interfaces' statistics leave RDMA out"
		       : NULL;
}

struct links_use training_links(struct trial *t, const struct links *from, const struct links *to,
				unsigned ranks)
{
	static const char *const kpis[] = {"Link_utilization_max", "Link_utilization_min",
					   "Link_utilization_mean"};
	struct links_use use = links_use(from, to, t->fabric->topo, ranks);
	const double value[] = {use.max, use.min, use.mean};

	for (size_t i = 0; i < sizeof(kpis) / sizeof(kpis[0]); i++)
		if (training_uncounted(t))
			trial_missing(t, kpis[i], "%s", training_uncounted(t));
		else
			trial_value(t, kpis[i], value[i] * 100, use.n);
	return use;
}

void training_drops(struct trial *t, const struct lab_packets *from, const struct lab_packets *to)
{
	double sent = (double)(to->sent - from->sent),
	       dropped = (double)(to->dropped - from->dropped);

	if (training_uncounted(t))
		trial_missing(t, "Packet_drop_rate", "%s", training_uncounted(t));
	else
		trial_value(t, "Packet_drop_rate", sent > 0 ? dropped / sent * 1e6 : 0,
			    (uint64_t)sent);
}

/* A lab's ranks share this machine's memory. */
static bool training_has_memory(struct trial *t, const struct mpi_job *job)
{
	uint64_t needed = mpi_job_memory_bytes(job), available = machine_memory_available();

	if (t->fabric->hosts || !available || needed <= available)
		return true;
	trial_missing(t, NULL, "%u ranks need %.1f GiB of memory, and %.1f GiB are available",
		      job->ranks, (double)needed / GIB, (double)available / GIB);
	return false;
}

/* What the inventory's max_run_s leaves, of which a fault that is in force has had a part. */
static double training_most_s(const struct trial *t)
{
	double passed_s =
		t->fabric->n_faults ? (double)(clock_now_ns() - t->fabric->fault_ns) / 1e9 : 0;

	return t->fabric->hosts ? fmax(fabric_max_run_s(t->fabric) - passed_s - TO_HEAL_S, 1) : 0;
}

int training_run(struct trial *t, struct mpi_job *job, struct mpi_result *out)
{
	int err;

	*out = (struct mpi_result){0};
	if (!training_has_memory(t, job))
		return 1;
	job->most_s = training_most_s(t);
	err = mpi_job_run(job, out);
	if (err != -EOPNOTSUPP)
		return err;
	trial_missing(t, NULL, "%s", out->why);
	return 1;
}

int training_job_run(struct trial *t, struct mpi_job *job, struct mpi_result *out)
{
	struct lab_packets from, to;
	int err = load_marks_begin(t);

	if (!err)
		err = fabric_packets(t->fabric, &from);
	if (!err)
		err = training_run(t, job, out);
	if (!err)
		err = fabric_packets(t->fabric, &to);
	if (err)
		return err;
	training_drops(t, &from, &to);
	return load_add_marks(t);
}
