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
