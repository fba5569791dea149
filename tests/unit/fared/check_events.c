/* SPDX-License-Identifier: BSD-2-Clause */
/* The event ring: coalescing within an iteration, order, bounds. */
#include "events.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static int told;

static void on_event(void *arg, const struct event *event)
{
	(void)arg;
	(void)event;
	told++;
}

static void add(struct events *e, const char *subject, const char *to)
{
	struct event event = {.plane = 1, .topic = "path", .from = "ok", .reason = "why"};

	snprintf(event.subject, sizeof(event.subject), "%s", subject);
	snprintf(event.to, sizeof(event.to), "%s", to);
	events_add(e, &event, 5, 6);
}

START_TEST(one_iteration_one_event_per_cause)
{
	struct events *e;

	told = 0;
	ck_assert_int_eq(events_create(&e, on_event, NULL), 0);
	add(e, "a", "no-route");
	add(e, "b", "stale");
	add(e, "c", "no-route");
	ck_assert_ptr_null(events_after(e, 0)); /* not before the iteration is over */
	events_flush(e);
	ck_assert_int_eq(told, 2);
	ck_assert_uint_eq(events_after(e, 0)->n, 2);
	ck_assert_str_eq(events_after(e, 0)->subject, "a");
	ck_assert_uint_eq(events_after(e, 1)->n, 1);
	add(e, "d", "no-route"); /* another iteration, another event */
	events_flush(e);
	ck_assert_int_eq(told, 3);
	ck_assert_str_eq(events_after(e, 2)->subject, "d");
	ck_assert_ptr_null(events_after(e, 3));
	ck_assert_ptr_null(events_after(e, UINT64_MAX));
	events_destroy(e);
}
END_TEST

START_TEST(the_ring_forgets_the_oldest)
{
	struct events *e;
	char to[16];

	told = 0;
	ck_assert_int_eq(events_create(&e, on_event, NULL), 0);
	for (int i = 0; i < 3 * EVENTS_MAX; i++) {
		snprintf(to, sizeof(to), "%d", i);
		add(e, "x", to);
	}
	events_flush(e);
	ck_assert_int_eq(told, 3 * EVENTS_MAX);
	ck_assert_uint_eq(events_after(e, 0)->seq, 2 * EVENTS_MAX + 1);
	ck_assert_uint_eq(events_last_seq(e), 3 * EVENTS_MAX);
	events_destroy(e);
}
END_TEST

/* Of a former daemon: with their own numbers, some of which are missing; then it goes on. */
START_TEST(former_events_come_before_ours)
{
	struct event former = {.plane = -1, .topic = "daemon", .to = "started", .n = 1};
	struct events *e;

	told = 0;
	ck_assert_int_eq(events_create(&e, on_event, NULL), 0);
	for (uint64_t seq = 2000; seq <= 2004; seq += 2) {
		former.seq = seq;
		events_restore(e, &former);
	}
	former.seq = 1999; /* not in order */
	events_restore(e, &former);
	ck_assert_int_eq(told, 0);
	ck_assert_uint_eq(events_last_seq(e), 2004);
	ck_assert_uint_eq(events_after(e, 0)->seq, 2000);
	ck_assert_uint_eq(events_after(e, 2000)->seq, 2002);
	ck_assert_ptr_null(events_after(e, 2004));
	add(e, "a", "no-route");
	events_flush(e);
	ck_assert_int_eq(told, 1);
	ck_assert_uint_eq(events_after(e, 2004)->seq, 2005);
	events_destroy(e);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("events");
	TCase *tc = tcase_create("ring");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_test(tc, one_iteration_one_event_per_cause);
	tcase_add_test(tc, the_ring_forgets_the_oldest);
	tcase_add_test(tc, former_events_come_before_ours);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
