/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mpi_algorithm.h - which algorithm the library uses for a collective, by its tool interface
 * (MPI_T).
 *
 * Owns: nothing. In: a collective's name; out: what OpenMPI's component coll tuned was told to use,
 * read back from the library itself. Thread: the program's only one.
 */
#ifndef MPI_ALGORITHM_H
#define MPI_ALGORITHM_H

#include <stddef.h>

/* Of "allreduce" and so on, after MPI_Init(): "ring", "not forced", "unknown". */
void mpi_algorithm(const char *collective, char *out, size_t size);

#endif
