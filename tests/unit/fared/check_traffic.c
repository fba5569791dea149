/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rounds over what clients say of their paths: nobody hides anybody else, and what is not told is
 * not known.
 */
#include "traffic.h"

#include <check.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "conn_shm.h"

/* rows that a segment has room for at most */
#define HUGE (CONN_SHM_MAX_BYTES / CONN_SHM_ROW_BYTES - 2)

static struct flows *flows;
static struct traffic traffic;
static unsigned n_told[FLOWS_MAX_CLIENTS]; /* by GPU: client i tells of paths of GPU i alone */
static unsigned n_clients;

static void setup(void)
{
	ck_assert_int_eq(flows_create(&flows), 0);
	traffic = (struct traffic){0};
	memset(n_told, 0, sizeof(n_told));
	n_clients = 0;
}

static void teardown(void)
{
	flows_destroy(flows);
}

static void use(struct conn_shm_path *path, bool in_use)
{
	path->in_use = in_use;
	atomic_store(&path->seq, 2);
}

/* Attaches a client of n_paths rows, all in use. It stays mapped. */
static struct conn_shm_header *attach(uint32_t n_paths)
{
	size_t size =
		sizeof(struct conn_shm_header) + (size_t)n_paths * sizeof(struct conn_shm_path);
	int fd = memfd_create("paths", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	struct conn_shm_header *header;
	struct conn_shm_path *paths;
	char why[128];

	ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
	header = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(header, MAP_FAILED);
	memset(header, 0, size);
	*header = (struct conn_shm_header){.magic = CONN_SHM_MAGIC,
					   .version = CONN_SHM_VERSION,
					   .n_paths = n_paths,
					   .used_paths = n_paths};
	paths = (struct conn_shm_path *)(header + 1);
	for (uint32_t i = 0; i < n_paths; i++) {
		paths[i].local_gpu = n_clients;
		use(&paths[i], true);
	}
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, CONN_SHM_SEALS), 0);
	ck_assert_int_eq(flows_attach(flows, fd, "app", 42, why, sizeof(why)), (int)n_clients++);
	close(fd);
	return header;
}

static void on_path(void *arg, const struct flow_path *path)
{
	ck_assert_ptr_eq(arg, &traffic);
	n_told[path->local_gpu]++;
}

static bool look(void)
{
	return traffic_read(&traffic, flows, on_path, &traffic);
}

START_TEST(a_client_with_all_rows_hides_no_other)
{
	attach(HUGE);
	attach(3);
	look();
	ck_assert_uint_eq(n_told[0], TRAFFIC_ROWS);
	ck_assert_uint_eq(n_told[1], 0);
	ck_assert(look()); /* the rest of the round, and not one row of the first client's more */
	ck_assert_uint_eq(n_told[0], TRAFFIC_ROWS);
	ck_assert_uint_eq(n_told[1], 3);
	look();
	ck_assert(look());
	ck_assert_uint_eq(n_told[0], 2 * TRAFFIC_ROWS);
	ck_assert_uint_eq(n_told[1], 6);
}
END_TEST

START_TEST(known_only_after_a_whole_round)
{
	attach(10000);
	attach(10000);
	attach(10000);
	ck_assert(!look());
	ck_assert(look());
	ck_assert(look()); /* and until the next one has ended */
	ck_assert(look());
	for (int i = 0; i < 3; i++) {
		ck_assert_uint_eq(n_told[i], 2 * 10000);
		flows_detach(flows, i);
	}
	ck_assert(!look());
}
END_TEST

START_TEST(who_picks_may_send_anywhere)
{
	struct conn_shm_header *picks;

	attach(3);
	ck_assert(look());
	picks = attach(0); /* one that only looks on changes nothing */
	ck_assert(look());
	atomic_store(&picks->n_pickers, 2);
	ck_assert(!look());
	ck_assert_uint_eq(n_told[0], 9); /* what others tell is heeded all the same */
	atomic_store(&picks->n_pickers, 0);
	ck_assert(look());
	atomic_store(&picks->n_pickers, UINT32_MAX);
	ck_assert(!look());
	flows_detach(flows, 1);
	ck_assert(look());
}
END_TEST

START_TEST(if_nobody_tells_of_a_path_nothing_is_known)
{
	struct conn_shm_header *groups = attach(1);
	struct conn_shm_path *path = (struct conn_shm_path *)(groups + 1);

	attach(0);
	ck_assert(look());
	use(path, false);
	ck_assert(!look());
	use(path, true);
	ck_assert(look());
	flows_detach(flows, 0);
	ck_assert(!look());
}
END_TEST

int main(void)
{
	Suite *s = suite_create("traffic");
	TCase *tc = tcase_create("rounds");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_client_with_all_rows_hides_no_other);
	tcase_add_test(tc, known_only_after_a_whole_round);
	tcase_add_test(tc, who_picks_may_send_anywhere);
	tcase_add_test(tc, if_nobody_tells_of_a_path_nothing_is_known);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
