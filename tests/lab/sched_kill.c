/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sched_kill.c - the shared memory of the scheduler under a writer that is killed again and again
 * (kill -9).
 *
 * A writer publishes pairs in the daemon's segment, and each next writer adopts what the killed one
 * left. Readers are processes of their own that never stop; they check values, not survival:
 *   - a snapshot is of one publication: what its planes say is a function of one version, and of
 * this pair;
 *   - versions never go back;
 *   - a picked plane is one that this pair was ever given, a sub-port one that is up.
 *
 * usage: sched_kill [--seconds N] [--seed N] [--json FILE]; exit status 0: nothing wrong was seen,
 * and enough was seen.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "fare.h"
#include "fare_spray_inline.h"
#include "shm_writer.h"

#define PAIRS	16u
#define PLANES	6u
#define READERS 2u
#define LIMIT_S 120u /* more than its time, until enough was seen */
#define SHIFT	8    /* of a version in usable_bps: below it stands whose it is */

enum wrong { TORN, BACKWARDS, PLANE, SUB_PORT, WRONGS };

static const char *const wrong_names[WRONGS] = {"torn snapshots", "versions that went back",
						"wrong planes", "wrong sub-ports"};

/* What parent and children share besides what is tested. */
struct board {
	_Atomic uint64_t version; /* of publications */
	_Atomic uint64_t snapshots, picks, busy;
	_Atomic uint64_t wrong[WRONGS];
	_Atomic uint64_t adopted, published, written;
	_Atomic uint32_t stop;
};

struct drill {
	struct board *board;
	char dir[32];
	unsigned seconds;
	uint64_t seed;
	const char *json;
};

static uint64_t chance(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	return x ^ x >> 29;
}

static struct in6_addr peer_of(unsigned pair)
{
	struct in6_addr a;

	inet_pton(AF_INET6, "2001:db8::1", &a);
	a.s6_addr[14] = (uint8_t)(pair + 1);
	return a;
}

/* Half of the planes, others for each pair; the rest it is never given. */
static bool plane_is_given(unsigned pair, unsigned plane)
{
	return (plane + pair) % 2 == 0;
}

/* ---- the segment
 * -------------------------------------------------------------------------------------------- */

static struct shm_writer *open_writer(const struct drill *drill, struct board *board)
{
	struct shm_writer_gpu gpu;
	struct shm_writer *writer;
	const char *why_new;

	memset(&gpu, 0, sizeof(gpu));
	inet_pton(AF_INET6, "2001:db8::1", gpu.address[1]);
	gpu.n_planes = PLANES;
	for (unsigned p = 0; p < PLANES; p++) {
		gpu.n_sub_ports[p] = 4;
		for (unsigned s = 0; s < 4; s++)
			snprintf(gpu.dev[p][s], FARE_DEV_NAME_MAX, "p%us%u", p % 16, s % 8);
	}
	if (shm_writer_open(&writer, drill->dir, 0600, &gpu, 1, &why_new))
		return NULL;
	board->adopted += !why_new;
	for (unsigned p = 0; p < PLANES; p++) /* sub-ports 1 and 3 are down for ever */
		for (unsigned s = 0; s < 4; s++)
			shm_writer_sub_port(writer, 0, p, s, s % 2 == 0, 1);
	return writer;
}

static void publish(struct shm_writer *writer, struct board *board, unsigned pair)
{
	uint64_t version = ++board->version;
	struct shm_path path[PLANES] = {{0}};
	struct in6_addr peer = peer_of(pair);
	int id = shm_writer_pair(writer, 0, peer.s6_addr);

	if (id < 0)
		return;
	for (unsigned p = 0; p < PLANES; p++) {
		path[p].usable_bps = plane_is_given(pair, p) ? version << SHIFT | pair << 4 | p : 0;
		path[p].verdict = path[p].usable_bps ? FARE_VERDICT_OK : FARE_VERDICT_DRAINED;
	}
	board->published += shm_writer_publish(writer, (uint32_t)id, path, PLANES) > 0;
}

