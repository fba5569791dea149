/* SPDX-License-Identifier: BSD-2-Clause */
/* QPs that share a socket, and what happens when it is full. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/dgram.h"
#include "qp/soft/soft_endpoint.h"
#include "qp/soft/soft_sock.h"
#include "soft_pair.h"

/* Socket buffers fill up: what was sent stays below the socket until the shaper lets it go. */
static void tc(const char *words)
{
	char command[128];

	snprintf(command, sizeof(command), "tc qdisc %s", words);
	ck_assert_int_eq(system(command), 0);
}

static void shape(const char *rate)
{
	char words[96];

	snprintf(words, sizeof(words), "replace dev lo root tbf rate %s burst 70000 limit 8mb",
		 rate);
	tc(words);
}

/* n control datagrams from qa's socket, or until it is full. */
static void flood(unsigned n)
{
	struct qp_control c = {.remote = address("::ffff:127.0.0.3"),
			       .plane = 1,
			       .sub_port = 1,
			       .udp_source_port = P->qp_source_port(qa),
			       .data = from,
			       .length = QP_CONTROL_MAX};
	int err = 0;

	while (n-- && !err)
		err = P->control_send(a, &c);
	ck_assert(err == 0 || err == -EAGAIN);
}

/*
 * A QP refuses a write while its socket is full, ends when there is room for its answer, and is
 * destroyed: nothing refers to it then.
 */
START_TEST(a_qp_that_ends_when_its_socket_has_room_is_forgotten)
{
	struct qp_mr back;
	struct qp_work bad;

	open_default();
	ck_assert_int_eq(P->mr_register(a, from, BYTES, QP_ACCESS_REMOTE_WRITE, &back), 0);
	bad = (struct qp_work){.data = to,
			       .lkey = mb.lkey,
			       .length = 64,
			       .remote_addr = (uintptr_t)from,
			       .rkey = back.rkey ^ 1};
	ck_assert_int_eq(P->post(qb, &bad), 0); /* nobody shapes yet: it is in a's socket */
	shape("1kbit");				/* its burst, and then a packet in half a minute */
	while (!qa->responder.dead || soft_link_is_alone(&qa->waiting)) {
		flood(10000); /* full */
		ck_assert_int_eq(qa->state, SOFT_QP_RTS);
		ck_assert_int_ge(P->endpoint_progress(a), 0);
		usleep(100);
	}
	tc("del dev lo root"); /* with all that waited */
	while (!soft_tx_unblock(a))
		usleep(100);
	P->qp_destroy(qa);
	ck_assert(soft_link_is_alone(&a->runnable));
	ck_assert_int_ge(P->endpoint_progress(a), 0);
	close_pair();
}
END_TEST

/* All of those that share it get their turn. */
START_TEST(qps_that_share_a_full_socket_all_go_on)
{
	struct qp_attr attr = attr_of(18, 7, 0);
	struct qp *x[24], *y[24];

	shape("40mbit");
	open_default();
	attr.udp_source_port = 50000;
	for (unsigned i = 0; i < 24; i++) {
		ck_assert_int_eq(P->qp_create(a, &attr, &x[i]), 0);
		ck_assert_int_eq(P->qp_create(b, &attr, &y[i]), 0);
		join(x[i], y[i], "::ffff:127.0.0.2", "::ffff:127.0.0.3");
	}
	dgram_set_buffer(x[0]->socket->fd, SO_SNDBUF, 4096);
	for (unsigned i = 0; i < 24; i++) {
		struct qp_work w = write_of(i, i * 40000, 40000, QP_WR_IMM);

		ck_assert_int_eq(P->post(x[i], &w), 0);
	}
	RUN_UNTIL(n_wa == 24 && n_wb == 24);
	for (unsigned i = 0; i < 24; i++)
		ck_assert_int_eq(wa[i].status, QP_WC_SUCCESS);
	ck_assert_mem_eq(from, to, 24 * 40000);
	close_pair();
}
END_TEST

