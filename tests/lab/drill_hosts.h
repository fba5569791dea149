/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * drill_hosts.h - the two applications of a drill: a sender whose messages must all arrive, once
 * and whole.
 *
 * Owns: what both processes and their parent share; the places. The sender's messages have lengths
 * from 1 byte to max_bytes, uniform in their logarithm, each with a content of its own; the
 * receiver verifies every byte when it is notified, overwrites it, and gives the place back by a
 * bare notification. A place holds messages in a known order, so that a lost, doubled or corrupted
 * one shows. At its end the sender makes sure that the peer refuses what it must. In: a bed
 * (bed.h), which the parent breaks as it likes. Thread: the parent's.
 */
#ifndef DRILL_HOSTS_H
#define DRILL_HOSTS_H

#include <stdio.h>

#include "bed.h"

#define DRILL_MAX_PLACES 16

struct drill_shared {
	_Atomic int stop, over, failed, connected, dump[2];
	_Atomic uint64_t rkey, places_addr, sent, completed, received, bytes;
	_Atomic uint64_t lost, duplicated, corrupted, blocked, resumed;
	_Atomic uint64_t deaths, rebuilds, plane_bytes[FARE_MAX_PLANES]; /* as they grow */
	struct fare_group_stats stats;					 /* at the end */
};

struct drill_hosts {
	struct bed bed;
	enum fare_mode mode;
	uint64_t messages;  /* 0: until told to stop */
	uint64_t max_bytes; /* a multiple of 8 */
	unsigned seed;
	unsigned n_places; /* filled in */
	double patience_s; /* nothing moves for that long: the drill fails */
	struct drill_shared *shared;
	uint64_t seen, since_ns; /* of the watchdog */
};

/*
 * The bed, and both processes. What stands above n_places is the caller's to fill in. 0 or 1; ends
 * by 77 as bed_make().
 */
int drill_hosts_start(struct drill_hosts *h, const struct bed_options *options);
void drill_hosts_fail(struct drill_hosts *h, const char *what, uint64_t id);
/*
 * false: something failed, or nothing has moved for too long, in which case both groups have been
 * dumped to stderr.
 */
bool drill_hosts_alive(struct drill_hosts *h);
/*
 * No new messages; waits for those that are out, and for both processes. Whether all is as it must
 * be.
 */
bool drill_hosts_end(struct drill_hosts *h);
/* Members of a JSON object, without braces. */
void drill_hosts_report(const struct drill_hosts *h, FILE *to);

#endif
