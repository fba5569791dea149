/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This server's own addresses against the real kernel, in a network namespace of the test's own.
 * Skipped where none can be made.
 */
#include "addresses.h"

#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <ev.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "own_net.h"
#include "patience.h"

static const char text[] =
	"node: s0\nrun_dir: /run/none\n"
	"bgp: {bmp_port: 5999, peer_prefixes: [198.19.0.0/16, '2001:db8:19::/48']}\n"
	"local_gpus:\n"
	"  - name: g0\n    addresses: [198.19.0.1, '2001:db8:19::1']\n    planes:\n"
	"    - sub_ports: [{dev: ca0, neighbors: [198.18.0.0, '2001:db8:18::']}]\n"
	"    - sub_ports: [{dev: ca1, neighbors: ['fe80::1']}]\n";

static bool fails_dump; /* once: the answer stays unread */

/* Stands before the library's. Dumps are asked for on a socket that blocks. */
ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	ssize_t (*real)(int, struct msghdr *, int);

	if (fails_dump && !(fcntl(fd, F_GETFL) & O_NONBLOCK)) {
		fails_dump = false;
		errno = ENOMEM;
		return -1;
	}
	*(void **)&real = dlsym(RTLD_NEXT, "recvmsg");
	return real(fd, message, flags);
}

static struct config *config;
static struct ev_loop *loop;
static struct addresses *addresses;
static enum address_fault gpu_faults[2], faults[2][2];
static unsigned n_said;

static void on_gpu(void *arg, uint32_t gpu, bool is_v6, enum address_fault fault)
{
	(void)arg;
	ck_assert_uint_eq(gpu, 0);
	gpu_faults[is_v6] = fault;
	n_said++;
}

static void on_sub_port(void *arg, uint32_t gpu, uint32_t plane, uint32_t sub_port, bool is_v6,
			enum address_fault fault)
{
	(void)arg;
	ck_assert_uint_eq(gpu, 0);
	ck_assert_uint_lt(plane, 2);
	ck_assert_uint_eq(sub_port, 0);
	faults[plane][is_v6] = fault;
	n_said++;
}

static void ip(const char *command)
{
	char line[200];

	snprintf(line, sizeof(line), "ip %s", command);
	ck_assert_msg(system(line) == 0, "%s", line);
}

static void on_timeout(struct ev_loop *l, ev_timer *w, int revents)
{
	(void)revents;
	*(bool *)w->data = true;
	ev_break(l, EVBREAK_ALL);
}

/* Runs the loop until *what is that. */
static void wait_for(const enum address_fault *what, enum address_fault fault)
{
	bool late = false;
	ev_timer limit;

	ev_timer_init(&limit, on_timeout, PATIENCE_S, 0.);
	limit.data = &late;
	ev_now_update(loop);
	ev_timer_start(loop, &limit);
	while (*what != fault && !late)
		ev_run(loop, EVRUN_ONCE);
	ev_timer_stop(loop, &limit);
	ck_assert_msg(*what == fault, "is %d, not %d", *what, fault);
}

static void setup(void)
{
	static const struct addresses_handlers handlers = {on_gpu, on_sub_port};
	struct config_error error;

	ck_assert_msg(!config_parse(&config, text, strlen(text), "test", &error), "%s", error.text);
	ip("link add ca0 type veth peer name ca1");
	ip("link set ca0 addrgenmode none up");
	ip("link set ca1 addrgenmode none up");
	loop = ev_loop_new(EVFLAG_AUTO);
	memset(gpu_faults, 0, sizeof(gpu_faults));
	memset(faults, 0, sizeof(faults));
	ck_assert_int_eq(addresses_create(&addresses, loop, config, &handlers, NULL), 0);
	ck_assert_int_eq(gpu_faults[0], ADDRESS_MISSING);
	ck_assert_int_eq(gpu_faults[1], ADDRESS_MISSING);
	addresses_link(addresses, 0, 0, 0, (int)if_nametoindex("ca0"));
	addresses_link(addresses, 0, 1, 0, (int)if_nametoindex("ca1"));
}

static void teardown(void)
{
	addresses_destroy(addresses);
	ev_loop_destroy(loop);
	config_destroy(config);
	ip("link del ca0");
	ip("address flush dev lo scope global");
}

START_TEST(a_gpu_s_own_address_comes_and_goes)
{
	ip("address add 198.19.0.1/32 dev lo");
	wait_for(&gpu_faults[0], ADDRESS_OK);
	ck_assert_int_eq(gpu_faults[1], ADDRESS_MISSING);
	ip("address add 2001:db8:19::1/128 dev lo");
	wait_for(&gpu_faults[1], ADDRESS_OK);
	ip("address del 198.19.0.1/32 dev lo");
	wait_for(&gpu_faults[0], ADDRESS_MISSING);
	ck_assert_int_eq(gpu_faults[1], ADDRESS_OK);
}
END_TEST

