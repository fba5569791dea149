/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mpi_coll.c - an MPI program that times one operation, and checks what it brought.
 *
 *   fare-mpi-coll [-a] [-o] OPERATION BYTES SECONDS [COMPUTE_MS [MIN_ITERATIONS]]
 *
 * OPERATION: allreduce, alltoall, allgather, reduce_scatter, bcast (of rank 0), sendrecv (to the
 * next rank, from the one before); latency, bandwidth (between ranks 0 and 1).
 * BYTES: of the whole vector at each rank, as the benchmark drafts have it; of a message for the
 * last two. Its numbers, of 4 bytes, are counted in an int: less than 8 GiB. COMPUTE_MS: each
 * iteration sleeps for so long first; with -o meanwhile (MPI_Iallreduce()). -a: every second
 * iteration is in place.
 *
 * Rank 0 prints a line of JSON when the measured iterations begin and when they have ended, both
 * with the ranks' hosts, and one with the answer. Iterations follow one another without a barrier;
 * an iteration's time is that of the slowest rank. Times are of CLOCK_MONOTONIC. In every iteration
 * a number of each 4 KiB is new and is checked; in the first and the last two every number is. Exit
 * status 0: nothing was wrong at any rank.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "mpi_algorithm.h"

#define WARM_SHARE	5 /* a fifth of SECONDS, at least */
#define WARM_ITERATIONS 3
#define MAX_ITERATIONS	100000
#define STRIDE		1024  /* numbers of 4 bytes in 4 KiB */
#define WINDOW		64    /* messages at once, bandwidth */
#define ROUND_TRIPS	100   /* of an iteration, latency */
#define TEST_NS		50000 /* between two looks whether what goes on meanwhile is done */
#define HOST_BYTES	64    /* of a host's name, with its end */

struct job {
	const char *name;
	void (*run)(struct job *job);
	bool parts;	/* a rank has one of the vector's parts, not all of it */
	bool any_bytes; /* no multiple of the ranks is needed */
	unsigned long (*check)(struct job *job, uint32_t turn, size_t stride);
	int rank, ranks;
	size_t bytes, n, each; /* n: numbers in the vector; each: in a rank's part */
	double seconds, compute_s;
	int min_iterations;
	bool alternates, overlaps, in_place; /* in_place: this iteration is */
	uint32_t *tx, *rx;
	int *counts;		   /* numbers in each rank's part */
	char (*hosts)[HOST_BYTES]; /* of each rank, up to the first dot; rank 0 has them */
	unsigned long checked, wrong;
};

/* Number i of rank from's vector in that turn. Sums of 1,024 ranks stay exact: they wrap. */
static uint32_t mpi_coll_number(int from, uint32_t turn, size_t i)
{
	return (uint32_t)i * 2654435761u + (uint32_t)from * 40503u + turn * 65537u;
}

static const void *mpi_coll_from(const struct job *j)
{
	return j->in_place ? MPI_IN_PLACE : j->tx;
}

/* Its own numbers, which in place are where what arrives will be. */
static void mpi_coll_fill(struct job *j, uint32_t turn, size_t stride)
{
	uint32_t *to = !j->in_place ? j->tx : j->parts ? j->rx + (size_t)j->rank * j->each : j->rx;

	for (size_t i = 0; i < (j->parts ? j->each : j->n); i += stride)
		to[i] = mpi_coll_number(j->rank, turn, i);
}

/* ---- all-reduce, reduce-scatter ---- */

static void reduce_run(struct job *j)
{
	MPI_Allreduce(mpi_coll_from(j), j->rx, (int)j->n, MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD);
}

/* n numbers that arrived, from number `first` of the vectors on. */
static unsigned long sums_check(struct job *j, uint32_t turn, size_t stride, size_t first, size_t n)
{
	uint32_t ranks = (uint32_t)j->ranks, pairs = ranks * (ranks - 1) / 2;
	unsigned long wrong = 0;

	for (size_t i = (stride - first % stride) % stride; i < n; i += stride)
		wrong += j->rx[i] != ranks * mpi_coll_number(0, turn, first + i) + pairs * 40503u;
	return wrong;
}

