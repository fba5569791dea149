/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mpi_atomics.c - MPI's one-sided operations of all ranks on one another's memory, with every value
 * checked: whatever component of MPI does them.
 *
 *   mpi_atomics ROUNDS
 *
 * In each round every rank fetches and adds, compares and swaps, and accumulates at every rank, and
 * puts and gets. There are two ranks at least. Rank 0 prints one line of JSON. Exit status 0:
 * nothing was wrong.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VECTOR 100 /* elements that are accumulated */
#define RANKS  256

/* What each rank's window has. */
enum cell {
	COUNTER,
	LOCKED,
	SWAPPED,
	REAL,
	VALUES,
	PLACES = VALUES + VECTOR,
	CELLS = PLACES + RANKS
};

static int rank, ranks;
static int64_t *cells;
static MPI_Win window;
static unsigned long checked, wrong;

static void check(int condition)
{
	checked++;
	wrong += !condition;
}

static void counters(int rounds)
{
	int64_t one = 1, *last = calloc((size_t)ranks, sizeof(*last));

	for (int i = 0; i < rounds * ranks; i++) {
		int64_t old = -1;
		int to = (rank + i) % ranks;

		MPI_Fetch_and_op(&one, &old, MPI_INT64_T, to, COUNTER, MPI_SUM, window);
		MPI_Win_flush(to, window);
		/* of those that this rank sees, each is beyond the one before */
		check(old >= last[to] && old < (int64_t)rounds * ranks);
		last[to] = old + 1;
	}
	free(last);
}

/*
 * One more, by comparing and swapping until nobody was there in between. Not at the rank itself,
 * and in no window that MPI has allocated: OpenMPI 4.1.4's osc/rdma compares and swaps memory that
 * it reaches directly at no endpoint, and crashes, over shared memory too.
 */
static void swaps(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		int64_t seen = 0, found, next;
		int to = (rank + 1 + i % (ranks - 1)) % ranks;

		for (;; seen = found) {
			next = seen + 1;
			MPI_Compare_and_swap(&next, &seen, &found, MPI_INT64_T, to, SWAPPED,
					     window);
			MPI_Win_flush(to, window);
			if (found == seen)
				break;
			check(found > seen);
		}
	}
}

static void vectors(int rounds)
{
	int64_t values[VECTOR];
	double half = 0.5;

	for (int i = 0; i < VECTOR; i++)
		values[i] = i;
	for (int i = 0; i < rounds; i++)
		for (int to = 0; to < ranks; to++) {
			MPI_Accumulate(values, VECTOR, MPI_INT64_T, to, VALUES, VECTOR, MPI_INT64_T,
				       MPI_SUM, window);
			MPI_Accumulate(&half, 1, MPI_DOUBLE, to, REAL, 1, MPI_DOUBLE, MPI_SUM,
				       window);
		}
	MPI_Win_flush_all(window);
}

static void places(int rounds)
{
	for (int i = 0; i < rounds; i++)
		for (int to = 0; to < ranks; to++) {
			int64_t mine = (int64_t)rank * 1000 + i, back = -1;

			MPI_Put(&mine, 1, MPI_INT64_T, to, PLACES + rank, 1, MPI_INT64_T, window);
			MPI_Win_flush(to, window);
			MPI_Get(&back, 1, MPI_INT64_T, to, PLACES + rank, 1, MPI_INT64_T, window);
			MPI_Win_flush(to, window);
			check(back == mine);
		}
}

static void check_sums(int rounds)
{
	double real;

	memcpy(&real, &cells[REAL], sizeof(real));
	check(cells[COUNTER] == (int64_t)rounds * ranks);
	check(real == 0.5 * rounds * ranks);
	for (int i = 0; i < VECTOR; i++)
		check(cells[VALUES + i] == (int64_t)i * rounds * ranks);
	for (int i = 0; i < ranks; i++)
		check(cells[PLACES + i] == (int64_t)i * 1000 + rounds - 1);
}

int main(int argc, char **argv)
{
	unsigned long of_all[2], mine[2];
	int rounds = argc > 1 ? atoi(argv[1]) : 50;
	int64_t swapped;
	double start;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	cells = malloc(CELLS * sizeof(*cells));
	MPI_Win_create(cells, CELLS * sizeof(*cells), sizeof(*cells), MPI_INFO_NULL, MPI_COMM_WORLD,
		       &window);
	memset(cells, 0, CELLS * sizeof(*cells));
	MPI_Barrier(MPI_COMM_WORLD);
	start = MPI_Wtime();
	MPI_Win_lock_all(0, window);
	counters(rounds);
	swaps(rounds);
	vectors(rounds);
	places(rounds);
	MPI_Win_unlock_all(window);
	MPI_Barrier(MPI_COMM_WORLD);
	check_sums(rounds);
	swapped = cells[SWAPPED];
	MPI_Allreduce(MPI_IN_PLACE, &swapped, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
	check(swapped == (int64_t)rounds * ranks);
	mine[0] = checked;
	mine[1] = wrong;
	MPI_Reduce(mine, of_all, 2, MPI_UNSIGNED_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	if (!rank)
		printf("{\"ranks\":%d,\"rounds\":%d,\"checked\":%lu,\"wrong\":%lu,\"s\":%.2f}\n",
		       ranks, rounds, of_all[0], of_all[1], MPI_Wtime() - start);
	MPI_Win_free(&window);
	free(cells);
	MPI_Finalize();
	return wrong != 0;
}
