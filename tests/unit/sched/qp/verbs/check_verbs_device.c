/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_verbs_device.c - two verbs endpoints over one device of the mock: how QPs end, and what
 * happens when a completion queue fails, or the device is lost and comes back.
 */
#include <check.h>
#include <sys/eventfd.h>

#include "qp/verbs/verbs_wire.h"
#include "verbs_pair.h"

/* ---- the end of a QP ---- */

START_TEST(a_qp_is_not_quiet_before_its_device_is)
{
	check_write(1);
	VERBS_MOCK(device->held = true);
	memset(memory[0], 2, BYTES);
	for (uint64_t i = 0; i < 3; i++)
		ck_assert_int_eq(post(i), 0);
	VERBS_MOCK(device->block_modify = true);
	v->qp_error(qp[0]); /* returns, although the device does not */
	pthread_mutex_lock(&verbs_mock_lock);
	while (!device->n_modify_blocked)
		pthread_cond_wait(&verbs_mock_changed, &verbs_mock_lock);
	pthread_mutex_unlock(&verbs_mock_lock);
	for (int i = 0; i < 100; i++) {
		turn();
		ck_assert_int_gt(v->qp_status(qp[0]), 0);
	}
	/* and rightly: the device still sends */
	VERBS_MOCK(device->held = false; verbs_mock_work(); device->held = true);
	ck_assert_int_eq(memory[1][0], 2);
	n_wc[0] = 0;
	memset(memory[0], 3, BYTES);
	VERBS_MOCK(device->block_modify = false);
	until(v->qp_status(qp[0]) == 0);
	ck_assert_uint_eq(n_wc[0], 3); /* each is reported before the QP is quiet */
	VERBS_MOCK(device->held = false);
	for (int i = 0; i < 100; i++)
		turn();
	ck_assert_int_eq(memory[1][0], 2); /* nothing is sent any more */
}
END_TEST

START_TEST(a_device_that_neither_flushes_nor_resets_is_not_trusted)
{
	check_write(1); /* and the key is known */
	VERBS_MOCK(device->held = device->no_flush = true);
	ck_assert_int_eq(post(5), 0);
	VERBS_MOCK(device->refuse_modify = device->refuse_destroy = true);
	v->qp_error(qp[0]);
	for (int ms = 0; ms < 600; ms++) { /* three times as long as it is waited for */
		turn();
		poll(NULL, 0, 1);
		ck_assert_int_gt(v->qp_status(qp[0]), 0);
	}
	VERBS_MOCK(device->refuse_destroy = false); /* it is ended at last */
	until(v->qp_status(qp[0]) == 0);
	ck_assert_uint_eq(last[0].wr_id, 5);
	ck_assert_int_eq(last[0].status, QP_WC_FLUSH_ERR);
}
END_TEST

START_TEST(a_failed_completion_queue_ends_its_qp_alone)
{
	check_write(1);
	VERBS_MOCK(device->held = true);
	ck_assert_int_eq(post(9), 0);
	verbs_mock_cq_error(device, v->qp_num(qp[0]), true);
	until(v->qp_status(qp[0]) < 0);
	ck_assert_int_eq(v->qp_status(qp[1]), 0);
	ck_assert_int_eq(post(10), -ENOTCONN);
	v->qp_error(qp[0]);
	until(v->qp_status(qp[0]) == 0);
	ck_assert_uint_eq(last[0].wr_id, 9); /* the queue does not report it: the provider does */
	ck_assert_int_eq(last[0].status, QP_WC_FLUSH_ERR);
	VERBS_MOCK(device->held = false);
	replace_qps();
	check_write(2);
}
END_TEST

/* ---- the loss of a device ---- */

