/* SPDX-License-Identifier: BSD-2-Clause */
/* Every write that is accepted completes once, whatever becomes of it or its neighbours. */
#include "domain_pair.h"

#define BYTES 8192

static uint8_t source[BYTES], target[BYTES];
static struct fare_mr *from, *to;
static unsigned n_posts, n_held;

static void open_both(void)
{
	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	ck_assert_int_eq(open_domain(1, NULL, true, 0), 0);
	ck_assert_int_eq(fare_mr_register(&from, domain[0], source, BYTES / 2, false), 0);
	ck_assert_int_eq(fare_mr_register(&to, domain[1], target, BYTES, true), 0);
}

static struct fare_write write_of(const struct fare_mr *mr, const void *data, uint64_t length,
				  uint64_t context)
{
	return (struct fare_write){.mr = (struct fare_mr *)(uintptr_t)mr,
				   .data = data,
				   .length = length,
				   .remote_addr = (uintptr_t)target,
				   .rkey = fare_mr_rkey(to),
				   .context = context};
}

static int write_to(const struct fare_mr *mr, uintptr_t offset, uint64_t length)
{
	struct fare_write w = write_of(mr, (void *)((uintptr_t)source + offset), length, 0);

	return fare_group_write(group, &w);
}

START_TEST(a_write_stays_within_its_region)
{
	open_both();
	open_group();
	ck_assert_int_eq(write_to(from, 1, BYTES / 2), -EINVAL);
	ck_assert_int_eq(write_to(from, BYTES / 2, 1), -EINVAL);
	ck_assert_int_eq(write_to(from, (uintptr_t)-1, 2), -EINVAL);
	ck_assert_int_eq(write_to(from, 8, UINT64_MAX), -EINVAL);
	ck_assert_int_eq(write_to(from, 8, UINT64_MAX - 7), -EINVAL);
	ck_assert_int_eq(write_to(from, 0, BYTES / 2 + 1), -EINVAL);
	/* the other domain's */
	ck_assert_int_eq(write_to(to, (uintptr_t)target - (uintptr_t)source, 8), -EINVAL);
	ck_assert_int_eq(write_to(NULL, 0, 8), -EINVAL);
	ck_assert_int_eq(write_to(from, 0, BYTES / 2), 0);
	ck_assert_int_eq(write_to(from, BYTES / 2 - 1, 1), 0);
	ck_assert_int_eq(write_to(NULL, 0, 0), 0);
	TURN_UNTIL(n_completed == 3);
	ck_assert_int_eq(completed.status, 0);
}
END_TEST

/* Its region is gone when its turn comes: it fails, those behind it do not wait for it. */
START_TEST(a_region_that_goes_takes_its_writes_alone)
{
	struct fare_mr *other;
	struct fare_write bad, good;
	unsigned n_bad = 0, n_good = 0;

	open_both();
	ck_assert_int_eq(fare_mr_register(&other, domain[0], source, BYTES, false), 0);
	open_group();
	bad = write_of(other, source, BYTES, 1);
	bad.flags = FARE_WRITE_NOTIFY;
	good = write_of(from, source, BYTES / 2, 2);
	ck_assert_int_eq(fare_group_write(group, &bad), 0);
	ck_assert_int_eq(fare_group_write(group, &good), 0);
	good.flags = FARE_WRITE_NOTIFY;
	ck_assert_int_eq(fare_group_write(group, &good), 0);
	fare_mr_deregister(other);
	for (time_t end = time(NULL) + PATIENCE_S; n_bad + n_good < 3;) {
		struct fare_event e[8];
		int n = fare_domain_poll(domain[0], e, 8);

		ck_assert_msg(time(NULL) < end, "%u of 2 good ones, %u of 1 bad one completed",
			      n_good, n_bad);
		for (int i = 0; i < n; i++) {
			if (e[i].kind != FARE_EVENT_COMPLETED)
				continue;
			ck_assert_int_eq(e[i].status, e[i].context == 1 ? -EINVAL : 0);
			n_bad += e[i].context == 1;
			n_good += e[i].context == 2;
		}
		look(1);
	}
	ck_assert_uint_eq(n_bad, 1);
	TURN_UNTIL(n_received == 1);
	ck_assert_uint_eq(received.bytes, BYTES / 2); /* of the bad one nothing is said */
	ck_assert_uint_eq(lanes_n_deaths(group->lanes), 0);
}
END_TEST

/*
 * What a device says of its own memory is the message's fault, and no reason to try it on one lane
 * after the other.
 */
