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
#include "training/links.h"
#include "training/mpi_job.h"
#include "workload/collective.h"

#define TRAINING_DRAFT "draft-calabria-bmwg-ai-fabric-training-bench-02, "
/* Of a test of that draft: its number is that of its clause. */
#define TRAINING_CLAUSE(number) .id = "T" number, .clause = TRAINING_DRAFT number
#define BASELINE		"mpi-ofi-tcp"
#define BALANCE_BASE		"ecmp"

/* How leaves of two tiers spread; whole planes are lost in labs of one. */
#define TRAINING_BALANCE                                                                           \
	PARAM("balance", PARAM_NAME, "",                                                           \
	      "how leaves spread over their uplinks (two tiers; in labs by BPF, emulated)",        \
	      "ecmp,flowlet,spray", "ecmp,bth,flowlet,adaptive,spray")
#define TRAINING_FABRIC                                                                            \
	PARAM("fabric", PARAM_NAME, "", "whole, or a part of the last rank's GPU lost (one tier)", \
	      "healthy,subport-lost,plane-lost")

#define TRAINING_LINKS                                                                             \
	KPI("Link_utilization_max", "%", "DUT-F", "of the busiest live sub-port, transmitting",    \
	    BETTER_NONE, 0),                                                                       \
		KPI("Link_utilization_min", "%", "DUT-F", "of the idlest live sub-port",           \
		    BETTER_NONE, 0),                                                               \
		KPI("Link_utilization_mean", "%", "DUT-F", "of all live sub-ports", BETTER_NONE,   \
		    0)

extern const char *const mpi_strategies[];

/* struct test's fits: balance varies where there are uplinks, the state of the fabric elsewhere. */
bool training_fits(const struct topo *topo, const char *param, const char *level);
/* fabric_balance(). 1: the lab or its kernel cannot, which the rows say in farelab's words. */
int training_spread(struct trial *t, const char *mode, unsigned gap_us);
/* False: this machine, this lab or these hosts cannot, which the rows say. */
bool training_can(struct trial *t, unsigned ranks, uint64_t bytes);

/*
 * "healthy"; or a fault of the last rank's GPU: "subport-lost", "plane-lost"; or "leaf-lost"; of
 * planes of two tiers "spine-uplink", of the last rank's leaf, or "spine-lost"; of three tiers
 * "superspine-uplink", of a spine of that leaf. Returns when daemons and libfare see it. 1: hosts
 * have no command for it, which the rows say. training_restore() whatever came of it.
 */
int training_degrade(struct trial *t, const char *state, unsigned ranks);
int training_restore(struct trial *t);
/* That state as farelab names it, of size 96; empty: healthy, or the fabric has no such part. */
void training_fault(const struct trial *t, const char *state, unsigned ranks, char spec[96]);

/* Of T11.2 and T11.3. */
extern const struct param training_failure_params[];

/* A job of the trial's transport, its algorithm forced. */
struct mpi_job training_job(const struct trial *t, enum collective c, unsigned ranks,
			    uint64_t bytes);
/*
 * Workers, routes and weights as the comparison wants them: equal next hops for the kernel
 * (mpi-fare does without where hosts cannot); and leaves with uplinks spread as the parameter
 * "balance" says, if there is one ("own": as the lab has it). 1: the fabric cannot, which the rows
 * say.
 */
int training_prepare(struct trial *t);
/*
 * The row "Algorithm": what was forced and is read back; sent: payload of an iteration from each
 * GPU to each (collective_seen()), NULL: not counted.
 */
void training_algorithm(struct trial *t, enum collective c, const struct mpi_job *job,
			const struct mpi_result *r, const double *sent);

/* Why the interfaces' statistics have not all that the transport sends; NULL: they do. */
const char *training_uncounted(const struct trial *t);
/* The rows of TRAINING_LINKS; how the links of the first ranks were used. */
struct links_use training_links(struct trial *t, const struct links *from, const struct links *to,
				unsigned ranks);
/* The row "Packet_drop_rate", by fabric_packets() before and after. */
void training_drops(struct trial *t, const struct lab_packets *from, const struct lab_packets *to);
/* mpi_job_run(). 1: memory does not suffice, or hosts did not run it; the rows say so. */
int training_run(struct trial *t, struct mpi_job *job, struct mpi_result *out);
/*
 * The same, and its rows of drops, marks and pauses: from before the job begins until after it has
 * ended, as to read these counters takes longer than some jobs.
 */
int training_job_run(struct trial *t, struct mpi_job *job, struct mpi_result *out);

/* Of all sub-ports of a GPU that are whole, on the wire. */
double training_line_bps(const struct trial *t);
/* Of all uplinks of its leaves, all planes, on the wire. */
double training_uplinks_bps(const struct trial *t);

#endif
