/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * events.h - the last things that happened, for later questions.
 *
 * Solely owns: a ring of EVENTS_MAX events. In: what changed, said by the rest of the daemon; what
 * a former one has left (event_file.h). Out: events in order of their sequence number; a callback
 * per event once its loop iteration is over. Thread: the loop's. Pure.
 *
 * Coalescing: what one loop iteration says with the same topic, plane, old and new state and reason
 * is one event with a count, evidence aside; a leaf that dies takes a thousand paths with it and is
 * one line.
 */
#ifndef EVENTS_H
#define EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#define EVENTS_MAX    1024
#define EVENTS_TOPICS "path link source probe bandwidth peer drain config daemon"

/*
 * What an event can say. Each has one topic and one priority, by the table in events.c: what is
 * lost is a warning, what comes back or was asked for is a notice, what fared cannot do is an
 * error.
 */
enum event_kind {
	EVENT_PATH_LOST,    /* it carries nothing any more, or is new and carries nothing */
	EVENT_PATH_LESS,    /* less than before */
	EVENT_PATH_CHANGED, /* more than before, or as much for another reason */
	EVENT_PATH_DRAINED, /* less, because an operator drained it or a sub-port of it */
	EVENT_LINK_LOST,    /* a sub-port without carrier or device */
	EVENT_LINK_LESS,    /* slower, or of a smaller MTU */
	EVENT_LINK_CHANGED, /* up; faster, or of a larger MTU */
	EVENT_SOURCE_LOST,  /* BMP or zserv, in sync before */
	EVENT_SOURCE_AWAY,  /* the same, for long */
	EVENT_SOURCE_STATE, /* on its way to being in sync, or there */
	EVENT_PROBE_DOWN,   /* probes of a path are not answered, or lost */
	EVENT_PROBE_GRAY,   /* of a sub-port alone */
	EVENT_PROBE_STATE,  /* any other state; a sub-port that is gray no longer */
	EVENT_PORTS_HELD,   /* UDP ports of probing that others have */
	EVENT_PORTS_FREE,
	EVENT_BANDWIDTH_ODD,
	EVENT_NOTICES_REFUSED, /* a peer's, of its capacity */
	EVENT_NOTICES_ACCEPTED,
	EVENT_PEER_FORGOTTEN,
	EVENT_DRAIN, /* or the end of one */
	EVENT_CONFIG_IN_FORCE,
	EVENT_CONFIG_UNDONE, /* because it was not confirmed */
	EVENT_CONFIG_REFUSED,
	EVENT_STARTED,
	EVENT_SEGMENT_FULL, /* and it cannot be made anew */
	EVENT_KINDS
};

struct event {
	uint64_t seq; /* 1, 2, ... */
	uint64_t mono_ns;
	uint64_t wall_ns; /* CLOCK_REALTIME */
	int priority;	  /* as in syslog.h */
	int plane;	  /* -1: of no plane */
	uint32_t n;	  /* how many subjects; subject is the first of them */
	char topic[12];	  /* one of EVENTS_TOPICS */
	char subject[64];
	char from[48]; /* old state; may be empty */
	char to[48];
	char reason[128];
	char evidence[80]; /* in figures; those of the first subject */
};

struct events;

/* false: no event is of that topic. */
bool events_has_topic(const char *topic);
/* One of that kind, to be filled in. plane: -1: of none. */
struct event event_of(enum event_kind kind, int plane);
/* Fills in its texts, cut between characters to fit; NULL: none. */
void event_fill(struct event *e, const char *subject, const char *from, const char *to,
		const char *reason);

/* on_event is called by events_flush(), oldest first; the event is borrowed for the call. */
int events_create(struct events **out, void (*on_event)(void *arg, const struct event *event),
		  void *arg);
void events_destroy(struct events *e);

/*
 * One of a former daemon, with its own number and times, before anything is added; oldest first,
 * and numbers may be missing. Those to come go on counting from it.
 */
void events_restore(struct events *e, const struct event *event);
/* Adds to the current iteration. event is copied; seq, n and times are filled in here. */
void events_add(struct events *e, const struct event *event, uint64_t mono_ns, uint64_t wall_ns);
/* Ends an iteration: hands out its events. Cheap when there are none. */
void events_flush(struct events *e);

/* The oldest flushed event with seq > after, or NULL. Valid until the next events_add(). */
const struct event *events_after(const struct events *e, uint64_t after);
uint64_t events_last_seq(const struct events *e); /* of flushed events; 0: none yet */

#endif
