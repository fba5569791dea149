/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdlib.h>

#include "resilience/failover.h"

START_TEST(only_what_traffic_begun_anew_does_not_reach_either_is_the_machines)
{
	struct failover_trial t = {
		.back_at_all = false, .after_ratio = 0.64, .control_ratio = 0.65};

	ck_assert(failover_trial_slowed(&t));
	t.control_ratio = 0.66; /* 64 of 66: less than 98% */
	ck_assert(!failover_trial_slowed(&t));
	t.control_ratio = 1;
	ck_assert(!failover_trial_slowed(&t));
	t.control_ratio = -1; /* not asked: the weights did not come back either */
	ck_assert(!failover_trial_slowed(&t));
	t = (struct failover_trial){.back_at_all = true, .after_ratio = 1, .control_ratio = -1};
	ck_assert(!failover_trial_slowed(&t));
}
END_TEST

/* One sub-port of four is lost at 100 ms; healed at 500 ms. */
#define AT_MS(ms) ((ms)*UINT64_C(1000000))

static struct failover_trial decided(uint64_t kernel_ns, uint64_t decided_ns, bool carrier,
				     bool may_not_see)
{
	struct failover_scenario s = {
		.carrier = carrier, .may_not_see = may_not_see, .n_faults = 1};
	struct failover_decision d = {AT_MS(100), kernel_ns, decided_ns, AT_MS(500)};
	struct failover_trial t = {.kernel_ms = -1, .decide_ms = -1, .decide_after_kernel_ms = -1};

	s.fault[0].kind = FAILOVER_LINKS;
	s.fault[0].remaining = 0.75;
	failover_trial_decide(&s, &d, &t);
	return t;
}

START_TEST(a_decision_is_timed_from_the_injection_and_the_kernel)
{
	struct failover_trial t = decided(AT_MS(103), AT_MS(104), true, false);

	ck_assert(t.kernel_ms == 3 && t.decide_ms == 4 && t.decide_after_kernel_ms == 1 &&
		  !t.undecided);
	t = decided(AT_MS(105), AT_MS(104), true, false); /* known before the kernel told */
	ck_assert(t.kernel_ms == 5 && t.decide_ms == 4 && t.decide_after_kernel_ms == 0);
	t = decided(0, AT_MS(104), false, false); /* no link goes: the kernel has nothing to tell */
	ck_assert(t.kernel_ms == -1 && t.decide_ms == 4 && t.decide_after_kernel_ms == -1);
}
END_TEST

START_TEST(what_was_due_and_not_seen_counts_as_long_as_the_fault)
{
	struct failover_trial t = decided(AT_MS(103), 0, true, false);

	ck_assert(t.undecided && t.decide_ms == 400 && t.decide_after_kernel_ms == 397);
	t = decided(0, 0, true, false);
	ck_assert(t.undecided && t.decide_ms == 400 && t.decide_after_kernel_ms == 400 &&
		  t.kernel_ms == -1);
	t = decided(AT_MS(600), 0, true, false); /* told after the fact */
	ck_assert(t.undecided && t.decide_after_kernel_ms == 400);
	t = decided(0, AT_MS(104), true, false); /* the event that it is timed from is missing */
	ck_assert(!t.undecided && t.decide_ms == 4 && t.decide_after_kernel_ms == 400);
	t = decided(0, 0, false, true); /* so short that none is due */
	ck_assert(!t.undecided && t.decide_ms == -1 && t.decide_after_kernel_ms == -1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("failover_trial");
	TCase *tcase = tcase_create("failover_trial");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, only_what_traffic_begun_anew_does_not_reach_either_is_the_machines);
	tcase_add_test(tcase, a_decision_is_timed_from_the_injection_and_the_kernel);
	tcase_add_test(tcase, what_was_due_and_not_seen_counts_as_long_as_the_fault);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
