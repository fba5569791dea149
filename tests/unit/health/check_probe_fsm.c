/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "probe_fsm.h"

#define MS UINT64_C(1000000)

static const struct probe_fsm_times times = {
	.interval_ns = 3 * MS,
	.detect_multiplier = 3,
	.recover_probes = 10,
	.hold_ns = 50 * MS,
	.hold_max_ns = 1000 * MS,
	.ramp_ns = 200 * MS,
	.unproven_ns = 1000 * MS,
	.max_loss_ppm = 20000,
};
static struct probe_fsm f;
static struct probe_fsm_change change;
static uint64_t now;

static void setup(void)
{
	now = 1000000 * MS;
	probe_fsm_init(&f, &times, false, now);
}

static void bring_up(void)
{
	ck_assert(probe_fsm_answered(&f, &times, now, UINT32_MAX, UINT32_MAX, &change));
	ck_assert_int_eq(f.state, PROBE_UP);
}

/* So much of the peer is missing that the path is dead. */
static struct probe_evidence death(void)
{
	return (struct probe_evidence){
		.dead = true,
		.where = PROBE_IN_FABRIC,
		.numbers = {.n_missing = 4, .silent_ns = 9 * MS, .allowance_ns = MS}};
}

static bool tick(struct probe_evidence e)
{
	return probe_fsm_tick(&f, &times, now, &e, &change);
}

static void bring_down(void)
{
	ck_assert(tick(death()));
	ck_assert_int_eq(f.state, PROBE_DOWN);
}

static void recover(void)
{
	now = f.hold_until_ns;
	for (int i = 0; f.state == PROBE_DOWN; i++) {
		ck_assert_int_lt(i, 1000);
		now += 3 * MS;
		probe_fsm_answered(&f, &times, now, UINT32_MAX, UINT32_MAX, &change);
	}
	ck_assert_int_eq(f.state, PROBE_RECOVERING);
}

START_TEST(down_only_on_evidence)
{
	bring_up();
	tick((struct probe_evidence){.overdue = true, .silent = true});
	ck_assert_int_eq(f.state, PROBE_SUSPECT); /* late, stopped or restarted */
	bring_down();
	ck_assert_uint_eq(probe_fsm_permille(&f, &times, now), 0);
	ck_assert_ptr_nonnull(strstr(f.reason, "in-fabric"));
	/* and it says on what evidence */
	ck_assert_uint_eq(change.numbers.n_missing, 4);
	ck_assert_uint_eq(f.last.n_missing, 4);
}
END_TEST

START_TEST(numbers_say_why)
{
	static const struct {
		struct probe_numbers n;
		const char *text;
	} cases[] = {
		{{.n_missing = 4, .silent_ns = 9 * MS, .allowance_ns = MS},
		 "4 packets in a row missing, none for 9.0 ms, of the peer's; 1.0 ms allowed"},
		{{.by_peer = true, .silent_ns = 8 * MS},
		 "no packet for 8.0 ms, of ours, as the peer reports"},
		{{.n_lost = 12, .n_sent = 240}, "12 of 240 packets lost, of the peer's"},
		{{.by_peer = true, .n_lost = 25, .n_sent = 255},
		 "25 of 255 packets lost, of ours, as the peer reports"},
		{{0}, ""},
	};
	char text[120];

	probe_numbers_text(&cases[_i].n, text, sizeof(text));
	ck_assert_str_eq(text, cases[_i].text);
}
END_TEST

START_TEST(suspect_is_usable_and_ends_with_a_reply)
{
	bring_up();
	ck_assert(tick((struct probe_evidence){.overdue = true}));
	ck_assert_int_eq(change.new_state, PROBE_SUSPECT);
	ck_assert_uint_eq(probe_fsm_permille(&f, &times, now), 1000);
	ck_assert(probe_fsm_answered(&f, &times, now, UINT32_MAX, UINT32_MAX, &change));
	ck_assert_int_eq(f.state, PROBE_UP);
}
END_TEST

