/* SPDX-License-Identifier: BSD-2-Clause */
#include "training/common.h"

static int run(struct trial *t)
{
	return collective_trial(t, COLLECTIVE_ALLREDUCE);
}

static int derive(struct rows *rows)
{
	return collective_derive(rows, "T9.1");
}

const struct test test_t9_1 = {
	.id = "T9.1",
	.name = "AllReduce Benchmark",
	.clause = TRAINING_DRAFT "9.1",
	.dut = "DUT-F",
	.summary = "MPI_Allreduce() of whole numbers by an unmodified OpenMPI, over libfabric and "
		   "UCX on TCP by "
		   "the kernel's ECMP, and over libfabric on fare. Also the all-reduce of tensor "
		   "parallelism.",
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
