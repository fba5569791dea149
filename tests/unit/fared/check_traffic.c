/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rounds over what clients say of their paths: nobody hides anybody else. And packets that nobody
 * tells of, by what the kernel counts of lo in a network namespace of the test's own.
 */
#include "traffic.h"

#include <arpa/inet.h>
#include <check.h>
#include <fcntl.h>
#include <net/if.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "conn_shm.h"
#include "own_net.h"
#include "own_sysfs.h"

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
	traffic_fini(&traffic);
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
	ck_assert_int_eq(flows_attach(flows, fd, "app", 42, FLOWS_UNBOUNDED, why, sizeof(why)),
			 (int)n_clients++);
	close(fd);
	return header;
}

static void on_path(void *arg, const struct flow_path *path)
{
	ck_assert_ptr_eq(arg, &traffic);
	n_told[path->local_gpu]++;
}

static void look(void)
{
	traffic_read(&traffic, flows, on_path, &traffic);
}

START_TEST(a_client_with_all_rows_hides_no_other)
{
	attach(HUGE);
	attach(3);
	look();
	ck_assert_uint_eq(n_told[0], TRAFFIC_ROWS);
	ck_assert_uint_eq(n_told[1], 0);
	look(); /* the rest of the round, and not one row of the first client's more */
	ck_assert_uint_eq(n_told[0], TRAFFIC_ROWS);
	ck_assert_uint_eq(n_told[1], 3);
	look();
	look();
	ck_assert_uint_eq(n_told[0], 2 * TRAFFIC_ROWS);
	ck_assert_uint_eq(n_told[1], 6);
}
END_TEST

START_TEST(who_picks_may_send_anywhere)
{
	struct conn_shm_header *picks;

	attach(3);
	picks = attach(0); /* one that only looks on changes nothing */
	ck_assert(!flows_have_pickers(flows));
	atomic_store(&picks->n_pickers, 2);
	ck_assert(flows_have_pickers(flows));
	atomic_store(&picks->n_pickers, 0);
	ck_assert(!flows_have_pickers(flows));
	atomic_store(&picks->n_pickers, UINT32_MAX);
	ck_assert(flows_have_pickers(flows));
	flows_detach(flows, 1);
	ck_assert(!flows_have_pickers(flows));
}
END_TEST

START_TEST(rows_that_are_not_in_use_tell_nothing)
{
	struct conn_shm_header *groups = attach(1);

	use((struct conn_shm_path *)(groups + 1), false);
	look();
	ck_assert_uint_eq(n_told[0], 0);
	use((struct conn_shm_path *)(groups + 1), true);
	look();
	ck_assert_uint_eq(n_told[0], 1);
}
END_TEST

#define T0 (1000 * TRAFFIC_SAMPLE_NS)

static struct sub_ports ports;

static void setup_lo(void)
{
	setup();
	own_sysfs();
	memset(&ports, 0, sizeof(ports));
	ports.n_gpus = 1;
	ports.gpus[0].n_planes = 1;
	ports.gpus[0].n_sub_ports[0] = 2; /* one of them has no device now */
	ports.gpus[0].ifindex[0][1] = (int)if_nametoindex("lo");
}

static void send_packets(unsigned n)
{
	struct sockaddr_in self = {.sin_family = AF_INET,
				   .sin_port = htons(9),
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), port_9, one = 1;

	/* somebody listens: no ICMP comes back */
	port_9 = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(setsockopt(port_9, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	ck_assert_int_eq(bind(port_9, (struct sockaddr *)&self, sizeof(self)), 0);
	while (n--)
		ck_assert_int_eq(sendto(fd, "x", 1, 0, (struct sockaddr *)&self, sizeof(self)), 1);
	close(fd);
	close(port_9);
}

/* n samples after T0 */
static bool sample(unsigned n, uint64_t own)
{
	return traffic_sample(&traffic, &ports, 0, 0, own, T0 + n * TRAFFIC_SAMPLE_NS);
}

/* The first sample has nothing to compare with, and the plane may have carried anything. */
static void settle(void)
{
	send_packets(TRAFFIC_MIN_PACKETS);
	ck_assert(sample(0, 0));
	ck_assert(sample(9, 0));
	ck_assert(!sample(10, 0));
}

START_TEST(packets_that_nobody_tells_of_are_traffic)
{
	settle();
	send_packets(TRAFFIC_MIN_PACKETS - 1);
	ck_assert(!sample(11, 0));
	send_packets(TRAFFIC_MIN_PACKETS);
	ck_assert(sample(12, 0));
	ck_assert(sample(21, 0));
	ck_assert(!sample(22, 0));
}
END_TEST

START_TEST(our_own_packets_are_none)
{
	settle();
	send_packets(50);
	ck_assert(!sample(11, 50));
	send_packets(50);
	ck_assert(sample(12, 50 + 51 - TRAFFIC_MIN_PACKETS - 1));
}
END_TEST

START_TEST(what_cannot_be_counted_may_be_traffic)
{
	ports.gpus[0].ifindex[0][0] = 0x7ffffff0;
	for (unsigned i = 0; i < 30; i++)
		ck_assert(sample(i, 0));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("traffic");
	TCase *tc = tcase_create("rounds"), *counts = tcase_create("counts");
	SRunner *sr;
	int failed, skip = own_net();

	if (skip)
		return skip;
	sr = srunner_create(s);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_client_with_all_rows_hides_no_other);
	tcase_add_test(tc, who_picks_may_send_anywhere);
	tcase_add_test(tc, rows_that_are_not_in_use_tell_nothing);
	tcase_add_checked_fixture(counts, setup_lo, teardown);
	tcase_add_test(counts, packets_that_nobody_tells_of_are_traffic);
	tcase_add_test(counts, our_own_packets_are_none);
	tcase_add_test(counts, what_cannot_be_counted_may_be_traffic);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, counts);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