static void lose_and_find_again(bool ended)
{
	check_write(1);
	if (ended)
		verbs_mock_remove(device);
	else
		verbs_mock_event(device, IBV_EVENT_DEVICE_FATAL, -1);
	until(v->qp_status(qp[0]) == -ENODEV && v->qp_status(qp[1]) == -ENODEV);
	for (int end = 0; ended && end < 2; end++) {
		struct qp_attr attr = {.timeout = 14};
		struct in6_addr address;
		struct qp *none;

		ck_assert_int_eq(v->qp_create(ep[end], &attr, &none), -ENODEV);
		ck_assert_int_eq(v->sub_port_address(ep[end], 0, 0, &address), -EADDRNOTAVAIL);
	}
	for (int end = 0; end < 2; end++)
		v->qp_error(qp[end]);
	until(v->qp_status(qp[0]) == 0 && v->qp_status(qp[1]) == 0);
	verbs_mock_restore(device);
	replace_qps();
	check_write(2); /* under the same keys, which now stand for others of the device */
	until(device->n_opened - device->n_closed == 2);
}

START_TEST(a_device_that_is_taken_away_is_opened_again)
{
	lose_and_find_again(true);
}
END_TEST

START_TEST(a_device_that_reports_a_fatal_error_is_opened_again)
{
	lose_and_find_again(false);
}
END_TEST

/*
 * A device may still work when it is reported as lost. What a peer had posted must not meet a
 * region that is gone: that would be an error of the peer's, and end its message.
 */
START_TEST(a_peer_of_a_lost_device_is_not_refused)
{
	struct qp_mr other;

	check_write(1);
	verbs_mock_event(device, IBV_EVENT_DEVICE_FATAL, 1);
	VERBS_MOCK(device->absent = true);
	until(v->qp_status(qp[1]) == -ENODEV);
	ck_assert_int_eq(v->qp_status(qp[0]), 0);
	check_write(2);
	/* another region's key is not known here, and nobody says that there is none */
	ck_assert_int_eq(v->mr_register(ep[1], memory[1], BYTES, QP_ACCESS_REMOTE_WRITE, &other),
			 0);
	mr[1] = other;
	for (int ms = 0; ms < 50; ms++) {
		ck_assert_int_eq(post(1), -EAGAIN);
		turn();
		poll(NULL, 0, 1);
	}
	v->qp_error(qp[0]);
	v->qp_error(qp[1]);
	until(v->qp_status(qp[0]) == 0 && v->qp_status(qp[1]) == 0);
	verbs_mock_restore(device);
	replace_qps();
	check_write(3);
}
END_TEST

START_TEST(regions_come_and_go_while_the_device_is_lost)
{
	static uint8_t more[BYTES];
	struct qp_mr other;

	verbs_mock_remove(device);
	until(v->qp_status(qp[0]) == -ENODEV && v->qp_status(qp[1]) == -ENODEV);
	ck_assert_int_eq(v->mr_register(ep[1], more, BYTES, QP_ACCESS_REMOTE_WRITE, &other), 0);
	ck_assert_int_eq(v->mr_deregister(ep[1], &mr[1]), 0);
	mr[1] = other;
	verbs_mock_restore(device);
	replace_qps();
	memset(memory[0], 5, BYTES);
	struct qp_work w = {.data = memory[0],
			    .lkey = mr[0].lkey,
			    .length = BYTES,
			    .remote_addr = (uintptr_t)more,
			    .rkey = other.rkey};
	until(v->post(qp[0], &w) == 0);
	until(more[BYTES - 1] == 5);
}
END_TEST

START_TEST(a_driver_that_waits_for_its_users_is_not_kept_waiting)
{
	char path[] = "/tmp/verbs_mock.XXXXXX";
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	close(fd);
	snprintf(device->d.dev_path, sizeof(device->d.dev_path), "%s", path);
	for (int i = 0; i < 10; i++)
		turn();
	ck_assert_int_eq(v->qp_status(qp[0]), 0);
	VERBS_MOCK(device->absent = true);
	unlink(path);
	until(v->qp_status(qp[0]) == -ENODEV && v->qp_status(qp[1]) == -ENODEV);
	for (int end = 0; end < 2; end++)
		v->qp_error(qp[end]);
	until(v->qp_status(qp[0]) == 0 && v->qp_status(qp[1]) == 0);
	for (int end = 0; end < 2; end++)
		v->qp_destroy(qp[end]);
	until(device->n_closed == device->n_opened); /* that is what it waits for */
	snprintf(device->d.dev_path, sizeof(device->d.dev_path), "/");
	verbs_mock_restore(device);
	until(make_qp(0) == 0);
	until(make_qp(1) == 0);
	connect_qps();
	check_write(3);
}
END_TEST

