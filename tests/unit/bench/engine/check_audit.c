/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>

#include "bench/check_bench_fabric.h"
#include "engine/audit.h"

START_TEST(books_that_agree)
{
	struct traffic_result books = {
		.posted = 5, .messages = 5, .proof_sent = 77, .proof_seen = 77};

	ck_assert_int_eq(audit_books(&books), 0);
}
END_TEST

/* A message short, a receiver that looked at nothing, one that read other bytes, a clock. */
START_TEST(books_that_do_not)
{
	struct traffic_result good = {.posted = 5,
				      .messages = 5,
				      .proof_sent = 77,
				      .proof_seen = 77},
			      wrong;

	wrong = good;
	wrong.messages = 4;
	ck_assert_int_eq(audit_books(&wrong), -EBADE);
	wrong = good;
	wrong.proof_seen = 0;
	ck_assert_int_eq(audit_books(&wrong), -EBADE);
	wrong.proof_seen = 78;
	ck_assert_int_eq(audit_books(&wrong), -EBADE);
	wrong = good;
	wrong.early = 1;
	ck_assert_int_eq(audit_books(&wrong), -EBADE);
}
END_TEST

/* Both sides of every line agree: else what differs is named. */
START_TEST(what_goes_in_comes_out)
{
	const struct audit_counts good = {.due = 10,
					  .completed = 8,
					  .unposted = 2,
					  .timed = 4,
					  .delivered = 4,
					  .sent_bytes = 700,
					  .received_bytes = 700,
					  .requests = 5,
					  .requests_ended = 3,
					  .requests_held = 2,
					  .tokens = 48,
					  .request_tokens = 48,
					  .window_tokens = 40,
					  .window_request_tokens = 40,
					  .good_tokens = 40,
					  .time_ns = 600,
					  .busy_ns = 200,
					  .idle_ns = 400,
					  .window_ns = 600,
					  .waited_ns = 590};
	const struct audit_counts none = {0};
	struct audit_counts wrong = good;
	char why[160];

	ck_assert(audit_conserved(&good, why, sizeof(why)));
	ck_assert(audit_conserved(&none, why, sizeof(why)));
	wrong.completed = 7;
	ck_assert(!audit_conserved(&wrong, why, sizeof(why)));
	ck_assert_str_eq(why, "10 messages were due, and acknowledged or never handed over are 9");
	wrong = good;
	wrong.delivered = 3;
	ck_assert(!audit_conserved(&wrong, why, sizeof(why)));
	ck_assert_str_eq(why, "4 messages were due, and arrived or never handed over are 3");
	wrong = good;
	wrong.received_bytes--;
	ck_assert(!audit_conserved(&wrong, why, sizeof(why)));
	ck_assert_str_eq(why, "700 bytes were sent, and received are 699");
	wrong = good;
	wrong.tokens = 40;
	ck_assert(!audit_conserved(&wrong, why, sizeof(why)));
	wrong = good;
	wrong.window_tokens = 39;
	ck_assert(!audit_conserved(&wrong, why, sizeof(why)));
	wrong = good;
	wrong.good_tokens = 41;
	ck_assert(!audit_conserved(&wrong, why, sizeof(why)));
	ck_assert_str_eq(why, "41 tokens are good, of 40");
	wrong = good;
	wrong.requests_held = 3;
	ck_assert(!audit_conserved(&wrong, why, sizeof(why)));
	wrong = good;
	wrong.idle_ns = 1030; /* 1.03 s of idle time in 0.6 s */
	ck_assert(!audit_conserved(&wrong, why, sizeof(why)));
	wrong = good;
	wrong.waited_ns = 1030;
	ck_assert(!audit_conserved(&wrong, why, sizeof(why)));
	ck_assert_str_eq(why, "1030 ns is what a GPU waited, of 600");
}
END_TEST

/*
 * Of a load: what was posted and what could not be are due, and receivers say the same; rounds that
 * overlap are waited for at once, and their sum is no time.
 */
