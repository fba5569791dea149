/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * publish.h - from the path table to those that weights are for, once per loop iteration.
 *
 * Solely owns: the list of sinks (sink.h), of which the first is shared memory (shm_sink.h), and
 * what each has taken. In: the path table. Out: sinks: each gets every change exactly once, in
 * order. Thread: the loop's. Knows no clock and no loop; the caller says when and what time it is.
 */
#ifndef PUBLISH_H
#define PUBLISH_H

#include <stdint.h>
#include <sys/types.h>

#include "path_table.h"

#define SINKS_MAX 4

struct config;
struct publish;
struct sink;
struct sink_link;

struct publish_stats {
	uint64_t pairs_published; /* publications that changed something */
	uint64_t pairs_refused;	  /* the segment had no room, or refused */
	uint32_t pairs_adopted;
	uint32_t renewals; /* of a segment that was full of pairs without routes */
	/* that failed: peers without a place in it are not published */
	uint32_t renewals_failed;
	int renewal_error; /* of the last one; 0: it succeeded */
	/* the segment was not adopted, or only in part, because of this; NULL: it was */
	const char *why_new;
};

/*
 * Opens the segment of config and hands every pair that it holds to path_table_adopt(), as last
 * published. table is borrowed. 0 or -errno.
 */
int publish_create(struct publish **out, const struct config *config, struct path_table *table,
		   mode_t mode, uint64_t now_ns);
void publish_destroy(struct publish *p);
/* One more sink, which gets all pairs in the next run. Copies sink, borrows arg. 0 or -ENOSPC. */
int publish_add_sink(struct publish *p, const struct sink *sink);

void publish_link(struct publish *p, const struct sink_link *link);
/* The table forgets the pair: path_table_set_on_forget(). */
void publish_forget(struct publish *p, uint32_t pair);
/* Evaluates the table and publishes what changed; on_change as in path_table.h. Returns the next
 * deadline, or 0. */
uint64_t publish_run(struct publish *p, uint64_t now_ns,
		     void (*on_change)(void *arg, const struct path_change *change), void *arg);
void publish_heartbeat(struct publish *p, uint64_t now_ns);
void publish_stats(const struct publish *p, struct publish_stats *out);

#endif