/* ---- keys ---- */

/* A stranger's socket, where answers to an endpoint's address go. */
static int stranger(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(FARE_CONTROL_PORT)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	inet_pton(AF_INET, own_address(9) + strlen("::ffff:"), &at.sin_addr);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

/* DSCP and ECN of the next datagram. */
static int traffic_class(int fd)
{
	_Alignas(struct cmsghdr) uint8_t cmsg[64];
	uint8_t bytes[VERBS_WIRE_MAX];
	struct iovec iov = {bytes, sizeof(bytes)};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = cmsg,
			   .msg_controllen = sizeof(cmsg)};
	struct cmsghdr *c;

	ck_assert_int_gt(recvmsg(fd, &m, 0), 0);
	c = CMSG_FIRSTHDR(&m);
	ck_assert(c && c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS);
	return *CMSG_DATA(c);
}

static void send_to_end_1(int fd, const struct verbs_wire_message *m)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(FARE_CONTROL_PORT)};
	uint8_t buf[VERBS_WIRE_MAX];
	int n = verbs_wire_encode(m, buf, sizeof(buf));

	inet_pton(AF_INET, own_address(3) + strlen("::ffff:"), &to.sin_addr);
	ck_assert_int_eq(sendto(fd, buf, (size_t)n, 0, (struct sockaddr *)&to, sizeof(to)), n);
}

static void send_query(int fd, const struct control_auth *auth, const char *from)
{
	struct verbs_wire_message m = {
		.type = VERBS_WIRE_KEY_QUERY, .key = mr[1].rkey, .nonce = 1234};
	struct verbs_wire_message envelope = {.type = VERBS_WIRE_AUTHENTICATED};
	struct in6_addr me, to;
	uint8_t buf[VERBS_WIRE_MAX];
	int n;

	if (!auth) {
		send_to_end_1(fd, &m);
		return;
	}
	inet_pton(AF_INET6, from, &me);
	inet_pton(AF_INET6, own_address(3), &to);
	n = verbs_wire_encode(&m, buf + CONTROL_AUTH_BYTES, sizeof(buf) - CONTROL_AUTH_BYTES);
	control_auth_sign(auth, &me, &to, buf, (size_t)n);
	envelope.payload = buf;
	envelope.payload_bytes = CONTROL_AUTH_BYTES + (size_t)n;
	send_to_end_1(fd, &envelope);
}

/* Whether end 1 answers what is in its socket now. */
static bool is_answered(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint8_t buf[VERBS_WIRE_MAX];

	for (int i = 0; i < 20; i++)
		turn(); /* loopback delivers at once */
	if (poll(&p, 1, 0) != 1)
		return false;
	ck_assert_int_gt(recv(fd, buf, sizeof(buf), 0), 0);
	return true;
}

START_TEST(keys_are_told_to_those_who_have_the_key)
{
	struct control_auth wrong = {.secret = "0123456789abcdeF", .length = 16};
	int fd = stranger();

	send_query(fd, NULL, NULL);
	ck_assert_msg(!is_answered(fd), "a bare question was answered");
	send_query(fd, &wrong, own_address(9));
	ck_assert_msg(!is_answered(fd), "a forged question was answered");
	send_query(fd, &key, own_address(8));
	ck_assert_msg(!is_answered(fd), "a question recorded elsewhere was answered");
	send_query(fd, &key, own_address(9));
	ck_assert(is_answered(fd));
	close(fd);
}
END_TEST

