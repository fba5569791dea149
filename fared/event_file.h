/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event_file.h - RUN_DIR/events: the last EVENTS_MAX events, for the daemon that comes after this
 * one, however this one ends.
 *
 * Solely owns: that file, of a fixed size: a head and a slot for each event, by its sequence
 * number. In: events as they are handed out; what a former daemon, or anybody else, has left in the
 * file. Out: former events that are whole and possible, in order. Thread: the loop's. One write of
 * a slot for each event, no allocation; the run directory is in memory (fared(8)).
 *
 * The file is read before privileges are dropped, in a directory that another user may own. So no
 * link is followed; it must be a regular file of ours; and each slot is checked as what a stranger
 * says: texts are ended and UTF-8, numbers within their ranges, the sequence number that of the
 * slot. A slot that fails is left out: a daemon killed while it writes spoils one at most. A head
 * of another kind means another version of fared: the file begins anew.
 */
#ifndef EVENT_FILE_H
#define EVENT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "events.h"

#define EVENT_FILE_NAME "events"

struct event_file;

/*
 * Opens it or makes it, for uid if we are root, and calls on_former for each event of a former
 * daemon, oldest first; those whose number is EVENTS_MAX or more behind the newest are none. 0;
 * -errno with the reason in why; *out is NULL then, and event_file_put() does nothing.
 */
int event_file_open(struct event_file **out, const char *run_dir, uid_t uid,
		    void (*on_former)(void *arg, const struct event *event), void *arg, char *why,
		    size_t why_size);
void event_file_close(struct event_file *f); /* NULL is fine, as below */

/* What event_file_open() does with the bytes of a file (pure). false: it is none of this layout. */
bool event_file_parse(const uint8_t *bytes, size_t length,
		      void (*on_former)(void *arg, const struct event *event), void *arg);

/* 0 or -errno; the next one is tried all the same. */
int event_file_put(struct event_file *f, const struct event *event);

#endif
