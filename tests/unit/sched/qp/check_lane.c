/* SPDX-License-Identifier: BSD-2-Clause */
/* What lanes do about QPs that fail, or cannot be made. */
#include <endian.h>

#include "domain_pair.h"
#include "qp/soft/roce_icrc.h"
#include "qp/soft/roce_wire.h"
#include "qp/soft/soft_endpoint.h"

#define STRANGERS_PORT 60123

/*
 * From host 0's address to a QP of host 1: a packet that no group sends, with the number that the
 * QP expects next.
 */
static void forge(const struct qp *qp)
{
	static const uint8_t payload[4];
	struct roce_packet p = {.opcode = ROCE_SEND_ONLY,
				.dest_qpn = qp->qpn,
				.payload = payload,
				.psn = qp->order_free ? qp->order_free->rx.expected_psn
						      : qp->responder.expected_psn,
				.payload_bytes = sizeof(payload),
				.ack_req = true};
	struct roce_flow flow = {.source = address(0),
				 .destination = address(1),
				 .source_port = STRANGERS_PORT,
				 .destination_port = ROCE_UDP_PORT};
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(STRANGERS_PORT)};
	struct sockaddr_in b = {.sin_family = AF_INET, .sin_port = htons(ROCE_UDP_PORT)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), no_fragments = IP_PMTUDISC_DO;
	uint8_t bytes[ROCE_HEADER_MAX + sizeof(payload) + ROCE_ICRC_BYTES];
	size_t n = roce_wire_build(&p, bytes);
	uint32_t crc = htole32(roce_icrc_compute(&flow, 0, bytes, n, payload, sizeof(payload), 0));

	memcpy(bytes + n, payload, sizeof(payload));
	memcpy(bytes + n + sizeof(payload), &crc, sizeof(crc));
	n += sizeof(payload) + sizeof(crc);
	memcpy(&a.sin_addr, &flow.source.s6_addr[12], 4);
	memcpy(&b.sin_addr, &flow.destination.s6_addr[12], 4);
	ck_assert_int_eq(
		setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &no_fragments, sizeof(no_fragments)),
		0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	ck_assert_int_eq(sendto(fd, bytes, n, 0, (struct sockaddr *)&b, sizeof(b)), (int)n);
	close(fd);
}

static const enum fare_mode modes[] = {FARE_MODE_SPRAY, FARE_MODE_PACKET};

/*
 * Nothing is posted that could be flushed: its state alone says so. What is written then comes
 * through all the same.
 */
START_TEST(a_qp_that_fails_when_idle_is_replaced)
{
	struct fare_group_options options = {.mode = modes[_i]};
	struct fare_write w = {.flags = FARE_WRITE_NOTIFY, .tag = 3};
	struct in6_addr peer = address(1);
	const struct lane *lane;
	struct fare_group *acceptor;

	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	ck_assert_int_eq(open_domain(1, NULL, true, 0), 0);
	ck_assert_int_eq(fare_group_open(&group, domain[0], &peer, &options), 0);
	TURN_UNTIL(n_connected && n_accepted);
	acceptor = domain[1]->groups;
	lane = &acceptor->lanes->lane[0];
	forge(lane->qps[0].qp);
	TURN_UNTIL(lane->state != LANE_UP);
	ck_assert_uint_eq(lanes_n_deaths(acceptor->lanes), 1);
	ck_assert_int_eq(fare_group_write(acceptor, &w), 0);
	TURN_UNTIL(n_completed && n_received);
	ck_assert_int_eq(completed.status, 0);
	ck_assert_uint_eq(received.tag, 3);
	ck_assert_uint_eq(lane->epoch, 2);
}
END_TEST

/* ---- QPs that cannot be made ---- */

static struct qp_provider failing;
static unsigned n_tries;
static int failing_plane; /* -1: all; 99: none */

static int create_or_fail(struct qp_endpoint *ep, const struct qp_attr *attr, struct qp **out)
{
	if (failing_plane != -1 && attr->plane != failing_plane)
		return qp_soft_provider.qp_create(ep, attr, out);
	n_tries++;
	return -EMFILE;
}

static void open_failing(int host, int plane)
{
	/* four planes are one device here: an echo cannot tell them apart */
	struct fare_group_options options = {
		.baseline = &(struct fare_baseline){.random_ports = plane >= 0}};
	struct in6_addr peer = address(1);

	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	ck_assert_int_eq(open_domain(1, NULL, true, 0), 0);
	failing = qp_soft_provider;
	failing.qp_create = create_or_fail;
	failing_plane = plane;
	n_tries = 0;
	domain[host]->ep.provider = &failing;
	ck_assert_int_eq(fare_group_open(&group, domain[0], &peer, &options), 0);
}

