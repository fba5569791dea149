/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "soft_pair.h"

static const struct {
	const char *a, *b;
	uint32_t mtu, window;
} shapes[] = {
	{"::ffff:127.0.0.2", "::ffff:127.0.0.3", 4096, 0},
	{"::ffff:127.0.0.2", "::ffff:127.0.0.3", 256, 0},
	{"::ffff:127.0.0.2", "::ffff:127.0.0.3", 1024, 1},
	{"2001:db8::2", "2001:db8::3", 4096, 0},
	{"2001:db8::2", "2001:db8::3", 2048, 10000},
};

START_TEST(a_megabyte_arrives)
{
	struct qp_work w;
	struct qp_stats stats;

	open_pair(shapes[_i].a, shapes[_i].b, shapes[_i].mtu, attr_of(16, 7, shapes[_i].window));
	w = write_of(7, 0, BYTES - 3, QP_WR_IMM);
	ck_assert_int_eq(P->post(qa, &w), 0);
	RUN_UNTIL(n_wa == 1 && n_wb == 1);
	ck_assert_int_eq(wa[0].status, QP_WC_SUCCESS);
	ck_assert_uint_eq(wa[0].wr_id, 7);
	ck_assert_ptr_eq(wa[0].qp, qa);
	ck_assert_ptr_eq(wa[0].context, &n_wa);
	ck_assert(!wa[0].is_receive);
	ck_assert(wb[0].is_receive);
	ck_assert_uint_eq(wb[0].imm, 107);
	ck_assert_uint_eq(wb[0].byte_len, BYTES - 3);
	ck_assert_ptr_eq(wb[0].qp, qb);
	ck_assert_mem_eq(from, to, BYTES - 3);
	ck_assert_uint_eq(to[BYTES - 3] | to[BYTES - 2], 0);
	stats = *P->endpoint_info(b)->stats;
	ck_assert_uint_eq(stats.rx_bytes, BYTES - 3);
	ck_assert_uint_eq(stats.icrc_errors, 0);
	close_pair();
}
END_TEST

START_TEST(many_small_writes_complete_in_order)
{
	unsigned posted = 0;

	open_default();
	while (n_wa < 1000) {
		struct qp_work w = write_of(posted, posted * 1000, posted % 999, QP_WR_IMM);

		if (posted < 1000 && !P->post(qa, &w))
			posted++;
		else
			run_once();
	}
	RUN_UNTIL(n_wb == 1000);
	for (unsigned i = 0; i < 1000; i++) {
		ck_assert_int_eq(wa[i].status, 0);
		ck_assert_uint_eq(wa[i].wr_id, i);
		ck_assert_uint_eq(wb[i].imm, i + 100);
		ck_assert_uint_eq(wb[i].byte_len, i % 999);
		ck_assert_mem_eq(from + i * 1000, to + i * 1000, i % 999);
	}
	close_pair();
}
END_TEST

START_TEST(the_queue_reports_full_and_drains)
{
	struct qp_work w;
	unsigned posted = 0, refused = 0;
	int err;

	open_default();
	w = write_of(1, 0, 4096, 0);
	while (posted < 5000 && !refused) {
		err = P->post(qa, &w);
		refused += err == -ENOBUFS;
		ck_assert(err == 0 || err == -ENOBUFS);
		posted += !err;
	}
	ck_assert_uint_eq(refused, 1);
	RUN_UNTIL(n_wa == (int)posted);
	ck_assert_int_eq(P->post(qa, &w), 0);
	close_pair();
}
END_TEST

START_TEST(a_qp_in_error_takes_and_sends_nothing)
{
	struct qp_work w;
	struct qp_stats before, after;

	open_pair("::ffff:127.0.0.2", "::ffff:127.0.0.3", 4096, attr_of(10, 1, 0));
	w = write_of(1, 0, 100000, QP_WR_IMM);
	ck_assert_int_eq(P->post(qa, &w), 0); /* its first packets wait in b's socket now */
	ck_assert_int_eq(P->post(qa, &w), 0);
	P->qp_error(qb);
	P->qp_error(qb);
	before = *P->endpoint_info(b)->stats;
	RUN_UNTIL(n_wa == 2);
	ck_assert_int_eq(wa[0].status, QP_WC_RETRY_EXC_ERR);
	ck_assert_int_eq(wa[1].status, QP_WC_FLUSH_ERR);
	after = *P->endpoint_info(b)->stats;
	ck_assert_uint_gt(after.rx_dropped, before.rx_dropped);
	ck_assert_uint_eq(after.rx_packets, 0);
	ck_assert_uint_eq(after.naks_sent, 0);
	for (unsigned i = 0; i < 100000; i++)
		ck_assert_uint_eq(to[i], 0);
	ck_assert_int_eq(n_wb, 0);
	ck_assert_int_eq(P->post(qa, &w), -ENOTCONN);
	ck_assert_int_eq(P->post(qb, &w), -ENOTCONN);
	close_pair();
}
END_TEST

