/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event_queue.h - events that the application has not taken yet, and the data that they name
 * (pure).
 *
 * Solely owns: the ring of events; the data of events that were handed out, until the next poll.
 * In: events. Out: the same, in order. An event never lacks room: each group reserves what it may
 * add without being asked, and nothing is received while there is no room for what one poll may add
 * (event_queue_has_room()). The domain's thread.
 */
#ifndef QP_EVENT_QUEUE_H
#define QP_EVENT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "fare.h"

/* Bytes of a fare_group_send() that arrived. The application may read them until its next poll. */
struct inbox {
	struct inbox *next;
	uint8_t bytes[];
};

struct event_queue {
	struct fare_event *events;
	uint32_t head, count, room, reserved;
	uint32_t per_poll; /* events that one poll may add */
	struct inbox *handed;
};

int event_queue_init(struct event_queue *queue, uint32_t per_poll); /* 0 or -ENOMEM */
void event_queue_fini(struct event_queue *queue);

/* Reserves room for n events that may come up without a poll. -ENOMEM: nothing was changed. */
int event_queue_reserve(struct event_queue *queue, uint32_t n);
void event_queue_release(struct event_queue *queue, uint32_t n);
/* True: there is room for all events that a poll may add. */
bool event_queue_has_room(const struct event_queue *queue);

/* event->data, if any, is the bytes[] of a struct inbox, which the queue takes. */
void event_queue_add(struct event_queue *queue, const struct fare_event *event);
/* Moves up to max events to the caller, and returns how many. */
int event_queue_take(struct event_queue *queue, struct fare_event *events, int max);
/* A poll begins: the application is done with the data of events that it took before. */
void event_queue_free_handed(struct event_queue *queue);
/* Removes the group's events: its memory may become another group. */
void event_queue_forget(struct event_queue *queue, const struct fare_group *group);

#endif
