/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lab_changes.h - what became of a lab's daemons, counters and queues, by what `farelab counters`
 * prints.
 *
 * Owns: nothing; pure. In: JSON texts, every member checked; out: counts. Thread: any.
 */
#ifndef LAB_CHANGES_H
#define LAB_CHANGES_H

#include "core/hist.h"

struct lab_changes {
	unsigned ended;	  /* daemons of the first text that are not in the second: ended, or new */
	unsigned smaller; /* counters of devices that were larger in the first: wrapped, or reset */
};

/* -EBADMSG: one of the texts is none. */
int lab_changes(const char *from, const char *to, struct lab_changes *out);
/* Adds what each device has queued, bytes. -EBADMSG. */
int lab_changes_queues(const char *text, struct hist *bytes);
/* Calls on_daemon for each: its host, its name, bytes of memory. -EBADMSG. */
int lab_changes_daemons(const char *text,
			void (*on_daemon)(void *arg, const char *host, const char *name,
					  double rss_bytes),
			void *arg);

#endif
