/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemon's segment from both sides: what the writer publishes, a reader sees; through adoption,
 * replacement, a writer killed at any moment, and a scribbled file. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach.h"
#include "fare.h"
#include "shm_writer.h"

static char dir[] = "/tmp/fare-check-XXXXXX";
static struct shm_writer_gpu gpu;
static struct in6_addr peer;

static void setup(void)
{
	memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	memset(&gpu, 0, sizeof(gpu));
	inet_pton(AF_INET6, "::ffff:198.19.0.1", gpu.address[0]);
	inet_pton(AF_INET6, "::ffff:198.19.0.2", &peer);
	gpu.n_planes = 4;
	for (unsigned p = 0; p < 4; p++) {
		gpu.n_sub_ports[p] = 2;
		for (unsigned s = 0; s < 2; s++)
			snprintf(gpu.dev[p][s], sizeof(gpu.dev[p][s]), "p%us%u", p % 16, s % 16);
	}
}

static void teardown(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", dir, SHM_NAME);
	unlink(path);
	rmdir(dir);
}

static struct shm_writer *writer(const char **why_new)
{
	struct shm_writer *w;

	ck_assert_int_eq(shm_writer_open(&w, dir, 0600, &gpu, 1, why_new), 0);
	return w;
}

static void all_up(struct shm_writer *w)
{
	for (uint32_t p = 0; p < 4; p++)
		for (uint32_t s = 0; s < 2; s++)
			shm_writer_sub_port(w, 0, p, s, true, 100);
}

static int try_publish(struct shm_writer *w, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	struct shm_path path[4] = {{a, FARE_VERDICT_OK, 0, 0},
				   {b, FARE_VERDICT_OK, 0, 0},
				   {c, FARE_VERDICT_OK, 0, 0},
				   {d, FARE_VERDICT_OK, 0, 0}};

	return shm_writer_publish(w, (uint32_t)shm_writer_pair(w, 0, peer.s6_addr), path, 4);
}

static void publish(struct shm_writer *w, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	ck_assert_int_ge(try_publish(w, a, b, c, d), 0);
}

/* The least of what usable planes carry; one that is not known to carry less does not count. */
START_TEST(tells_the_path_mtu)
{
	const char *why_new;
	struct shm_writer *w = writer(&why_new);
	struct shm_path path[4] = {{1, FARE_VERDICT_OK, 0, 0},
				   {1, FARE_VERDICT_OK, 0, 2048},
				   {1, FARE_VERDICT_OK, 0, 1024},
				   {0, FARE_VERDICT_MTU, 0, 256}};
	struct fare_pair *pair;
	struct fare *fare;
	uint32_t id;

	ck_assert_int_eq(fare_attach(&fare, dir), 0);
	ck_assert_int_eq(fare_pair_open(&pair, fare, 0, &peer), 0);
	ck_assert_uint_eq(attach_pair_path_mtu(pair), UINT32_MAX);
	all_up(w);
	id = (uint32_t)shm_writer_pair(w, 0, peer.s6_addr);
	ck_assert_int_eq(shm_writer_publish(w, id, path, 4), 1);
	ck_assert_uint_eq(attach_pair_path_mtu(pair), 1024);
	path[1].path_mtu = path[2].path_mtu = 0;
	ck_assert_int_eq(shm_writer_publish(w, id, path, 4), 1);
	ck_assert_uint_eq(attach_pair_path_mtu(pair), UINT32_MAX);
	fare_pair_close(pair);
	fare_detach(fare);
	shm_writer_close(w);
}
END_TEST

