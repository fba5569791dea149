/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdlib.h>

#include "engine/worker_internal.h"

#define ROUNDS 120000u

/* A soak has more rounds than anybody counts before: the last is as well known as the first. */
START_TEST(rounds_do_not_run_out)
{
	struct worker *w = calloc(1, sizeof(*w));
	struct worker_rx rx = {.load = &w->load[0]};
	struct worker_load *load = &w->load[0];

	load->rounds = TRAFFIC_ROUNDS;
	load->overlap = 1;
	w->rx = &rx;
	w->n_rx = w->n_loads = 1;
	w->running = true;
	stream_rx_init(&rx.books, 1);
	for (uint64_t round = 0; round < ROUNDS; round++) {
		ck_assert_uint_eq(worker_limit(w, load), round + 1);
		worker_round_posted(w, load, round, 10 * round + 1);
		stream_rx_verified(&rx.books, round);
		worker_rounds_end(w, load, 10 * round + 7);
	}
	ck_assert_uint_eq(load->rounds_ended, ROUNDS);
	ck_assert_uint_eq(load->round_start[ROUNDS - 1], 10 * (ROUNDS - 1) + 1);
	ck_assert_uint_eq(load->round_end[ROUNDS - 1], 10 * (ROUNDS - 1) + 7);
	free(load->round_start);
	free(load->round_end);
	free(w);
}
END_TEST

/* What was due and could not be posted counts, with the time that it waited, and only what was due
 * in the window. */
START_TEST(what_was_never_posted_counts)
{
	struct worker *w = calloc(1, sizeof(*w));
	struct hist delivered;
	struct worker_tx tx = {.load = &w->load[0],
			       .arrivals = {.law = ARRIVAL_EVEN, .mean_ns = 10, .next_ns = 55}};

	hist_init(&delivered);
	w->load[0].delivered = &delivered;
	w->load[0].presence = WORKER_PRESENT;
	w->from_ns = 60;
	w->to_ns = 100;
	w->tx = &tx;
	w->n_tx = w->n_loads = 1;
	worker_stop(w); /* (long after 100 ns) */
	ck_assert(w->stopping);
	ck_assert_uint_eq(w->load[0].unposted, 4); /* 65, 75, 85, 95 */
	ck_assert_uint_eq(delivered.n, 4);
	free(w);
}
END_TEST

/* Due in the window from 60 to 100: one that ends within it, one that ends later, and one that was
 * due before, which counts for nothing. */
START_TEST(what_ended_late_counts)
{
	struct worker *w = calloc(1, sizeof(*w));
	struct hist completed;

	hist_init(&completed);
	w->load[0].completed = &completed;
	w->from_ns = 60;
	w->to_ns = 100;
	w->event_ns = 90;
	ck_assert(worker_ended(w, &w->load[0], 70));
	ck_assert_uint_eq(w->load[0].late, 0);
	w->event_ns = 120;
	ck_assert(worker_ended(w, &w->load[0], 80));
	ck_assert(!worker_ended(w, &w->load[0], 50));
	ck_assert_uint_eq(w->load[0].late, 1);
	ck_assert_uint_eq(completed.n, 2);
	ck_assert_uint_eq(completed.max, 40);
	free(w);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("worker_loads");
	TCase *tcase = tcase_create("worker_loads");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, rounds_do_not_run_out);
	tcase_add_test(tcase, what_was_never_posted_counts);
	tcase_add_test(tcase, what_ended_late_counts);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
