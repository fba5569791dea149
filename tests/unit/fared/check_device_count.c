/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's counts of real devices, in a network namespace of the test's own. Skipped where none
 * can be made.
 */
#include "device_count.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "own_net.h"
#include "own_sysfs.h"

static struct device_count count;

static void ip(const char *arguments)
{
	char command[200];

	snprintf(command, sizeof(command), "ip %s", arguments);
	ck_assert_msg(system(command) == 0, "%s", command);
}

static void new_netns(void)
{
	ck_assert_int_eq(unshare(CLONE_NEWNET), 0);
	ip("link add a0 type veth peer name z0");
	ip("link set a0 up");
	ip("link set z0 up");
}

static void setup(void)
{
	count = (struct device_count){0};
	new_netns();
	own_sysfs();
}

static void teardown(void)
{
	device_count_close(&count);
}

static uint64_t now(void)
{
	uint64_t n = 0;

	ck_assert_int_eq(device_count_read(&count, &n), 0);
	return n;
}

START_TEST(lost_carriers_are_counted)
{
	uint64_t before;

	ck_assert_int_eq(device_count_open(&count, "a0", DEVICE_COUNT_CARRIER_DOWN), 0);
	before = now();
	ip("link set z0 down");
	ck_assert_uint_eq(now(), before + 1);
	ip("link set z0 up");
	ck_assert_uint_eq(now(), before + 1);
	ip("link set z0 down");
	ck_assert_uint_eq(now(), before + 2);
}
END_TEST

START_TEST(packets_are_counted)
{
	const struct sockaddr_in nobody = {
		.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(0xc6120002)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint64_t before;

	ip("addr add 198.18.0.1/30 dev z0");
	ck_assert_int_eq(device_count_open(&count, "z0", DEVICE_COUNT_TX_PACKETS), 0);
	before = now();
	ck_assert_int_eq(sendto(fd, "x", 1, 0, (const struct sockaddr *)&nobody, sizeof(nobody)),
			 1);
	while (now() == before) /* 198.18.0.2 is asked for; the test's time limit ends this */
		sched_yield();
	close(fd);
}
END_TEST

START_TEST(a_device_that_is_gone_says_so)
{
	uint64_t n;

	ck_assert_int_eq(device_count_open(&count, "a0", DEVICE_COUNT_CARRIER_DOWN), 0);
	ip("link del a0");
	ck_assert_int_eq(device_count_read(&count, &n), -ENODEV);
	ck_assert_int_eq(device_count_open(&count, "a0", DEVICE_COUNT_CARRIER_DOWN), -ENODEV);
	ck_assert_int_eq(count.file, 0);
	ck_assert_int_eq(device_count_read(&count, &n), -EBADF);
}
END_TEST

START_TEST(names_are_no_paths)
{
	ck_assert_int_eq(device_count_open(&count, "../net/a0", DEVICE_COUNT_CARRIER_DOWN),
			 -ENODEV);
	ck_assert_int_eq(device_count_open(&count, "", DEVICE_COUNT_CARRIER_DOWN), -ENODEV);
	ck_assert_int_eq(device_count_open(&count, "..", DEVICE_COUNT_CARRIER_DOWN), -ENODEV);
}
END_TEST

/*
 * The same names and numbers, but not the same devices; which stay, as a descriptor holds their
 * namespace.
 */
START_TEST(another_namespaces_devices_are_refused)
{
	int former = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(former, 0);
	new_netns();
	ck_assert_int_eq(device_count_open(&count, "a0", DEVICE_COUNT_CARRIER_DOWN), -EXDEV);
	ck_assert_int_eq(count.file, 0);
	ip("link add b0 type veth peer name c0");
	ck_assert_int_eq(device_count_open(&count, "b0", DEVICE_COUNT_CARRIER_DOWN), -ENOENT);
	own_sysfs();
	ck_assert_int_eq(device_count_open(&count, "a0", DEVICE_COUNT_CARRIER_DOWN), 0);
	close(former);
}
END_TEST

/* A file of the /sys that a test makes for itself. */
static void put_file(const char *name, int number)
{
	char path[100];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/net/a0/%s", name);
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fprintf(file, "%d\n", number);
	fclose(file);
}

static void make_sysfs(void)
{
	ck_assert_int_eq(mount("tmpfs", "/sys", "tmpfs", 0, NULL), 0);
	ck_assert_int_eq(system("mkdir -p /sys/class/net/a0/statistics /sys/class/net/a0/device"),
			 0);
	put_file("ifindex", (int)if_nametoindex("a0"));
	put_file("statistics/tx_packets", 7);
	put_file("carrier_down_count", 2);
}

/* What an RDMA device sends past the kernel is in none of these counts. */
START_TEST(packets_of_rdma_devices_are_not_known)
{
	make_sysfs();
	ck_assert_int_eq(device_count_open(&count, "a0", DEVICE_COUNT_TX_PACKETS), 0);
	ck_assert_uint_eq(now(), 7);
	ck_assert_int_eq(mkdir("/sys/class/net/a0/device/infiniband", 0755), 0);
	ck_assert_int_eq(device_count_open(&count, "a0", DEVICE_COUNT_TX_PACKETS), -EOPNOTSUPP);
	ck_assert_int_eq(count.file, 0);
	ck_assert_int_eq(device_count_open(&count, "a0", DEVICE_COUNT_CARRIER_DOWN), 0);
	ck_assert_uint_eq(now(), 2);
}
END_TEST

/* As it is when no descriptor is free, or /sys is mounted late. */
START_TEST(what_could_not_be_opened_is_tried_again)
{
	int ifindex = (int)if_nametoindex("a0"), rc = -1;
	uint64_t n;

	make_sysfs();
	ck_assert_int_eq(unlink("/sys/class/net/a0/statistics/tx_packets"), 0);
	ck_assert_int_eq(device_count_follow(&count, ifindex, DEVICE_COUNT_TX_PACKETS, &n), -EBADF);
	put_file("statistics/tx_packets", 9);
	for (unsigned i = 0; rc && i < 100; i++)
		rc = device_count_follow(&count, ifindex, DEVICE_COUNT_TX_PACKETS, &n);
	ck_assert_int_eq(rc, 0);
	ck_assert_uint_eq(n, 9);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("device_count");
	TCase *tc = tcase_create("netns");
	SRunner *sr;
	int failed, skip = own_net();

	if (skip)
		return skip;
	sr = srunner_create(s);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, lost_carriers_are_counted);
	tcase_add_test(tc, packets_are_counted);
	tcase_add_test(tc, a_device_that_is_gone_says_so);
	tcase_add_test(tc, names_are_no_paths);
	tcase_add_test(tc, another_namespaces_devices_are_refused);
	tcase_add_test(tc, packets_of_rdma_devices_are_not_known);
	tcase_add_test(tc, what_could_not_be_opened_is_tried_again);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
