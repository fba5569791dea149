/* SPDX-License-Identifier: BSD-2-Clause */
/* QPs that share a socket, and what happens when it is full. */
#include <errno.h>
#include <unistd.h>

#include "qp/soft/soft_endpoint.h"
#include "qp/soft/soft_sock.h"
#include "soft_pair.h"

/* Socket buffers fill up: what was sent stays below the socket until the shaper lets it go. */
static void shape(unsigned mbit)
{
	char command[128];

	snprintf(command, sizeof(command),
		 "tc qdisc replace dev lo root tbf rate %umbit burst 70000 limit 8mb", mbit);
	ck_assert_int_eq(system(command), 0);
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
	struct qp_write bad;

	shape(4);
	open_default();
	ck_assert_int_eq(P->mr_register(a, from, BYTES, QP_ACCESS_REMOTE_WRITE, &back), 0);
	bad = (struct qp_write){.data = to,
				.lkey = mb.lkey,
				.length = 64,
				.remote_addr = (uintptr_t)from,
				.rkey = back.rkey ^ 1};
	flood(100); /* the shaper's burst is used up */
	ck_assert_int_eq(P->post_write(qb, &bad), 0);
	while (!qa->responder.dead || soft_link_is_alone(&qa->waiting)) {
		flood(10000); /* full */
		ck_assert_int_eq(qa->state, SOFT_QP_RTS);
		ck_assert_int_ge(P->endpoint_progress(a), 0);
		usleep(100);
	}
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

	shape(40);
	open_default();
	attr.udp_source_port = 50000;
	for (unsigned i = 0; i < 24; i++) {
		ck_assert_int_eq(P->qp_create(a, &attr, &x[i]), 0);
		ck_assert_int_eq(P->qp_create(b, &attr, &y[i]), 0);
		join(x[i], y[i], "::ffff:127.0.0.2", "::ffff:127.0.0.3");
	}
	soft_sock_set_tx_bytes(x[0]->socket->fd, 4096);
	for (unsigned i = 0; i < 24; i++) {
		struct qp_write w = write_of(i, i * 40000, 40000, QP_WR_IMM);

		ck_assert_int_eq(P->post_write(x[i], &w), 0);
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
	int fd = soft_sock_open_tx(&at, &port, "lo", 65536);
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
	tcase_add_test(t, a_port_that_is_taken_is_passed_over);
	tcase_add_test(t, a_device_made_anew_is_used);
	tcase_add_test(t, a_qp_that_ends_when_its_socket_has_room_is_forgotten);
	tcase_add_test(t, qps_that_share_a_full_socket_all_go_on);
	suite_add_tcase(s, t);
	return run_suite(s);
}
