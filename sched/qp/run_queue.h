/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_queue.h - groups that have something to do, in the order in which that came up.
 *
 * An item is embedded in its group. engine.c takes items out and steps their groups; all below it
 * only put them in. The domain's thread.
 */
#ifndef QP_RUN_QUEUE_H
#define QP_RUN_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <utlist.h>

struct run_item {
	struct run_item *prev, *next;
	struct run_item **queue; /* the domain's */
	bool is_queued;
};

/* Its group is stepped at the next poll. */
static inline void run_queue_add(struct run_item *item)
{
	if (item->is_queued)
		return;
	item->is_queued = true;
	DL_APPEND(*item->queue, item);
}

static inline void run_queue_remove(struct run_item *item)
{
	if (item->is_queued)
		DL_DELETE(*item->queue, item);
	item->is_queued = false;
}

#endif