START_TEST(unproven_is_usable_and_forgiven_for_a_while)
{
	ck_assert_uint_eq(probe_fsm_permille(&f, &times, now), 1000);
	now += 999 * MS;
	ck_assert(!tick(death()));
	now += 1 * MS;
	ck_assert(tick(death()));
	ck_assert_int_eq(f.state, PROBE_DOWN);
}
END_TEST

START_TEST(recovery_takes_probes_in_a_row_the_hold_and_a_ramp)
{
	uint32_t last = 0;

	bring_up();
	bring_down();
	for (int i = 0; i < 9; i++)
		ck_assert(!probe_fsm_answered(&f, &times, now += 3 * MS, UINT32_MAX, UINT32_MAX,
					      &change));
	tick((struct probe_evidence){.overdue = true}); /* one is late, and comes */
	ck_assert_uint_eq(f.passes, 9);
	tick((struct probe_evidence){.silent = true}); /* missing: the row begins again */
	ck_assert_uint_eq(f.passes, 0);
	now = f.hold_until_ns;
	for (int i = 0; i < 9; i++)
		ck_assert(!probe_fsm_answered(&f, &times, now += 3 * MS, UINT32_MAX, UINT32_MAX,
					      &change));
	/* one is missing, and two after it were answered: so many are in the row */
	ck_assert(!probe_fsm_answered(&f, &times, now += 3 * MS, 2, 2, &change));
	ck_assert_uint_eq(f.passes, 2);
	recover();
	ck_assert_uint_ge(f.passes, 10);
	for (int i = 0; f.state == PROBE_RECOVERING; i++, now += 10 * MS) {
		uint32_t permille = probe_fsm_permille(&f, &times, now);

		ck_assert_uint_ge(permille, last);
		ck_assert_uint_ge(permille, 250);
		last = permille;
		ck_assert_int_lt(i, 30);
		tick((struct probe_evidence){0});
	}
	ck_assert_int_eq(f.state, PROBE_UP);
	ck_assert_uint_eq(last, 1000);
}
END_TEST

START_TEST(flapping_backs_off_to_the_cap_for_ever_and_calm_ends_it)
{
	uint64_t last = 0;

	bring_up();
	for (int i = 0; i < 40; i++) {
		bring_down();
		ck_assert_uint_ge(f.hold_until_ns - now, last);
		ck_assert_uint_le(f.hold_until_ns - now, times.hold_max_ns);
		last = f.hold_until_ns - now;
		recover();
	}
	ck_assert_uint_eq(last, times.hold_max_ns);
	now += 200 * MS;
	tick((struct probe_evidence){0});
	ck_assert_int_eq(f.state, PROBE_UP);
	now += 60000 * MS;
	bring_down();
	ck_assert_uint_eq(f.hold_until_ns - now, times.hold_ns);
}
END_TEST

START_TEST(a_lossy_path_goes_down_and_needs_a_long_clean_run)
{
	bring_up();
	ck_assert(tick((struct probe_evidence){
		.lossy = true, .where = PROBE_REMOTE, .numbers = {.n_lost = 12, .n_sent = 240}}));
	ck_assert_int_eq(f.state, PROBE_DOWN);
	ck_assert_uint_eq(change.numbers.n_lost, 12);
	ck_assert_uint_gt(f.passes_wanted, 100);
	ck_assert_ptr_nonnull(strstr(f.reason, "lost"));
}
END_TEST

/*
 * Whoever has begun a long row is asked more often, so that it is over sooner; whoever breaks it,
 * as often as others.
 */
START_TEST(a_lossy_path_that_answers_is_asked_more_often)
{
	bring_up();
	bring_down();
	for (int i = 0; i < 9; i++)
		probe_fsm_answered(&f, &times, now += 3 * MS, UINT32_MAX, UINT32_MAX, &change);
	ck_assert_uint_eq(probe_fsm_interval(&f, &times), 3 * MS); /* a short one is soon over */
	recover();
	ck_assert(tick((struct probe_evidence){.lossy = true, .where = PROBE_REMOTE}));
	for (uint32_t i = 0; i < 20; i++) {
		ck_assert_uint_eq(probe_fsm_interval(&f, &times), i < 16 ? 3 * MS : 3 * MS / 4);
		probe_fsm_answered(&f, &times, now += 3 * MS, UINT32_MAX, UINT32_MAX, &change);
	}
	probe_fsm_answered(&f, &times, now += 3 * MS, UINT32_MAX, 3, &change); /* one may be lost */
	ck_assert_uint_eq(probe_fsm_interval(&f, &times), 3 * MS);
	recover();
	ck_assert_uint_eq(probe_fsm_interval(&f, &times), 3 * MS);
}
END_TEST