/* 1,023 peers x 8 QPs on 4 planes x 2 sub-ports. */
START_TEST(descriptors_grow_with_ports_and_not_with_peers)
{
	struct qp_endpoint_attr attr = {.address = address("::ffff:127.0.0.2"),
					.n_planes = 4,
					.n_sub_ports = {2, 2, 2, 2},
					.path_mtu = 4096};
	int first = dup(0), last;

	for (unsigned p = 0; p < 4; p++)
		for (unsigned s = 0; s < 2; s++)
			strcpy(attr.dev[p][s], "lo");
	ck_assert_int_eq(P->endpoint_create(&a, &attr), 0);
	for (unsigned i = 0; i < 1023 * 8; i++) {
		struct qp_attr q = {.plane = i % 4, .sub_port = i / 4 % 2, .timeout = 15};

		ck_assert_int_eq(P->qp_create(a, &q, &qa), 0);
	}
	last = dup(0); /* the lowest free one */
	ck_assert_int_le(last - first, 4 * 2 * FARE_SOURCE_PORTS + 8);
	close(first);
	close(last);
	P->endpoint_destroy(a);
}
END_TEST

/* Another process of this user, at the same address. */
START_TEST(source_ports_are_shared_between_processes)
{
	uint16_t port = FARE_SOURCE_PORT_FIRST;
	struct in6_addr at = address("::ffff:127.0.0.2");
	int fd = soft_sock_open_tx(&at, port, "lo", 0, 65536);
	struct qp_attr attr = attr_of(16, 7, 0);
	struct qp *q;

	ck_assert_int_ge(fd, 0);
	open_default();
	attr.udp_source_port = port;
	ck_assert_int_eq(P->qp_create(a, &attr, &q), 0);
	ck_assert_uint_eq(P->qp_source_port(q), port);
	close(fd);
	close_pair();
}
END_TEST

static int at_end;
static const char *const ends[][2] = {{"::ffff:127.0.0.2", "::ffff:127.0.0.3"},
				      {"2001:db8::2", "2001:db8::3"}};

/* In the place of an endpoint: hears what arrives, and its traffic class. */
static int receiver(const char *at)
{
	struct in6_addr address_of = address(at);
	uint16_t port = ROCE_UDP_PORT;
	int fd = soft_sock_open_rx(&address_of, &port, 1), flags = fcntl(fd, F_GETFL);
	struct timeval most = {.tv_sec = PATIENCE_S};

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fcntl(fd, F_SETFL, flags & ~O_NONBLOCK), 0);
	ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most)), 0);
	return fd;
}

/* DSCP and ECN of the next datagram. */
static int traffic_class(int fd)
{
	_Alignas(struct cmsghdr) uint8_t cmsg[256];
	uint8_t bytes[8192];
	struct iovec iov = {bytes, sizeof(bytes)};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = cmsg,
			   .msg_controllen = sizeof(cmsg)};
	int out = -1;

	ck_assert_int_gt(recvmsg(fd, &m, 0), 0);
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS)
			out = *CMSG_DATA(c);
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS)
			memcpy(&out, CMSG_DATA(c), sizeof(out));
	}
	return out;
}

static struct qp *to_receiver(uint8_t dscp, bool order_free)
{
	struct qp_remote remote = {
		.address = address(ends[at_end][1]), .qpn = 77, .order_free = order_free};
	struct qp_attr attr = attr_of(22, 7, 0);
	struct qp *q;

	attr.udp_source_port = FARE_SOURCE_PORT_FIRST;
	attr.dscp = dscp;
	attr.order_free = order_free;
	ck_assert_int_eq(P->qp_create(a, &attr, &q), 0);
	ck_assert_int_eq(P->qp_connect(q, &remote), 0);
	return q;
}

static void post_empty(struct qp *q)
{
	struct qp_work w = {.flags = QP_WR_IMM};

	ck_assert_int_eq(P->post(q, &w), 0);
}

/*
 * QPs of one source port and different DSCPs; an order-free one after it was told to leave by other
 * ports; and the control channel, from a port of its own and from the QPs'.
 */