static void check_snapshot(struct board *board, const struct fare_paths *paths, unsigned pair,
			   uint64_t *last)
{
	uint64_t version = 0;

	board->snapshots++;
	for (unsigned p = 0; p < paths->n_planes; p++) {
		uint64_t bps = paths->path[p].usable_bps;

		if (!bps && !version && paths->path[p].verdict == FARE_VERDICT_NO_ROUTE)
			return; /* never published yet */
		if (!plane_is_given(pair, p)) {
			board->wrong[TORN] += bps != 0;
			continue;
		}
		version = version ? version : bps >> SHIFT;
		board->wrong[TORN] += bps != (version << SHIFT | pair << 4 | p);
	}
	board->wrong[BACKWARDS] += version < *last;
	*last = version;
}

static void check_pick(struct board *board, struct fare_spray *spray, unsigned pair)
{
	struct fare_slot slot;

	if (fare_spray_pick(spray, &slot))
		return;
	board->picks++;
	board->wrong[PLANE] += slot.plane >= PLANES || !plane_is_given(pair, slot.plane);
	board->wrong[SUB_PORT] += slot.sub_port != 0 && slot.sub_port != 2;
}

/* ---- processes
 * ---------------------------------------------------------------------------------------------- */

/* Never returns by itself. */
static void writer_main(const struct drill *drill, uint64_t seed)
{
	struct shm_writer *writer = open_writer(drill, drill->board);

	if (!writer)
		_exit(1);
	for (;;) {
		for (unsigned k = 0; k < 8; k++)
			publish(writer, drill->board, (unsigned)(chance(&seed) % PAIRS));
		drill->board->written++;
	}
}

struct reader {
	struct fare *fare;
	struct fare_pair *pair[PAIRS];
	struct fare_spray *spray[PAIRS];
	uint64_t last[PAIRS], seed;
};

static int reader_open(struct reader *r, const struct drill *drill)
{
	int err = fare_attach(&r->fare, drill->dir);

	for (unsigned i = 0; !err && i < PAIRS; i++) {
		struct in6_addr peer = peer_of(i);

		err = fare_pair_open(&r->pair[i], r->fare, 0, &peer);
		if (!err)
			err = fare_spray_open(&r->spray[i], r->pair[i]);
	}
	return err;
}

static int reader_main(const struct drill *drill, uint64_t seed)
{
	struct reader r = {.seed = seed};
	struct board *board = drill->board;
	struct fare_paths paths;

	if (reader_open(&r, drill))
		return 1;
	while (!board->stop) {
		unsigned i = (unsigned)(chance(&r.seed) % PAIRS);

		if (fare_pair_paths(r.pair[i], &paths))
			board->busy++;
		else
			check_snapshot(board, &paths, i, &r.last[i]);
		for (unsigned k = 0; k < 10; k++)
			check_pick(board, r.spray[i], i);
	}
	for (unsigned i = 0; i < PAIRS; i++) {
		fare_spray_close(r.spray[i]);
		fare_pair_close(r.pair[i]);
	}
	fare_detach(r.fare);
	return 0;
}

/* The child dies with its parent. -1: no process. */
static pid_t start(const struct drill *drill, bool writer, uint64_t seed)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (writer)
		writer_main(drill, seed);
	_exit(reader_main(drill, seed));
}