static const struct {
	enum qp_wc_status wc;
	int status;
} blames[] = {{QP_WC_LOC_PROT_ERR, -EINVAL},
	      {QP_WC_LOC_LEN_ERR, 0}, /* of the device */
	      {QP_WC_REM_ACCESS_ERR, -EACCES},
	      {QP_WC_REM_INV_REQ_ERR, -EACCES},
	      {QP_WC_RETRY_EXC_ERR, 0}};

START_TEST(who_is_to_blame_fails_alone)
{
	struct qp_wc wc = {.status = blames[_i].wc};
	struct lane_qp *q;

	open_both();
	open_group();
	TURN_UNTIL(n_connected && n_accepted);
	q = &group->lanes->lane[0].qps[0];
	wc.wr_id = group->transfer->chunks.n ? group->transfer->chunks.free
					     : 0; /* that of the next write */
	ck_assert_int_eq(write_to(from, 0, BYTES / 2), 0);
	ck_assert_uint_eq(q->posted, 1);
	group_on_completion(group, &q->at, &wc);
	TURN_UNTIL(n_completed == 1);
	ck_assert_int_eq(completed.status, blames[_i].status);
	ck_assert_int_eq(write_to(from, 0, BYTES / 2), 0);
	TURN_UNTIL(n_completed == 2);
	ck_assert_int_eq(completed.status, 0);
	ck_assert_uint_eq(lanes_n_deaths(group->lanes), 1);
}
END_TEST

/* The QP that meets it ends, as the standard has it; seven others do not. */
START_TEST(a_wrong_key_costs_one_lane)
{
	struct in6_addr peer = address(1);
	struct fare_group_options options = {.mode = FARE_MODE_KERNEL,
					     .baseline = &(struct fare_baseline){.qps = 8},
					     .chunk_bytes = 1024};
	struct fare_write bad;

	open_both();
	ck_assert_int_eq(fare_group_open(&group, domain[0], &peer, &options), 0);
	TURN_UNTIL(n_connected && n_accepted);
	bad = write_of(from, source, BYTES / 2, 1);
	bad.rkey ^= 0x5555;
	ck_assert_int_eq(fare_group_write(group, &bad), 0);
	TURN_UNTIL(n_completed == 1);
	ck_assert_int_eq(completed.status, -EACCES);
	ck_assert_uint_eq(lanes_n_deaths(group->lanes), 1);
	ck_assert_int_eq(write_to(from, 0, BYTES / 2), 0);
	ck_assert_int_eq(write_to(from, 0, BYTES / 2), 0);
	TURN_UNTIL(n_completed == 3);
	ck_assert_int_eq(completed.status, 0);
	ck_assert_uint_eq(lanes_n_deaths(group->lanes), 1);
}
END_TEST

/*
 * It is not the path's failure: the lane is back after the shortest back-off each time, whether
 * this end wrote or the peer.
 */
START_TEST(wrong_keys_let_no_backoff_grow)
{
	struct in6_addr peer = address(1);
	struct fare_group_options options = {.mode = FARE_MODE_SPRAY};
	struct fare_group *by;
	struct fare_mr *mr;
	struct fare_write bad;

	open_both();
	ck_assert_int_eq(fare_group_open(&group, domain[0], &peer, &options), 0);
	TURN_UNTIL(n_connected && n_accepted);
	by = _i ? domain[1]->groups : group;
	ck_assert_int_eq(fare_mr_register(&mr, domain[_i], source, BYTES, false), 0);
	bad = write_of(mr, source, BYTES / 2, 1);
	bad.rkey = _i ? 0x5555 : bad.rkey ^ 0x5555;
	for (unsigned i = 1; i <= 8; i++) {
		ck_assert_int_eq(fare_group_write(by, &bad), 0);
		TURN_UNTIL(n_completed == i && lanes_n_rebuilds(group->lanes) == i);
		ck_assert_int_eq(completed.status, -EACCES);
	}
	ck_assert_uint_eq(lanes_n_deaths(group->lanes), 8);
	for (unsigned l = 0; l < 4; l++)
		ck_assert_uint_le(group->lanes->lane[l].backoff_ns, 10000000);
}
END_TEST

static int refuse_write(struct qp *qp, const struct qp_work *w)
{
	(void)qp;
	(void)w;
	return -EACCES;
}

static int break_once(struct qp *qp, const struct qp_work *w)
{
	return n_posts++ ? qp_soft_provider.post(qp, w) : -EIO;
}