START_TEST(publishes_to_readers)
{
	const char *why_new;
	struct shm_writer *w = writer(&why_new);
	struct fare_spray *spray;
	struct fare_slot slot;
	struct fare_paths paths;
	struct fare_pair *pair;
	struct fare *fare;
	unsigned count[4] = {0}, sub[2] = {0};

	ck_assert_str_eq(why_new, "there was none");
	ck_assert_int_eq(fare_attach(&fare, dir), 0);
	ck_assert_int_eq(fare_pair_open(&pair, fare, 0, &peer), 0);
	ck_assert_int_eq(fare_pair_paths(pair, &paths), 0);
	ck_assert_uint_eq(paths.n_planes, 4);
	ck_assert_uint_eq(paths.path[0].usable_bps, 0);
	ck_assert_int_eq(paths.path[0].verdict, FARE_VERDICT_NO_ROUTE);
	ck_assert_int_eq(fare_spray_open(&spray, pair), 0);
	ck_assert_int_eq(fare_spray_next(spray, &slot), -ENETUNREACH);

	all_up(w);
	publish(w, 200, 200, 200, 100);
	ck_assert_uint_ne(fare_pair_generation(pair), paths.generation);
	for (int i = 0; i < 700; i++) {
		ck_assert_int_eq(fare_spray_next(spray, &slot), 0);
		count[slot.plane]++;
		sub[slot.sub_port] += slot.plane == 3;
	}
	ck_assert(count[0] == 200 && count[1] == 200 && count[2] == 200 && count[3] == 100);
	ck_assert(sub[0] == 50 && sub[1] == 50);

	shm_writer_sub_port(w, 0, 3, 1, false, 0);
	publish(w, 200, 200, 200, 100); /* same bandwidths, other sub-ports: still news */
	ck_assert_int_eq(fare_pair_paths(pair, &paths), 0);
	ck_assert_uint_eq(paths.path[3].live_sub_ports, 1);
	fare_spray_close(spray);
	fare_pair_close(pair);
	fare_detach(fare);
	shm_writer_close(w);
}
END_TEST

static struct shm_header *open_segment(void)
{
	char path[64];
	struct shm_header *map;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, SHM_NAME);
	fd = open(path, O_RDWR);
	map = mmap(NULL, sizeof(*map), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(map, MAP_FAILED);
	close(fd);
	return map;
}

/* As a daemon did that published where source ports lead. */
static void leave_ports(void)
{
	struct shm_header *map = open_segment();

	memset(map->reserved[0], 1, sizeof(map->reserved[0]));
	munmap(map, sizeof(*map));
}

static bool has_ports(void)
{
	struct shm_header *map = open_segment();
	bool has = false;

	for (size_t i = 0; i < sizeof(map->reserved[0]); i++)
		has |= ((uint8_t *)map->reserved[0])[i] != 0;
	munmap(map, sizeof(*map));
	return has;
}

START_TEST(a_new_daemon_adopts_or_replaces)
{
	const char *why_new;
	struct shm_writer *w = writer(&why_new);
	struct fare_paths paths;
	struct fare_pair *pair;
	struct fare *fare;
	uint64_t generation;

	all_up(w);
	publish(w, 4, 3, 2, 1);
	leave_ports();
	shm_writer_close(w);
	ck_assert_int_eq(fare_attach(&fare, dir), 0); /* the daemon is away */
	ck_assert_int_eq(fare_pair_open(&pair, fare, 0, &peer), 0);
	fare_pair_paths(pair, &paths);
	ck_assert_uint_eq(paths.path[3].usable_bps, 1);
	generation = paths.generation;

	for (unsigned n = 0; n < 4; n++) /* what lies behind the names is no other configuration */
		memset(gpu.dev[n][1] + strlen(gpu.dev[n][1]) + 1, 'x', 4);
	w = writer(&why_new);
	ck_assert_ptr_null(why_new);
	ck_assert_uint_eq(shm_writer_n_pairs(w), 1);
	ck_assert(!has_ports());
	ck_assert_uint_eq(fare_pair_generation(pair), generation); /* a restart moves nothing */
	publish(w, 4, 3, 2, 1);
	ck_assert_uint_eq(fare_pair_generation(pair), generation);
	shm_writer_close(w);

	/* another configuration: readers move to the new file by themselves */
	strcpy(gpu.dev[2][1], "other");
	w = writer(&why_new);
	ck_assert_str_eq(why_new, "a local GPU's addresses, planes or devices are others");
	ck_assert_uint_ne(fare_pair_generation(pair), generation);
	all_up(w);
	publish(w, 9, 9, 9, 9);
	fare_pair_paths(pair, &paths);
	ck_assert_uint_eq(paths.path[3].usable_bps, 9);
	fare_pair_close(pair);
	fare_detach(fare);
	shm_writer_close(w);
}
END_TEST

