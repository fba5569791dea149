/* SPDX-License-Identifier: BSD-2-Clause */
/* Events that wait for the application: their order, their room, and the data that they name. */
#include "qp/event_queue.h"

#include <check.h>
#include <stddef.h>
#include <stdlib.h>

#define PER_POLL 100

static struct fare_group *group(uintptr_t i)
{
	return (struct fare_group *)(i * 64); /* a name, which nobody looks behind */
}

static void add(struct event_queue *queue, uintptr_t g, uint64_t context, bool has_data)
{
	struct inbox *data = has_data ? calloc(1, sizeof(*data) + 8) : NULL;
	const struct fare_event e = {
		.group = group(g), .context = context, .data = data ? data->bytes : NULL};

	event_queue_add(queue, &e);
}

START_TEST(events_keep_their_order_while_the_queue_grows)
{
	struct event_queue queue;
	struct fare_event e[7];
	uint64_t added = 0, taken = 0;

	ck_assert_int_eq(event_queue_init(&queue, PER_POLL), 0);
	for (unsigned round = 0; round < 3000; round++) {
		for (unsigned i = 0; i < 8; i++)
			add(&queue, 1, added++, i == 3);
		for (int n = event_queue_take(&queue, e, 7); n > 0; n--)
			ck_assert_uint_eq(e[7 - n].context, taken++);
		event_queue_free_handed(&queue);
		ck_assert_int_eq(event_queue_reserve(&queue, round % 100), 0);
	}
	while (event_queue_take(&queue, e, 1))
		ck_assert_uint_eq(e[0].context, taken++);
	ck_assert_uint_eq(taken, added);
	event_queue_fini(&queue);
}
END_TEST

/* Nothing is received any more long before what groups have reserved is touched. */
START_TEST(what_is_reserved_is_never_used_up)
{
	struct event_queue queue;

	ck_assert_int_eq(event_queue_init(&queue, PER_POLL), 0);
	ck_assert_int_eq(event_queue_reserve(&queue, 500), 0);
	while (event_queue_has_room(&queue))
		add(&queue, 1, 0, false);
	ck_assert_uint_ge(queue.room - queue.count, PER_POLL + 500);
	event_queue_release(&queue, 500);
	ck_assert(event_queue_has_room(&queue));
	event_queue_fini(&queue);
}
END_TEST

START_TEST(events_of_a_group_that_is_gone_are_forgotten)
{
	struct event_queue queue;
	struct fare_event e[10];

	ck_assert_int_eq(event_queue_init(&queue, PER_POLL), 0);
	for (unsigned i = 0; i < 10; i++)
		add(&queue, 1 + i % 2, i, true);
	event_queue_forget(&queue, group(1));
	ck_assert_int_eq(event_queue_take(&queue, e, 10), 5);
	for (unsigned i = 0; i < 5; i++)
		ck_assert_uint_eq(e[i].context, 2 * i + 1);
	event_queue_fini(&queue);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("event_queue");
	TCase *tc = tcase_create("all");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_test(tc, events_keep_their_order_while_the_queue_grows);
	tcase_add_test(tc, what_is_reserved_is_never_used_up);
	tcase_add_test(tc, events_of_a_group_that_is_gone_are_forgotten);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