/* A device that takes no work is its path's failure: the lane ends, and the message arrives. */
START_TEST(a_qp_that_takes_no_posts_ends_its_lane)
{
	struct qp_provider provider = qp_soft_provider;

	provider.post = break_once;
	open_both();
	open_group();
	TURN_UNTIL(n_connected && n_accepted);
	domain[0]->ep.provider = &provider;
	n_posts = 0;
	ck_assert_int_eq(write_to(from, 0, BYTES / 2), 0);
	TURN_UNTIL(n_completed == 1);
	ck_assert_int_eq(completed.status, 0);
	ck_assert_uint_eq(lanes_n_deaths(group->lanes), 1);
	ck_assert_mem_eq(source, target, BYTES / 2);
	domain[0]->ep.provider = &qp_soft_provider;
}
END_TEST

/* Nothing to place, or refused on the spot: they wait for the next poll, as others do. */
START_TEST(what_ends_at_once_completes_once)
{
	enum { WRITES = 20000 };
	static unsigned char done[WRITES];
	struct qp_provider provider = qp_soft_provider;
	unsigned posted = 0, n = 0, max;
	struct fare_event e[8];

	memset(done, 0, sizeof(done));
	open_both();
	open_group();
	TURN_UNTIL(n_connected && n_accepted);
	if (_i == 1) {
		provider.post = refuse_write;
		domain[0]->ep.provider = &provider;
	}
	max = group->options.max_messages;
	for (time_t end = time(NULL) + PATIENCE_S; n < WRITES;) {
		int taken;

		ck_assert_msg(time(NULL) < end, "%u of %u completed", n, posted);
		for (; posted < WRITES; posted++) {
			struct fare_write w = write_of(from, source, _i == 1 ? 8 : 0, posted);
			int err = fare_group_write(group, &w);

			ck_assert(!err || err == -ENOBUFS);
			if (err)
				break;
		}
		ck_assert_uint_le(posted - n, max + domain[0]->events.count);
		taken = fare_domain_poll(domain[0], e, 8);
		for (int i = 0; i < taken; i++) {
			ck_assert_int_eq(e[i].kind, FARE_EVENT_COMPLETED);
			ck_assert_int_eq(e[i].status, _i == 1 ? -EACCES : 0);
			ck_assert_uint_eq(done[e[i].context]++, 0);
			n++;
		}
	}
	domain[0]->ep.provider = &qp_soft_provider;
}
END_TEST

/* A record that leaves at once, and is refused: the group cannot go on, and tries no more. */
START_TEST(a_record_that_is_refused_ends_the_group)
{
	const struct fare_write w = {.flags = FARE_WRITE_NOTIFY};
	struct qp_provider provider = qp_soft_provider;

	open_both();
	open_group();
	TURN_UNTIL(n_connected && n_accepted);
	provider.post = refuse_write;
	domain[0]->ep.provider = &provider;
	ck_assert_int_eq(fare_group_write(group, &w), 0);
	TURN_UNTIL(n_completed == 1);
	ck_assert_int_eq(completed.status, -ECANCELED);
	domain[0]->ep.provider = &qp_soft_provider;
}
END_TEST

static struct qp_wc held;

static int count_writes(struct qp *qp, const struct qp_work *w)
{
	n_posts++;
	return qp_soft_provider.post(qp, w);
}

/* A message of one chunk: data and record leave together, one round trip. */
START_TEST(a_small_message_takes_its_record_along)
{
	struct qp_provider provider = qp_soft_provider;
	struct fare_write w;

	provider.post = count_writes;
	open_both();
	open_group();
	TURN_UNTIL(n_connected && n_accepted);
	domain[0]->ep.provider = &provider;
	n_posts = 0;
	w = write_of(from, source, BYTES / 2, 0);
	w.flags = FARE_WRITE_NOTIFY;
	ck_assert_int_eq(fare_group_write(group, &w), 0);
	ck_assert_uint_eq(n_posts, 2);
	TURN_UNTIL(n_completed == 1 && n_received == 1);
	ck_assert_int_eq(completed.status, 0);
	ck_assert_mem_eq(source, target, BYTES / 2);
	domain[0]->ep.provider = &qp_soft_provider;
}
END_TEST

static int take_nothing(struct qp *qp, const struct qp_work *w)
{
	(void)qp;
	(void)w;
	return -EAGAIN;
}