START_TEST(a_local_error_flushes)
{
	struct qp_work w;

	open_default();
	w = write_of(1, 0, BYTES, 0);
	ck_assert_int_eq(P->post(qa, &w), 0);
	w.wr_id = 2;
	ck_assert_int_eq(P->post(qa, &w), 0);
	P->qp_error(qa);
	ck_assert_int_eq(P->qp_status(qa), 0); /* it was told to */
	RUN_UNTIL(n_wa == 2);
	ck_assert_int_eq(wa[0].status, QP_WC_FLUSH_ERR);
	ck_assert_int_eq(wa[1].status, QP_WC_FLUSH_ERR);
	close_pair();
}
END_TEST

START_TEST(a_wrong_rkey_is_refused)
{
	struct qp_work w;

	open_default();
	w = write_of(1, 0, 5000, 0);
	w.rkey ^= 1;
	ck_assert_int_eq(P->post(qa, &w), 0);
	w = write_of(2, 0, 5000, 0);
	ck_assert_int_eq(P->post(qa, &w), 0);
	RUN_UNTIL(n_wa == 2);
	ck_assert_int_eq(wa[0].status, QP_WC_REM_ACCESS_ERR);
	ck_assert_int_eq(wa[1].status, QP_WC_FLUSH_ERR);
	ck_assert_uint_eq(to[0], 0);
	ck_assert_int_eq(P->post(qb, &w), -ENOTCONN); /* that end is in error too */
	ck_assert_int_eq(P->qp_status(qa), 0); /* not at once: the sender is to hear why, first */
	ck_assert_int_eq(P->qp_status(qb), 0);
	for (int side = 0; side < 2; side++) {
		struct qp *qp = side ? qb : qa;

		RUN_UNTIL(P->qp_status(qp) == -EIO);
		P->qp_error(qp);
		ck_assert_int_eq(P->qp_status(qp), 0);
	}
	close_pair();
}
END_TEST

START_TEST(what_was_promised_is_checked_at_the_post)
{
	struct qp_work w;
	struct qp_attr attr = attr_of(16, 7, 0);
	struct qp_remote r = {.address = address("::ffff:127.0.0.3"), .qpn = 1u << 24};
	struct qp *q;

	open_default();
	w = write_of(1, 1, BYTES, 0);
	ck_assert_int_eq(P->post(qa, &w), -EINVAL);
	w = write_of(1, 0, 4, 0);
	w.lkey ^= 1;
	ck_assert_int_eq(P->post(qa, &w), -EINVAL);
	w = write_of(1, 0, 4, 0x80);
	ck_assert_int_eq(P->post(qa, &w), -EINVAL);
	ck_assert_int_eq(P->qp_create(a, &attr, &q), 0);
	w = write_of(1, 0, 4, 0);
	ck_assert_int_eq(P->post(q, &w), -ENOTCONN);
	ck_assert_int_eq(P->qp_connect(q, &r), -EINVAL);
	attr.udp_source_port = 1000;
	ck_assert_int_eq(P->qp_create(a, &attr, &q), -EINVAL);
	attr = attr_of(16, 7, 0);
	attr.sub_port = 2;
	ck_assert_int_eq(P->qp_create(a, &attr, &q), -EINVAL);
	attr.plane = 0;
	attr.sub_port = 0;
	ck_assert_int_eq(P->qp_create(a, &attr, &q), -ENODEV);
	ck_assert_ptr_null(q);
	close_pair();
}
END_TEST

