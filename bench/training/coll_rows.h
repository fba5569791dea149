/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * coll_rows.h - the rows of a collective that was timed: bus bandwidth, iterations, both places.
 *
 * Owns: nothing. In: what a job answered; out: rows. All of one clock, the iteration at its slowest
 * rank (mpi_result_mean_s()). Thread: the coordinator's.
 */
#ifndef COLL_ROWS_H
#define COLL_ROWS_H

#include "suite/trial.h"
#include "training/mpi_job.h"
#include "workload/collective.h"

void coll_rows_add(struct trial *t, enum collective c, const struct mpi_job *job,
		   const struct mpi_result *r);

#endif
