/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mpi_check.c - an MPI program that checks every byte: point to point, collectives, one-sided,
 * derived types.
 *
 *   mpi_check [SECONDS [COMPUTE_S]]
 *
 * Rounds are run for SECONDS, and one at least; the sizes differ from round to round. COMPUTE_S:
 * before the first round rank 0 computes for so long without a call of MPI while the others send to
 * it. Exit status 0: nothing was wrong at any rank. Rank 0 prints a line of JSON.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define LARGEST	    (1u << 20)
#define WINDOW	    8
#define SYNCHRONOUS 8 /* tag of what MPI_Ssend() sends */

static int rank, size;
static unsigned long wrong, checked;
static uint8_t *tx, *rx;
static bool no_windows; /* MPI has no one-sided operations here */

static void expect(bool right, const char *what)
{
	checked++;
	if (right)
		return;
	if (wrong++ < 10)
		fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
}

/* what rank `from` says to rank `to` in turn n, byte i */
static uint8_t pattern(int from, int to, unsigned n, size_t i)
{
	return (uint8_t)(from * 131 + to * 17 + (int)n * 7 + (int)(i * 2654435761u >> 13));
}

static void fill(uint8_t *out, size_t bytes, int from, int to, unsigned n)
{
	for (size_t i = 0; i < bytes; i++)
		out[i] = pattern(from, to, n, i);
}

static bool is_filled(const uint8_t *in, size_t bytes, int from, int to, unsigned n)
{
	for (size_t i = 0; i < bytes; i++)
		if (in[i] != pattern(from, to, n, i))
			return false;
	return true;
}

static size_t bytes_of(unsigned round, unsigned i)
{
	static const size_t sizes[] = {0,     1,     8,	    100,   4000,  4028,	  4029,
				       16384, 32768, 32769, 65536, 99999, 262144, LARGEST};

	return sizes[(round + i) % (sizeof(sizes) / sizeof(sizes[0]))];
}

/* ---- point to point ---- */

static void ring(unsigned round)
{
	int next = (rank + 1) % size, before = (rank + size - 1) % size, count;
	size_t bytes = bytes_of(round, 0);
	MPI_Status status;

	fill(tx, bytes, rank, next, round);
	memset(rx, 0, bytes);
	MPI_Sendrecv(tx, (int)bytes, MPI_BYTE, next, 1, rx, (int)LARGEST, MPI_BYTE, before, 1,
		     MPI_COMM_WORLD, &status);
	MPI_Get_count(&status, MPI_BYTE, &count);
	expect((size_t)count == bytes && is_filled(rx, bytes, before, rank, round), "ring");
}

/* Everybody to everybody, several at once, the receives posted early or late. */
static void exchange(unsigned round)
{
	MPI_Request requests[2 * WINDOW];
	bool late = round & 1;

	for (int shift = 0; shift < size; shift++) {
		int to = (rank + shift) % size, from = (rank + size - shift) % size, n = 0;
		const size_t slot = LARGEST / WINDOW;

		for (unsigned i = 0; i < WINDOW; i++)
			fill(tx + i * slot, slot, rank, to, round + i);
		for (unsigned i = 0; i < WINDOW && !late; i++)
			MPI_Irecv(rx + i * slot, (int)slot, MPI_BYTE, from, (int)i, MPI_COMM_WORLD,
				  &requests[n++]);
		for (unsigned i = 0; i < WINDOW; i++)
			MPI_Isend(tx + i * slot, (int)(bytes_of(round, i) % slot), MPI_BYTE, to,
				  (int)i, MPI_COMM_WORLD, &requests[n++]);
		for (unsigned i = 0; i < WINDOW && late; i++)
			MPI_Irecv(rx + i * slot, (int)slot, MPI_BYTE, from, WINDOW - 1 - (int)i,
				  MPI_COMM_WORLD, &requests[n++]);
		MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
		for (unsigned i = 0; i < WINDOW; i++) {
			unsigned tag = late ? WINDOW - 1 - i : i;

			expect(is_filled(rx + i * slot, bytes_of(round, tag) % slot, from, rank,
					 round + tag),
			       "exchange");
		}
	}
}