static unsigned long reduce_check(struct job *j, uint32_t turn, size_t stride)
{
	return sums_check(j, turn, stride, 0, j->n);
}

static void scatter_run(struct job *j)
{
	MPI_Reduce_scatter(mpi_coll_from(j), j->rx, j->counts, MPI_UINT32_T, MPI_SUM,
			   MPI_COMM_WORLD);
}

static unsigned long scatter_check(struct job *j, uint32_t turn, size_t stride)
{
	return sums_check(j, turn, stride, (size_t)j->rank * j->each, j->each);
}

/* ---- all-to-all, all-gather: part r of what arrives is of rank r ---- */

static void to_all_run(struct job *j)
{
	MPI_Alltoall(mpi_coll_from(j), (int)j->each, MPI_UINT32_T, j->rx, (int)j->each,
		     MPI_UINT32_T, MPI_COMM_WORLD);
}

static unsigned long to_all_check(struct job *j, uint32_t turn, size_t stride)
{
	size_t mine = (size_t)j->rank * j->each;
	unsigned long wrong = 0;

	for (int r = 0; r < j->ranks; r++)
		for (size_t i = (stride - mine % stride) % stride; i < j->each; i += stride)
			wrong += j->rx[(size_t)r * j->each + i] !=
				 mpi_coll_number(r, turn, mine + i);
	return wrong;
}

static void gather_run(struct job *j)
{
	MPI_Allgather(mpi_coll_from(j), (int)j->each, MPI_UINT32_T, j->rx, (int)j->each,
		      MPI_UINT32_T, MPI_COMM_WORLD);
}

static unsigned long gather_check(struct job *j, uint32_t turn, size_t stride)
{
	unsigned long wrong = 0;

	for (int r = 0; r < j->ranks; r++)
		for (size_t i = 0; i < j->each; i += stride)
			wrong += j->rx[(size_t)r * j->each + i] != mpi_coll_number(r, turn, i);
	return wrong;
}

/* ---- from one rank: broadcast, send and receive ---- */

static unsigned long vector_check(struct job *j, uint32_t turn, size_t stride, int from)
{
	unsigned long wrong = 0;

	for (size_t i = 0; i < j->n; i += stride)
		wrong += j->rx[i] != mpi_coll_number(from, turn, i);
	return wrong;
}

static void bcast_run(struct job *j)
{
	MPI_Bcast(j->rank || j->in_place ? j->rx : j->tx, (int)j->n, MPI_UINT32_T, 0,
		  MPI_COMM_WORLD);
}

static unsigned long bcast_check(struct job *j, uint32_t turn, size_t stride)
{
	return j->rank ? vector_check(j, turn, stride, 0) : 0;
}

