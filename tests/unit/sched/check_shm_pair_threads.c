/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The segment's protocol between threads: one publishes, others read and pick, all on the same
 * memory, and every value is checked. Under a race detector the same program shows that nothing of
 * it is outside of the memory model.
 */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "shm_pair.h"

#define PAIRS	 3u
#define PLANES	 5u
#define READERS	 2
#define VERSIONS 60000u
#define READS	 2000u

static struct shm_header *map;
static _Atomic bool stop;
static _Atomic uint64_t begun[PAIRS]; /* a read that starts now sees this version or a later one */
static _Atomic uint32_t torn, back, stale, reads, busy;

static uint64_t bps_of(uint64_t version, uint32_t pair, uint32_t plane)
{
	return version << 8 | pair << 4 | plane;
}

static void publish(uint64_t version, uint32_t pair)
{
	struct shm_path path[PLANES];

	for (uint32_t p = 0; p < PLANES; p++)
		path[p] = (struct shm_path){bps_of(version, pair, p), (uint32_t)(version * 31),
					    (uint16_t)version, (uint16_t)(version >> 16)};
	shm_pair_publish(map, pair, path, PLANES);
	begun[pair] = version;
}

static void read_one(uint32_t pair, uint64_t *last)
{
	struct shm_path path[FARE_MAX_PLANES];
	uint64_t word, least = begun[pair], version;

	if (shm_pair_read(map, pair, path, &word)) {
		busy++;
		return;
	}
	reads++;
	version = path[0].usable_bps >> 8;
	for (uint32_t p = 0; p < PLANES; p++)
		torn += path[p].usable_bps != bps_of(version, pair, p) ||
			path[p].verdict != (uint32_t)(version * 31) ||
			path[p].live_sub_ports != (uint16_t)version ||
			path[p].path_mtu != (uint16_t)(version >> 16);
	torn += word >> 1 != version; /* one publication a version */
	back += version < *last;
	stale += version < least;
	*last = version;
}

static void *read_all(void *arg)
{
	uint64_t last[PAIRS] = {0};
	unsigned n = 0;

	for (; !stop || n < READS; n++) {
		uint32_t pair = ((uint32_t)(uintptr_t)arg + n) % PAIRS;

		read_one(pair, &last[pair]);
	}
	return NULL;
}

START_TEST(a_reader_sees_one_publication_whole)
{
	pthread_t thread[READERS];
	uint64_t version = 1;

	map = aligned_alloc(64, (sizeof(*map) + 63) / 64 * 64);
	ck_assert_ptr_nonnull(map);
	memset(map, 0, sizeof(*map));
	for (uint32_t pair = 0; pair < PAIRS; pair++)
		publish(1, pair);
	for (uintptr_t i = 0; i < READERS; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, read_all, (void *)i), 0);
	/* until enough was written, and was read beside it */
	while (version < VERSIONS || reads < READERS * READS) {
		version++;
		for (uint32_t pair = 0; pair < PAIRS; pair++)
			publish(version, pair);
	}
	stop = true;
	for (unsigned i = 0; i < READERS; i++)
		pthread_join(thread[i], NULL);
	ck_assert_uint_eq(torn, 0);
	ck_assert_uint_eq(back, 0);
	ck_assert_uint_eq(stale, 0);
	ck_assert_uint_ge(reads, READERS * READS);
	free(map);
}
END_TEST

START_TEST(nothing_published_is_said)
{
	struct shm_path path[FARE_MAX_PLANES];
	uint64_t word = 7;

	map = aligned_alloc(64, (sizeof(*map) + 63) / 64 * 64);
	ck_assert_ptr_nonnull(map);
	memset(map, 0, sizeof(*map));
	ck_assert_int_eq(shm_pair_read(map, 1, path, &word), 0);
	ck_assert_uint_eq(word, 0);
	free(map);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("shm_pair_threads");
	TCase *t = tcase_create("core");
	SRunner *r;
	int failed;

	tcase_set_timeout(t, 120);
	tcase_add_test(t, a_reader_sees_one_publication_whole);
	tcase_add_test(t, nothing_published_is_said);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
