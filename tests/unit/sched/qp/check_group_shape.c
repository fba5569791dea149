/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/group_shape.h"

#include <check.h>

#include "qp/control_wire.h"
#include "qp/endpoint.h"
#include "qp/group_paths.h"

#define MTU	 4096u
#define LANES	 4u
#define QPS	 2u
#define WINDOW	 (192u << 10)
#define CHUNK	 61440u
#define SUB_PORT UINT64_C(25000000) /* bits/s */

struct shaped {
	struct group_shape shape;
	struct endpoint ep;
	struct group_paths paths;
};

static void set_up(struct shaped *s, const uint64_t bps[LANES])
{
	static const struct qp_endpoint_info info = {.path_mtu = MTU};

	*s = (struct shaped){
		.shape = {.n_lanes = LANES,
			  .n_qps = QPS,
			  .n_sharing = QPS,
			  .path_mtu = MTU,
			  .chunk_bytes = CHUNK,
			  .qp_window_bytes = WINDOW,
			  .unit_bytes = CHUNK,
			  .follows_rate = true},
		.ep = {.info = &info},
		.paths = {.path_mtu = MTU, .now.n_planes = LANES},
	};
	s->paths.ep = &s->ep;
	for (unsigned l = 0; l < LANES; l++) {
		s->shape.window_bytes[l] = 1;
		s->paths.now.path[l] = (struct fare_path){
			.usable_bps = bps[l], .live_sub_ports = 3, .n_sub_ports = 2};
	}
	group_shape_follow_rate(&s->shape, &s->paths);
}

/* The window alone, without the chunks on top. */
static uint64_t window_of(const struct shaped *s, unsigned lane)
{
	return group_shape_room(&s->shape, lane) - (uint64_t)QPS * s->shape.unit_bytes;
}

/* 64 ms of the lane's own rate, in whole packets. */
START_TEST(each_lane_has_the_window_of_its_rate)
{
	static const uint64_t bps[LANES] = {SUB_PORT, 2 * SUB_PORT, 2 * SUB_PORT, 0};
	struct shaped s;

	set_up(&s, bps);
	ck_assert_uint_eq(window_of(&s, 0), 200000 / MTU * MTU);
	ck_assert_uint_eq(window_of(&s, 1), WINDOW * 2); /* 400,000 would be more */
	ck_assert_uint_eq(window_of(&s, 2), window_of(&s, 1));
	ck_assert_uint_eq(group_shape_qp_room(&s.shape, 1), WINDOW + s.shape.unit_bytes);
	/* not usable: as it was */
	ck_assert_uint_eq(window_of(&s, 3), 1);
}
END_TEST

/* A lane that got slower takes nothing from the others. */
START_TEST(a_slow_lane_leaves_the_others_alone)
{
	static const uint64_t whole[LANES] = {SUB_PORT, SUB_PORT, SUB_PORT, SUB_PORT},
			      cut[LANES] = {SUB_PORT / 2, SUB_PORT, SUB_PORT, SUB_PORT};
	struct shaped before, after;

	set_up(&before, whole);
	set_up(&after, cut);
	ck_assert_uint_eq(window_of(&after, 0), 100000 / MTU * MTU);
	for (unsigned l = 1; l < LANES; l++)
		ck_assert_uint_eq(window_of(&after, l), window_of(&before, l));
	ck_assert_uint_eq(window_of(&before, 1), 200000 / MTU * MTU);
	/* chunks are cut before they have a lane */
	ck_assert_uint_lt(after.shape.unit_bytes, before.shape.unit_bytes);
}
END_TEST

/* Options of the application's own stand, and what carries nothing changes nothing. */
START_TEST(what_was_asked_for_stands)
{
	static const uint64_t bps[LANES] = {SUB_PORT, SUB_PORT, SUB_PORT, SUB_PORT}, none[LANES];
	struct shaped s;

	set_up(&s, none);
	ck_assert_uint_eq(window_of(&s, 0), 1);
	ck_assert_uint_eq(s.shape.unit_bytes, CHUNK);
	s.shape.follows_rate = false;
	for (unsigned l = 0; l < LANES; l++)
		s.paths.now.path[l].usable_bps = bps[l];
	group_shape_follow_rate(&s.shape, &s.paths);
	ck_assert_uint_eq(window_of(&s, 0), 1);
	ck_assert_uint_eq(s.shape.unit_bytes, CHUNK);
}
END_TEST

/* However slow: a packet. */
START_TEST(never_less_than_a_packet)
{
	static const uint64_t bps[LANES] = {8, 8, 8, 8};
	struct shaped s;

	set_up(&s, bps);
	ck_assert_uint_eq(window_of(&s, 0), MTU);
	ck_assert_uint_eq(s.shape.unit_bytes, MTU);
	ck_assert_uint_eq(s.shape.read_unit_bytes, MTU);
}
END_TEST

/* The other end's QPs are what the opener's are. */
START_TEST(a_baseline_reaches_the_other_end)
{
	struct fare_group_options o = {.mode = FARE_MODE_FLOW};

	for (unsigned i = 0; i < 4; i++) {
		struct group_shape shape = {
			.n_lanes = 1,
			.n_qps = 1,
			.baseline = {.random_ports = i & 1,
				     .dcqcn = {i >> 1, 62500000, 5000, 65536, 100}}};
		struct control_message m = {
			.type = CONTROL_GROUP_OPEN, .source = 1, .source_port = 4791};
		struct control_message got;
		uint8_t bytes[1024];
		const char *reason;
		int n;

		group_shape_fill_open(&shape, &o, &m);
		m.open.path_mtu = MTU;
		n = control_wire_encode(&m, bytes, sizeof(bytes));
		ck_assert_int_gt(n, 0);
		ck_assert_int_eq(control_wire_decode(&got, bytes, (size_t)n, &reason), 0);
		ck_assert_ptr_eq(got.open.options.baseline, &got.open.baseline);
		ck_assert_uint_eq(got.open.baseline.random_ports, i & 1);
		ck_assert_uint_eq(got.open.baseline.dcqcn.is_on, i >> 1);
		if (i >> 1)
			ck_assert_mem_eq(&got.open.baseline.dcqcn, &shape.baseline.dcqcn,
					 sizeof(got.open.baseline.dcqcn));
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("group_shape");
	TCase *tc = tcase_create("follow_rate");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_test(tc, each_lane_has_the_window_of_its_rate);
	tcase_add_test(tc, a_slow_lane_leaves_the_others_alone);
	tcase_add_test(tc, what_was_asked_for_stands);
	tcase_add_test(tc, never_less_than_a_packet);
	tcase_add_test(tc, a_baseline_reaches_the_other_end);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
