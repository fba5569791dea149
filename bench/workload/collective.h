/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * collective.h - what a collective moves, and what it could reach at best.
 *
 * Owns: nothing; pure. In: a collective, its bytes and ranks, an immutable topology; out: factors
 * and bounds of the training draft (9.1 to 9.3, 10.1). Bytes are those of a rank's whole vector:
 * what it reduces, what it sends to all, what it has gathered. Thread: any.
 *
 * One more: at the end here and in collective.c (T9.1 to T9.3 count from the start), programs[] of
 * 09_programs.c, more_params of 09_collectives.c, jobs[] of mpi_coll.c.
 */
#ifndef COLLECTIVE_H
#define COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/topo.h"

enum collective {
	COLLECTIVE_ALLREDUCE,
	COLLECTIVE_ALLTOALL,
	COLLECTIVE_ALLGATHER,
	COLLECTIVE_REDUCE_SCATTER,
	COLLECTIVE_BCAST,
	COLLECTIVE_SENDRECV,
	COLLECTIVE_COUNT
};

/* "allreduce"; as fare-mpi-coll and MPI have them. */
const char *collective_name(enum collective c);
/* COLLECTIVE_COUNT: there is none of that name. */
enum collective collective_parse(const char *name);
/* The number (0: there are none) and the name of the algorithm of OpenMPI's coll tuned that is used
 * here, which sends no byte more than collective_factor() says. */
unsigned collective_algorithm(enum collective c);
const char *collective_algorithm_name(enum collective c);

/* algo_factor: bytes that each rank sends (or receives), per byte of its vector: 2 (n - 1) / n
 * for all-reduce, 1 for broadcast and send-receive, (n - 1) / n for the others. */
double collective_factor(enum collective c, unsigned ranks);
/* BusBW, bit/s per rank, of an operation that took so long. */
double collective_busbw_bps(enum collective c, unsigned ranks, uint64_t bytes, double seconds);

/*
 * Of all below: rank r is GPU r of the topology. What ranks of one server send to each other stays
 * within it and counts as nothing: the draft measures at the fabric. NULL: a server for each rank.
 *
 * The matrix of what the algorithm sends, cells[src * ranks + dst] bytes: to the next rank of the
 * ring, down the chain from rank 0 (broadcast), or the same to each (all-to-all).
 */
void collective_matrix(const struct topo *topo, enum collective c, unsigned ranks, uint64_t bytes,
		       uint64_t *cells);
/* The most that a rank sends: bytes times collective_factor(), if all goes to other servers. */
double collective_fabric_bytes(const struct topo *topo, enum collective c, unsigned ranks,
			       uint64_t bytes);
/*
 * What a matrix of payload that was sent looks like: "ring", "chain", "pairs" (the same to each),
 * "halving" (parts to partners at distances 1, 2, 4 ...), "doubling" (whole vectors to these);
 * "nothing known". Each rank's row fits within 10%, and nothing is missing; what is sent again
 * makes it more: *times the bytes that collective_algorithm() needs.
 */
const char *collective_seen(const struct topo *topo, enum collective c, unsigned ranks,
			    uint64_t bytes, const double *cells, double *times);
/* Whether each rank sent to each other what collective_algorithm() has it send, whatever else. */
bool collective_covered(const struct topo *topo, enum collective c, unsigned ranks, uint64_t bytes,
			const double *cells);
/* What collective_seen() says if the algorithm is used that collective_algorithm() says. */
const char *collective_shape(enum collective c);
/*
 * Seconds that the fluid takes for a matrix of ranks x ranks bytes between servers, with headers.
 * Infinite: a GPU that has bytes has no link. NaN: no memory, or more ranks than GPUs.
 */
double collective_optimum_s(const struct topo *topo, unsigned ranks, const uint64_t *cells);

/*
 * Roofline of the draft's 10.1 for one iteration, seconds: compute, then bytes at line_bps. With
 * bucket_bytes what a shaper lets pass at once after compute_s without traffic is left out: links
 * that real NICs have do not save up.
 */
double collective_roofline_s(const struct topo *topo, enum collective c, unsigned ranks,
			     uint64_t bytes, double compute_s, double line_bps,
			     double bucket_bytes);

#endif