static unsigned n_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* A number does not come back soon; descriptors grow with ports, not with QPs. */
START_TEST(numbers_are_distinct_and_ports_are_shared)
{
	struct qp_attr attr = attr_of(16, 7, 0);
	uint32_t seen[300];
	unsigned users[FARE_SOURCE_PORTS] = {0}, before;
	struct qp *q[300];

	open_default();
	before = n_descriptors();
	for (unsigned i = 0; i < 300; i++) {
		unsigned port;

		ck_assert_int_eq(P->qp_create(a, &attr, &q[i]), 0);
		port = P->qp_source_port(q[i]) - FARE_SOURCE_PORT_FIRST;
		ck_assert_uint_lt(port, FARE_SOURCE_PORTS);
		seen[i] = P->qp_num(q[i]);
		if (i % 2) /* destroyed at once: its number must not come back */
			P->qp_destroy(q[i]);
		else
			users[port]++;
		for (unsigned j = 0; j < i; j++)
			ck_assert_uint_ne(seen[j], seen[i]);
	}
	for (unsigned i = 0; i < FARE_SOURCE_PORTS; i++)
		ck_assert(users[i] >= 150 / FARE_SOURCE_PORTS - 1 &&
			  users[i] <= 150 / FARE_SOURCE_PORTS + 1);
	ck_assert_uint_le(n_descriptors() - before, FARE_SOURCE_PORTS);
	attr.udp_source_port = 60000; /* outside of the pool: open while it is used */
	before = n_descriptors();
	ck_assert_int_eq(P->qp_create(a, &attr, &q[1]), 0);
	ck_assert_int_eq(P->qp_create(a, &attr, &q[3]), 0);
	ck_assert_uint_eq(P->qp_source_port(q[3]), 60000);
	ck_assert_uint_eq(n_descriptors(), before + 1);
	P->qp_destroy(q[1]);
	P->qp_destroy(q[3]);
	ck_assert_uint_eq(n_descriptors(), before);
	close_pair();
}
END_TEST

START_TEST(what_an_endpoint_is_told_is_checked)
{
	struct qp_endpoint_attr attr = {.address = address("::ffff:127.0.0.2"), .path_mtu = 1024};
	struct qp_endpoint *ep;

	open_default();
	attr.udp_port = 4791; /* that one and no other */
	ck_assert_int_eq(P->endpoint_create(&ep, &attr), -EADDRINUSE);
	ck_assert_ptr_null(ep);
	attr.udp_port = 5000;
	attr.path_mtu = 1000;
	ck_assert_int_eq(P->endpoint_create(&ep, &attr), -EINVAL);
	P->endpoint_destroy(NULL);
	close_pair();
}
END_TEST

/* As processes of one user on one GPU do: each has its port, and is written to there. */
START_TEST(several_endpoints_share_an_address)
{
	static const char *const ends[][2] = {{"::ffff:127.0.0.2", "::ffff:127.0.0.3"},
					      {"2001:db8::2", "2001:db8::3"}};
	struct qp_endpoint *first[2];
	struct qp_attr attr = attr_of(16, 7, 0);
	struct qp_control c = {.plane = 1, .sub_port = 1, .data = "probe", .length = 5};
	struct qp_work w;

	first[0] = endpoint(ends[_i][0], 4096);
	first[1] = endpoint(ends[_i][1], 4096);
	ck_assert_uint_eq(P->endpoint_info(first[1])->port, 4791);
	a = endpoint(ends[_i][0], 4096);
	b = endpoint(ends[_i][1], 4096);
	ck_assert_uint_eq(P->endpoint_info(a)->port, 4792);
	ck_assert_uint_eq(P->endpoint_info(b)->port, 4792);
	P->endpoint_destroy(first[0]);
	P->endpoint_destroy(first[1]);
	attr.udp_source_port = 50000;
	ck_assert_int_eq(P->qp_create(a, &attr, &qa), 0);
	ck_assert_int_eq(P->qp_create(b, &attr, &qb), 0);
	remote_port = 4792;
	join(qa, qb, ends[_i][0], ends[_i][1]);
	register_memory();
	w = write_of(1, 0, BYTES, QP_WR_IMM);
	ck_assert_int_eq(P->post(qa, &w), 0);
	RUN_UNTIL(n_wa == 1 && n_wb == 1);
	ck_assert_int_eq(wa[0].status, QP_WC_SUCCESS);
	ck_assert_mem_eq(from, to, BYTES);
	c.remote = address(ends[_i][1]);
	c.remote_port = 4792;
	ck_assert_int_eq(P->control_send(a, &c), 0);
	RUN_UNTIL(n_heard == 1);
	close_pair();
}
END_TEST

