/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mpi_algorithm.h - which algorithm the library uses for a collective, by its tool interface
 * (MPI_T).
 *
 * Owns: nothing. In: a control variable's name; out: what OpenMPI was set to use, read back
 * from the library itself. Thread: the program's only one.
 */
#ifndef MPI_ALGORITHM_H
#define MPI_ALGORITHM_H

#include <stddef.h>

/* Of "coll_tuned_allreduce_algorithm" and so on, after MPI_Init(): "ring", "not forced", "unknown".
 */
void mpi_algorithm(const char *variable, char *out, size_t size);

#endif
