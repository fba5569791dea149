/* SPDX-License-Identifier: BSD-2-Clause */
#include "training/common.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PREFIX	      "mpi-"
#define WORKER_BYTES  (1u << 20) /* the workers are there to see what libfare sees */
#define MPI_COUNT_MAX ((uint64_t)INT32_MAX)

const char *const mpi_strategies[] = {PREFIX "ofi-tcp", PREFIX "ucx-tcp", PREFIX "fare", NULL};

bool training_can(struct trial *t, unsigned ranks, uint64_t bytes)
{
	const struct topo *topo = t->fabric->topo;
	const char *missing = mpi_job_missing();

	if (missing)
		trial_missing(t, NULL, "%s", missing);
	else if (topo->n_gpus != topo->n_servers)
		trial_missing(t, NULL,
			      "a server has several GPUs: MPI's ranks would share its first");
	else if (ranks < 2 || ranks > topo->n_servers)
		trial_missing(t, NULL, "%u ranks, one a server: the lab has %u servers", ranks,
			      topo->n_servers);
	else if (!topo->gpus[0].ipv4[0])
		trial_missing(t, NULL, "MPI runs in labs with IPv4 alone");
	else if (bytes / 4 > MPI_COUNT_MAX || bytes % (4 * ranks))
		trial_missing(t, NULL, "%llu bytes are no whole numbers for %u ranks, or too many",
			      (unsigned long long)bytes, ranks);
	else
		return true;
	return false;
}

void training_fault(const struct trial *t, const char *state, unsigned ranks, char words[96])
{
	char gpu[2 * TOPO_NAME_MAX];

	words[0] = '\0';
	topo_gpu_label(t->fabric->topo, ranks - 1, gpu, sizeof(gpu));
	if (strcmp(state, "subport-lost") == 0)
		snprintf(words, 96, "subport %.60s 0 0", gpu);
	else if (strcmp(state, "plane-lost") == 0)
		snprintf(words, 96, "plane %.60s 0", gpu);
	else if (strcmp(state, "leaf-lost") == 0)
		snprintf(words, 96, "leaf l0");
}

int training_degrade(struct trial *t, const char *state, unsigned ranks)
{
	uint64_t at_ns;
	char words[96];
	int err;

	training_fault(t, state, ranks, words);
	if (!words[0])
		return 0;
	err = fabric_fail(t->fabric, words, &at_ns);
	return err ? err : fabric_settle(t->fabric);
}

int training_restore(struct trial *t)
{
	uint64_t at_ns;
	bool broken = t->fabric->n_faults;
	int err = fabric_heal(t->fabric, &at_ns);

	return err || !broken ? err : fabric_settle(t->fabric);
}

int training_prepare(struct trial *t)
{
	int err = fabric_cluster(t->fabric, WORKER_BYTES);

	return err ? err : fabric_prepare(t->fabric, STRATEGY_ECMP);
}

struct mpi_job training_job(const struct trial *t, enum collective c, unsigned ranks,
			    uint64_t bytes)
{
	static const unsigned least[PROFILE_COUNT] = {3, 5, 100}; /* 100: the draft's */
	/* an iteration moves what a rank has twice at most, and one is for warming up */
	double bits = 2.0 * 8 * (double)bytes * (least[t->profile] + 1);

	return (struct mpi_job){.lab = &t->fabric->lab,
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
			const struct mpi_result *r, double sent_bytes)
{
	double want = (double)job->bytes * collective_factor(c, job->ranks);
	bool fits = !sent_bytes || collective_sent(c, job->ranks, job->bytes, sent_bytes);
	char text[160];

	if (strcmp(r->algorithm, collective_algorithm_name(c)) != 0)
		snprintf(text, sizeof(text), "%s, not %s", r->algorithm,
			 collective_algorithm_name(c));
	else if (!fits)
		snprintf(text, sizeof(text), "%s read back, but %.0f bytes sent, not %.0f",
			 r->algorithm, sent_bytes, want);
	else
		snprintf(text, sizeof(text), "%s (%s)", r->algorithm,
			 sent_bytes > 0 ? "verified" : "read back");
	trial_word(t, "Algorithm", text);
	trial_word(t, SUITE_LIBRARY, r->library);
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