static void sendrecv_run(struct job *j)
{
	int next = (j->rank + 1) % j->ranks, before = (j->rank + j->ranks - 1) % j->ranks;

	if (j->in_place)
		MPI_Sendrecv_replace(j->rx, (int)j->n, MPI_UINT32_T, next, 0, before, 0,
				     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	else
		MPI_Sendrecv(j->tx, (int)j->n, MPI_UINT32_T, next, 0, j->rx, (int)j->n,
			     MPI_UINT32_T, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static unsigned long sendrecv_check(struct job *j, uint32_t turn, size_t stride)
{
	return vector_check(j, turn, stride, (j->rank + j->ranks - 1) % j->ranks);
}

/* ---- two ranks: round trips, and messages one way ---- */

static void latency_run(struct job *j)
{
	int other = 1 - j->rank;

	for (int i = 0; i < ROUND_TRIPS && j->rank < 2; i++) {
		if (j->rank == 0)
			MPI_Send(j->tx, (int)j->n, MPI_UINT32_T, other, 0, MPI_COMM_WORLD);
		MPI_Recv(j->rx, (int)j->n, MPI_UINT32_T, other, 0, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		if (j->rank == 1)
			MPI_Send(j->tx, (int)j->n, MPI_UINT32_T, other, 0, MPI_COMM_WORLD);
	}
}

static unsigned long latency_check(struct job *j, uint32_t turn, size_t stride)
{
	return j->rank < 2 ? vector_check(j, turn, stride, 1 - j->rank) : 0;
}

static void bandwidth_run(struct job *j)
{
	MPI_Request request[WINDOW];

	for (int i = 0; i < WINDOW && j->rank < 2; i++) {
		if (j->rank == 0)
			MPI_Isend(j->tx, (int)j->n, MPI_UINT32_T, 1, 0, MPI_COMM_WORLD,
				  &request[i]);
		else
			MPI_Irecv(j->rx, (int)j->n, MPI_UINT32_T, 0, 0, MPI_COMM_WORLD,
				  &request[i]);
	}
	if (j->rank > 1)
		return;
	MPI_Waitall(WINDOW, request, MPI_STATUSES_IGNORE);
	if (j->rank == 0) /* all of them are there */
		MPI_Recv(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	else
		MPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
}

static unsigned long bandwidth_check(struct job *j, uint32_t turn, size_t stride)
{
	return j->rank == 1 ? latency_check(j, turn, stride) : 0;
}

static const struct job jobs[] = {
	{.name = "allreduce", .run = reduce_run, .check = reduce_check},
	{.name = "alltoall", .run = to_all_run, .check = to_all_check},
	{.name = "allgather", .run = gather_run, .check = gather_check, .parts = true},
	{.name = "reduce_scatter", .run = scatter_run, .check = scatter_check},
	{.name = "bcast", .run = bcast_run, .check = bcast_check, .any_bytes = true},
	{.name = "sendrecv", .run = sendrecv_run, .check = sendrecv_check, .any_bytes = true},
	{.name = "latency", .run = latency_run, .check = latency_check, .any_bytes = true},
	{.name = "bandwidth", .run = bandwidth_run, .check = bandwidth_check, .any_bytes = true},
};

/* ---- iterations ---- */

static void compute(double seconds)
{
	const struct timespec t = {.tv_sec = (time_t)seconds,
				   .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};

	if (seconds > 0)
		nanosleep(&t, NULL);
}

/* MPI goes on only while it is called, as it is beside a GPU that computes. */
static void overlap(struct job *j)
{
	uint64_t end = clock_now_ns() + (uint64_t)(j->compute_s * 1e9), now;
	MPI_Request request;
	int done = 0;

	MPI_Iallreduce(mpi_coll_from(j), j->rx, (int)j->n, MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD,
		       &request);
	for (now = clock_now_ns(); now < end; now = clock_now_ns()) {
		if (!done)
			MPI_Test(&request, &done, MPI_STATUS_IGNORE);
		compute((double)(done || end - now < TEST_NS ? end - now : TEST_NS) / 1e9);
	}
	if (!done)
		MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* The time that it took here; what is filled in and checked is outside of it. */
static double iterate(struct job *j, uint32_t turn, size_t stride, uint64_t *start_ns)
{
	double took;

	mpi_coll_fill(j, turn, stride);
	*start_ns = clock_now_ns();
	if (j->overlaps) {
		overlap(j);
	} else {
		compute(j->compute_s);
		j->run(j);
	}
	took = (double)(clock_now_ns() - *start_ns);
	j->wrong += j->check(j, turn, stride);
	j->checked++;
	return took;
}

/*
 * Until caches, connections and shapers are as they stay; then as many as fit into SECONDS, if they
 * take as long as the fastest did: the first ones connect.
 */
static int warm_up(struct job *j, uint32_t *turn)
{
	uint64_t start = clock_now_ns(), ignored;
	double plan[2] = {1, 0}; /* go on; iterations */
	double best = iterate(j, ++*turn, 1, &ignored);

	while (plan[0] != 0) {
		double took, passed;

		j->in_place = j->alternates && !j->in_place;
		took = iterate(j, ++*turn, STRIDE, &ignored);
		best = took < best ? took : best;
		passed = (double)(clock_now_ns() - start) / 1e9;
		plan[0] = passed < j->seconds / WARM_SHARE || *turn < WARM_ITERATIONS;
		plan[1] = j->seconds / (best / 1e9);
		MPI_Bcast(plan, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	}
	return plan[1] < j->min_iterations ? j->min_iterations
	       : plan[1] > MAX_ITERATIONS  ? MAX_ITERATIONS
					   : (int)plan[1];
}

struct times {
	double *took_ns, *slowest_ns;
	uint64_t *start_ns, begin_ns, end_ns;
	int n;
};

static int times_init(struct times *t, int n)
{
	t->n = n;
	t->took_ns = calloc((size_t)n, sizeof(*t->took_ns));
	t->slowest_ns = calloc((size_t)n, sizeof(*t->slowest_ns));
	t->start_ns = calloc((size_t)n, sizeof(*t->start_ns));
	return t->took_ns && t->slowest_ns && t->start_ns ? 0 : -1;
}

static void mpi_coll_hosts(struct job *j)
{
	char name[HOST_BYTES] = "";

	gethostname(name, sizeof(name) - 1);
	name[strcspn(name, ".")] = '\0';
	MPI_Gather(name, HOST_BYTES, MPI_CHAR, j->hosts, HOST_BYTES, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static void mpi_coll_report(const struct job *j, const char *event, uint64_t at_ns)
{
	if (j->rank)
		return;
	printf("{\"event\": \"%s\", \"at_ns\": %llu, \"hosts\": [", event,
	       (unsigned long long)at_ns);
	for (int r = 0; r < j->ranks; r++)
		printf("%s\"%s\"", r ? ", " : "", j->hosts[r]);
	puts("]}");
	fflush(stdout);
}

static void mpi_coll_measure(struct job *j, struct times *t, uint32_t turn)
{
	mpi_coll_hosts(j);
	MPI_Barrier(MPI_COMM_WORLD);
	t->begin_ns = clock_now_ns();
	mpi_coll_report(j, "begun", t->begin_ns);
	for (int i = 0; i < t->n; i++) {
		j->in_place = j->alternates && i % 2;
		t->took_ns[i] = iterate(j, ++turn, i < t->n - 2 ? STRIDE : 1, &t->start_ns[i]);
	}
	t->end_ns = clock_now_ns();
	mpi_coll_report(j, "ended", t->end_ns);
	MPI_Reduce(t->took_ns, t->slowest_ns, t->n, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	MPI_Reduce(j->rank ? &t->end_ns : MPI_IN_PLACE, &t->end_ns, 1, MPI_UINT64_T, MPI_MAX, 0,
		   MPI_COMM_WORLD);
}

/* ---- the answer ---- */

static void print_library(void)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING];
	int length;

	MPI_Get_library_version(text, &length);
	text[strcspn(text, ",\"\\")] = '\0';
	printf(", \"library\": \"%s\"", text);
}

static void mpi_coll_answer(const struct job *j, const struct times *t, const unsigned long sums[2])
{
	char algorithm[64], name[64];

	snprintf(name, sizeof(name), "coll_%s%s_algorithm", j->overlaps ? "libnbc_i" : "tuned_",
		 j->name);
	mpi_algorithm(name, algorithm, sizeof(algorithm));
	printf("{\"event\": \"answer\", \"operation\": \"%s\", \"bytes\": %zu, \"ranks\": %d, "
	       "\"algorithm\": \"%s\", \"alternates\": %s, \"wall_s\": %.9f, \"checked\": %lu, "
	       "\"wrong\": %lu",
	       j->name, j->bytes, j->ranks, algorithm, j->alternates ? "true" : "false",
	       (double)(t->end_ns - t->begin_ns) / 1e9, sums[0], sums[1]);
	print_library();
	printf(", \"start_ns\": [");
	for (int i = 0; i < t->n; i++)
		printf("%s%llu", i ? ", " : "", (unsigned long long)t->start_ns[i]);
	printf("], \"took_ns\": [");
	for (int i = 0; i < t->n; i++)
		printf("%s%.0f", i ? ", " : "", t->slowest_ns[i]);
	puts("]}");
	fflush(stdout);
}

static int mpi_coll_usage(void)
{
	fputs("usage: fare-mpi-coll [-a] [-o] OPERATION BYTES SECONDS [COMPUTE_MS "
	      "[MIN_ITERATIONS]]\n"
	      "OPERATION: allreduce (-o: during the compute), alltoall, allgather, reduce_scatter, "
	      "bcast, sendrecv, latency, bandwidth\n"
	      "BYTES: a multiple of 4 times the ranks, less than 8 GiB; -a: every second in "
	      "place\n",
	      stderr);
	return 2;
}

static int parse(struct job *j, int argc, char **argv)
{
	bool alternates = false, overlaps = false;
	size_t unit;
	int option;

	while ((option = getopt(argc, argv, "+ao")) != -1) {
		if (option == '?')
			return -1;
		alternates |= option == 'a';
		overlaps |= option == 'o';
	}
	argc -= optind - 1;
	argv += optind - 1;
	for (size_t i = 0; argc >= 4 && i < sizeof(jobs) / sizeof(jobs[0]); i++)
		if (strcmp(jobs[i].name, argv[1]) == 0)
			*j = jobs[i];
	if (!j->run || (overlaps && j->run != reduce_run))
		return -1;
	j->alternates = alternates;
	j->overlaps = overlaps;
	MPI_Comm_rank(MPI_COMM_WORLD, &j->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &j->ranks);
	unit = sizeof(*j->tx);
	j->bytes = strtoull(argv[2], NULL, 10);
	j->n = j->bytes / unit;
	j->each = j->n / (size_t)j->ranks;
	j->seconds = atof(argv[3]);
	j->compute_s = argc > 4 ? atof(argv[4]) / 1e3 : 0;
	j->min_iterations = argc > 5 ? atoi(argv[5]) : 1;
	if (!j->any_bytes)
		unit *= (size_t)j->ranks;
	if (j->ranks < 2)
		return -1;
	return j->bytes == 0 || j->bytes % unit || j->n > INT32_MAX || !(j->seconds > 0) ||
			       j->min_iterations < 1 || j->min_iterations > MAX_ITERATIONS
		       ? -1
		       : 0;
}

int main(int argc, char **argv)
{
	struct job j = {.name = NULL};
	struct times t;
	unsigned long sums[2], mine[2];
	uint32_t turn = 0;

	MPI_Init(&argc, &argv);
	if (parse(&j, argc, argv)) {
		MPI_Finalize();
		return mpi_coll_usage();
	}
	j.tx = malloc(j.bytes);
	j.rx = malloc(j.bytes);
	j.counts = calloc((size_t)j.ranks, sizeof(*j.counts));
	j.hosts = calloc((size_t)j.ranks, sizeof(*j.hosts));
	for (int i = 0; j.counts && i < j.ranks; i++)
		j.counts[i] = (int)j.each;
	if (!j.tx || !j.rx || !j.counts || !j.hosts || times_init(&t, warm_up(&j, &turn))) {
		fprintf(stderr, "fare-mpi-coll: no memory for %zu bytes\n", j.bytes);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	mpi_coll_measure(&j, &t, turn);
	mine[0] = j.checked;
	mine[1] = j.wrong;
	MPI_Allreduce(mine, sums, 2, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
	if (j.rank == 0)
		mpi_coll_answer(&j, &t, sums);
	MPI_Finalize();
	return sums[1] != 0;
}
