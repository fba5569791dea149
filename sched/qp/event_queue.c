/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/event_queue.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#define EVENT_QUEUE 4096

static struct fare_event *event_at(const struct event_queue *queue, uint32_t i)
{
	return &queue->events[(queue->head + i) % queue->room];
}

int event_queue_reserve(struct event_queue *queue, uint32_t n)
{
	uint32_t room = EVENT_QUEUE + queue->reserved + n;
	struct fare_event *events;

	if (room > queue->room) {
		room += room / 4;
		events = calloc(room, sizeof(*events));
		if (!events)
			return -ENOMEM;
		for (uint32_t i = 0; i < queue->count; i++)
			events[i] = *event_at(queue, i);
		free(queue->events);
		queue->events = events;
		queue->room = room;
		queue->head = 0;
	}
	queue->reserved += n;
	return 0;
}

void event_queue_release(struct event_queue *queue, uint32_t n)
{
	queue->reserved -= n;
}

int event_queue_init(struct event_queue *queue, uint32_t per_poll)
{
	*queue = (struct event_queue){.per_poll = per_poll};
	return event_queue_reserve(queue, 0);
}

void event_queue_fini(struct event_queue *queue)
{
	event_queue_free_handed(queue);
	free(queue->events);
	queue->events = NULL;
}

bool event_queue_has_room(const struct event_queue *queue)
{
	return queue->room - queue->count > queue->per_poll + queue->reserved;
}

void event_queue_add(struct event_queue *queue, const struct fare_event *event)
{
	if (queue->count == queue->room)
		return; /* cannot be: polling stops long before (event_queue_has_room) */
	*event_at(queue, queue->count) = *event;
	queue->count++;
}

static struct inbox *inbox_of(const struct fare_event *e)
{
	return e->data ? (struct inbox *)((uintptr_t)e->data - offsetof(struct inbox, bytes))
		       : NULL;
}

int event_queue_take(struct event_queue *queue, struct fare_event *events, int max)
{
	int n = 0;

	while (n < max && queue->count) {
		struct inbox *data = inbox_of(event_at(queue, 0));

		if (data) {
			data->next = queue->handed;
			queue->handed = data;
		}
		events[n++] = *event_at(queue, 0);
		queue->head = (queue->head + 1) % queue->room;
		queue->count--;
	}
	return n;
}

void event_queue_free_handed(struct event_queue *queue)
{
	struct inbox *data;

	while ((data = queue->handed)) {
		queue->handed = data->next;
		free(data);
	}
}

void event_queue_forget(struct event_queue *queue, const struct fare_group *group)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < queue->count; i++) {
		struct fare_event *e = event_at(queue, i);

		if (e->group != group)
			*event_at(queue, kept++) = *e;
		else
			free(inbox_of(e));
	}
	queue->count = kept;
}
