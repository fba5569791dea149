/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of a client's segment: lent apart, returned, and what a reader of the memfd finds. */
#include "conn_segment.h"

#include <check.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct conn_segment *segment;

static void setup(void)
{
	ck_assert_int_eq(conn_segment_create(&segment), 0);
}

static void teardown(void)
{
	conn_segment_destroy(segment);
}

START_TEST(rows_are_lent_apart_and_come_back)
{
	struct conn_shm_qp *a = conn_segment_lend_qps(segment, 9),
			   *b = conn_segment_lend_qps(segment, 1);

	ck_assert_ptr_nonnull(a);
	ck_assert_ptr_nonnull(b);
	ck_assert(b >= a + 9 || b < a);
	conn_segment_return(segment, a, 9);
	ck_assert_ptr_eq(conn_segment_lend_qps(segment, 16), a);
	ck_assert(conn_segment_lend_qps(segment, 1) > b);
	ck_assert_ptr_null(conn_segment_lend_qps(segment, 0));
	conn_segment_return(segment, NULL, 5);
}
END_TEST

START_TEST(the_quota_ends)
{
	struct conn_shm_path *first = conn_segment_lend_paths(segment, 16000);

	ck_assert_ptr_nonnull(first);
	ck_assert_ptr_null(conn_segment_lend_paths(segment, 16000));
	ck_assert_ptr_nonnull(conn_segment_lend_paths(segment, 16));
	ck_assert_ptr_nonnull(conn_segment_lend_qps(segment, 16000)); /* each kind has its own */
	ck_assert_ptr_nonnull(conn_segment_lend_entries(segment, 100000));
	conn_segment_return(segment, first, 16000);
	ck_assert_ptr_eq(conn_segment_lend_paths(segment, 16000), first);
}
END_TEST

/*
 * Where the header says that rows are, they are; nobody can resize them under a reader, and no page
 * is missing.
 */
START_TEST(a_reader_finds_the_rows)
{
	struct conn_shm_entry *entry = conn_segment_lend_entries(segment, 3);
	struct conn_shm_qp *qp = conn_segment_lend_qps(segment, 3);
	struct conn_shm_path *path = conn_segment_lend_paths(segment, 3);
	const struct conn_shm_header *header;
	const char *rows;
	struct stat st;

	atomic_store(&entry->seq, 2);
	atomic_store(&qp->seq, 4);
	conn_shm_write_end(&path->seq, conn_shm_write_begin(&path->seq));
	ck_assert_int_eq(fstat(conn_segment_fd(segment), &st), 0);
	ck_assert_int_eq(fcntl(conn_segment_fd(segment), F_GET_SEALS), CONN_SHM_SEALS);
	ck_assert_int_eq(lseek(conn_segment_fd(segment), 0, SEEK_HOLE), st.st_size);
	header = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, conn_segment_fd(segment), 0);
	ck_assert_ptr_ne(header, MAP_FAILED);
	ck_assert_uint_eq(header->version, CONN_SHM_VERSION);
	ck_assert_uint_eq((size_t)st.st_size, sizeof(*header) + ((size_t)header->n_entries +
								 header->n_qps + header->n_paths) *
									CONN_SHM_ROW_BYTES);
	rows = (const char *)(header + 1);
	ck_assert_uint_eq(*(const uint64_t *)(const void *)rows, 2);
	rows += (size_t)header->n_entries * CONN_SHM_ROW_BYTES;
	ck_assert_uint_eq(*(const uint64_t *)(const void *)rows, 4);
	rows += (size_t)header->n_qps * CONN_SHM_ROW_BYTES;
	ck_assert_uint_eq(*(const uint64_t *)(const void *)rows, 2);
	ck_assert_uint_ge(header->used_paths, 3);
	ck_assert_uint_lt(header->used_paths, 64);
	munmap((void *)header, (size_t)st.st_size);
	ck_assert_int_ne(ftruncate(conn_segment_fd(segment), 0), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("conn_segment");
	TCase *tc = tcase_create("rows");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, rows_are_lent_apart_and_come_back);
	tcase_add_test(tc, the_quota_ends);
	tcase_add_test(tc, a_reader_finds_the_rows);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
