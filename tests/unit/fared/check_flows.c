/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection tables of applications: the seals, the sizes, and entries that lie. */
#include "flows.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "conn_shm.h"

static struct flows *flows;
static struct conn_shm_header *header;
static struct conn_shm_entry *entries; /* n_entries, then n_more QPs and as many paths */
static uint32_t n_more;

static void setup(void)
{
	ck_assert_int_eq(flows_create(&flows), 0);
}

static void teardown(void)
{
	flows_destroy(flows);
}

static int table(uint32_t n_entries, size_t size, int seals)
{
	int fd = memfd_create("table", MFD_ALLOW_SEALING | MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
	if (size >= sizeof(*header)) {
		header = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		ck_assert_ptr_ne(header, MAP_FAILED);
		memset(header, 0, size);
		*header = (struct conn_shm_header){.magic = CONN_SHM_MAGIC,
						   .version = CONN_SHM_VERSION,
						   .n_entries = n_entries,
						   .n_qps = n_more,
						   .n_paths = n_more,
						   .used_entries = UINT32_MAX,
						   .used_qps = UINT32_MAX,
						   .used_paths = UINT32_MAX};
		entries = (struct conn_shm_entry *)(header + 1);
	}
	if (seals)
		ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static size_t size_for(uint32_t n)
{
	return sizeof(struct conn_shm_header) + n * sizeof(struct conn_shm_entry);
}

static const char *name = "app\n";
static uid_t uid = FLOWS_UNBOUNDED;

static int attach(int fd)
{
	char why[128] = "";
	int id = flows_attach(flows, fd, name, 42, uid, why, sizeof(why));

	ck_assert_msg(id >= 0 || why[0], "refused without a reason");
	close(fd);
	return id;
}

static unsigned n_seen;
static struct flow last;

static void on_flow(void *arg, const struct flow *flow)
{
	(void)arg;
	n_seen++;
	last = *flow;
}

static unsigned read_all(unsigned *torn)
{
	uint64_t cursor = 0;
	bool done = false;

	n_seen = 0;
	while (!done)
		flows_read(flows, &cursor, 2, &done, torn, on_flow, NULL);
	return n_seen;
}

START_TEST(entries_are_read)
{
	unsigned torn;
	int id = attach(table(8, size_for(8), CONN_SHM_SEALS));

	ck_assert_int_ge(id, 0);
	ck_assert_uint_eq(read_all(&torn), 0);
	for (int i = 0; i < 5; i++) {
		entries[i].key = 100 + (uint64_t)i;
		entries[i].bytes = 7;
		atomic_store(&entries[i].seq, 2);
	}
	ck_assert_uint_eq(read_all(&torn), 5);
	ck_assert_uint_eq(last.key, 104);
	ck_assert_int_eq(last.pid, 42);
	ck_assert_str_eq(last.name, "app?");
	atomic_store(&entries[4].seq, 3); /* being written, for ever */
	ck_assert_uint_eq(read_all(&torn), 4);
	flows_detach(flows, id);
	ck_assert_uint_eq(read_all(&torn), 0);
	ck_assert_uint_eq(flows_n_clients(flows), 0);
}
END_TEST

START_TEST(a_client_that_lies_later_is_harmless)
{
	unsigned torn;

	ck_assert_int_ge(attach(table(4, size_for(4), CONN_SHM_SEALS)), 0);
	header->n_entries = UINT32_MAX;
	header->magic = 0;
	memset(entries, 0xee, 4 * sizeof(*entries)); /* even sequence numbers, garbage elsewhere */
	ck_assert_uint_eq(read_all(&torn), 4);
}
END_TEST

static struct flow_qp last_qp;
static struct flow_path last_path;

static void on_qp(void *arg, const struct flow_qp *qp)
{
	(void)arg;
	n_seen++;
	last_qp = *qp;
}

static void on_path(void *arg, const struct flow_path *path)
{
	(void)arg;
	n_seen++;
	last_path = *path;
}

static unsigned count_qps(void)
{
	unsigned torn, told = 0;
	uint64_t cursor = 0;
	bool done = false;

	n_seen = 0;
	while (!done)
		told += flows_read_qps(flows, &cursor, 1, &done, &torn, on_qp, NULL);
	ck_assert_uint_eq(told, n_seen);
	return n_seen;
}

static unsigned count_paths(void)
{
	unsigned torn;
	uint64_t cursor = 0;
	bool done = false;

	n_seen = 0;
	while (!done)
		flows_read_paths(flows, &cursor, 3, &done, &torn, on_path, NULL);
	return n_seen;
}

START_TEST(qps_and_paths_are_read)
{
	struct conn_shm_qp *qps;
	struct conn_shm_path *paths;

	n_more = 4;
	ck_assert_int_ge(attach(table(2, size_for(2 + 4 + 4), CONN_SHM_SEALS)), 0);
	n_more = 0;
	qps = (struct conn_shm_qp *)(entries + 2);
	paths = (struct conn_shm_path *)(qps + 4);
	ck_assert_uint_eq(count_qps() + count_paths(), 0);
	for (int i = 0; i < 3; i++) {
		qps[i].state = i == 1 ? CONN_SHM_QP_UNUSED : CONN_SHM_QP_UP;
		qps[i].udp_source_port = (uint16_t)(50000 + i);
		qps[i].remote_sub_port = -1;
		qps[i].plane = UINT16_MAX;
		qps[i].bytes = 9;
		atomic_store(&qps[i].seq, 2);
		paths[i].in_use = i != 1;
		paths[i].plane = (uint16_t)i;
		atomic_store(&paths[i].acked_ns, 7);
		atomic_store(&paths[i].seq, 2);
	}
	ck_assert_uint_eq(count_qps(), 2); /* one is nobody's */
	ck_assert_uint_eq(last_qp.udp_source_port, 50002);
	ck_assert_int_eq(last_qp.remote_sub_port, -1);
	ck_assert_int_eq(last_qp.plane, -1);
	ck_assert_str_eq(last_qp.state, "up");
	ck_assert_uint_eq(last_qp.bytes, 9);
	ck_assert_uint_eq(count_paths(), 2);
	ck_assert_uint_eq(last_path.plane, 2);
	ck_assert_uint_eq(last_path.acked_ns, 7);
	qps[2].state = 77;
	paths[2].plane = 99; /* no such plane can be */
	ck_assert_uint_eq(count_qps(), 2);
	ck_assert_str_eq(last_qp.state, "?");
	ck_assert_uint_eq(count_paths(), 1);
	atomic_store(&header->used_qps, 1); /* a reader need not look further */
	ck_assert_uint_eq(count_qps(), 1);
}
END_TEST

START_TEST(a_name_may_stand_in_the_header)
{
	int fd = table(4, size_for(4), CONN_SHM_SEALS);
	unsigned torn;

	memset(header->name, 'n', sizeof(header->name)); /* unterminated */
	name = "";
	ck_assert_int_ge(attach(fd), 0);
	atomic_store(&entries[0].seq, 2);
	ck_assert_uint_eq(read_all(&torn), 1);
	ck_assert_uint_eq(strspn(last.name, "n"), sizeof(header->name) - 1);
}
END_TEST

START_TEST(what_is_refused)
{
	int fd;

	ck_assert_int_eq(attach(table(1, size_for(1), 0)), -EPERM);
	ck_assert_int_eq(attach(table(1, size_for(1), CONN_SHM_SEALS & ~F_SEAL_SEAL)), -EPERM);
	ck_assert_int_eq(attach(table(1, size_for(1), CONN_SHM_SEALS & ~F_SEAL_GROW)), -EPERM);
	ck_assert_int_eq(attach(table(1, size_for(1), CONN_SHM_SEALS & ~F_SEAL_SHRINK)), -EPERM);
	ck_assert_int_eq(attach(table(1, size_for(1), CONN_SHM_SEALS & ~F_SEAL_FUTURE_WRITE)),
			 -EPERM);
	ck_assert_int_eq(attach(table(2, size_for(1), CONN_SHM_SEALS)), -EBADMSG);
	ck_assert_int_eq(attach(table(UINT32_MAX, size_for(1), CONN_SHM_SEALS)), -EBADMSG);
	ck_assert_int_eq(attach(table(0, 8, CONN_SHM_SEALS)), -EBADMSG);
	ck_assert_int_eq(attach(table(0, CONN_SHM_MAX_BYTES + 1, CONN_SHM_SEALS)), -EFBIG);
	n_more = UINT32_MAX; /* the sum must not wrap */
	ck_assert_int_eq(attach(table(2, size_for(2), CONN_SHM_SEALS)), -EBADMSG);
	n_more = 0;
	fd = table(1, size_for(1), CONN_SHM_SEALS);
	header->version = 1;
	ck_assert_int_eq(attach(fd), -EPROTONOSUPPORT);
	fd = table(1, size_for(1), CONN_SHM_SEALS);
	header->magic = 2;
	ck_assert_int_eq(attach(fd), -EBADMSG);
	ck_assert_int_eq(attach(open("/dev/null", O_RDONLY)), -EPERM);
	ck_assert_uint_eq(flows_n_clients(flows), 0);
}
END_TEST

/* A page that is not there would be the daemon's to pay for; one of a hugetlb pool may end it. */
START_TEST(what_cannot_be_read_for_sure_is_refused)
{
	const size_t pages = 16 * (size_t)sysconf(_SC_PAGESIZE), huge = 2 << 20;
	const struct conn_shm_header right = {.magic = CONN_SHM_MAGIC, .version = CONN_SHM_VERSION};
	int fd = memfd_create("sparse", MFD_ALLOW_SEALING);

	ck_assert_int_eq(ftruncate(fd, (off_t)pages), 0);
	ck_assert_int_eq(write(fd, &right, sizeof(right)), sizeof(right));
	/* as many blocks as a whole one has, but beyond its end */
	ck_assert_int_eq(fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)pages, (off_t)pages), 0);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, CONN_SHM_SEALS), 0);
	ck_assert_int_eq(attach(fd), -EBADMSG);

	fd = memfd_create("huge", MFD_ALLOW_SEALING | MFD_HUGETLB);
	if (fd < 0 || ftruncate(fd, (off_t)huge)) {
		puts("skipped: hugetlb files: this kernel makes none");
		return;
	}
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, CONN_SHM_SEALS), 0);
	ck_assert_int_eq(attach(fd), -EPERM);
}
END_TEST

