/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * incast.h - N GPUs of a lab send datagrams to one, as fast as their links take them.
 *
 * Owns: the flows, until incast_fini(). In: a trial; out: a flood (fabric/flood.h) by one queue
 * that is known. Thread: the coordinator's.
 */
#ifndef INCAST_H
#define INCAST_H

#include "fabric/flood.h"
#include "suite/trial.h"

struct incast {
	struct flood flood;
	double bps; /* of every link */
	double frame_bytes;
};

/* False: this fabric cannot, which the rows say; or there is no memory (t->err). */
bool incast_init(struct incast *in, struct trial *t, unsigned senders, unsigned bytes);
void incast_fini(struct incast *in);

/* flood_run(), and how idle the machine was: of the trial's floods the busiest. */
int incast_flood(struct trial *t, struct flood *flood);

/* Of all flows, datagrams. */
uint64_t incast_sent(const struct incast *in);
uint64_t incast_received(const struct incast *in);

#endif