/* A number whose record would have to be sent before the memory is handed back. */
START_TEST(what_was_not_posted_is_released_at_once)
{
	struct qp_provider provider = qp_soft_provider;
	struct fare_write w;

	provider.post = take_nothing;
	open_both();
	open_group();
	TURN_UNTIL(n_connected && n_accepted);
	domain[0]->ep.provider = &provider;
	w = write_of(from, source, BYTES / 2, 0);
	w.flags = FARE_WRITE_NOTIFY;
	w.deadline_ns = group->domain->ep.now_ns + 1000000;
	ck_assert_int_eq(fare_group_write(group, &w), 0);
	TURN_UNTIL(n_released);
	ck_assert_int_eq(completed.status, -ETIMEDOUT);
	ck_assert_uint_eq(group->transfer->records.next, group->transfer->records.floor);
	domain[0]->ep.provider = &qp_soft_provider;
	w.deadline_ns = 0;
	ck_assert_int_eq(fare_group_write(group, &w), 0);
	TURN_UNTIL(n_completed == 2 && n_received == 1);
}
END_TEST

/* However fast the peer answers, and whether it looks for its memory or for a record. */
START_TEST(what_is_late_already_does_not_leave)
{
	struct qp_provider provider = qp_soft_provider;
	struct fare_write w;

	provider.post = count_writes;
	open_both();
	open_group();
	TURN_UNTIL(n_connected && n_accepted);
	domain[0]->ep.provider = &provider;
	n_posts = 0;
	w = write_of(from, source, _i ? BYTES / 2 : 0, 0);
	w.flags = FARE_WRITE_NOTIFY;
	w.deadline_ns = 1;
	ck_assert_int_eq(fare_group_write(group, &w), 0);
	ck_assert_uint_eq(n_posts, 0);
	TURN_UNTIL(n_released);
	ck_assert_int_eq(completed.status, -ETIMEDOUT);
	ck_assert_uint_eq(n_posts, 0);
	ck_assert_uint_eq(n_received, 0);
	domain[0]->ep.provider = &qp_soft_provider;
	w.deadline_ns = 0;
	ck_assert_int_eq(fare_group_write(group, &w), 0);
	TURN_UNTIL(n_completed == 2 && n_received == 1);
}
END_TEST

/*
 * A lane dies when data and record were posted. Taken by the peer (_i == 1) or not, the message is
 * delivered once, and nothing of it is placed after the peer was told.
 */
START_TEST(a_pair_that_was_taken_is_not_replayed)
{
	struct qp_provider provider = qp_soft_provider;
	struct lane_qp *q;
	struct fare_write w;

	open_both();
	open_group();
	TURN_UNTIL(n_connected && n_accepted);
	q = &group->lanes->lane[0].qps[0];
	w = write_of(from, source, BYTES / 2, 0);
	w.flags = FARE_WRITE_NOTIFY;
	if (_i == 0) /* its QP takes nothing any more */
		lane_kill(domain[1]->groups->lanes->lane, "the test");
	ck_assert_int_eq(fare_group_write(group, &w), 0);
	ck_assert_uint_eq(q->posted, 2);
	/* the peer takes it, and its ACK is not read */
	if (_i == 1)
		ck_assert_int_ge(qp_soft_provider.endpoint_progress(domain[0]->ep.handle), 0);
	while (_i == 1 && !n_received)
		look(1);
	provider.post = count_writes;
	domain[0]->ep.provider = &provider;
	n_posts = 0;
	if (_i == 1)
		memset(target, 0xee, BYTES); /* used again, as it may be */
	lane_kill(group->lanes->lane, "the test");
	TURN_UNTIL(n_completed == 1 && n_received == 1);
	ck_assert_int_eq(completed.status, 0);
	ck_assert_uint_eq(n_posts, _i == 1 ? 0 : 2);
	if (_i == 1)
		ck_assert_uint_eq(((unsigned char *)target)[0], 0xee);
	else
		ck_assert_mem_eq(source, target, BYTES / 2);
	domain[0]->ep.provider = &qp_soft_provider;
}
END_TEST

/* Keeps back the first completion. */
static int keep_one(struct qp_endpoint *ep, struct qp_wc *wc, int max)
{
	int n = qp_soft_provider.poll(ep, wc, max), kept = 0;

	for (int i = 0; i < n; i++) {
		if (!n_held && !wc[i].is_receive) {
			held = wc[i];
			n_held = 1;
			continue;
		}
		wc[kept++] = wc[i];
	}
	return kept;
}

/* max_messages counts what is unfinished: one that takes long does not refuse the others. */
START_TEST(an_old_message_is_no_window)
{
	struct qp_provider provider = qp_soft_provider;
	unsigned writes;

	provider.poll = keep_one;
	n_held = 0;
	open_both();
	open_group();
	TURN_UNTIL(n_connected && n_accepted);
	domain[0]->ep.provider = &provider;
	ck_assert_int_eq(write_to(from, 0, 8), 0);
	TURN_UNTIL(n_held);
	writes = 3 * group->options.max_messages;
	for (unsigned i = 0; i < writes; i++) {
		struct fare_write w = write_of(from, source, 8, 1);

		w.flags = i % 2 ? FARE_WRITE_NOTIFY : 0;
		ck_assert_int_eq(fare_group_write(group, &w), 0);
		TURN_UNTIL(n_completed == i + 1);
	}
	group_on_completion(group, held.context, &held);
	TURN_UNTIL(n_completed == writes + 1 && n_received == writes / 2);
	domain[0]->ep.provider = &qp_soft_provider;
}
END_TEST