START_TEST(packets_carry_the_dscp_that_was_asked_for)
{
	static const struct qp_path paths[] = {{1, 50000}, {1, 50001}};
	struct qp_control c = {.plane = 1, .sub_port = 1, .data = "x", .length = 1};
	struct qp *q[3];
	int fd;

	at_end = _i;
	control_dscp = 34;
	fd = receiver(ends[at_end][1]);
	a = endpoint(ends[at_end][0], 1024);
	q[0] = to_receiver(46, false);
	q[1] = to_receiver(0, false);
	q[2] = to_receiver(63, true);
	ck_assert_uint_eq(P->qp_source_port(q[0]), P->qp_source_port(q[1]));
	post_empty(q[0]);
	ck_assert_int_eq(traffic_class(fd), 46 << 2 | 2); /* ECT(0) */
	post_empty(q[1]);
	ck_assert_int_eq(traffic_class(fd), 2);
	ck_assert_int_eq(P->qp_spread(q[2], paths, 2), 0);
	post_empty(q[2]);
	ck_assert_int_eq(traffic_class(fd), 63 << 2 | 2);
	c.remote = address(ends[at_end][1]);
	ck_assert_int_eq(P->control_send(a, &c), 0);
	ck_assert_int_eq(traffic_class(fd), 34 << 2 | 2);
	c.udp_source_port = P->qp_source_port(q[0]);
	ck_assert_int_eq(P->control_send(a, &c), 0);
	ck_assert_int_eq(traffic_class(fd), 34 << 2 | 2);
	close(fd);
	P->endpoint_destroy(a);
}
END_TEST

START_TEST(a_class_that_does_not_exist_is_refused)
{
	struct qp_endpoint_attr wrong = {.address = address("::ffff:127.0.0.2"),
					 .control_dscp = 64};
	struct qp_attr attr = attr_of(16, 7, 0);

	a = endpoint("::ffff:127.0.0.2", 1024);
	attr.dscp = 64;
	ck_assert_int_eq(P->qp_create(a, &attr, &qa), -EINVAL);
	attr.dscp = 63;
	attr.service_level = 16;
	ck_assert_int_eq(P->qp_create(a, &attr, &qa), -EINVAL);
	attr.service_level = 15;
	ck_assert_int_eq(P->qp_create(a, &attr, &qa), 0);
	ck_assert_int_eq(P->endpoint_create(&b, &wrong), -EINVAL);
	P->endpoint_destroy(a);
}
END_TEST

/* A socket of somebody who shares nothing: another port of the pool. */
START_TEST(a_port_that_is_taken_is_passed_over)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	int fds[FARE_SOURCE_PORTS - 1];
	struct qp_attr attr = attr_of(16, 7, 0);

	ck_assert_int_eq(inet_pton(AF_INET, "127.0.0.2", &at.sin_addr), 1);
	for (unsigned i = 0; i < FARE_SOURCE_PORTS - 1; i++) {
		at.sin_port = htons((uint16_t)(FARE_SOURCE_PORT_FIRST + i));
		fds[i] = socket(AF_INET, SOCK_DGRAM, 0);
		ck_assert_int_eq(bind(fds[i], (struct sockaddr *)&at, sizeof(at)), 0);
	}
	open_default();
	ck_assert_uint_eq(P->qp_source_port(qa), FARE_SOURCE_PORT_FIRST + FARE_SOURCE_PORTS - 1);
	attr.udp_source_port = FARE_SOURCE_PORT_FIRST;
	ck_assert_int_eq(P->qp_create(a, &attr, &qa), -EADDRINUSE);
	for (unsigned i = 0; i < FARE_SOURCE_PORTS - 1; i++)
		close(fds[i]);
	close_pair();
}
END_TEST

/* All of them: a port beyond the pool, which any local user can bring about. */
START_TEST(a_pool_that_is_taken_stops_nobody)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	int fds[FARE_SOURCE_PORTS];
	struct qp_work w;

	ck_assert_int_eq(inet_pton(AF_INET, _i ? "0.0.0.0" : "127.0.0.2", &at.sin_addr), 1);
	for (unsigned i = 0; i < FARE_SOURCE_PORTS; i++) {
		at.sin_port = htons((uint16_t)(FARE_SOURCE_PORT_FIRST + i));
		fds[i] = socket(AF_INET, SOCK_DGRAM, 0);
		ck_assert_int_eq(bind(fds[i], (struct sockaddr *)&at, sizeof(at)), 0);
	}
	open_default();
	ck_assert_uint_ge(P->qp_source_port(qa), FARE_SOURCE_PORT_FIRST + FARE_SOURCE_PORTS);
	w = write_of(1, 0, 100000, 0);
	ck_assert_int_eq(P->post(qa, &w), 0);
	RUN_UNTIL(n_wa == 1);
	ck_assert_int_eq(wa[0].status, QP_WC_SUCCESS);
	ck_assert_mem_eq(from, to, 100000);
	for (unsigned i = 0; i < FARE_SOURCE_PORTS; i++)
		close(fds[i]);
	close_pair();
}
END_TEST