START_TEST(a_client_cannot_punch_holes)
{
	const off_t page = sysconf(_SC_PAGESIZE);
	int fd = table(200, size_for(200), CONN_SHM_SEALS), kept = dup(fd);
	unsigned torn;

	ck_assert_int_ge(attach(fd), 0);
	ck_assert_int_eq(fallocate(kept, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, page, page),
			 -1);
	ck_assert_int_eq(errno, EPERM);
	ck_assert_int_eq(madvise((char *)header + page, (size_t)page, MADV_REMOVE), -1);
	atomic_store(&entries[199].seq, 2); /* the client's own mapping is as writable as before */
	ck_assert_uint_eq(read_all(&torn), 1);
	close(kept);
}
END_TEST

START_TEST(clients_are_bounded)
{
	for (int i = 0; i < FLOWS_MAX_CLIENTS; i++)
		ck_assert_int_eq(attach(table(1, size_for(1), CONN_SHM_SEALS)), i);
	ck_assert_int_eq(attach(table(1, size_for(1), CONN_SHM_SEALS)), -ENOSPC);
	flows_detach(flows, 5);
	ck_assert_int_eq(attach(table(1, size_for(1), CONN_SHM_SEALS)), 5);
}
END_TEST

START_TEST(a_user_cannot_take_every_place)
{
	uid = 1001;
	for (int i = 0; i < FLOWS_PER_USER; i++)
		ck_assert_int_eq(attach(table(1, size_for(1), CONN_SHM_SEALS)), i);
	ck_assert_int_eq(attach(table(1, size_for(1), CONN_SHM_SEALS)), -ENOSPC);
	uid = 1002;
	ck_assert_int_eq(attach(table(1, size_for(1), CONN_SHM_SEALS)), FLOWS_PER_USER);
	uid = FLOWS_UNBOUNDED;
	ck_assert_int_eq(attach(table(1, size_for(1), CONN_SHM_SEALS)), FLOWS_PER_USER + 1);
	flows_detach(flows, 7);
	uid = 1001;
	ck_assert_int_eq(attach(table(1, size_for(1), CONN_SHM_SEALS)), 7);
	uid = FLOWS_UNBOUNDED;
}
END_TEST

int main(void)
{
	Suite *s = suite_create("flows");
	TCase *tc = tcase_create("tables");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, entries_are_read);
	tcase_add_test(tc, a_client_that_lies_later_is_harmless);
	tcase_add_test(tc, qps_and_paths_are_read);
	tcase_add_test(tc, a_name_may_stand_in_the_header);
	tcase_add_test(tc, what_is_refused);
	tcase_add_test(tc, what_cannot_be_read_for_sure_is_refused);
	tcase_add_test(tc, a_client_cannot_punch_holes);
	tcase_add_test(tc, clients_are_bounded);
	tcase_add_test(tc, a_user_cannot_take_every_place);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
