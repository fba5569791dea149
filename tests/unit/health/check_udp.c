/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets of probes and their answers, on links of our own, one of which hardly sends. */
#include "udp.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "own_net.h"

#define PACKETS 2000u /* far more than the default send buffer holds */

static struct in6_addr mapped(const char *v4)
{
	struct in6_addr a = {.s6_addr = {[10] = 0xff, [11] = 0xff}};

	ck_assert_int_eq(inet_pton(AF_INET, v4, a.s6_addr + 12), 1);
	return a;
}

static void run(const char *command)
{
	if (system(command))
		ck_abort_msg("%s", command);
}

/* Two links; what is sent into the first one stays in its queue. */
static void make_links(void)
{
	run("ip link add stuck type veth peer name far0 && ip link set far0 up && ip link set "
	    "stuck up");
	run("ip link add free type veth peer name far1 && ip link set far1 up && ip link set free "
	    "up");
	run("ip addr add 198.18.9.1/24 dev stuck && ip addr add 198.18.10.1/24 dev free");
	run("ip neigh add 198.18.9.2 lladdr 02:00:00:00:00:02 dev stuck");
	run("ip neigh add 198.18.10.2 lladdr 02:00:00:00:00:03 dev free");
	run("tc qdisc add dev stuck root tbf rate 8kbit burst 1600 limit 4mb");
}

static unsigned send_by(struct udp_socket *s, struct udp_batch *b, const char *to,
			const char *device, unsigned n)
{
	unsigned taken = 0;

	for (unsigned i = 0; i < n; i++) {
		struct udp_packet *p = udp_next(b);

		if (!p) {
			taken += udp_send(s, b);
			p = udp_next(b);
		}
		memset(p->bytes, 0, 64);
		p->length = 64;
		p->from = mapped("198.18.9.1");
		p->to = mapped(to);
		p->to_port = 7784;
		p->ifindex = (int)if_nametoindex(device);
	}
	return taken + udp_send(s, b);
}

START_TEST(what_one_device_keeps_does_not_stop_another)
{
	const struct in6_addr address = mapped("198.18.9.1");
	struct udp_socket *s;
	struct udp_batch *b;

	make_links();
	ck_assert_int_eq(udp_open(&s, &address, 0, 0, geteuid()), 0);
	ck_assert_int_eq(udp_batch_create(&b), 0);
	ck_assert_uint_eq(send_by(s, b, "198.18.9.2", "stuck", PACKETS), PACKETS);
	ck_assert_uint_eq(send_by(s, b, "198.18.10.2", "free", 10), 10);
	udp_batch_destroy(b);
	udp_close(s);
}
END_TEST

/*
 * A device made anew again and again, where descriptors are few: those of its former lives are
 * given up for it.
 */
START_TEST(descriptors_of_devices_that_are_gone_are_had_again)
{
	struct rlimit few = {24, 24};
	struct in6_addr address;
	struct udp_socket *s;
	int asker = socket(AF_INET, SOCK_DGRAM, 0), lo = (int)if_nametoindex("lo");

	ck_assert_int_eq(inet_pton(AF_INET6, "2001:db8::1", &address), 1);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	ck_assert_int_eq(udp_open(&s, &address, 0, 0, geteuid()), 0);
	ck_assert_int_eq(udp_pin(s, lo), 0);
	for (unsigned life = 0; life < 40; life++) {
		struct ifreq r = {.ifr_name = "reborn"};

		run("ip link add reborn type veth peer name other");
		/* if_nametoindex() takes a descriptor */
		ck_assert_int_eq(ioctl(asker, SIOCGIFINDEX, &r), 0);
		ck_assert_int_eq(udp_pin(s, r.ifr_ifindex), 0);
		ck_assert(udp_is_pinned(s, r.ifr_ifindex));
		ck_assert(udp_is_pinned(s, lo)); /* and no other */
		run("ip link del reborn");
	}
	udp_close(s);
	close(asker);
}
END_TEST

#define SOMEBODY ((uid_t)64001)
#define STRANGER ((uid_t)65534)

static bool become(uid_t uid)
{
	return !setresgid(uid, uid, uid) && !setresuid(uid, uid, uid);
}

/* The errno of bind() on a socket of that device (0: none), with all options that share a port. */
static int bind_result(const struct in6_addr *address, uint16_t port, int ifindex)
{
	struct sockaddr_in6 name = {
		.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = *address};
	int fd = socket(AF_INET6, SOCK_DGRAM, 0), on = 1, rc;

	ck_assert(!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) &&
		  !setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) &&
		  !setsockopt(fd, SOL_SOCKET, SO_BINDTOIFINDEX, &ifindex, sizeof(ifindex)));
	rc = bind(fd, (struct sockaddr *)&name, sizeof(name)) ? errno : 0;
	close(fd);
	return rc;
}

/* In a process of its own, which is that user. */
static void nobody_else_binds(const struct in6_addr *address, uint16_t port)
{
	const struct in6_addr any = IN6ADDR_ANY_INIT;
	int status, lo = (int)if_nametoindex("lo");
	pid_t child = fork();

	if (!child)
		_exit(!become(STRANGER) || bind_result(address, port, 0) != EADDRINUSE ||
		      bind_result(address, port, lo) != EADDRINUSE ||
		      bind_result(&any, port, lo) != EADDRINUSE);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(status == 0, "another user took port %u", port);
}

/* Sockets are opened by root; those of devices also later, by the user that root has become. */
START_TEST(a_port_is_shared_with_its_owner_alone)
{
	struct udp_socket *reflector, *initiator, *second;
	int lo = (int)if_nametoindex("lo");
	struct in6_addr address;

	ck_assert_int_eq(inet_pton(AF_INET6, "::1", &address), 1);
	ck_assert_int_eq(udp_open(&reflector, &address, 7784, 0, SOMEBODY), 0);
	ck_assert_int_eq(udp_open(&initiator, &address, 0, 0, SOMEBODY), 0);
	ck_assert_int_eq(udp_open(&second, &address, 7784, 0, SOMEBODY), -EADDRINUSE);
	nobody_else_binds(&address, 7784);
	nobody_else_binds(&address, udp_port(initiator));
	ck_assert_int_eq(udp_pin(reflector, lo), 0);
	nobody_else_binds(&address, 7784);
	ck_assert(become(SOMEBODY));
	ck_assert_int_eq(udp_pin(initiator, lo), 0);
	udp_close(reflector);
	udp_close(initiator);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("udp");
	TCase *t = tcase_create("core");
	SRunner *runner;
	bool is_root = geteuid() == 0; /* and not of a user namespace alone */
	int failed, skip = own_net();

	if (skip)
		return skip;
	tcase_add_test(t, what_one_device_keeps_does_not_stop_another);
	tcase_add_test(t, descriptors_of_devices_that_are_gone_are_had_again);
	if (is_root)
		tcase_add_test(t, a_port_is_shared_with_its_owner_alone);
	else
		puts("skipped: who shares a port: it takes root to become somebody else");
	suite_add_tcase(suite, t);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
