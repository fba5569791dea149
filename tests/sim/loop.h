/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loop.h - the virtual clock and everything that happens by it.
 *
 * Solely owns: the heap of events, ordered by (time, order of adding), and a digest of what was
 * taken from it: two runs of a seed have the same digest.
 */
#ifndef SIM_LOOP_H
#define SIM_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOOP_US	      UINT64_C(1000)
#define LOOP_MS	      UINT64_C(1000000)
#define LOOP_S	      UINT64_C(1000000000)
#define LOOP_START_NS (1000 * LOOP_S) /* the clock begins there: 0 may mean never */

enum loop_kind {
	LOOP_PACKET, /* object: arrives */
	LOOP_HOST,   /* index: its process is scheduled */
	LOOP_STEP,   /* of the schedule */
	/* of groups alone */
	LOOP_DEVICE, /* index: its device has something to do */
	LOOP_DAEMON, /* index: its daemon publishes */
	LOOP_REPLAY, /* a recorded control message is sent again */
	LOOP_KINDS,
};

struct loop_event {
	uint64_t at_ns, sequence;
	enum loop_kind kind;
	uint32_t index;
	uint64_t token; /* the adder's own */
	void *object;
};

struct loop {
	struct loop_event *heap;
	size_t n, room;
	uint64_t now_ns, sequence, digest;
	size_t n_of[LOOP_KINDS]; /* waiting */
};

/* Zeroed before the first time, when it takes memory; it keeps that until loop_fini(). */
void loop_init(struct loop *loop);
void loop_fini(struct loop *loop);
/* Not before now. */
void loop_add(struct loop *loop, uint64_t at_ns, enum loop_kind kind, uint32_t index,
	      uint64_t token, void *object);
/* The next event; the clock moves to it. False: there is none. */
bool loop_next(struct loop *loop, struct loop_event *out);

#endif