START_TEST(counts_of_a_run)
{
	struct measured_load load[2] = {{.unposted = 3, .waited_ns = 500}, {.waited_ns = 9000}};
	const struct traffic_load loads[2] = {{.name = "a"}, {.name = "b", .overlap = 8}};
	const struct traffic_stream streams[2] = {{.slot_bytes = 4096},
						  {.slot_bytes = 16, .load = 1}};
	struct measured m = {.to_ns = 1000, .n_loads = 2, .load = load, .n_streams = 2};
	struct audit_counts c = {0};
	char why[160];

	for (unsigned i = 0; i < 2; i++) {
		hist_init(&load[i].posted);
		hist_init(&load[i].completed);
		hist_init(&load[i].delivered);
	}
	for (unsigned i = 0; i < 7; i++) /* the receivers of b cannot know when it was due */
		hist_add(&load[0].delivered, 1);
	for (unsigned i = 0; i < 4; i++) {
		hist_add(&load[0].posted, 1);
		hist_add(&load[0].completed, 1);
	}
	m.books.sent_bytes = m.books.bytes = 77;
	audit_count(&c, &m, loads, streams);
	ck_assert_uint_eq(c.due, 7);
	ck_assert_uint_eq(c.completed, 4);
	ck_assert_uint_eq(c.unposted, 3);
	ck_assert_uint_eq(c.timed, 7);
	ck_assert_uint_eq(c.waited_ns, 500);
	ck_assert(audit_conserved(&c, why, sizeof(why)));
	/* one that its sender had acknowledged, and its receiver never saw */
	hist_init(&load[0].delivered);
	for (unsigned i = 0; i < 6; i++)
		hist_add(&load[0].delivered, 1);
	c = (struct audit_counts){0};
	audit_count(&c, &m, loads, streams);
	ck_assert(!audit_conserved(&c, why, sizeof(why)));
	ck_assert_str_eq(why, "7 messages were due, and arrived or never handed over are 6");
}
END_TEST

/* 8 sub-ports of 200 Mb/s for a second are 200 MB. */
START_TEST(no_more_than_the_links_carry)
{
	struct topo *topo = parsed(fabric(3));
	const struct traffic_stream streams[] = {{.src = 0, .dst = 2}, {.src = 1, .dst = 2}};
	struct measured_stream stream[] = {{.bps = 0.9e9}, {.bps = 0.6e9}};
	struct measured m = {.to_ns = 1000000000, .n_streams = 2, .stream = stream};

	topo->bucket_bytes = 1;
	ck_assert_int_eq(audit_measured(&m, topo, streams), 0);
	/* each sender could, the receiver could not */
	stream[1].bps = 0.9e9;
	ck_assert_int_eq(audit_measured(&m, topo, streams), -EBADE);
	/* one sender could not */
	stream[0].bps = 1.75e9;
	stream[1].bps = 0;
	ck_assert_int_eq(audit_measured(&m, topo, streams), -EBADE);
	topo_destroy(topo);
}
END_TEST

START_TEST(one_that_stands_still)
{
	uint64_t stall[4] = {2000000, 300000000, 1000000, 3000000}, ns;
	struct measured m = {.stall_ns = stall};

	ck_assert_int_eq(audit_stalled(&m, 4, &ns), 1);
	ck_assert_uint_eq(ns, 300000000);
	/* all of them: the machine's fault, which the idle time of its cores tells */
	stall[0] = stall[2] = stall[3] = 290000000;
	ck_assert_int_eq(audit_stalled(&m, 4, &ns), -1);
	stall[0] = stall[2] = stall[3] = 1000000;
	stall[1] = 100000000;
	ck_assert_int_eq(audit_stalled(&m, 4, &ns), -1);
	ck_assert_int_eq(audit_stalled(&m, 1, &ns), -1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("audit");
	TCase *tcase = tcase_create("audit");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, books_that_agree);
	tcase_add_test(tcase, books_that_do_not);
	tcase_add_test(tcase, what_goes_in_comes_out);
	tcase_add_test(tcase, counts_of_a_run);
	tcase_add_test(tcase, no_more_than_the_links_carry);
	tcase_add_test(tcase, one_that_stands_still);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