START_TEST(an_answer_counts_only_with_the_key)
{
	struct qp_stats before, after;
	struct verbs_wire_message m = {.type = VERBS_WIRE_KEY_REPLY,
				       .key = mr[0].rkey,
				       .nonce = 1,
				       .n_keys = 1,
				       .keys = {{0, 0, 99}}};
	int fd = stranger();

	before = *v->endpoint_info(ep[1])->stats;
	send_to_end_1(fd, &m);
	for (int i = 0; i < 20; i++)
		turn();
	after = *v->endpoint_info(ep[1])->stats;
	ck_assert_uint_eq(after.rx_dropped, before.rx_dropped + 1);
	close(fd);
	check_write(4); /* those of the endpoints themselves count */
}
END_TEST

/* ---- memory ---- */

START_TEST(rights_are_those_asked_for)
{
	static uint8_t bytes[BYTES];
	struct verbs_mock_mr seen;
	struct qp_mr out;

	ck_assert_int_eq(v->mr_register(ep[0], bytes, BYTES, 4, &out), -EINVAL);
	ck_assert_int_eq(v->mr_register(ep[0], bytes, BYTES, QP_ACCESS_REMOTE_READ, &out), 0);
	ck_assert_uint_eq(verbs_mock_mr(device, (uintptr_t)bytes, &seen), 1);
	ck_assert_int_eq(seen.access, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
}
END_TEST

/* ---- several processes at an address ---- */

static void count_control(void *arg, const struct qp_control *c)
{
	(void)c;
	++*(unsigned *)arg;
}

/* From end 0 to end 2, which is at the address of end 1. */
static struct qp *connect_to_third(void)
{
	struct qp_attr attr = {.timeout = 14, .retry_cnt = 6, .notifications = 16};
	struct qp *q[2];

	ck_assert_int_eq(v->qp_create(ep[0], &attr, &q[0]), 0);
	ck_assert_int_eq(v->qp_create(ep[2], &attr, &q[1]), 0);
	for (int end = 0; end < 2; end++) {
		struct qp_remote remote = {.address = attr_of(!end).address,
					   .qpn = v->qp_num(q[!end]),
					   .psn = v->qp_psn(q[!end]),
					   .udp_port = v->endpoint_info(ep[end ? 0 : 2])->port};

		ck_assert_int_eq(v->qp_connect(q[end], &remote), 0);
	}
	until(v->qp_status(q[0]) == 0 && v->qp_status(q[1]) == 0);
	return q[0];
}

/* The last of three is known by its port alone: it tells the rkey, and hears what is sent to it. */
START_TEST(processes_at_an_address_have_ports_of_their_own)
{
	unsigned n_control[2] = {0}, before = n_wc[0];
	struct qp_endpoint_attr attr = attr_of(1);
	struct qp_control c = {.data = "x", .length = 1, .remote = attr.address};
	struct qp_endpoint *second;
	struct qp_work w;
	struct qp *q;

	attr.on_control = count_control;
	attr.arg = &n_control[0];
	ck_assert_int_eq(v->endpoint_create(&second, &attr), 0);
	attr.arg = &n_control[1];
	ck_assert_int_eq(v->endpoint_create(&ep[2], &attr), 0);
	ck_assert_uint_eq(v->endpoint_info(ep[1])->port, FARE_CONTROL_PORT);
	ck_assert_uint_eq(v->endpoint_info(second)->port, FARE_CONTROL_PORT + 1);
	ck_assert_uint_eq(v->endpoint_info(ep[2])->port, FARE_CONTROL_PORT + 2);
	v->endpoint_destroy(second);
	attr.udp_port = FARE_CONTROL_PORT; /* that one and no other */
	ck_assert_int_eq(v->endpoint_create(&second, &attr), -EADDRINUSE);
	ck_assert_int_eq(v->mr_register(ep[2], memory[2], BYTES, QP_ACCESS_REMOTE_WRITE, &mr[2]),
			 0);
	q = connect_to_third();
	memset(memory[0], 9, BYTES);
	w = (struct qp_work){.data = memory[0],
			     .lkey = mr[0].lkey,
			     .length = BYTES,
			     .remote_addr = (uintptr_t)memory[2],
			     .rkey = mr[2].rkey};
	until(v->post(q, &w) == 0);
	until(n_wc[0] > before);
	ck_assert_int_eq(last[0].status, QP_WC_SUCCESS);
	ck_assert_mem_eq(memory[0], memory[2], BYTES);
	c.remote_port = v->endpoint_info(ep[2])->port;
	ck_assert_int_eq(v->control_send(ep[0], &c), 0);
	until(n_control[1] == 1);
	ck_assert_uint_eq(n_control[0], 0);
}
END_TEST

/* ---- path MTU ---- */

static enum ibv_mtu path_mtu_with(uint32_t remote_path_mtu)
{
	struct qp_attr attr = {.timeout = 14, .retry_cnt = 6};
	struct qp_remote remote = {
		.address = attr_of(1).address, .qpn = 1, .path_mtu = remote_path_mtu};
	struct verbs_mock_qp out;
	struct qp *q;

	ck_assert_int_eq(v->qp_create(ep[0], &attr, &q), 0);
	ck_assert_int_eq(v->qp_connect(q, &remote), 0);
	until(v->qp_status(q) == 0);
	ck_assert_uint_eq(verbs_mock_qp(device, v->qp_num(q), &out), 1);
	return out.path_mtu;
}

START_TEST(qps_have_the_smaller_path_mtu_of_both_ends)
{
	struct qp_remote wrong = {.address = attr_of(1).address, .qpn = 1, .path_mtu = 1500};
	struct qp_attr attr = {.timeout = 14, .retry_cnt = 6};
	struct qp *q;

	ck_assert_uint_eq(v->endpoint_info(ep[0])->path_mtu, 1024);
	ck_assert_int_eq(path_mtu_with(0), IBV_MTU_1024);
	ck_assert_int_eq(path_mtu_with(512), IBV_MTU_512);
	ck_assert_int_eq(path_mtu_with(4096), IBV_MTU_1024);
	ck_assert_int_eq(v->qp_create(ep[0], &attr, &q), 0);
	ck_assert_int_eq(v->qp_connect(q, &wrong), -EINVAL);
}
END_TEST

START_TEST(ports_say_how_much_they_carry)
{
	struct qp_endpoint_attr attr = attr_of(1);
	uint32_t most = 7;

	device->active_mtu = IBV_MTU_2048;
	attr.max_path_mtu = &most;
	attr.path_mtu = 4096;
	ck_assert_int_eq(v->endpoint_create(&ep[2], &attr), -EMSGSIZE);
	ck_assert_uint_eq(most, 2048);
	attr.path_mtu = 0;
	ck_assert_int_eq(v->endpoint_create(&ep[2], &attr), 0);
	ck_assert_uint_eq(v->endpoint_info(ep[2])->path_mtu, 2048);
}
END_TEST

/* ---- classes ---- */

START_TEST(a_qp_has_the_class_that_was_asked_for)
{
	struct qp_attr attr = {.timeout = 14, .retry_cnt = 6, .dscp = 46, .service_level = 5};
	struct qp_endpoint_attr other = attr_of(1);
	struct qp_remote remote = {.address = other.address, .qpn = 1};
	struct verbs_mock_qp seen;
	struct qp *q;

	ck_assert_int_eq(v->qp_create(ep[0], &attr, &q), 0);
	ck_assert_int_eq(v->qp_connect(q, &remote), 0);
	until(v->qp_status(q) == 0);
	ck_assert_uint_eq(verbs_mock_qp(device, v->qp_num(q), &seen), 1);
	ck_assert_uint_eq(seen.av.grh.traffic_class, 46 << 2 | 2);
	ck_assert_uint_eq(seen.av.sl, 5);
	attr.dscp = 64;
	ck_assert_int_eq(v->qp_create(ep[0], &attr, &q), -EINVAL);
	attr.dscp = 0;
	attr.service_level = 16;
	ck_assert_int_eq(v->qp_create(ep[0], &attr, &q), -EINVAL);
}
END_TEST

START_TEST(control_datagrams_have_the_class_that_was_asked_for)
{
	struct qp_control c = {.data = "x", .length = 1};
	int fd = stranger(), on = 1;

	ck_assert_int_eq(setsockopt(fd, IPPROTO_IP, IP_RECVTOS, &on, sizeof(on)), 0);
	inet_pton(AF_INET6, own_address(9), &c.remote);
	ck_assert_int_eq(v->control_send(ep[0], &c), 0);
	ck_assert_int_eq(traffic_class(fd), CONTROL_DSCP << 2 | 2);
	c.plane = QP_ANY_PLANE; /* by the receiving socket */
	ck_assert_int_eq(v->control_send(ep[0], &c), 0);
	ck_assert_int_eq(traffic_class(fd), CONTROL_DSCP << 2 | 2);
	close(fd);
}
END_TEST

START_TEST(a_dma_buf_is_registered_where_the_device_can_and_again)
{
	int fd = eventfd(0, 0); /* stands for a dma-buf */
	struct verbs_mock_mr seen;
	struct qp_mr out;

	device->dmabuf_error = EOPNOTSUPP;
	ck_assert_int_eq(v->mr_register_dmabuf(ep[0], fd, 0, BYTES, 0x1000, 0, &out), -EOPNOTSUPP);
	device->dmabuf_error = EPROTONOSUPPORT;
	ck_assert_int_eq(v->mr_register_dmabuf(ep[0], fd, 0, BYTES, 0x1000, 0, &out), -EOPNOTSUPP);
	ck_assert_int_eq(v->mr_register_dmabuf(ep[0], -1, 0, BYTES, 0x1000, 0, &out), -EBADF);
	device->dmabuf_error = 0;
	ck_assert_int_eq(v->mr_register_dmabuf(ep[0], fd, 0, BYTES, 0x1000, 0, &out), 0);
	close(fd); /* the endpoint has its own */
	verbs_mock_remove(device);
	until(v->qp_status(qp[0]) == -ENODEV && v->qp_status(qp[1]) == -ENODEV);
	verbs_mock_restore(device);
	replace_qps();
	ck_assert_uint_eq(verbs_mock_mr(device, 0x1000, &seen), 1);
	ck_assert(seen.is_dmabuf);
	ck_assert_int_eq(v->mr_deregister(ep[0], &out), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("verbs_device");
	TCase *t = tcase_create("core");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, a_qp_is_not_quiet_before_its_device_is);
	tcase_add_test(t, a_device_that_neither_flushes_nor_resets_is_not_trusted);
	tcase_add_test(t, a_failed_completion_queue_ends_its_qp_alone);
	tcase_add_test(t, a_device_that_is_taken_away_is_opened_again);
	tcase_add_test(t, a_device_that_reports_a_fatal_error_is_opened_again);
	tcase_add_test(t, a_peer_of_a_lost_device_is_not_refused);
	tcase_add_test(t, regions_come_and_go_while_the_device_is_lost);
	tcase_add_test(t, a_driver_that_waits_for_its_users_is_not_kept_waiting);
	tcase_add_test(t, keys_are_told_to_those_who_have_the_key);
	tcase_add_test(t, an_answer_counts_only_with_the_key);
	tcase_add_test(t, rights_are_those_asked_for);
	tcase_add_test(t, processes_at_an_address_have_ports_of_their_own);
	tcase_add_test(t, qps_have_the_smaller_path_mtu_of_both_ends);
	tcase_add_test(t, ports_say_how_much_they_carry);
	tcase_add_test(t, a_qp_has_the_class_that_was_asked_for);
	tcase_add_test(t, control_datagrams_have_the_class_that_was_asked_for);
	tcase_add_test(t, a_dma_buf_is_registered_where_the_device_can_and_again);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