START_TEST(a_sub_port_needs_its_neighbour_s_subnet)
{
	ck_assert_int_eq(faults[0][0], ADDRESS_MISSING);
	ip("address add 198.18.0.9/31 dev ca0");
	wait_for(&faults[0][0], ADDRESS_OFF_SUBNET);
	ip("address add 198.18.0.1/31 dev ca0");
	wait_for(&faults[0][0], ADDRESS_OK);
	ck_assert_int_eq(faults[0][1], ADDRESS_MISSING); /* IPv6 has a neighbour of its own */
	ip("address add 2001:db8:18::1/127 dev ca0 nodad");
	wait_for(&faults[0][1], ADDRESS_OK);
	ip("address del 198.18.0.1/31 dev ca0");
	wait_for(&faults[0][0], ADDRESS_OFF_SUBNET);
}
END_TEST

/* Point to point: the neighbour is the address's other end. */
START_TEST(the_other_end_of_an_address_is_its_subnet)
{
	ip("address add 203.0.113.1 peer 198.18.0.0 dev ca0");
	wait_for(&faults[0][0], ADDRESS_OK);
}
END_TEST

/* RFC 8950: IPv4 routes come over an IPv6 neighbour. */
START_TEST(a_link_local_neighbour_carries_both_families)
{
	ck_assert_int_eq(faults[1][0], ADDRESS_MISSING);
	ck_assert_int_eq(faults[1][1], ADDRESS_MISSING);
	ip("address add fe80::2/64 dev ca1 nodad");
	wait_for(&faults[1][0], ADDRESS_OK);
	ck_assert_int_eq(faults[1][1], ADDRESS_OK);
	addresses_link(addresses, 0, 1, 0, 0); /* a device that is gone is its own fault */
	ck_assert_int_eq(faults[1][0], ADDRESS_OK);
}
END_TEST

START_TEST(two_planes_in_one_subnet)
{
	ip("address add 198.18.0.1/24 dev ca0");
	wait_for(&faults[0][0], ADDRESS_OK);
	ip("address add 198.18.0.2/24 dev ca1");
	wait_for(&faults[0][0], ADDRESS_SHARED);
	ip("address del 198.18.0.2/24 dev ca1");
	wait_for(&faults[0][0], ADDRESS_OK);
}
END_TEST

/* Two ports exchange their names: their addresses stay with the devices. */
START_TEST(exchanged_names)
{
	ip("address add 198.18.0.1/31 dev ca0");
	ip("address add 198.18.0.3/31 dev ca1");
	wait_for(&faults[0][0], ADDRESS_OK);
	addresses_link(addresses, 0, 0, 0, (int)if_nametoindex("ca1"));
	ck_assert_int_eq(faults[0][0], ADDRESS_OFF_SUBNET);
}
END_TEST

/* What is left of an answer is not taken for the next one, and what was known stays meanwhile. */
START_TEST(a_dump_that_fails_leaves_nothing)
{
	ip("address add 198.18.0.1/31 dev ca0");
	wait_for(&faults[0][0], ADDRESS_OK);
	fails_dump = true;
	ip("address add 198.18.0.3/31 dev ca1");
	while (fails_dump)
		ev_run(loop, EVRUN_ONCE);
	addresses_link(addresses, 0, 1, 0, 0);
	ck_assert_int_eq(faults[0][0], ADDRESS_OK);
	addresses_link(addresses, 0, 0, 0, (int)if_nametoindex("ca1"));
	wait_for(&faults[0][0], ADDRESS_OFF_SUBNET);
	ip("address del 198.18.0.3/31 dev ca1");
	wait_for(&faults[0][0], ADDRESS_MISSING);
}
END_TEST

/* The kernel drops messages that are not read: what is read then is all there is. */
START_TEST(nothing_is_missed)
{
	char command[80];

	for (int i = 0; i < 300; i++) {
		snprintf(command, sizeof(command), "address %s 198.18.0.1/31 dev ca0",
			 i % 2 ? "del" : "add");
		ip(command);
	}
	ip("address add 198.18.0.1/31 dev ca0");
	wait_for(&faults[0][0], ADDRESS_OK);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("addresses");
	TCase *tc = tcase_create("kernel");
	int failed = own_net();
	SRunner *sr;

	if (failed)
		return failed;
	sr = srunner_create(s);
	srunner_set_fork_status(sr, CK_NOFORK);
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_gpu_s_own_address_comes_and_goes);
	tcase_add_test(tc, a_sub_port_needs_its_neighbour_s_subnet);
	tcase_add_test(tc, the_other_end_of_an_address_is_its_subnet);
	tcase_add_test(tc, a_link_local_neighbour_carries_both_families);
	tcase_add_test(tc, two_planes_in_one_subnet);
	tcase_add_test(tc, exchanged_names);
	tcase_add_test(tc, a_dump_that_fails_leaves_nothing);
	tcase_add_test(tc, nothing_is_missed);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
