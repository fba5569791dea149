/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/dgram.h"

#define FIRST 49300
#define LAST  49309

static const char *const loopback[] = {"::ffff:127.0.0.1", "::1"};

static int open_at(const char *text, uint16_t *port)
{
	struct in6_addr address;
	int fd;

	ck_assert_int_eq(address_parse(text, &address), 0);
	fd = dgram_open(&address);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(*port ? dgram_bind(fd, &address, *port)
			       : dgram_bind_random(fd, &address, FIRST, LAST, port),
			 0);
	return fd;
}

/* The device and the address of a datagram from fd to fd. */
static unsigned arrival_of(int fd, const char *text, uint16_t port, struct in6_addr *to)
{
	_Alignas(struct cmsghdr) char control[128];
	char byte = 7;
	struct iovec iov = {&byte, 1};
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = 128};
	struct sockaddr_storage at;
	struct in6_addr address;
	unsigned ifindex = 0, found = 0;
	socklen_t length;

	ck_assert_int_eq(address_parse(text, &address), 0);
	length = address_to_socket(&address, port, &at);
	ck_assert_int_eq(sendto(fd, &byte, 1, 0, (struct sockaddr *)&at, length), 1);
	ck_assert_int_eq(recvmsg(fd, &m, 0), 1);
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
		found += dgram_read_arrival(c, &ifindex, to);
	ck_assert_uint_eq(found, 1);
	return ifindex;
}

START_TEST(says_where_a_datagram_arrived)
{
	const char *text = loopback[_i];
	struct in6_addr address, to;
	uint16_t port = 0;
	int fd = open_at(text, &port);

	ck_assert_uint_ge(port, FIRST);
	ck_assert_uint_le(port, LAST);
	ck_assert_int_eq(dgram_set_ip(fd, !_i, IP_PKTINFO, IPV6_RECVPKTINFO, 1), 0);
	ck_assert_int_eq(dgram_set_ip(fd, !_i, IP_RECVTTL, IPV6_RECVHOPLIMIT, 1), 0);
	ck_assert_int_eq(dgram_ignore_path_mtu(fd, !_i), 0);
	ck_assert_uint_eq(arrival_of(fd, text, port, &to), if_nametoindex("lo"));
	ck_assert_int_eq(address_parse(text, &address), 0);
	ck_assert_mem_eq(&to, &address, sizeof(to));
	close(fd);
}
END_TEST

/* A socket of one family does not take the other's port, nor a port that is taken. */
START_TEST(shares_no_port_of_its_family)
{
	struct in6_addr any4, any6;
	uint16_t port = 0, other;
	int v4, v6, again;

	ck_assert_int_eq(address_parse("::ffff:0.0.0.0", &any4), 0);
	ck_assert_int_eq(address_parse("::", &any6), 0);
	v4 = open_at("::ffff:0.0.0.0", &port);
	v6 = open_at("::", &port);
	again = dgram_open(&any4);
	ck_assert_int_eq(dgram_bind(again, &any4, port), -EADDRINUSE);
	ck_assert_int_eq(dgram_bind_random(again, &any4, port, port, &other), -EADDRINUSE);
	close(again);
	close(v6);
	close(v4);
}
END_TEST

START_TEST(sets_buffers)
{
	uint16_t port = 0;
	int fd = open_at(loopback[0], &port), bytes = 0;
	socklen_t length = sizeof(bytes);

	dgram_set_buffer(fd, SO_SNDBUF, 8192);
	ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, &length), 0);
	ck_assert_int_eq(bytes, 2 * 8192); /* the kernel doubles it */
	ck_assert_int_eq(dgram_set(fd, SOL_SOCKET, -1, 1), -ENOPROTOOPT);
	close(fd);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("dgram");
	TCase *t = tcase_create("core");
	SRunner *r;
	int failed;

	tcase_add_loop_test(t, says_where_a_datagram_arrived, 0, 2);
	tcase_add_test(t, shares_no_port_of_its_family);
	tcase_add_test(t, sets_buffers);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
