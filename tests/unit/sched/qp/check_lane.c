/* SPDX-License-Identifier: BSD-2-Clause */
/* What lanes do about QPs that fail. */
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
	lane = &acceptor->lanes[0];
	forge(lane->qps[0].qp);
	TURN_UNTIL(lane->state != LANE_UP);
	ck_assert_uint_eq(acceptor->stats.path_deaths, 1);
	ck_assert_int_eq(fare_group_write(acceptor, &w), 0);
	TURN_UNTIL(n_completed && n_received);
	ck_assert_int_eq(completed.status, 0);
	ck_assert_uint_eq(received.tag, 3);
	ck_assert_uint_eq(lane->epoch, 2);
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
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
