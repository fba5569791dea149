/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * collective.h - what a collective moves, and what it could reach at best.
 *
 * Owns: nothing; pure. In: a collective, its bytes and ranks, an immutable topology; out: factors
 * and bounds of the training draft (9.1 to 9.3, 10.1). Bytes are those of a rank's whole vector:
 * what it reduces, what it sends to all, what it has gathered. Thread: any.
 */
#ifndef COLLECTIVE_H
#define COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/topo.h"

enum collective { COLLECTIVE_ALLREDUCE, COLLECTIVE_ALLTOALL, COLLECTIVE_ALLGATHER };

/* "allreduce"; as fare-mpi-coll and MPI have them. */
const char *collective_name(enum collective c);
/* The number and the name of the algorithm of OpenMPI's coll tuned that is used here, which sends
 * no byte more than collective_factor() says. */
unsigned collective_algorithm(enum collective c);
const char *collective_algorithm_name(enum collective c);

/* algo_factor: bytes that each rank sends (and receives), per byte of its vector: 2 (n - 1) / n
 * for all-reduce, (n - 1) / n for the others. */
double collective_factor(enum collective c, unsigned ranks);
/* BusBW, bit/s per rank, of an operation that took so long. */
double collective_busbw_bps(enum collective c, unsigned ranks, uint64_t bytes, double seconds);

/*
 * The matrix of what the algorithm sends, cells[src * ranks + dst] bytes: to the next rank of the
 * ring for all-reduce and all-gather, the same to each for all-to-all.
 */
void collective_matrix(enum collective c, unsigned ranks, uint64_t bytes, uint64_t *cells);
/*
 * Seconds that the fluid takes for a matrix of ranks x ranks bytes, rank r being GPU r, with
 * headers. Infinite: a GPU that has bytes has no link. NaN: no memory, or more ranks than GPUs.
 */
double collective_optimum_s(const struct topo *topo, unsigned ranks, const uint64_t *cells);

/*
 * Is what each GPU sent in an iteration, as payload, what the algorithm sends? Within 10%:
 * acknowledgements, control and retransmissions count, too. Recursive doubling on 4 ranks would
 * send a third more.
 */
bool collective_sent(enum collective c, unsigned ranks, uint64_t bytes, double sent_bytes);

/*
 * Roofline of the draft's 10.1 for one iteration, seconds: compute, then bytes at line_bps. With
 * bucket_bytes what a shaper lets pass at once after compute_s without traffic is left out: links
 * that real NICs have do not save up.
 */
double collective_roofline_s(enum collective c, unsigned ranks, uint64_t bytes, double compute_s,
			     double line_bps, double bucket_bytes);

#endif