/* One that is overdue breaks no row, but until it has come nothing is proven. */
START_TEST(nothing_recovers_while_a_reply_is_overdue)
{
	bring_up();
	bring_down();
	now = f.hold_until_ns;
	for (int i = 0; i < 20; i++)
		ck_assert(!probe_fsm_answered(&f, &times, now += 3 * MS, UINT32_MAX, 9, &change));
	ck_assert_uint_eq(f.passes, 20);
	ck_assert(probe_fsm_answered(&f, &times, now += 3 * MS, UINT32_MAX, UINT32_MAX, &change));
	ck_assert_int_eq(f.state, PROBE_RECOVERING);
}
END_TEST

START_TEST(blindness_makes_nothing_unusable)
{
	bring_up();
	ck_assert(probe_fsm_blind(&f, now - 200 * MS, now, &change));
	ck_assert_int_eq(f.state, PROBE_UNPROVEN);
	ck_assert_uint_eq(probe_fsm_permille(&f, &times, now), 1000);
	bring_up();
	bring_down(); /* but what was proven down stays so */
	ck_assert(!probe_fsm_blind(&f, now - 60000 * MS, now, &change));
	ck_assert_int_eq(f.state, PROBE_DOWN);
}
END_TEST

/* The peer was silent for a while, and is back: what it says of this plane counts at once. */
START_TEST(a_path_that_was_up_is_never_new_again)
{
	bring_up();
	ck_assert(probe_fsm_blind(&f, now - 200 * MS, now, &change));
	bring_down();
}
END_TEST

START_TEST(a_cut_path_waits_for_probes_but_not_for_a_prober_that_is_gone)
{
	bring_up();
	ck_assert(probe_fsm_cut(&f, &times, now, &change));
	ck_assert_uint_eq(probe_fsm_permille(&f, &times, now), 0);
	ck_assert(!probe_fsm_blind(&f, now - 1000 * MS, now, &change));
	ck_assert(probe_fsm_blind(&f, now - 3000 * MS, now, &change));
	ck_assert_uint_eq(probe_fsm_permille(&f, &times, now), 1000);
}
END_TEST

START_TEST(a_former_life_s_down_is_kept_until_probes_pass)
{
	probe_fsm_init(&f, &times, true, now);
	ck_assert_uint_eq(probe_fsm_permille(&f, &times, now), 0);
	recover();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("probe_fsm");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, down_only_on_evidence);
	tcase_add_loop_test(tc, numbers_say_why, 0, 5);
	tcase_add_test(tc, suspect_is_usable_and_ends_with_a_reply);
	tcase_add_test(tc, unproven_is_usable_and_forgiven_for_a_while);
	tcase_add_test(tc, recovery_takes_probes_in_a_row_the_hold_and_a_ramp);
	tcase_add_test(tc, flapping_backs_off_to_the_cap_for_ever_and_calm_ends_it);
	tcase_add_test(tc, a_lossy_path_goes_down_and_needs_a_long_clean_run);
	tcase_add_test(tc, a_lossy_path_that_answers_is_asked_more_often);
	tcase_add_test(tc, nothing_recovers_while_a_reply_is_overdue);
	tcase_add_test(tc, blindness_makes_nothing_unusable);
	tcase_add_test(tc, a_path_that_was_up_is_never_new_again);
	tcase_add_test(tc, a_cut_path_waits_for_probes_but_not_for_a_prober_that_is_gone);
	tcase_add_test(tc, a_former_life_s_down_is_kept_until_probes_pass);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
