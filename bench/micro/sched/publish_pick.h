/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * publish_pick.h - what it costs a pick that weights may change under it: ours, and the usual ways
 * to share state.
 *
 * Owns: the segment and every method's copy of the weights. In: a method and a number of threads;
 * out: nanoseconds a pick. Threads: the caller's, a second that picks, and the writer.
 *
 * Picks go to one destination, or to random ones of many, each thread with cursors of its own; the
 * writer changes a destination every 100 us. The same question twice: "fare-inline" and
 * "fare-unsynchronised" are the library's own objects and segment, with and without the look at the
 * daemon's word. The others are packed as tightly as each can be, down to one word per destination,
 * so that only the way to share differs: none, word, seqlock, double-buffer, rwlock, mutex.
 */
#ifndef PUBLISH_PICK_H
#define PUBLISH_PICK_H

#include "fare_limits.h"

#define PUBLISH_PICK_MAX_DESTINATIONS FARE_MAX_PAIRS
#define PUBLISH_PICK_METHODS                                                                       \
	"fare-unsynchronised,fare-inline,none,word,seqlock,double-buffer,rwlock,mutex"

struct publish_pick;

/* destinations: 1 .. PUBLISH_PICK_MAX_DESTINATIONS. -EINVAL, -ENOMEM, or as rig_open(). */
int publish_pick_create(struct publish_pick **out, unsigned destinations);
void publish_pick_destroy(struct publish_pick *p); /* NULL is fine */
/*
 * A million picks of each thread (1 or 2); *ns: of one pick, the slower thread's. With one
 * destination, repetitions take another one each (rig.h). -ENOENT: no method has that name.
 */
int publish_pick_measure(struct publish_pick *p, const char *method, unsigned threads,
			 unsigned repetition, double *ns);

#endif