START_TEST(a_read_brings_what_the_peer_has)
{
	struct fare_mr *readable;
	struct fare_read r = {.data = source, .length = BYTES / 2, .context = 5};

	open_both();
	ck_assert_int_eq(fare_mr_register(&readable, domain[1], target, BYTES, FARE_REMOTE_READ),
			 0);
	open_group();
	TURN_UNTIL(n_connected && n_accepted);
	memset(target, 0x5a, BYTES);
	memset(source, 0, BYTES);
	r.mr = from;
	r.remote_addr = (uintptr_t)target;
	r.rkey = fare_mr_rkey(readable);
	ck_assert_int_eq(fare_group_read(group, &r), 0);
	TURN_UNTIL(n_completed == 1);
	ck_assert_int_eq(completed.status, 0);
	ck_assert_uint_eq(completed.context, 5);
	ck_assert_mem_eq(source, target, BYTES / 2);
	r.rkey = fare_mr_rkey(to); /* for writing only */
	ck_assert_int_eq(fare_group_read(group, &r), 0);
	TURN_UNTIL(n_completed == 2);
	ck_assert_int_eq(completed.status, -EACCES);
}
END_TEST

/* QPs in turn, a whole chunk of small messages each: as many bytes to all, and few changes. */
START_TEST(small_messages_stay_on_a_qp_for_a_chunk)
{
	enum { EACH = 4096, CHUNKS = 8, QPS = 4 };
	const struct fare_group_options options = {.mode = FARE_MODE_SPRAY,
						   .qps_per_sub_port = QPS};
	const struct in6_addr peer = address(1);
	unsigned n, changes = 0;

	open_both();
	ck_assert_int_eq(fare_group_open(&group, domain[0], &peer, &options), 0);
	TURN_UNTIL(n_connected && n_accepted);
	n = group->transfer->unit_bytes / EACH;
	ck_assert_uint_gt(n, 1);
	for (unsigned i = 0; i < n * CHUNKS; i++) {
		const struct outlet *before = group->transfer->placement.stay;

		ck_assert_int_eq(write_to(from, 0, EACH), 0);
		TURN_UNTIL(n_completed == i + 1);
		changes += group->transfer->placement.stay != before;
	}
	ck_assert_uint_eq(changes, CHUNKS);
	for (unsigned q = 0; q < QPS; q++)
		ck_assert_uint_eq(group->transfer->outlets[q].sprayed_bytes,
				  group->transfer->outlets[0].sprayed_bytes);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("transfer");
	TCase *tc = tcase_create("completing"), *four = tcase_create("four planes");
	SRunner *sr;
	int failed, skip = own_net();

	if (skip)
		return skip;
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_checked_fixture(four, setup_four_planes, teardown);
	tcase_add_loop_test(four, wrong_keys_let_no_backoff_grow, 0, 2);
	suite_add_tcase(s, four);
	tcase_add_test(tc, a_qp_that_takes_no_posts_ends_its_lane);
	tcase_add_test(tc, a_write_stays_within_its_region);
	tcase_add_test(tc, a_region_that_goes_takes_its_writes_alone);
	tcase_add_test(tc, a_wrong_key_costs_one_lane);
	tcase_add_loop_test(tc, who_is_to_blame_fails_alone, 0,
			    (int)(sizeof(blames) / sizeof(blames[0])));
	tcase_add_loop_test(tc, what_ends_at_once_completes_once, 0, 2);
	tcase_add_test(tc, a_record_that_is_refused_ends_the_group);
	tcase_add_test(tc, a_small_message_takes_its_record_along);
	tcase_add_test(tc, what_was_not_posted_is_released_at_once);
	tcase_add_loop_test(tc, what_is_late_already_does_not_leave, 0, 2);
	tcase_add_loop_test(tc, a_pair_that_was_taken_is_not_replayed, 0, 2);
	tcase_add_test(tc, an_old_message_is_no_window);
	tcase_add_test(tc, a_read_brings_what_the_peer_has);
	tcase_add_test(tc, small_messages_stay_on_a_qp_for_a_chunk);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
