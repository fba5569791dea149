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
	tcase_add_test(tcase, no_more_than_the_links_carry);
	tcase_add_test(tcase, one_that_stands_still);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