START_TEST(control_datagrams_tell_where_they_came_from)
{
	struct qp_control c = {.remote = address("::ffff:127.0.0.3"),
			       .plane = 1,
			       .sub_port = 1,
			       .data = "probe",
			       .length = 5};
	struct in6_addr sender = address("::ffff:127.0.0.2");

	open_default();
	ck_assert_int_eq(P->control_send(a, &c), 0);
	RUN_UNTIL(n_heard == 1);
	ck_assert_uint_eq(heard.length, 5);
	ck_assert_mem_eq(heard_data, "probe", 5);
	ck_assert_uint_eq(heard.plane, 1);
	ck_assert_uint_eq(heard.sub_port, 1);
	ck_assert_uint_ge(heard.udp_source_port, 49152);
	ck_assert_mem_eq(&heard.remote, &sender, sizeof(sender));

	c.udp_source_port = 50001; /* nobody's: for this one datagram */
	ck_assert_int_eq(P->control_send(a, &c), 0);
	RUN_UNTIL(n_heard == 2);
	ck_assert_uint_eq(heard.udp_source_port, 50001);
	c.udp_source_port = P->qp_source_port(qa); /* a QP's: shared */
	c.length = QP_CONTROL_MAX;
	c.data = from;
	ck_assert_int_eq(P->control_send(a, &c), 0);
	RUN_UNTIL(n_heard == 3);
	ck_assert_uint_eq(heard.udp_source_port, P->qp_source_port(qa));
	ck_assert_mem_eq(heard_data, from, QP_CONTROL_MAX);
	c.plane = QP_ANY_PLANE;
	c.udp_source_port = 0;
	c.length = 0;
	ck_assert_int_eq(P->control_send(a, &c), 0);
	RUN_UNTIL(n_heard == 4);
	c.length = QP_CONTROL_MAX + 1;
	ck_assert_int_eq(P->control_send(a, &c), -EMSGSIZE);
	c.length = 1;
	c.plane = 2;
	ck_assert_int_eq(P->control_send(a, &c), -EINVAL);
	c.plane = 0;
	c.sub_port = 0;
	ck_assert_int_eq(P->control_send(a, &c), -ENODEV);
	close_pair();
}
END_TEST

/* The longest time that this process did not get to run, so that time-outs may have passed. */
static uint64_t spun_ns, longest_pause_ns;

static void spin(void)
{
	struct timespec t;
	uint64_t now_ns;

	ck_assert_int_ge(P->endpoint_progress(a), 0);
	ck_assert_int_ge(P->endpoint_progress(b), 0);
	n_wa += P->poll(a, wa + n_wa, 2048 - n_wa);
	n_wb += P->poll(b, wb + n_wb, 2048 - n_wb);
	clock_gettime(CLOCK_MONOTONIC, &t);
	now_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	if (spun_ns && now_ns - spun_ns > longest_pause_ns)
		longest_pause_ns = now_ns - spun_ns;
	spun_ns = now_ns;
}

static unsigned n_received(const struct qp_wc *wc, int n)
{
	unsigned count = 0;

	for (int i = 0; i < n; i++)
		count += wc[i].is_receive;
	return count;
}

