/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "qp/control_wire.h"

static struct control_message sample(enum control_type type)
{
	struct control_message m = {.type = type,
				    .source = 2,
				    .source_port = 4791,
				    .destination = 3,
				    .source_group = 4,
				    .destination_group = 5};

	for (unsigned i = 0; i < sizeof(m.nonce); i++)
		m.nonce[i] = (uint8_t)(i + 100);
	if (type == CONTROL_ECHO || type == CONTROL_ECHO_REPLY) {
		m.echo.nonce = 6;
		m.echo.candidate = 7;
		m.echo.sub_port = 1;
	} else if (type == CONTROL_GROUP_OPEN || type == CONTROL_GROUP_ACCEPT) {
		m.open.options.mode = 1;
		m.open.n_lanes = 4;
		m.open.qps_per_lane = 2;
		m.open.ring_addr = UINT64_C(0x123456789abcdef0);
		m.open.ring_rkey = 0xfedcba98;
		m.open.path_mtu = 1024;
		m.open.options.message_bytes = 4096;
		m.open.options.dscp = 26;
		m.open.options.private_data = "job 7, rank 3";
		m.open.options.private_bytes = 13;
		if (type == CONTROL_GROUP_OPEN) {
			m.open.baseline.dcqcn = (struct qp_dcqcn){true, 1, 2, 3, 4};
		}
	} else if (type == CONTROL_GROUP_REFUSE) {
		m.error = EPROTO;
	} else if (type >= CONTROL_LANE_OPEN && type <= CONTROL_LANE_RESET_ACK) {
		m.lane.lane = 3;
		m.lane.epoch = 9;
		if (type == CONTROL_LANE_OPEN || type == CONTROL_LANE_ACCEPT) {
			m.lane.n_qps = FARE_PLANE_QPS_MAX;
			for (unsigned i = 0; i < FARE_PLANE_QPS_MAX; i++)
				m.lane.qps[i] =
					(struct control_qp){0xfffff0 + i % 16, i, (uint8_t)(i % 8)};
			m.lane.n_addresses = FARE_MAX_SUB_PORTS;
			for (unsigned i = 0; i < sizeof(m.lane.addresses); i++)
				m.lane.addresses[i / 16][i % 16] = (uint8_t)i;
		}
	}
	return m;
}

START_TEST(every_type_comes_back_the_same)
{
	for (int type = CONTROL_ECHO; type < CONTROL_TYPE_END; type++) {
		struct control_message in = sample((enum control_type)type), out;
		uint8_t a[1024], b[1024];
		const char *reason;
		int n = control_wire_encode(&in, a, sizeof(a));

		ck_assert_int_gt(n, 0);
		ck_assert_int_eq(control_wire_decode(&out, a, (size_t)n, &reason), 0);
		ck_assert_int_eq(control_wire_encode(&out, b, sizeof(b)), n);
		ck_assert_mem_eq(a, b, (size_t)n);
		for (int cut = 0; cut < n; cut++) {
			ck_assert_int_eq(control_wire_decode(&out, a, (size_t)cut, &reason),
					 -EBADMSG);
			ck_assert_ptr_nonnull(reason);
			ck_assert_int_eq(control_wire_encode(&in, b, (size_t)cut), -EMSGSIZE);
		}
	}
}
END_TEST

START_TEST(refuses_what_is_out_of_range)
{
	static const struct {
		enum control_type type;
		size_t at;
		uint8_t value;
	} t[] = {
		{CONTROL_ECHO, 0, 0},
		{CONTROL_ECHO, 4, 6}, /* the former version */
		{CONTROL_ECHO, 4, 9},
		{CONTROL_ECHO, 5, 0},
		{CONTROL_ECHO, 5, CONTROL_TYPE_END},
		{CONTROL_GROUP_CLOSE, 6, 0},	/* with the next byte: no port */
		{CONTROL_GROUP_OPEN, 82, 2},	/* in order */
		{CONTROL_GROUP_OPEN, 83, 2},	/* follows the rate */
		{CONTROL_GROUP_OPEN, 84, 64},	/* DSCP */
		{CONTROL_GROUP_OPEN, 85, 16},	/* service level */
		{CONTROL_GROUP_OPEN, 91, 0x30}, /* path MTU */
		{CONTROL_GROUP_OPEN, 104, 2},	/* private bytes */
		{CONTROL_GROUP_OPEN, 57, 17},
		{CONTROL_GROUP_OPEN, 57, 0},
		{CONTROL_GROUP_OPEN, 58, 1},
		{CONTROL_LANE_OPEN, 33, 16},
		{CONTROL_LANE_OPEN, 35, 65},
		{CONTROL_LANE_OPEN, 35, 0},
		{CONTROL_LANE_READY, 35, 1},
		{CONTROL_LANE_OPEN, 64, 9},
		{CONTROL_LANE_OPEN, 68, 1},
		{CONTROL_LANE_OPEN, 64 + 64 * 8, 1},
		{CONTROL_LANE_OPEN, 65 + 64 * 8, 9},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct control_message m = sample(t[i].type);
		uint8_t buf[1024];
		const char *reason = NULL;
		int n = control_wire_encode(&m, buf, sizeof(buf));

		buf[t[i].at] = t[i].value;
		if (t[i].type == CONTROL_GROUP_CLOSE)
			buf[7] = 0;
		ck_assert_msg(control_wire_decode(&m, buf, (size_t)n, &reason) == -EBADMSG,
			      "row %zu", i);
		ck_assert_ptr_nonnull(reason);
	}
}
END_TEST

/* The receiver recognizes it: all of it arrives, in the two messages that have it. */
START_TEST(the_nonce_is_carried)
{
	static const enum control_type types[] = {CONTROL_GROUP_CHALLENGE, CONTROL_GROUP_OPEN};

	for (unsigned i = 0; i < 2; i++) {
		struct control_message in = sample(types[i]), out;
		uint8_t buf[1024];
		const char *reason;
		int n = control_wire_encode(&in, buf, sizeof(buf));

		ck_assert_int_eq(control_wire_decode(&out, buf, (size_t)n, &reason), 0);
		ck_assert_mem_eq(out.nonce, in.nonce, sizeof(in.nonce));
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("control_wire");
	TCase *t = tcase_create("core");
	SRunner *r;
	int failed;

	tcase_add_test(t, every_type_comes_back_the_same);
	tcase_add_test(t, refuses_what_is_out_of_range);
	tcase_add_test(t, the_nonce_is_carried);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
