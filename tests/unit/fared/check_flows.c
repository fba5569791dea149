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

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static struct flows *flows;
static struct conn_shm_header *header;
static struct conn_shm_entry *entries;

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
		*header = (struct conn_shm_header){.magic = CONN_SHM_MAGIC,
						   .version = CONN_SHM_VERSION,
						   .n_entries = n_entries};
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

static int attach(int fd)
{
	char why[128] = "";
	int id = flows_attach(flows, fd, name, 42, why, sizeof(why));

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
	int id = attach(table(8, size_for(8), SEALS));

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

	ck_assert_int_ge(attach(table(4, size_for(4), SEALS)), 0);
	header->n_entries = UINT32_MAX;
	header->magic = 0;
	memset(entries, 0xee, 4 * sizeof(*entries)); /* even sequence numbers, garbage elsewhere */
	ck_assert_uint_eq(read_all(&torn), 4);
}
END_TEST

START_TEST(a_name_may_stand_in_the_header)
{
	int fd = table(4, size_for(4), SEALS);
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
	ck_assert_int_eq(attach(table(1, size_for(1), F_SEAL_SHRINK | F_SEAL_GROW)), -EPERM);
	ck_assert_int_eq(attach(table(1, size_for(1), F_SEAL_SHRINK | F_SEAL_SEAL)), -EPERM);
	ck_assert_int_eq(attach(table(2, size_for(1), SEALS)), -EBADMSG);
	ck_assert_int_eq(attach(table(UINT32_MAX, size_for(1), SEALS)), -EBADMSG);
	ck_assert_int_eq(attach(table(0, 8, SEALS)), -EBADMSG);
	ck_assert_int_eq(attach(table(0, CONN_SHM_MAX_BYTES + 1, SEALS)), -EFBIG);
	fd = table(1, size_for(1), SEALS);
	header->version = 2;
	ck_assert_int_eq(attach(fd), -EPROTONOSUPPORT);
	fd = table(1, size_for(1), SEALS);
	header->magic = 2;
	ck_assert_int_eq(attach(fd), -EBADMSG);
	ck_assert_int_eq(attach(open("/dev/null", O_RDONLY)), -EPERM);
	ck_assert_uint_eq(flows_n_clients(flows), 0);
}
END_TEST

START_TEST(clients_are_bounded)
{
	for (int i = 0; i < FLOWS_MAX_CLIENTS; i++)
		ck_assert_int_eq(attach(table(1, size_for(1), SEALS)), i);
	ck_assert_int_eq(attach(table(1, size_for(1), SEALS)), -ENOSPC);
	flows_detach(flows, 5);
	ck_assert_int_eq(attach(table(1, size_for(1), SEALS)), 5);
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
	tcase_add_test(tc, a_name_may_stand_in_the_header);
	tcase_add_test(tc, what_is_refused);
	tcase_add_test(tc, clients_are_bounded);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