static bool is_readable(struct qp_endpoint *ep)
{
	struct pollfd p = {.fd = P->endpoint_info(ep)->fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

/* The descriptor of b says that there is an ACK to send; or a gets that ACK without b's doing. */
static void must_be_acknowledged_or_readable(unsigned n_writes)
{
	if (is_readable(b))
		return;
	while (n_wa - n_received(wa, n_wa) < n_writes) {
		ck_assert_int_ge(P->endpoint_progress(a), 0);
		n_wa += P->poll(a, wa + n_wa, 2048 - n_wa);
	}
}

/*
 * Acknowledgements wait for a pause, and come: the last ones when nobody spins any more, and
 * without anything sent twice. An endpoint that has yet to send one has a readable descriptor.
 * Those that have waited as long as they may go out in the call that receives the next message.
 */
START_TEST(a_conversation_of_callers_that_spin_is_acknowledged)
{
	struct qp_stats stats[2];
	struct qp_work w, reply;
	struct qp_mr back;

	open_patient();
	ck_assert_int_eq(P->mr_register(a, from, BYTES, QP_ACCESS_REMOTE_WRITE, &back), 0);
	for (unsigned i = 0; i < 100; i++)
		spin();
	for (unsigned i = 1; i <= 206; i++) {
		w = write_of(i, 0, 64, QP_WR_IMM);
		reply = (struct qp_work){.wr_id = i,
					 .data = to,
					 .lkey = mb.lkey,
					 .length = 64,
					 .remote_addr = (uintptr_t)from + 4096,
					 .rkey = back.rkey,
					 .flags = QP_WR_IMM};
		ck_assert_int_eq(P->post(qa, &w), 0);
		while (n_received(wb, n_wb) < i)
			spin();
		must_be_acknowledged_or_readable(i);
		ck_assert_int_eq(P->post(qb, &reply), 0);
		while (n_received(wa, n_wa) < i)
			spin();
		for (unsigned k = 0; k < 10; k++) /* whoever spins finds nothing most times */
			spin();
	}
	w = write_of(207, 0, 64, QP_WR_IMM);
	ck_assert_int_eq(P->post(qa, &w), 0);
	while (n_received(wb, n_wb) < 207)
		spin();
	RUN_UNTIL(n_wa == 207 + 206 && n_wb == 206 + 207);
	for (int i = 0; i < n_wa; i++)
		ck_assert(wa[i].status == QP_WC_SUCCESS && wb[i].status == QP_WC_SUCCESS);
	stats[0] = *P->endpoint_info(a)->stats;
	stats[1] = *P->endpoint_info(b)->stats;
	for (unsigned i = 0; i < 2; i++)
		ck_assert(longest_pause_ns > 1000000 ||
			  stats[i].timeouts + stats[i].retransmitted_packets + stats[i].naks_sent ==
				  0);
	close_pair();
}
END_TEST

/*
 * The clock stands before the library's function: it is the real one until it is stopped, so that
 * no pause in a conversation is one of the machine's.
 */
static uint64_t stopped_ns;

int clock_gettime(clockid_t clock, struct timespec *out)
{
	if (clock != CLOCK_MONOTONIC || !stopped_ns)
		return (int)syscall(SYS_clock_gettime, clock, out);
	out->tv_sec = (time_t)(stopped_ns / 1000000000);
	out->tv_nsec = (long)(stopped_ns % 1000000000);
	return 0;
}

static void stop_clock(void)
{
	struct timespec t;

	ck_assert_int_eq(clock_gettime(CLOCK_MONOTONIC, &t), 0);
	stopped_ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* That this namespace has sent, whoever did. */
static unsigned datagrams(void)
{
	FILE *snmp = fopen("/proc/thread-self/net/snmp", "r");
	unsigned n = 0, in, none, errors;
	char line[1024];

	ck_assert_ptr_nonnull(snmp);
	while (fgets(line, sizeof(line), snmp) &&
	       sscanf(line, "Udp: %u %u %u %u", &in, &none, &errors, &n) != 4)
		;
	fclose(snmp);
	return n;
}

/* Whoever spins finds nothing most times. */
static void spin_one(struct qp_endpoint *ep, struct qp_wc *wc, int *n)
{
	for (unsigned i = 0; i < 10; i++) {
		ck_assert_int_ge(P->endpoint_progress(ep), 0);
		*n += P->poll(ep, wc + *n, 2048 - *n);
	}
}

/* n messages one way, and each one's reply as soon as it is there. */
static void converse(unsigned n, uint32_t back_rkey)
{
	unsigned want_b = n_received(wb, n_wb), want_a = n_received(wa, n_wa);

	for (unsigned i = 1; i <= n; i++) {
		struct qp_work w = write_of(i, 0, 16, QP_WR_IMM);
		struct qp_work reply = {.wr_id = i,
					.data = to,
					.lkey = mb.lkey,
					.length = 16,
					.remote_addr = (uintptr_t)from + 4096,
					.rkey = back_rkey,
					.flags = QP_WR_IMM};

		ck_assert_int_eq(P->post(qa, &w), 0);
		spin_one(a, wa, &n_wa);
		for (want_b++; n_received(wb, n_wb) < want_b; n_wb += P->poll(b, wb + n_wb, 1))
			ck_assert_int_ge(P->endpoint_progress(b), 0);
		ck_assert_int_eq(P->post(qb, &reply), 0);
		spin_one(b, wb, &n_wb);
		for (want_a++; n_received(wa, n_wa) < want_a; n_wa += P->poll(a, wa + n_wa, 1))
			ck_assert_int_ge(P->endpoint_progress(a), 0);
	}
}

/*
 * Of callers that spin, and reply to what they are told of: acknowledgements wait for a pause, and
 * then one of each end tells of all. Who does not know of a pause sends as many datagrams again.
 */
START_TEST(a_conversation_takes_no_acknowledgements_between)
{
	enum { MESSAGES = 30 }; /* fewer bytes than are ever left unacknowledged */
	struct qp_mr back;
	unsigned sent;

	open_patient();
	ck_assert_int_eq(P->mr_register(a, from, BYTES, QP_ACCESS_REMOTE_WRITE, &back), 0);
	for (unsigned i = 0; i < 100; i++)
		spin();
	stop_clock();
	converse(4, back.rkey); /* it takes a reply or two to be one */
	sent = datagrams();
	converse(MESSAGES, back.rkey);
	ck_assert_uint_eq(datagrams() - sent, 2 * MESSAGES);
	ck_assert_uint_lt(n_wa - n_received(wa, n_wa), 4 + MESSAGES);
	stopped_ns += 1000000;
	while (n_wa + n_wb < 4 * (4 + MESSAGES))
		spin();
	ck_assert_uint_eq(datagrams() - sent, 2 * MESSAGES + 2);
	stopped_ns = 0;
	close_pair();
}
END_TEST

/*
 * A caller that looked often and found nothing is taken for one that spins. If it promised no such
 * thing, the call that takes a message in acknowledges it: there may be no other call.
 */
START_TEST(one_call_takes_a_message_in_and_acknowledges_it)
{
	struct qp_work w;

	acknowledge_now = true;
	open_default();
	for (unsigned i = 0; i < 100; i++)
		spin();
	w = write_of(1, 0, 64, QP_WR_IMM);
	ck_assert_int_eq(P->post(qa, &w), 0);
	while (!n_wb) {
		ck_assert_int_ge(P->endpoint_progress(b), 0);
		n_wb += P->poll(b, wb, 1);
	}
	for (time_t end = time(NULL) + PATIENCE_S; !n_wa;) { /* b does nothing more */
		ck_assert_int_lt(time(NULL), end);
		ck_assert_int_ge(P->endpoint_progress(a), 0);
		n_wa += P->poll(a, wa, 1);
	}
	ck_assert_int_eq(wa[0].status, QP_WC_SUCCESS);
	close_pair();
}
END_TEST

START_TEST(moving_and_kicking_lose_nothing)
{
	struct qp_attr any = attr_of(16, 7, 0);
	struct qp_work w;
	struct qp *q;

	open_default();
	any.plane = QP_ANY_PLANE;
	ck_assert_int_eq(P->qp_create(a, &any, &q), 0);
	ck_assert_int_eq(P->qp_move(q, 0, 0), -EINVAL);
	w = write_of(1, 0, BYTES, QP_WR_IMM);
	ck_assert_int_eq(P->post(qa, &w), 0);
	ck_assert_int_eq(P->qp_move(qa, 2, 0), -EINVAL);
	ck_assert_int_eq(P->qp_move(qa, 0, 0), -ENODEV);
	ck_assert_int_eq(P->qp_move(qa, 1, 0), 0);
	P->qp_kick(qa);
	RUN_UNTIL(n_wa == 1 && n_wb == 1);
	ck_assert_int_eq(wa[0].status, 0);
	ck_assert_mem_eq(from, to, BYTES);
	close_pair();
}
END_TEST

START_TEST(an_early_peer_waits_for_connect)
{
	struct qp_attr attr = attr_of(12, 7, 0);
	struct qp_remote to_y, to_x;
	struct qp_work w;
	struct qp *x, *y;

	open_default();
	ck_assert_int_eq(P->qp_create(a, &attr, &x), 0);
	ck_assert_int_eq(P->qp_create(b, &attr, &y), 0);
	to_y = (struct qp_remote){
		.address = address("::ffff:127.0.0.3"), .qpn = P->qp_num(y), .psn = P->qp_psn(y)};
	to_x = (struct qp_remote){
		.address = address("::ffff:127.0.0.2"), .qpn = P->qp_num(x), .psn = P->qp_psn(x)};
	ck_assert_int_eq(P->qp_connect(x, &to_y), 0);
	w = write_of(5, 0, 64, 0);
	ck_assert_int_eq(P->post(x, &w), 0);
	run_once();
	ck_assert_int_eq(P->qp_connect(y, &to_x), 0);
	RUN_UNTIL(n_wa == 1);
	ck_assert_int_eq(wa[0].status, 0);
	ck_assert_mem_eq(from, to, 64);
	close_pair();
}
END_TEST

/* Both ends may read and write; from is a's, to is b's. */
static void open_readable(uint16_t receives, uint8_t rnr_limit, uint32_t mtu)
{
	struct qp_attr attr = attr_of(22, 7, 0); /* as open_patient() */
	unsigned both = QP_ACCESS_REMOTE_READ | QP_ACCESS_REMOTE_WRITE;

	attr.receives = receives;
	attr.rnr_limit = rnr_limit;
	open_pair("::ffff:127.0.0.2", "::ffff:127.0.0.3", mtu, attr);
	ck_assert_int_eq(P->mr_deregister(a, &ma), 0);
	ck_assert_int_eq(P->mr_deregister(b, &mb), 0);
	ck_assert_int_eq(P->mr_register(a, from, BYTES, both, &ma), 0);
	ck_assert_int_eq(P->mr_register(b, to, BYTES, both, &mb), 0);
}

static struct qp_recv recv_of(uint64_t id, uint32_t offset, uint32_t bytes)
{
	return (struct qp_recv){.wr_id = id, .data = to + offset, .lkey = mb.lkey, .length = bytes};
}

static int post_send(uint64_t id, uint32_t offset, uint32_t bytes, unsigned flags)
{
	struct qp_work s = {.op = QP_OP_SEND,
			    .wr_id = id,
			    .data = from + offset,
			    .lkey = ma.lkey,
			    .length = bytes,
			    .imm = 9,
			    .flags = flags};

	return P->post(qa, &s);
}

START_TEST(sends_land_in_posted_receives)
{
	static const uint32_t lengths[] = {0, 1, 4096, 4097, 300001};
	struct qp_recv recv;

	open_readable(5, 0, 4096);
	for (unsigned i = 0; i < 5; i++) {
		recv = recv_of(70 + i, i * 8192, 400000);
		ck_assert_int_eq(P->post_recv(qb, &recv), 0);
	}
	ck_assert_int_eq(P->post_recv(qb, &recv), -ENOBUFS);
	recv.length = BYTES;
	ck_assert_int_eq(P->post_recv(qb, &recv), -EINVAL); /* beyond the region */
	for (unsigned i = 0; i < 5; i++)
		ck_assert_int_eq(post_send(i, i * 8192, lengths[i], i % 2 ? QP_WR_IMM : 0), 0);
	RUN_UNTIL(n_wa == 5 && n_wb == 5);
	for (unsigned i = 0; i < 5; i++) {
		ck_assert_int_eq(wa[i].status, 0);
		ck_assert_uint_eq(wa[i].wr_id, i);
		ck_assert(wb[i].is_receive && wb[i].has_imm == (i % 2 == 1));
		ck_assert_uint_eq(wb[i].wr_id, 70 + i);
		ck_assert_uint_eq(wb[i].byte_len, lengths[i]);
	}
	ck_assert_mem_eq(from + 4 * 8192, to + 4 * 8192, 300001);
	close_pair();
}
END_TEST

START_TEST(a_send_waits_for_its_receive_or_gives_up)
{
	struct qp_recv recv;
	struct qp_stats s;

	open_readable(4, 0, 4096);
	ck_assert_int_eq(post_send(1, 0, 100, 0), 0);
	RUN_UNTIL((s = *P->endpoint_info(a)->stats, s.naks_received >= 3));
	ck_assert_int_eq(n_wa, 0);
	recv = recv_of(8, 0, 100);
	ck_assert_int_eq(P->post_recv(qb, &recv), 0);
	RUN_UNTIL(n_wa == 1 && n_wb == 1);
	ck_assert_int_eq(wa[0].status, 0);
	ck_assert_mem_eq(from, to, 100);
	ck_assert_uint_eq(s.timeouts, 0);
	close_pair();
	n_wa = n_wb = 0;
	open_readable(4, 2, 4096);
	ck_assert_int_eq(post_send(1, 0, 100, 0), 0);
	RUN_UNTIL(n_wa == 1);
	ck_assert_int_eq(wa[0].status, QP_WC_RNR_RETRY_EXC_ERR);
	close_pair();
}
END_TEST

START_TEST(a_send_too_long_ends_both_ends)
{
	struct qp_recv recv;

	open_readable(4, 0, 1024);
	recv = recv_of(8, 0, 2000);
	ck_assert_int_eq(P->post_recv(qb, &recv), 0);
	recv.wr_id = 9;
	ck_assert_int_eq(P->post_recv(qb, &recv), 0);
	ck_assert_int_eq(post_send(1, 0, 2001, 0), 0);
	RUN_UNTIL(n_wa == 1 && n_wb == 2);
	ck_assert_int_eq(wa[0].status, QP_WC_REM_INV_REQ_ERR);
	ck_assert_int_eq(wb[0].status, QP_WC_LOC_LEN_ERR);
	ck_assert_uint_eq(wb[0].wr_id, 8);
	ck_assert_int_eq(wb[1].status, QP_WC_FLUSH_ERR);
	ck_assert_uint_eq(to[2000], 0);
	ck_assert_int_eq(P->post_recv(qb, &recv), -ENOTCONN);
	close_pair();
}
END_TEST

START_TEST(posted_receives_are_flushed_even_without_a_peer)
{
	struct qp_attr attr = attr_of(16, 7, 0);
	struct qp_recv recv;
	struct qp *q;

	open_readable(1, 0, 4096);
	attr.receives = 2;
	recv = recv_of(3, 0, 10);
	ck_assert_int_eq(P->qp_create(b, &attr, &q), 0);
	ck_assert_int_eq(P->post_recv(q, &recv), 0);
	P->qp_error(q);
	RUN_UNTIL(n_wb == 1);
	ck_assert_int_eq(wb[0].status, QP_WC_FLUSH_ERR);
	ck_assert(wb[0].is_receive);
	P->qp_destroy(q);
	close_pair();
}
END_TEST

static const struct {
	uint32_t mtu, bytes;
} read_shapes[] = {{4096, 0},	  {4096, 1},	     {4096, 4096},
		   {4096, BYTES}, {1024, BYTES - 1}, {256, 70001}};

START_TEST(a_read_brings_the_peers_memory)
{
	struct qp_work r = {.op = QP_OP_READ, .wr_id = 5, .length = read_shapes[_i].bytes};

	open_readable(0, 0, read_shapes[_i].mtu);
	r.data = to; /* b reads from a, while it writes beside it */
	r.lkey = mb.lkey;
	r.remote_addr = (uintptr_t)from;
	r.rkey = ma.rkey;
	ck_assert_int_eq(P->post(qb, &r), 0);
	r.wr_id = 6;
	ck_assert_int_eq(P->post(qb, &r), 0);
	RUN_UNTIL(n_wb == 2);
	ck_assert_int_eq(wb[0].status, 0);
	ck_assert_int_eq(wb[1].status, 0);
	ck_assert_uint_eq(wb[0].wr_id, 5);
	ck_assert_uint_eq(wb[0].byte_len, r.length);
	ck_assert(!wb[0].is_receive);
	if (r.length)
		ck_assert_mem_eq(from, to, r.length);
	close_pair();
}
END_TEST

START_TEST(a_read_of_what_is_not_open_is_refused)
{
	struct qp_work r = {.op = QP_OP_READ, .wr_id = 5, .length = 100};

	open_default(); /* from may not be read by peers, to may only be written */
	r.data = to;
	r.lkey = mb.lkey;
	r.remote_addr = (uintptr_t)from;
	r.rkey = ma.rkey;
	ck_assert_int_eq(P->post(qb, &r), 0);
	RUN_UNTIL(n_wb == 1);
	ck_assert_int_eq(wb[0].status, QP_WC_REM_ACCESS_ERR);
	ck_assert_uint_eq(to[0], 0);
	close_pair();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft_endpoint");
	TCase *t = tcase_create("all");
	int skip = enter_namespace();

	if (skip)
		return skip;
	tcase_add_loop_test(t, a_megabyte_arrives, 0, (int)(sizeof(shapes) / sizeof(shapes[0])));
	tcase_add_test(t, many_small_writes_complete_in_order);
	tcase_add_test(t, the_queue_reports_full_and_drains);
	tcase_add_test(t, a_qp_in_error_takes_and_sends_nothing);
	tcase_add_test(t, a_local_error_flushes);
	tcase_add_test(t, a_wrong_rkey_is_refused);
	tcase_add_test(t, what_was_promised_is_checked_at_the_post);
	tcase_add_test(t, numbers_are_distinct_and_ports_are_shared);
	tcase_add_test(t, what_an_endpoint_is_told_is_checked);
	tcase_add_loop_test(t, several_endpoints_share_an_address, 0, 2);
	tcase_add_test(t, control_datagrams_tell_where_they_came_from);
	tcase_add_test(t, a_conversation_of_callers_that_spin_is_acknowledged);
	tcase_add_test(t, a_conversation_takes_no_acknowledgements_between);
	tcase_add_test(t, one_call_takes_a_message_in_and_acknowledges_it);
	tcase_add_test(t, moving_and_kicking_lose_nothing);
	tcase_add_test(t, an_early_peer_waits_for_connect);
	tcase_add_test(t, sends_land_in_posted_receives);
	tcase_add_test(t, a_send_waits_for_its_receive_or_gives_up);
	tcase_add_test(t, a_send_too_long_ends_both_ends);
	tcase_add_test(t, posted_receives_are_flushed_even_without_a_peer);
	tcase_add_loop_test(t, a_read_brings_the_peers_memory, 0,
			    (int)(sizeof(read_shapes) / sizeof(read_shapes[0])));
	tcase_add_test(t, a_read_of_what_is_not_open_is_refused);
	suite_add_tcase(s, t);
	return run_suite(s);
}