/* What fare_group_dump() says of it. */
static bool dump_has(const char *text)
{
	static char dump[8192];
	FILE *f = tmpfile();
	size_t n;

	ck_assert_ptr_nonnull(f);
	fare_group_dump(group, fileno(f));
	rewind(f);
	n = fread(dump, 1, sizeof(dump) - 1, f);
	dump[n] = 0;
	fclose(f);
	return strstr(dump, text);
}

START_TEST(a_group_that_gets_no_qp_ends_with_the_reason)
{
	unsigned n_turns = 0;

	open_failing(0, -1);
	for (time_t end = time(NULL) + 4; time(NULL) < end; n_turns++)
		turn();
	ck_assert_uint_eq(n_connected, 0);
	ck_assert_int_eq(group->lanes->lane[0].error, -EMFILE);
	ck_assert(dump_has("Too many open files"));
	ck_assert_uint_eq(group->lanes->lane[0].epoch, 0); /* the peer was offered nothing */
	/* 10 ms, doubling up to a second */
	ck_assert_uint_ge(n_tries, 7);
	ck_assert_uint_le(n_tries, 12);
	/* and between them the domain is idle: a tick is 20 ms */
	ck_assert_uint_le(n_turns, 600);
	group->due_ns = domain[0]->ep.now_ns; /* as if so long had passed */
	TURN_UNTIL(n_closed);
	ck_assert_int_eq(closed_status, -EMFILE);
}
END_TEST

START_TEST(a_plane_that_gets_no_qp_says_why)
{
	open_failing(0, 2);
	TURN_UNTIL(n_connected);
	ck_assert_int_eq(group->lanes->lane[1].error, 0);
	ck_assert_int_eq(group->lanes->lane[2].error, -EMFILE);
	ck_assert_int_eq(group->lanes->rows[2].error, EMFILE);
	ck_assert_int_eq(group->lanes->rows[2].state, CONN_SHM_QP_DOWN);
	ck_assert(dump_has("Too many open files"));
	failing_plane = 99;
	TURN_UNTIL(group->lanes->lane[2].state == LANE_UP);
	ck_assert_int_eq(group->lanes->lane[2].error, 0);
	ck_assert_int_eq(group->lanes->rows[2].error, 0);
	ck_assert(!dump_has("Too many open files"));
}
END_TEST

START_TEST(the_peer_gets_no_qp)
{
	open_failing(1, -1);
	TURN_UNTIL(n_tries >= 3);
	TURN_UNTIL(group->lanes->lane[0].error);
	ck_assert_int_eq(group->lanes->lane[0].error, -ECONNREFUSED);
	ck_assert_int_eq(domain[1]->groups->lanes->lane[0].error, -EMFILE);
	failing_plane = 99;
	TURN_UNTIL(n_connected && n_accepted);
}
END_TEST

/* Not even an echo can be sent: that is the reason, and not that the plane is silent. */
static int send_or_fail(struct qp_endpoint *ep, const struct qp_control *c)
{
	return c->udp_source_port ? -EMFILE : qp_soft_provider.control_send(ep, c);
}

START_TEST(echoes_that_cannot_be_sent_are_the_reason)
{
	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	ck_assert_int_eq(open_domain(1, NULL, true, 0), 0);
	failing = qp_soft_provider;
	failing.control_send = send_or_fail;
	domain[0]->ep.provider = &failing;
	open_group();
	TURN_UNTIL(group->lanes->lane[0].error);
	ck_assert_int_eq(group->lanes->lane[0].error, -EMFILE);
	domain[0]->ep.provider = &qp_soft_provider;
	TURN_UNTIL(n_connected);
}
END_TEST

/* ---- a QP that does nothing with its work, and says nothing ---- */

static struct {
	bool is_armed, is_in_error;
	struct lane_qp *q;
	uint64_t wr_id;
} swallowed;

static int swallow_write(struct qp *qp, const struct qp_work *w)
{
	struct lane_qp *q = &group->lanes->lane[0].qps[0];

	if (!swallowed.is_armed || qp != q->qp)
		return qp_soft_provider.post(qp, w);
	swallowed.is_armed = false;
	swallowed.q = q;
	swallowed.wr_id = w->wr_id;
	return 0;
}

static void note_error(struct qp *qp)
{
	swallowed.is_in_error |= swallowed.q && qp == swallowed.q->qp;
	qp_soft_provider.qp_error(qp);
}

