/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sched_kill.c - the shared memory of the scheduler under a writer that is killed again and again
 * (kill -9).
 *
 * Two things are shared between processes. The daemon's segment: a writer publishes pairs, and each
 * next writer adopts what the killed one left. A connection table in memory that both sides map: a
 * writer inserts, moves, erases, expires, and each next one adopts it too. Readers are processes of
 * their own that never stop; they check values, not survival:
 *   - a snapshot is of one publication: what its planes say is a function of one version, and of
 * this pair;
 *   - versions never go back;
 *   - a picked plane is one that this pair was ever given, a sub-port one that is up;
 *   - a slot in the table is this key's own; a key that was never erased is always found.
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
#include "conn_table.h"
#include "fare.h"
#include "fare_spray_inline.h"
#include "shm_writer.h"

#define PAIRS	16u
#define PLANES	6u
#define READERS 2u
#define KEYS	400u
#define STABLE	150u /* of them: never erased */
#define ENTRIES 350u
#define LIMIT_S 120u /* more than its time, until enough was seen */
#define SHIFT	8    /* of a version in usable_bps: below it stands whose it is */

enum wrong { TORN, BACKWARDS, PLANE, SUB_PORT, SLOT, MISSING, WRONGS };

static const char *const wrong_names[WRONGS] = {"torn snapshots", "versions that went back",
						"wrong planes",	  "wrong sub-ports",
						"wrong slots",	  "keys not found"};

/* What parent and children share besides what is tested. */
struct board {
	_Atomic uint64_t version; /* of publications */
	_Atomic uint64_t snapshots, picks, lookups, busy;
	_Atomic uint64_t wrong[WRONGS];
	_Atomic uint64_t adopted, published, written;
	_Atomic uint32_t stop;
};

struct drill {
	struct board *board;
	void *table_memory;
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

/* ---- the table
 * ---------------------------------------------------------------------------------------------- */

static uint64_t key_of(uint32_t i)
{
	return conn_table_key((uint16_t)(i / 16), 0x200 + i % 16);
}

static uint16_t slot_of(uint32_t i, uint64_t version)
{
	return (uint16_t)(((i * 37 + (i >> 8)) & 0xff) << 8 | (version & 0xff));
}

static struct conn_table *open_table(const struct drill *drill)
{
	struct conn_table_attr attr = {
		.max_entries = ENTRIES, .max_age = 2, .memory = drill->table_memory};
	struct conn_table *table;

	return conn_table_create(&table, &attr) ? NULL : table;
}

static void write_table(struct conn_table *table, uint64_t *seed)
{
	uint32_t i = (uint32_t)(chance(seed) % KEYS);
	uint64_t r = chance(seed);

	if (i < STABLE || r % 4 == 0)
		conn_table_move(table, key_of(i), slot_of(i, r >> 8));
	else if (r % 4 == 1)
		conn_table_erase(table, key_of(i));
	else
		conn_table_insert(table, key_of(i), slot_of(i, r >> 8));
	if (r >> 56)
		return;
	for (i = 0; i < STABLE; i++)
		conn_table_touch(table, key_of(i));
	conn_table_sweep(table, table->n_lines, NULL, NULL);
}

static void check_table(struct board *board, const struct conn_table *table, uint64_t *seed)
{
	uint64_t keys[CONN_TABLE_BATCH];
	uint32_t which[CONN_TABLE_BATCH], slots[CONN_TABLE_BATCH];

	for (unsigned k = 0; k < CONN_TABLE_BATCH; k++) {
		which[k] = (uint32_t)(chance(seed) % KEYS);
		keys[k] = key_of(which[k]);
	}
	conn_table_lookup_batch(table, keys, slots, CONN_TABLE_BATCH);
	for (unsigned k = 0; k < CONN_TABLE_BATCH; k++) {
		if (slots[k] == CONN_TABLE_NONE)
			board->wrong[MISSING] += which[k] < STABLE;
		else
			board->wrong[SLOT] += slots[k] >> 8 != slot_of(which[k], 0) >> 8;
	}
	board->lookups += CONN_TABLE_BATCH;
}

/* ---- processes
 * ---------------------------------------------------------------------------------------------- */

/* Never returns by itself. */
static void writer_main(const struct drill *drill, uint64_t seed)
{
	struct shm_writer *writer = open_writer(drill, drill->board);
	struct conn_table *table = open_table(drill);

	if (!writer || !table || conn_table_adopt(table) < 0)
		_exit(1);
	for (;;) {
		for (unsigned k = 0; k < 8; k++)
			publish(writer, drill->board, (unsigned)(chance(&seed) % PAIRS));
		for (unsigned k = 0; k < 64; k++)
			write_table(table, &seed);
		drill->board->written++;
	}
}

struct reader {
	struct fare *fare;
	struct fare_pair *pair[PAIRS];
	struct fare_spray *spray[PAIRS];
	struct conn_table *table;
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
	r->table = open_table(drill);
	return err ? err : r->table ? 0 : -ENOMEM;
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
		check_table(board, r.table, &r.seed);
	}
	for (unsigned i = 0; i < PAIRS; i++) {
		fare_spray_close(r.spray[i]);
		fare_pair_close(r.pair[i]);
	}
	fare_detach(r.fare);
	conn_table_destroy(r.table);
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

/* The state before the first kill: every pair published, every stable key there. */
static int prepare(struct drill *drill)
{
	struct shm_writer *writer;
	struct conn_table *table;
	int err = 0;

	drill->board = mmap(NULL, sizeof(*drill->board), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	drill->table_memory = mmap(NULL, conn_table_bytes(ENTRIES), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	snprintf(drill->dir, sizeof(drill->dir), "/tmp/fare-kill-XXXXXX");
	if (drill->board == MAP_FAILED || drill->table_memory == MAP_FAILED || !mkdtemp(drill->dir))
		return -errno;
	writer = open_writer(drill, drill->board);
	table = open_table(drill);
	if (!writer || !table)
		err = -ENOMEM;
	for (unsigned i = 0; !err && i < PAIRS; i++)
		publish(writer, drill->board, i);
	for (uint32_t i = 0; !err && i < STABLE; i++)
		err = conn_table_insert(table, key_of(i), slot_of(i, 0));
	shm_writer_close(writer);
	conn_table_destroy(table);
	return err;
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
		"\"lookups\":%llu,"
		"\"wrong\":%llu}}\n",
		drill->seconds, (unsigned long long)kills, (unsigned long long)board->snapshots,
		(unsigned long long)board->picks, (unsigned long long)board->lookups,
		(unsigned long long)wrong);
	return fclose(file) ? -errno : 0;
}

static bool is_enough(const struct drill *drill, uint64_t kills)
{
	const struct board *board = drill->board;

	return kills >= 20 * drill->seconds && board->published >= 20 * drill->seconds &&
	       board->written >= 5 * drill->seconds && board->adopted >= 5 * drill->seconds &&
	       board->snapshots >= 1000 && board->lookups >= 10000;
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
	printf("kills=%llu adopted=%llu published=%llu snapshots=%llu picks=%llu lookups=%llu "
	       "busy=%llu wrong=%llu seed=%llu\n",
	       (unsigned long long)kills, (unsigned long long)board->adopted,
	       (unsigned long long)board->published, (unsigned long long)board->snapshots,
	       (unsigned long long)board->picks, (unsigned long long)board->lookups,
	       (unsigned long long)board->busy, (unsigned long long)total,
	       (unsigned long long)drill->seed);
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
