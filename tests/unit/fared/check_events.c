/* SPDX-License-Identifier: BSD-2-Clause */
/* The event ring: coalescing within an iteration, order, bounds. */
#include "events.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

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

/* Losses are warnings, what comes back or was asked for is a notice; each kind has a topic. */
START_TEST(kinds_have_the_priority_of_what_they_say)
{
	static const enum event_kind warnings[] = {
		EVENT_PATH_LOST,     EVENT_PATH_LESS,	    EVENT_LINK_LOST,	EVENT_LINK_LESS,
		EVENT_SOURCE_LOST,   EVENT_SOURCE_AWAY,	    EVENT_PROBE_DOWN,	EVENT_PROBE_GRAY,
		EVENT_BANDWIDTH_ODD, EVENT_NOTICES_REFUSED, EVENT_CONFIG_UNDONE};
	static const enum event_kind errors[] = {EVENT_PORTS_HELD, EVENT_CONFIG_REFUSED,
						 EVENT_SEGMENT_FULL};
	static const enum event_kind infos[] = {EVENT_PEER_FORGOTTEN};
	int expected[EVENT_KINDS];

	for (int k = 0; k < EVENT_KINDS; k++)
		expected[k] = LOG_NOTICE;
	for (size_t i = 0; i < sizeof(warnings) / sizeof(warnings[0]); i++)
		expected[warnings[i]] = LOG_WARNING;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		expected[errors[i]] = LOG_ERR;
	for (size_t i = 0; i < sizeof(infos) / sizeof(infos[0]); i++)
		expected[infos[i]] = LOG_INFO;
	for (int k = 0; k < EVENT_KINDS; k++) {
		struct event e = event_of((enum event_kind)k, 3);

		ck_assert_msg(e.priority == expected[k], "kind %d has priority %d", k, e.priority);
		ck_assert_msg(events_has_topic(e.topic), "kind %d has topic '%s'", k, e.topic);
		ck_assert_int_eq(e.plane, 3);
	}
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
	tcase_add_test(tc, kinds_have_the_priority_of_what_they_say);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