/* A device that is made anew under its name: the sockets bound to the old one are of no use. */
START_TEST(a_device_made_anew_is_used)
{
	struct qp_endpoint_attr attr = {.address = address("::ffff:10.9.9.1"),
					.n_planes = 1,
					.n_sub_ports = {1},
					.dev = {{"d0"}},
					.path_mtu = 1024};
	const char *make = "ip link add d0 type veth peer d1 && ip link set d0 up && "
			   "ip link set d1 up && "
			   "ip addr replace 10.9.9.1/32 dev lo && "
			   "ip route add 10.9.9.9/32 dev d0 src 10.9.9.1";
	struct qp_control c = {.remote = address("::ffff:10.9.9.9"), .data = "x", .length = 1};

	ck_assert_int_eq(system(make), 0);
	ck_assert_int_eq(P->endpoint_create(&a, &attr), 0);
	c.udp_source_port = FARE_SOURCE_PORT_FIRST;
	ck_assert_int_eq(P->control_send(a, &c), 0);
	ck_assert_int_eq(system("ip link del d0"), 0);
	ck_assert_int_eq(P->control_send(a, &c), -ENODEV);
	ck_assert_int_eq(system(make), 0);
	usleep(150000);
	ck_assert_int_eq(P->control_send(a, &c), -ENODEV);
	ck_assert_int_eq(P->control_send(a, &c), 0);
	P->endpoint_destroy(a);
}
END_TEST

/*
 * ICMP messages set the path MTU of the route cache, and anybody can send them. An id of 0, which
 * the ICRC covers, needs packets that are not fragmented: this is the one setting that gives both.
 */
START_TEST(path_mtus_of_the_route_cache_are_ignored)
{
	int level = _i ? IPPROTO_IPV6 : IPPROTO_IP,
	    want = _i ? IPV6_PMTUDISC_PROBE : IP_PMTUDISC_PROBE;
	const char *own = _i ? "2001:db8::2" : "::ffff:127.0.0.2",
		   *other = _i ? "2001:db8::3" : "::ffff:127.0.0.3";
	struct qp_control c = {
		.remote = address(other), .plane = 1, .sub_port = 1, .data = "x", .length = 1};
	int fds[3], is;
	socklen_t length;

	open_pair(own, other, 1024, attr_of(16, 7, 0));
	ck_assert_int_eq(P->control_send(a, &c), 0);
	fds[0] = a->rx_fd;
	fds[1] = qa->socket->fd;
	fds[2] = a->control[1][1]->fd;
	for (unsigned i = 0; i < 3; i++) {
		length = sizeof(is);
		ck_assert_int_eq(getsockopt(fds[i], level, _i ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER,
					    &is, &length),
				 0);
		ck_assert_int_eq(is, want);
	}
	close_pair();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft_sockets");
	TCase *t = tcase_create("all");
	int skip = enter_namespace();

	if (skip)
		return skip;
	if (system("tc qdisc replace dev lo root tbf rate 40mbit burst 70000 limit 8mb") ||
	    system("tc qdisc del dev lo root")) {
		printf("skipped: tc(8) cannot shape the loopback device\n");
		return 77;
	}
	tcase_add_test(t, descriptors_grow_with_ports_and_not_with_peers);
	tcase_add_test(t, source_ports_are_shared_between_processes);
	tcase_add_loop_test(t, path_mtus_of_the_route_cache_are_ignored, 0, 2);
	tcase_add_test(t, a_port_that_is_taken_is_passed_over);
	tcase_add_loop_test(t, a_pool_that_is_taken_stops_nobody, 0, 2);
	tcase_add_loop_test(t, packets_carry_the_dscp_that_was_asked_for, 0, 2);
	tcase_add_test(t, a_class_that_does_not_exist_is_refused);
	tcase_add_test(t, a_device_made_anew_is_used);
	tcase_add_test(t, a_qp_that_ends_when_its_socket_has_room_is_forgotten);
	tcase_add_test(t, qps_that_share_a_full_socket_all_go_on);
	suite_add_tcase(s, t);
	return run_suite(s);
}