/* The state before the first kill: every pair published. */
static int prepare(struct drill *drill)
{
	struct shm_writer *writer;

	drill->board = mmap(NULL, sizeof(*drill->board), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	snprintf(drill->dir, sizeof(drill->dir), "/tmp/fare-kill-XXXXXX");
	if (drill->board == MAP_FAILED || !mkdtemp(drill->dir))
		return -errno;
	writer = open_writer(drill, drill->board);
	if (!writer)
		return -ENOMEM;
	for (unsigned i = 0; i < PAIRS; i++)
		publish(writer, drill->board, i);
	shm_writer_close(writer);
	return 0;
}

/* Lets a writer write for a random while, up to 4 ms, and kills it wherever it is. False: it ended
 * by itself. */
static bool kill_one(const struct drill *drill, uint64_t *seed)
{
	struct timespec nap = {.tv_nsec = (long)(chance(seed) % 4000000)};
	pid_t pid = start(drill, true, chance(seed));
	int status;

	if (pid < 0)
		return false;
	nanosleep(&nap, NULL); /* when to kill, not what to wait for */
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static int write_json(const struct drill *drill, uint64_t kills, uint64_t wrong)
{
	const struct board *board = drill->board;
	FILE *file = fopen(drill->json, "w");

	if (!file)
		return -errno;
	fprintf(file,
		"{\"sched_kill\":{\"seconds\":%u,\"kills\":%llu,\"snapshots\":%llu,\"picks\":%llu,"
		"\"wrong\":%llu}}\n",
		drill->seconds, (unsigned long long)kills, (unsigned long long)board->snapshots,
		(unsigned long long)board->picks, (unsigned long long)wrong);
	return fclose(file) ? -errno : 0;
}

static bool is_enough(const struct drill *drill, uint64_t kills)
{
	const struct board *board = drill->board;

	return kills >= 20 * drill->seconds && board->published >= 20 * drill->seconds &&
	       board->written >= 5 * drill->seconds && board->adopted >= 5 * drill->seconds &&
	       board->snapshots >= 1000;
}

static int drill_run(struct drill *drill)
{
	uint64_t end = clock_now_ns() + drill->seconds * UINT64_C(1000000000),
		 limit = end + LIMIT_S * UINT64_C(1000000000), seed = drill->seed, kills = 0,
		 total = 0;
	struct board *board = drill->board;
	pid_t reader[READERS];
	int status, bad = 0;

	for (unsigned i = 0; i < READERS; i++)
		reader[i] = start(drill, false, drill->seed + i);
	/*
	 * a drill in which writers hardly wrote, or readers hardly read, shows nothing: it goes on
	 */
	while (!bad &&
	       (clock_now_ns() < end || (!is_enough(drill, kills) && clock_now_ns() < limit))) {
		bad = !kill_one(drill, &seed);
		kills++;
	}
	board->stop = 1;
	for (unsigned i = 0; i < READERS; i++)
		bad |= waitpid(reader[i], &status, 0) != reader[i] || status != 0;
	for (unsigned w = 0; w < WRONGS; w++) {
		total += board->wrong[w];
		if (board->wrong[w])
			printf("%s: %llu\n", wrong_names[w], (unsigned long long)board->wrong[w]);
	}
	printf("kills=%llu adopted=%llu published=%llu snapshots=%llu picks=%llu "
	       "busy=%llu wrong=%llu seed=%llu\n",
	       (unsigned long long)kills, (unsigned long long)board->adopted,
	       (unsigned long long)board->published, (unsigned long long)board->snapshots,
	       (unsigned long long)board->picks, (unsigned long long)board->busy,
	       (unsigned long long)total, (unsigned long long)drill->seed);
	if (bad)
		puts("a reader or a writer ended by itself");
	if (!is_enough(drill, kills)) {
		puts("too little happened to tell");
		bad = 1;
	}
	if (!bad && drill->json && write_json(drill, kills, total)) {
		perror(drill->json);
		bad = 1;
	}
	return bad || total ? 1 : 0;
}

static int parse(struct drill *drill, int argc, char **argv)
{
	static const struct option table[] = {{"seconds", required_argument, NULL, 's'},
					      {"seed", required_argument, NULL, 'r'},
					      {"json", required_argument, NULL, 'j'},
					      {NULL, 0, NULL, 0}};
	int option;

	while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
		char *rest = NULL;
		unsigned long value =
			option == 's' || option == 'r' ? strtoul(optarg, &rest, 0) : 0;

		if (option == 'j') {
			drill->json = optarg;
			continue;
		}
		if (!rest || *rest || rest == optarg || value > 1000000)
			return -EINVAL;
		if (option == 's')
			drill->seconds = (unsigned)value;
		else
			drill->seed = value;
	}
	return drill->seconds && optind == argc ? 0 : -EINVAL;
}

int main(int argc, char **argv)
{
	struct drill drill = {.seconds = 5, .seed = clock_now_ns() % 1000000};
	char path[64];
	int result;

	if (parse(&drill, argc, argv)) {
		fputs("usage: sched_kill [--seconds N] [--seed N] [--json FILE]\n", stderr);
		return 2;
	}
	if (prepare(&drill)) {
		perror("sched_kill");
		return 1;
	}
	result = drill_run(&drill);
	snprintf(path, sizeof(path), "%s/%s", drill.dir, SHM_NAME);
	unlink(path);
	rmdir(drill.dir);
	return result;
}
