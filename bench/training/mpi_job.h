/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mpi_job.h - a run of fare-mpi-coll by mpirun on a lab's servers, and what it answered.
 *
 * Owns: the times of a result. In: an operation and a transport, which `farelab-mpi run` starts;
 * out: what rank 0 printed, checked. Thread: the coordinator's (it waits).
 */
#ifndef MPI_JOB_H
#define MPI_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/lab.h"

#define MPI_JOB_MAX_BYTES INT32_MAX /* of a vector: fare-mpi-coll takes no more */

struct mpi_job {
	const struct lab *lab;
	const char *transport; /* as farelab-mpi has it: "fare", "ofi-tcp" ... */
	const char *operation; /* as fare-mpi-coll has it */
	unsigned algorithm;    /* number in coll tuned; 0: what the library chooses */
	uint64_t bytes;
	unsigned ranks, min_iterations;
	double seconds, compute_s;
	bool alternates; /* every second iteration is in place, beginning with the second */
	bool overlaps;	 /* the all-reduce goes on beside the compute */
	double least_s;	 /* of its iterations, at the links' rate: it is given many times that */
	/* NULL, or called when the measured iterations begin, and when they have ended; 0, or
	 * -errno: the job ends */
	int (*on_begun)(void *arg);
	int (*on_ended)(void *arg);
	void *arg;
};

struct mpi_result {
	unsigned n;		      /* iterations */
	uint64_t *start_ns, *took_ns; /* monotonic at rank 0; of the slowest rank */
	double wall_s;
	uint64_t checked; /* iterations of which a rank checked what arrived; none was wrong */
	char algorithm[64], library[64];
};

/* NULL: mpirun and the program are there; else what is missing. */
const char *mpi_job_missing(void);

/* Where that program is in PATH. */
bool mpi_job_find(const char *program, char *file, size_t size);

/* 0; -EBADE: a byte was wrong; -ETIMEDOUT; -errno; after saying what. mpi_result_fini() frees. */
int mpi_job_run(const struct mpi_job *job, struct mpi_result *out);
void mpi_result_fini(struct mpi_result *r);

enum mpi_event { MPI_EVENT_NONE, MPI_EVENT_BEGUN, MPI_EVENT_ENDED, MPI_EVENT_ANSWER };

/*
 * What a line that the program printed says (enum mpi_event); an answer is put into out. -EBADMSG:
 * one that contradicts itself or the job. -EBADE: bytes were wrong. Pure.
 */
int mpi_job_parse(const struct mpi_job *job, const char *line, struct mpi_result *out);

#endif