/*
 * Killed after it had marked the old file and before the new one was there: readers wait for the
 * next daemon's.
 */
/*
 * One GPU is configured anew, another is not, though its number changes: its pairs are never
 * without paths.
 */
START_TEST(what_did_not_change_stays_in_force)
{
	struct shm_path path[4] = {{4, FARE_VERDICT_OK, 0, 0},
				   {3, FARE_VERDICT_OK, 0, 0},
				   {2, FARE_VERDICT_OK, 2, 0},
				   {0, FARE_VERDICT_NO_ROUTE, 0, 0}};
	struct shm_writer_gpu gpus[2] = {gpu, gpu};
	struct fare_pair *changed, *kept;
	struct fare_paths paths;
	struct shm_writer *w;
	struct fare *fare;
	const char *why_new;

	gpus[1].address[0][15]++;
	ck_assert_int_eq(shm_writer_open(&w, dir, 0600, gpus, 2, NULL), 0);
	for (uint32_t g = 0; g < 2; g++) {
		for (uint32_t i = 0; i < 8; i++)
			shm_writer_sub_port(w, g, i / 2, i % 2, true, 100);
		ck_assert_int_eq(shm_writer_publish(
					 w, (uint32_t)shm_writer_pair(w, g, peer.s6_addr), path, 4),
				 1);
	}
	ck_assert_int_eq(fare_attach(&fare, dir), 0);
	ck_assert_int_eq(fare_pair_open(&changed, fare, 0, &peer), 0);
	ck_assert_int_eq(fare_pair_open(&kept, fare, 1, &peer), 0);
	shm_writer_close(w);

	strcpy(gpus[0].dev[2][1], "other");
	ck_assert_int_eq(shm_writer_open(&w, dir, 0600, gpus, 2, &why_new), 0);
	ck_assert_str_eq(why_new, "a local GPU's addresses, planes or devices are others");
	ck_assert_uint_eq(shm_writer_n_pairs(w), 1);
	ck_assert_int_eq(fare_pair_paths(kept, &paths), 0);
	ck_assert_uint_eq(paths.n_planes, 4);
	for (unsigned p = 0; p < 4; p++) {
		ck_assert_uint_eq(paths.path[p].usable_bps, path[p].usable_bps);
		ck_assert_uint_eq(paths.path[p].verdict, path[p].verdict);
		ck_assert_uint_eq(paths.path[p].live_sub_ports, p == 2 ? 1 : 3);
	}
	ck_assert_int_eq(fare_pair_paths(changed, &paths), 0);
	ck_assert_uint_eq(paths.path[0].usable_bps, 0);
	fare_pair_close(changed);
	fare_pair_close(kept);
	shm_writer_close(w);

	/* it is the first now */
	ck_assert_int_eq(shm_writer_open(&w, dir, 0600, &gpus[1], 1, &why_new), 0);
	ck_assert_int_eq(fare_pair_open(&kept, fare, 0, &peer), 0);
	ck_assert_int_eq(fare_pair_paths(kept, &paths), 0);
	ck_assert_uint_eq(paths.path[1].usable_bps, 3);
	fare_pair_close(kept);
	fare_detach(fare);
	shm_writer_close(w);
}
END_TEST