static int poll_swallowed(struct qp_endpoint *ep, struct qp_wc *wc, int max)
{
	if (ep != domain[0]->ep.handle || !swallowed.is_in_error)
		return qp_soft_provider.poll(ep, wc, max);
	*wc = (struct qp_wc){
		.context = swallowed.q, .wr_id = swallowed.wr_id, .status = QP_WC_FLUSH_ERR};
	swallowed.is_in_error = false;
	return 1;
}

static void connect_swallowing(void)
{
	struct fare_write w = {.flags = FARE_WRITE_NOTIFY, .tag = 7};

	memset(&swallowed, 0, sizeof(swallowed));
	connect_trusted();
	failing = qp_soft_provider;
	failing.post = swallow_write;
	failing.qp_error = note_error;
	failing.poll = poll_swallowed;
	domain[0]->ep.provider = &failing;
	swallowed.is_armed = true;
	ck_assert_int_eq(fare_group_write(group, &w), 0);
	ck_assert_ptr_nonnull(swallowed.q);
}

static void turn_often(void)
{
	for (unsigned i = 0; i < 20; i++)
		turn();
}

/* It is waited for, for a while; then its work is done elsewhere, once. */
START_TEST(a_qp_that_swallows_its_work_is_replaced)
{
	connect_swallowing();
	domain[0]->ep.resumed_ns = 0;			  /* when it was opened */
	swallowed.q->progress_ns -= UINT64_C(9000000000); /* as if so long had passed */
	turn_often();
	ck_assert_int_eq(group->lanes->lane[0].state, LANE_UP);
	swallowed.q->progress_ns -= UINT64_C(2000000000);
	TURN_UNTIL(n_completed && n_received);
	ck_assert_int_eq(completed.status, 0);
	ck_assert_uint_eq(received.tag, 7);
	ck_assert_uint_eq(n_received, 1);
	ck_assert_uint_eq(group->lanes->lane[0].epoch, 2);
}
END_TEST

/* Its completions may wait to be read. */
START_TEST(a_process_that_was_stopped_takes_no_qp_for_dead)
{
	connect_swallowing();
	domain[0]->polled_ns -= UINT64_C(60000000000);
	swallowed.q->progress_ns -= UINT64_C(60000000000);
	turn_often();
	ck_assert_int_eq(group->lanes->lane[0].state, LANE_UP);
	ck_assert_uint_eq(group->lanes->lane[0].epoch, 1);
}
END_TEST

/* ---- two ends that refuse each other ---- */

/* Whatever the opener posts on the next epoch is answered first. */
START_TEST(an_acceptor_whose_qp_failed_posts_second)
{
	struct fare_write w = {.flags = FARE_WRITE_NOTIFY};
	struct fare_group *acceptor;
	const struct lane *lane;
	uint64_t until_ns;

	connect_trusted();
	acceptor = domain[1]->groups;
	lane = &acceptor->lanes->lane[0];
	lanes_on_failure(acceptor->lanes, 0, FAILURE_FLUSH);
	ck_assert_int_eq(fare_group_write(acceptor, &w), 0);
	TURN_UNTIL(lane->state == LANE_UP && lane->epoch == 2);
	until_ns = lane->post_ns;
	ck_assert_uint_gt(until_ns, domain[1]->ep.now_ns);
	TURN_UNTIL(n_completed);
	ck_assert_uint_ge(domain[1]->ep.now_ns, until_ns);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("lane");
	TCase *tc = tcase_create("failing");
	SRunner *sr;
	int failed, skip = own_net();

	if (skip)
		return skip;
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, a_qp_that_fails_when_idle_is_replaced, 0,
			    (int)(sizeof(modes) / sizeof(modes[0])));
	suite_add_tcase(s, tc);
	tc = tcase_create("unmade");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_group_that_gets_no_qp_ends_with_the_reason);
	tcase_add_test(tc, the_peer_gets_no_qp);
	tcase_add_test(tc, echoes_that_cannot_be_sent_are_the_reason);
	suite_add_tcase(s, tc);
	tc = tcase_create("silent");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_qp_that_swallows_its_work_is_replaced);
	tcase_add_test(tc, a_process_that_was_stopped_takes_no_qp_for_dead);
	tcase_add_test(tc, an_acceptor_whose_qp_failed_posts_second);
	suite_add_tcase(s, tc);
	tc = tcase_create("four planes");
	tcase_add_checked_fixture(tc, setup_four_planes, teardown);
	tcase_add_test(tc, a_plane_that_gets_no_qp_says_why);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
