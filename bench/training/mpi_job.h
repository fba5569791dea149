/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mpi_job.h - a run of fare-mpi-coll by mpirun in a lab or on hosts, and what it answered.
 *
 * Owns: the times of a result. In: an operation and a transport, which `farelab-mpi run` starts, or
 * `farelab-mpi hosts` by the operator's own command; out: what rank 0 printed, checked. No secret
 * is in the command: ranks get the key file's name. Thread: the coordinator's (it waits).
 */
#ifndef MPI_JOB_H
#define MPI_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/fabric.h"

/* of a vector: fare-mpi-coll counts its numbers in an int */
#define MPI_JOB_MAX_BYTES (4 * (uint64_t)INT32_MAX)

struct mpi_job {
	const struct fabric *fabric; /* a lab, or hosts with --mpirun */
	const char *transport;	     /* as farelab-mpi has it: "fare", "ofi-tcp" ... */
	const char *operation;	     /* as fare-mpi-coll has it */
	unsigned algorithm;	     /* number in coll tuned; 0: what the library chooses */
	uint64_t bytes;
	unsigned ranks, min_iterations;
	double seconds, compute_s;
	bool alternates; /* every second iteration is in place, beginning with the second */
	bool overlaps;	 /* the all-reduce goes on beside the compute */
	double least_s;	 /* of its iterations, at the links' rate: it is given many times that */
	double most_s;	 /* 0, or what hosts allow it, from its start to its end */
	/* NULL, or called when the measured iterations begin, and when they have ended; 0, or
	 * -errno: the job ends */
	int (*on_begun)(void *arg);
	int (*on_ended)(void *arg);
	void *arg;
};

struct mpi_result {
	unsigned n;		      /* iterations */
	uint64_t *start_ns, *took_ns; /* monotonic at rank 0; of the slowest rank */
	double wall_s;		      /* of all iterations together, with what lies between them */
	uint64_t checked; /* iterations of which a rank checked what arrived; none was wrong */
	char algorithm[64], library[64];
	char why[200]; /* of -EOPNOTSUPP */
};

/* NULL: what starts ranks, and the program, are there; else what is missing. hosts: mpirun is the
 * operator's. */
const char *mpi_job_missing(bool hosts);

/* Where that program is in PATH. */
bool mpi_job_find(const char *program, char *file, size_t size);

/*
 * 0; -EBADE: a byte was wrong; -EOPNOTSUPP: the operator's command did not run the job on the
 * hosts, and out->why says what happened; -ETIMEDOUT; -EINTR; -errno; after saying what.
 * mpi_result_fini() frees.
 */
int mpi_job_run(const struct mpi_job *job, struct mpi_result *out);
void mpi_result_fini(struct mpi_result *r);
/*
 * The mean iteration at its slowest rank: the one clock of JCT, BusBW and what is made of them.
 * Ranks follow one another without a barrier, so n of these are longer than wall_s. NaN: there was
 * none. Pure.
 */
double mpi_result_mean_s(const struct mpi_result *r);

/* The arguments of a command; numbers are kept in text. */
#define MPI_JOB_ARGS 48
struct mpi_args {
	const char *arg[MPI_JOB_ARGS];
	unsigned n;
	char launcher[4096], program[4096], key[4128], provider[24], ranks[12], algorithm[64],
		number[12], text[4][32];
	char *hosts; /* as farelab-mpi(8) has them; NULL: a lab */
};

void mpi_args_add(struct mpi_args *a, const char *arg);
/* From the launcher to the number of ranks: options of mpirun may follow. 0, -ENOMEM, or -errno of
 * the key's path. mpi_args_fini() in any case. */
int mpi_args_launch(struct mpi_args *a, const struct mpi_job *job);
/* The program: its arguments may follow. */
void mpi_args_program(struct mpi_args *a, const struct mpi_job *job, const char *program);
void mpi_args_fini(struct mpi_args *a);

/* What all ranks keep in memory: two vectors each, and what OpenMPI's collectives of that
 * algorithm, in place as well, have beside them. Pure. */
uint64_t mpi_job_memory_bytes(const struct mpi_job *job);

enum mpi_event { MPI_EVENT_NONE, MPI_EVENT_BEGUN, MPI_EVENT_ENDED, MPI_EVENT_ANSWER };

/*
 * What a line that the program printed says (enum mpi_event); an answer is put into out. -EBADMSG:
 * one that contradicts itself or the job. -EBADE: bytes were wrong. -EOPNOTSUPP: a rank is not on
 * its GPU's host. Pure.
 */
int mpi_job_parse(const struct mpi_job *job, const char *line, struct mpi_result *out);

#endif
