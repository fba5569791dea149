/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Links against the real kernel, in a network namespace of the test's own. Skipped where none can
 * be made.
 */
#include "link_neighbors.h"

#include <dlfcn.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>

#include "bgp_record.h"
#include "own_net.h"

static unsigned n_reads;

/* Stands before the library's, and counts. */
int getifaddrs(struct ifaddrs **out)
{
	int (*real)(struct ifaddrs **);

	n_reads++;
	*(void **)&real = dlsym(RTLD_NEXT, "getifaddrs");
	return real(out);
}

static struct record r;
static struct link_neighbors *links;

static void ip(const char *arguments)
{
	char command[200];

	snprintf(command, sizeof(command), "ip %s", arguments);
	ck_assert_msg(system(command) == 0, "%s", command);
}

/* An IPv6 address: a worker of the kernel tells of it, when it gets to it. */
static void ip_and_wait(const char *arguments)
{
	struct sockaddr_nl of = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_IPV6_IFADDR};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	char byte;

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&of, sizeof(of)), 0);
	ip(arguments);
	ck_assert_int_gt(recv(fd, &byte, sizeof(byte), 0), 0);
	close(fd);
}

static bool has(const char *device, unsigned neighbor)
{
	return link_neighbors_has(links, if_nametoindex(device), neighbor);
}

static void refresh(void)
{
	ck_assert_int_eq(link_neighbors_refresh(links), 0);
}

/* Device dN leads to neighbour N; IPv6's is on d0, beside the first. */
static void setup(void)
{
	ck_assert_int_eq(unshare(CLONE_NEWNET), 0);
	ip("link add d0 type veth peer name p0");
	ip("link add d1 type veth peer name p1");
	ip("addr add 198.18.0.1/31 dev d0");
	ip("addr add 198.18.0.3/31 dev d1");
	ip_and_wait("-6 addr add 2001:db8:18::1/127 dev d0 nodad");
	record_init(&r);
	ck_assert_int_eq(link_neighbors_create(&links, &r.config), 0);
	n_reads = 0;
}

static void teardown(void)
{
	link_neighbors_destroy(links);
}

START_TEST(by_address_of_either_family)
{
	ck_assert(!has("d0", 0)); /* nothing is known yet */
	refresh();
	ck_assert(has("d0", 0));
	ck_assert(has("d1", 1));
	ck_assert(has("d0", 4));
	ck_assert(!has("d0", 1));
	ck_assert(!has("d1", 0));
	ck_assert(!has("d1", 4));
	ck_assert(!has("lo", 0));
	ck_assert(!has("d0", 2));
	ck_assert(!link_neighbors_has(links, 0, 0));
	ck_assert(!link_neighbors_has(links, UINT32_MAX, 4));
}
END_TEST

START_TEST(addresses_are_read_once_and_after_a_change)
{
	for (int i = 0; i < 1000; i++) {
		refresh();
		ck_assert(has("d1", 1));
	}
	ck_assert_uint_eq(n_reads, 1);
	ip("addr del 198.18.0.3/31 dev d1");
	ip("addr add 198.18.1.1/31 dev d1");
	refresh();
	ck_assert(!has("d1", 1));
	ck_assert(has("d1", 2));
	refresh();
	ck_assert_uint_eq(n_reads, 2);
	/* two links of one subnet are both told */
	ip_and_wait("-6 addr add 2001:db8:18::1/127 dev d1 nodad");
	refresh();
	ck_assert(has("d0", 4));
	ck_assert(has("d1", 4));
	ip("link del d0");
	refresh();
	ck_assert(has("d1", 4));
	ck_assert(!has("d0", 4));
	ck_assert_uint_eq(n_reads, 4);
}
END_TEST

/* All devices are in fe80::/64. */
START_TEST(a_link_local_neighbour_is_on_its_device_alone)
{
	r.neighbors[0].address = r.neighbors[1].address = addr("fe80::1");
	ip_and_wait("-6 addr add fe80::a/64 dev d0 nodad");
	ip_and_wait("-6 addr add fe80::a/64 dev d1 nodad");
	refresh();
	ck_assert(has("d0", 0));
	ck_assert(has("d1", 1));
	ck_assert(!has("d0", 1));
	ck_assert(!has("d1", 0));
}
END_TEST

START_TEST(an_overrun_is_a_change)
{
	refresh();
	ck_assert_int_eq(system("for i in $(seq 4000); do echo addr add 10.0.$((i / 256)).$((i % "
				"256))/32 dev d0; done |"
				" ip -batch -"),
			 0);
	ip("addr add 198.18.1.1/31 dev d1");
	refresh();
	ck_assert(has("d1", 2));
	refresh();
	ck_assert_uint_eq(n_reads, 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("link_neighbors");
	TCase *tcase = tcase_create("netns");
	SRunner *runner;
	int failed, skip = own_net();

	if (skip)
		return skip;
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, by_address_of_either_family);
	tcase_add_test(tcase, addresses_are_read_once_and_after_a_change);
	tcase_add_test(tcase, a_link_local_neighbour_is_on_its_device_alone);
	tcase_add_test(tcase, an_overrun_is_a_change);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
