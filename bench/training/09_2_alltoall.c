/* SPDX-License-Identifier: BSD-2-Clause */
#include "training/common.h"

static int run(struct trial *t)
{
	return collective_trial(t, COLLECTIVE_ALLTOALL);
}

static int derive(struct rows *rows)
{
	return collective_derive(rows, "T9.2");
}

const struct test test_t9_2 = {
	.id = "T9.2",
	.name = "AlltoAll Benchmark",
	.clause = TRAINING_DRAFT "9.2",
	.dut = "DUT-F",
	.summary = "MPI_Alltoall() by an unmodified OpenMPI, over the transports of T9.1.",
	.needs = TRAINING_NEEDS,
	.strategies = mpi_strategies,
	.trials = {1, 3, 3},
	.seconds = {2, 10, 60},
	.params = collective_params,
	.kpis = collective_kpis,
	.views = collective_views,
	.run = run,
	.derive = derive,
};
