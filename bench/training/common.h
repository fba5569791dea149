/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * common.h - what tests of the training draft share: transports, states of the fabric, a collective
 * as a trial measures it.
 *
 * Owns: nothing. Strategies are transports under an unmodified MPI. Thread: the coordinator's.
 */
#ifndef TRAINING_COMMON_H
#define TRAINING_COMMON_H

#include "suite/trial.h"
#include "training/collective.h"
#include "training/mpi_job.h"

#define TRAINING_DRAFT "draft-calabria-bmwg-ai-fabric-training-bench-02, "
#define TRAINING_NEEDS (NEED_TWO_SERVERS | NEED_FAULTS)
#define BASELINE       "mpi-ofi-tcp"

extern const char *const mpi_strategies[];

/* False: this machine or this lab cannot, which the rows say. */
bool training_can(struct trial *t, unsigned ranks, uint64_t bytes);

/*
 * "healthy"; or a fault of the last rank's GPU: "subport-lost", "plane-lost"; or "leaf-lost".
 * Returns when daemons and libfare see it. training_restore() whatever came of it.
 */
int training_degrade(struct trial *t, const char *state, unsigned ranks);
int training_restore(struct trial *t);
/* farelab's words for that state, of size 96; empty: healthy. */
void training_fault(const struct trial *t, const char *state, unsigned ranks, char words[96]);

/* A job of the trial's transport, its algorithm forced. */
struct mpi_job training_job(const struct trial *t, enum collective c, unsigned ranks,
			    uint64_t bytes);
/* Workers, routes and weights as the comparison wants them: equal next hops for the kernel. */
int training_prepare(struct trial *t);
/*
 * The row "Algorithm": what was forced and is read back; sent_bytes: payload that each GPU sent
 * in an iteration (collective_sent()), 0: not counted.
 */
void training_algorithm(struct trial *t, enum collective c, const struct mpi_job *job,
			const struct mpi_result *r, double sent_bytes);

/* Of all sub-ports of a GPU that are whole, on the wire. */
double training_line_bps(const struct trial *t);

#endif
