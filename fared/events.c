/* SPDX-License-Identifier: BSD-2-Clause */
#include "events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "base/utf8.h"

static const struct {
	const char *topic;
	int priority;
} events_kinds[EVENT_KINDS] = {
	[EVENT_PATH_LOST] = {"path", LOG_WARNING},
	[EVENT_PATH_LESS] = {"path", LOG_WARNING},
	[EVENT_PATH_CHANGED] = {"path", LOG_NOTICE},
	[EVENT_PATH_DRAINED] = {"path", LOG_NOTICE},
	[EVENT_LINK_LOST] = {"link", LOG_WARNING},
	[EVENT_LINK_LESS] = {"link", LOG_WARNING},
	[EVENT_LINK_CHANGED] = {"link", LOG_NOTICE},
	[EVENT_SOURCE_LOST] = {"source", LOG_WARNING},
	[EVENT_SOURCE_AWAY] = {"source", LOG_WARNING},
	[EVENT_SOURCE_STATE] = {"source", LOG_NOTICE},
	[EVENT_PROBE_DOWN] = {"probe", LOG_WARNING},
	[EVENT_PROBE_GRAY] = {"probe", LOG_WARNING},
	[EVENT_PROBE_STATE] = {"probe", LOG_NOTICE},
	[EVENT_PORTS_HELD] = {"probe", LOG_ERR},
	[EVENT_PORTS_FREE] = {"probe", LOG_NOTICE},
	[EVENT_BANDWIDTH_ODD] = {"bandwidth", LOG_WARNING},
	[EVENT_NOTICES_REFUSED] = {"peer", LOG_WARNING},
	[EVENT_NOTICES_ACCEPTED] = {"peer", LOG_NOTICE},
	[EVENT_PEER_FORGOTTEN] = {"peer", LOG_INFO},
	[EVENT_DRAIN] = {"drain", LOG_NOTICE},
	[EVENT_CONFIG_IN_FORCE] = {"config", LOG_NOTICE},
	[EVENT_CONFIG_UNDONE] = {"config", LOG_WARNING},
	[EVENT_CONFIG_REFUSED] = {"config", LOG_ERR},
	[EVENT_STARTED] = {"daemon", LOG_NOTICE},
	[EVENT_SEGMENT_FULL] = {"daemon", LOG_ERR},
};

struct event event_of(enum event_kind kind, int plane)
{
	struct event e = {.priority = events_kinds[kind].priority, .plane = plane};

	snprintf(e.topic, sizeof(e.topic), "%s", events_kinds[kind].topic);
	return e;
}

static void event_put(char *out, size_t size, const char *text)
{
	if (text)
		snprintf(out, size, "%.*s", utf8_fit(text, size - 1), text);
}

void event_fill(struct event *e, const char *subject, const char *from, const char *to,
		const char *reason)
{
	event_put(e->subject, sizeof(e->subject), subject);
	event_put(e->from, sizeof(e->from), from);
	event_put(e->to, sizeof(e->to), to);
	event_put(e->reason, sizeof(e->reason), reason);
}

bool events_has_topic(const char *topic)
{
	size_t length = strlen(topic), n;

	for (const char *at = EVENTS_TOPICS; *at; at += n, at += *at == ' ') {
		n = strcspn(at, " ");
		if (n == length && !strncmp(at, topic, n))
			return true;
	}
	return false;
}

struct events {
	void (*on_event)(void *arg, const struct event *event);
	void *arg;
	uint64_t last_seq;    /* newest in the ring */
	uint64_t flushed_seq; /* newest handed out */
	struct event ring[EVENTS_MAX];
};

int events_create(struct events **out, void (*on_event)(void *arg, const struct event *event),
		  void *arg)
{
	struct events *e = calloc(1, sizeof(*e));

	*out = e;
	if (!e)
		return -ENOMEM;
	/* calloc() leaves pages to be faulted in one by one, which looks like a leak for hours */
	explicit_bzero(e->ring, sizeof(e->ring));
	e->on_event = on_event;
	e->arg = arg;
	return 0;
}

void events_destroy(struct events *e)
{
	free(e);
}

static struct event *events_at(struct events *e, uint64_t seq)
{
	return &e->ring[seq % EVENTS_MAX];
}

static bool alike(const struct event *a, const struct event *b)
{
	return a->plane == b->plane && a->priority == b->priority && !strcmp(a->topic, b->topic) &&
	       !strcmp(a->from, b->from) && !strcmp(a->to, b->to) && !strcmp(a->reason, b->reason);
}

void events_restore(struct events *e, const struct event *event)
{
	if (event->seq <= e->last_seq)
		return;
	*events_at(e, event->seq) = *event;
	e->last_seq = e->flushed_seq = event->seq;
}

void events_add(struct events *e, const struct event *event, uint64_t mono_ns, uint64_t wall_ns)
{
	struct event *slot;

	for (uint64_t seq = e->last_seq; seq > e->flushed_seq; seq--) {
		if (!alike(events_at(e, seq), event))
			continue;
		events_at(e, seq)->n++;
		return;
	}
	/* an iteration with more kinds of change than the ring holds: hand out what it would
	 * overwrite */
	if (e->last_seq - e->flushed_seq == EVENTS_MAX)
		events_flush(e);
	slot = events_at(e, ++e->last_seq);
	*slot = *event;
	slot->seq = e->last_seq;
	slot->n = 1;
	slot->mono_ns = mono_ns;
	slot->wall_ns = wall_ns;
}

void events_flush(struct events *e)
{
	while (e->flushed_seq < e->last_seq) {
		e->flushed_seq++;
		if (e->on_event)
			e->on_event(e->arg, events_at(e, e->flushed_seq));
	}
}

const struct event *events_after(const struct events *e, uint64_t after)
{
	uint64_t oldest = e->last_seq > EVENTS_MAX ? e->last_seq - EVENTS_MAX + 1 : 1;
	uint64_t seq = after + 1 > oldest ? after + 1 : oldest;

	if (after == UINT64_MAX)
		return NULL;
	for (; seq <= e->flushed_seq; seq++)
		if (e->ring[seq % EVENTS_MAX].seq == seq) /* else it was not restored */
			return &e->ring[seq % EVENTS_MAX];
	return NULL;
}

uint64_t events_last_seq(const struct events *e)
{
	return e->flushed_seq;
}