START_TEST(a_retired_file_serves_until_its_successor_is_there)
{
	struct shm_writer *w = writer(NULL);
	struct shm_header *map;
	struct fare_paths paths;
	struct fare_pair *pair;
	struct fare *fare;
	const char *why_new;
	char path[64];
	int fd;

	all_up(w);
	publish(w, 4, 3, 2, 1);
	ck_assert_int_eq(fare_attach(&fare, dir), 0);
	ck_assert_int_eq(fare_pair_open(&pair, fare, 0, &peer), 0);
	snprintf(path, sizeof(path), "%s/%s", dir, SHM_NAME);
	fd = open(path, O_RDWR);
	map = mmap(NULL, sizeof(*map), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	map->retired = 1;
	munmap(map, sizeof(*map));
	shm_writer_close(w);
	ck_assert_int_eq(fare_pair_paths(pair, &paths), 0);
	ck_assert_uint_eq(paths.path[3].usable_bps, 1);

	w = writer(&why_new);
	ck_assert_str_eq(why_new, "it was retired, and not yet replaced");
	ck_assert_uint_ne(fare_pair_generation(pair), paths.generation);
	all_up(w);
	publish(w, 4, 3, 2, 8);
	ck_assert_int_eq(fare_pair_paths(pair, &paths), 0);
	ck_assert_uint_eq(paths.path[3].usable_bps, 8);
	fare_pair_close(pair);
	fare_detach(fare);
	shm_writer_close(w);
}
END_TEST

#define APPEARANCES (FARE_MAX_PAIRS / 2)

static struct in6_addr numbered(const char *prefix, int number)
{
	struct in6_addr address;

	inet_pton(AF_INET6, prefix, &address);
	address.s6_addr[14] = (uint8_t)(number >> 8);
	address.s6_addr[15] = (uint8_t)number;
	return address;
}

/*
 * Child: whenever asked, another pair, and at once, or a little later, the one that the reader
 * waits for.
 */
static void publish_two(struct shm_writer *w, _Atomic int *asked, _Atomic int *done)
{
	static const struct shm_path path[4] = {
		{.usable_bps = 1}, {.usable_bps = 1}, {.usable_bps = 1}, {.usable_bps = 1}};

	for (int i = 0; i < APPEARANCES; i++) {
		struct in6_addr other = numbered("2001:db8:1::", i), it = numbered("2001:db8::", i);

		while (atomic_load(asked) <= i)
			;
		shm_writer_publish(w, (uint32_t)shm_writer_pair(w, 0, other.s6_addr), path, 4);
		for (volatile int wait = i * 16 % 4096; wait > 0; wait--)
			;
		shm_writer_publish(w, (uint32_t)shm_writer_pair(w, 0, it.s6_addr), path, 4);
		atomic_store(done, i + 1);
	}
}

/*
 * A reader that looks while pairs appear either finds its own or is told to look again: it never
 * waits for good.
 */
START_TEST(a_pair_that_appears_is_found)
{
	_Atomic int *asked =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct shm_writer *w = writer(NULL);
	struct fare *fare;
	pid_t child;

	all_up(w);
	ck_assert_int_eq(fare_attach(&fare, dir), 0);
	child = fork();
	if (!child) {
		publish_two(w, asked, asked + 1);
		_exit(0);
	}
	for (int i = 0; i < APPEARANCES; i++) {
		struct in6_addr it = numbered("2001:db8::", i);
		struct fare_paths paths;
		struct fare_pair *pair;
		bool over;

		ck_assert_int_eq(fare_pair_open(&pair, fare, 0, &it), 0);
		ck_assert_int_eq(fare_pair_paths(pair, &paths), 0);
		atomic_store(asked, i + 1);
		do {
			over = atomic_load(asked + 1) == i + 1;
			if (fare_pair_generation(pair) == paths.generation)
				ck_assert_msg(!over, "pair %d is there, and nobody is told", i);
			else
				ck_assert_int_eq(fare_pair_paths(pair, &paths), 0);
		} while (!paths.path[0].usable_bps);
		fare_pair_close(pair);
	}
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	fare_detach(fare);
	shm_writer_close(w);
	munmap((void *)asked, 4096);
}
END_TEST

/*
 * A writer killed at any instruction leaves each snapshot whole: all four planes from one
 * publication.
 */
START_TEST(survives_a_killed_writer)
{
	struct shm_writer *w = writer(NULL);
	struct fare_paths paths;
	struct fare_pair *pair;
	struct fare *fare;

	all_up(w);
	publish(w, 1, 1, 1, 1);
	ck_assert_int_eq(fare_attach(&fare, dir), 0);
	ck_assert_int_eq(fare_pair_open(&pair, fare, 0, &peer), 0);
	for (int round = 0; round < 30; round++) {
		pid_t pid = fork();
		uint64_t seen = 0;

		if (pid == 0) {
			/*
			 * no assertion here: it would be killed in the middle of a message to the
			 * runner
			 */
			for (uint64_t v = 2;; v++)
				try_publish(w, v, v, v, v);
		}
		for (int i = 0; i < 20000; i++) {
			if (i == 10000)
				kill(pid, SIGKILL);
			if (fare_pair_paths(pair, &paths))
				continue;
			for (int p = 1; p < 4; p++)
				ck_assert_uint_eq(paths.path[p].usable_bps,
						  paths.path[0].usable_bps);
			seen++;
		}
		waitpid(pid, NULL, 0);
		ck_assert_uint_gt(seen, 10000 / 2);
		publish(w, 1, 1, 1, 1);
	}
	fare_pair_close(pair);
	fare_detach(fare);
	shm_writer_close(w);
}
END_TEST

/*
 * Whatever the file says, a reader stays within bounds and never posts onto a sub-port that is not
 * there.
 */
START_TEST(distrusts_the_segment)
{
	struct shm_writer *w = writer(NULL);
	struct fare_paths paths;
	struct fare_pair *pair;
	struct fare *fare;
	char path[64];
	uint8_t *map;
	int fd;

	all_up(w);
	publish(w, 1, 1, 1, 1);
	ck_assert_int_eq(fare_attach(&fare, dir), 0);
	snprintf(path, sizeof(path), "%s/%s", dir, SHM_NAME);
	fd = open(path, O_RDWR);
	map = mmap(NULL, sizeof(struct shm_header), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	srand(4);
	for (int round = 0; round < 300; round++) {
		for (int i = 0; i < 2000; i++)
			map[(size_t)rand() % (offsetof(struct shm_header, pairs) +
					      2 * sizeof(struct shm_pair))] = (uint8_t)rand();
		if (fare_pair_open(&pair, fare, 0, &peer))
			continue;
		if (!fare_pair_paths(pair, &paths)) {
			ck_assert_uint_le(paths.n_planes, FARE_MAX_PLANES);
			for (unsigned p = 0; p < paths.n_planes; p++) {
				ck_assert_int_lt(paths.path[p].verdict, FARE_VERDICT_COUNT);
				ck_assert(!paths.path[p].usable_bps ||
					  paths.path[p].live_sub_ports);
				ck_assert_uint_lt(paths.path[p].live_sub_ports,
						  1u << paths.path[p].n_sub_ports);
			}
		}
		fare_pair_close(pair);
	}
	munmap(map, sizeof(struct shm_header));
	fare_detach(fare);
	shm_writer_close(w);
}
END_TEST

/* What is configured is told of a peer that nobody has heard of, too. */
START_TEST(an_unknown_peer_has_sub_ports)
{
	struct shm_writer *w = writer(NULL);
	struct fare_paths paths;
	struct fare_pair *pair;
	struct fare *fare;

	all_up(w);
	ck_assert_int_eq(fare_attach(&fare, dir), 0);
	ck_assert_int_eq(fare_pair_open(&pair, fare, 0, &peer), 0);
	ck_assert_int_eq(fare_pair_paths(pair, &paths), 0);
	ck_assert_uint_eq(paths.n_planes, 4);
	for (unsigned p = 0; p < 4; p++) {
		ck_assert_uint_eq(paths.path[p].n_sub_ports, 2);
		ck_assert_uint_eq(paths.path[p].usable_bps, 0);
		ck_assert_uint_eq(paths.path[p].live_sub_ports, 0);
	}
	fare_pair_close(pair);
	fare_detach(fare);
	shm_writer_close(w);
}
END_TEST

START_TEST(says_when_nobody_ever_was_there)
{
	struct fare *fare;

	ck_assert_int_eq(fare_attach(&fare, "/nonexistent"), -ENOENT);
	ck_assert_ptr_null(fare);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("attach");
	TCase *t = tcase_create("core");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, tells_the_path_mtu);
	tcase_add_test(t, publishes_to_readers);
	tcase_add_test(t, a_new_daemon_adopts_or_replaces);
	tcase_add_test(t, what_did_not_change_stays_in_force);
	tcase_add_test(t, a_retired_file_serves_until_its_successor_is_there);
	tcase_add_test(t, a_pair_that_appears_is_found);
	tcase_add_test(t, survives_a_killed_writer);
	tcase_add_test(t, distrusts_the_segment);
	tcase_add_test(t, an_unknown_peer_has_sub_ports);
	tcase_add_test(t, says_when_nobody_ever_was_there);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