/*
 * What a probe has found. One sent by MPI_Ssend() is not taken by a matched probe: OpenMPI 4.1.4
 * does not acknowledge it then, over libfabric's tcp either.
 */
static void take(int count, MPI_Status *status)
{
	MPI_Message message;

	if (status->MPI_TAG == SYNCHRONOUS) {
		MPI_Recv(rx, count, MPI_BYTE, status->MPI_SOURCE, status->MPI_TAG, MPI_COMM_WORLD,
			 status);
		return;
	}
	MPI_Mprobe(status->MPI_SOURCE, status->MPI_TAG, MPI_COMM_WORLD, &message, status);
	MPI_Mrecv(rx, count, MPI_BYTE, &message, status);
}

/* Any source and tag, by probe; order of one sender; a synchronous send. */
static void wildcards(unsigned round)
{
	int *seen = calloc((size_t)size, sizeof(*seen)), n = 3 * (size - 1), count;
	MPI_Status status;

	if (rank) {
		for (int i = 0; i < 3; i++) {
			fill(tx, 5000, rank, 0, round + (unsigned)i);
			if (7 + i == SYNCHRONOUS)
				MPI_Ssend(tx, 5000, MPI_BYTE, 0, 7 + i, MPI_COMM_WORLD);
			else
				MPI_Send(tx, 10 * i + 1, MPI_BYTE, 0, 7 + i, MPI_COMM_WORLD);
		}
	}
	for (int i = 0; i < n && !rank; i++) {
		MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
		MPI_Get_count(&status, MPI_BYTE, &count);
		take(count, &status);
		expect(status.MPI_TAG == 7 + seen[status.MPI_SOURCE], "order of one sender");
		expect(is_filled(rx, (size_t)count, status.MPI_SOURCE, 0,
				 round + (unsigned)seen[status.MPI_SOURCE]),
		       "wildcard");
		seen[status.MPI_SOURCE]++;
	}
	free(seen);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* A receive that nobody answers is cancelled. */
static void cancel(void)
{
	MPI_Request request;
	MPI_Status status;
	int cancelled;

	MPI_Irecv(rx, 100, MPI_BYTE, MPI_ANY_SOURCE, 999, MPI_COMM_WORLD, &request);
	MPI_Cancel(&request);
	MPI_Wait(&request, &status);
	MPI_Test_cancelled(&status, &cancelled);
	expect(cancelled, "cancel");
}

/* ---- collectives ---- */

static void reductions(unsigned round)
{
	int n = (int)(bytes_of(round, 3) / sizeof(double)) + 1;
	double *out = malloc((size_t)n * sizeof(*out)), *in = malloc((size_t)n * sizeof(*in));
	long sum = 0, mine = rank + 1, scan = 0;
	int largest, value = (rank * 7 + (int)round) % 101, best = 0;
	bool right = true;

	for (int i = 0; i < n; i++)
		out[i] = rank + i % 1000;
	MPI_Allreduce(out, in, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < n; i++)
		right &= in[i] == (double)size * (i % 1000) + size * (size - 1) / 2.0;
	expect(right, "allreduce of doubles");
	MPI_Reduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, (int)round % size, MPI_COMM_WORLD);
	expect(rank != (int)round % size || sum == size * (size + 1) / 2, "reduce of longs");
	MPI_Allreduce(&value, &largest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	for (int r = 0; r < size; r++)
		best = (r * 7 + (int)round) % 101 > best ? (r * 7 + (int)round) % 101 : best;
	expect(largest == best, "allreduce, largest");
	MPI_Scan(&mine, &scan, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	expect(scan == (rank + 1) * (rank + 2) / 2, "scan");
	free(out);
	free(in);
}

static void all_to_all(unsigned round)
{
	size_t each = bytes_of(round, 5) / (size_t)size;

	for (int r = 0; r < size; r++)
		fill(tx + (size_t)r * each, each, rank, r, round);
	memset(rx, 0, each * (size_t)size);
	MPI_Alltoall(tx, (int)each, MPI_BYTE, rx, (int)each, MPI_BYTE, MPI_COMM_WORLD);
	for (int r = 0; r < size; r++)
		expect(is_filled(rx + (size_t)r * each, each, r, rank, round), "alltoall");
	MPI_Allgather(tx, (int)each, MPI_BYTE, rx, (int)each, MPI_BYTE, MPI_COMM_WORLD);
	for (int r = 0; r < size; r++)
		expect(is_filled(rx + (size_t)r * each, each, r, 0, round), "allgather");
}

static void rooted(unsigned round)
{
	int root = (int)round % size;
	size_t bytes = bytes_of(round, 7), each = bytes / (size_t)size;

	if (rank == root)
		fill(tx, bytes, root, 0, round);
	MPI_Bcast(tx, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
	expect(is_filled(tx, bytes, root, 0, round), "bcast");
	MPI_Scatter(tx, (int)each, MPI_BYTE, rx, (int)each, MPI_BYTE, root, MPI_COMM_WORLD);
	expect(!memcmp(rx, tx + (size_t)rank * each, each), "scatter");
	fill(tx, each, rank, root, round);
	MPI_Gather(tx, (int)each, MPI_BYTE, rx, (int)each, MPI_BYTE, root, MPI_COMM_WORLD);
	for (int r = 0; r < size && rank == root; r++)
		expect(is_filled(rx + (size_t)r * each, each, r, root, round), "gather");
}

static void communicators(unsigned round)
{
	MPI_Comm half;
	int sum, expected = 0;

	MPI_Comm_split(MPI_COMM_WORLD, rank & 1, rank, &half);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half);
	for (int r = rank & 1; r < size; r += 2)
		expected += r;
	expect(sum == expected, "split");
	MPI_Comm_free(&half);
	(void)round;
}

/* ---- derived types ---- */

struct item {
	char letter;
	double value;
	int numbers[3];
};

static void structures(unsigned round)
{
	int lengths[] = {1, 1, 3}, next = (rank + 1) % size, before = (rank + size - 1) % size;
	MPI_Aint places[] = {offsetof(struct item, letter), offsetof(struct item, value),
			     offsetof(struct item, numbers)};
	MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT}, packed, type;
	struct item out[300] = {0}, in[300] = {0};
	bool right = true;

	MPI_Type_create_struct(3, lengths, places, types, &packed);
	MPI_Type_create_resized(packed, 0, sizeof(struct item), &type);
	MPI_Type_commit(&type);
	for (int i = 0; i < 300; i++)
		out[i] = (struct item){(char)(rank + i), rank * 0.5 + i, {i, rank, (int)round}};
	MPI_Sendrecv(out, 300, type, next, 3, in, 300, type, before, 3, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	for (int i = 0; i < 300; i++)
		right &= in[i].letter == (char)(before + i) && in[i].value == before * 0.5 + i &&
			 in[i].numbers[0] == i && in[i].numbers[1] == before &&
			 in[i].numbers[2] == (int)round;
	expect(right, "structures");
	MPI_Type_free(&type);
	MPI_Type_free(&packed);
}

/* A column of a matrix comes as a row. */
static void columns(unsigned round)
{
	enum { ROWS = 200, COLUMNS = 50 };
	static int matrix[ROWS][COLUMNS], row[ROWS];
	int next = (rank + 1) % size, before = (rank + size - 1) % size;
	MPI_Datatype column;
	bool right = true;

	for (int r = 0; r < ROWS; r++)
		for (int c = 0; c < COLUMNS; c++)
			matrix[r][c] = rank * 100000 + r * 100 + c + (int)round;
	MPI_Type_vector(ROWS, 1, COLUMNS, MPI_INT, &column);
	MPI_Type_commit(&column);
	MPI_Sendrecv(&matrix[0][7], 1, column, next, 4, row, ROWS, MPI_INT, before, 4,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (int r = 0; r < ROWS; r++)
		right &= row[r] == before * 100000 + r * 100 + 7 + (int)round;
	expect(right, "columns");
	MPI_Type_free(&column);
}

/* ---- one-sided ---- */

/* OpenMPI 5 has no one-sided operations over messages: MPI_Win_create() fails there. */
static void one_sided(unsigned round)
{
	enum { CELLS = 3000 };
	int next = (rank + 1) % size, before = (rank + size - 1) % size, one = 1, old;
	static int memory[CELLS + 1], out[CELLS], in[CELLS];
	bool right = true;
	MPI_Win window;

	memset(memory, 0, sizeof(memory));
	for (int i = 0; i < CELLS; i++)
		out[i] = rank * 10000 + i + (int)round;
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	no_windows = MPI_Win_create(memory, sizeof(memory), sizeof(int), MPI_INFO_NULL,
				    MPI_COMM_WORLD, &window);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	if (no_windows)
		return;
	MPI_Win_fence(0, window);
	MPI_Put(out, CELLS, MPI_INT, next, 0, CELLS, MPI_INT, window);
	MPI_Win_fence(0, window);
	for (int i = 0; i < CELLS; i++)
		right &= memory[i] == before * 10000 + i + (int)round;
	expect(right, "put");
	MPI_Get(in, CELLS, MPI_INT, next, 0, CELLS, MPI_INT, window);
	MPI_Win_fence(0, window);
	expect(!memcmp(in, out, sizeof(in)), "get");
	MPI_Accumulate(&one, 1, MPI_INT, 0, CELLS, 1, MPI_INT, MPI_SUM, window);
	MPI_Win_fence(0, window);
	expect(rank || memory[CELLS] == size, "accumulate");
	MPI_Barrier(MPI_COMM_WORLD); /* the others change the cell next */
	MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
	MPI_Fetch_and_op(&one, &old, MPI_INT, 0, CELLS, MPI_SUM, window);
	MPI_Win_unlock(0, window);
	expect(old >= size && old < 2 * size, "fetch and add");
	MPI_Win_free(&window);
}

/* ---- rounds ---- */

static void compute(double seconds)
{
	volatile double x = 1;
	double end;

	MPI_Barrier(MPI_COMM_WORLD);
	end = clock_now_s() + seconds;
	while (!rank && clock_now_s() < end)
		x = x * 1.0000001 + 1e-9;
	for (unsigned i = 0; i < 20; i++) {
		fill(tx, 100000, rank, 0, i);
		if (rank)
			MPI_Send(tx, i & 1 ? 100000 : 1000, MPI_BYTE, 0, (int)i, MPI_COMM_WORLD);
	}
	for (int from = 1; from < size && !rank; from++)
		for (unsigned i = 0; i < 20; i++) {
			MPI_Recv(rx, LARGEST, MPI_BYTE, from, (int)i, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
			expect(is_filled(rx, i & 1 ? 100000 : 1000, from, 0, i), "after computing");
		}
}

static void one_round(unsigned round)
{
	ring(round);
	exchange(round);
	wildcards(round);
	cancel();
	reductions(round);
	all_to_all(round);
	rooted(round);
	communicators(round);
	structures(round);
	columns(round);
	one_sided(round);
	MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 0, start;
	unsigned long sums[2], mine[2];
	unsigned round = 0;
	int go = 1;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	tx = malloc(LARGEST);
	rx = malloc(LARGEST);
	if (argc > 2)
		compute(atof(argv[2]));
	start = clock_now_s();
	while (go) {
		one_round(round++);
		if (!rank && round == 1)
			fputs("mpi_check: the first round has ended\n", stderr);
		go = clock_now_s() - start < seconds;
		MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
	}
	mine[0] = checked;
	mine[1] = wrong;
	MPI_Reduce(mine, sums, 2, MPI_UNSIGNED_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	if (!rank)
		printf("{\"ranks\": %d, \"rounds\": %u, \"one_sided\": %s, \"checked\": %lu, "
		       "\"wrong\": %lu}\n",
		       size, round, no_windows ? "false" : "true", sums[0], sums[1]);
	free(tx);
	free(rx);
	MPI_Finalize();
	return wrong != 0;
}
