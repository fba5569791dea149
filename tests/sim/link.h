/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * link.h - one direction of a sub-port's link: when a packet that goes in comes out.
 *
 * Owns its state, which schedules set: rate, delay, jitter, loss, length, and a queue that fills,
 * stands and drains. In: lengths and times. Out: times. Every choice is the given generator's.
 */
#ifndef SIM_LINK_H
#define SIM_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "prng.h"

struct link {
	uint64_t packet_ns, delay_ns, jitter_ns; /* of each packet; 0: none */
	uint32_t loss_per_mille;
	uint32_t most_bytes; /* longer packets vanish; 0: all pass */
	bool is_black;	     /* takes packets and delivers none; nobody notices by the carrier */
	/* packets may come twice, the copy so much later */
	uint32_t copy_per_mille;
	uint64_t copy_late_ns;
	uint64_t hold_until_ns; /* nothing comes out before */
	uint64_t free_ns;	/* the last packet has gone in by then */
	/* a queue of others fills, stands for a while, dropping what does not fit, and drains */
	uint64_t queue_from_ns, queue_full_ns, queue_to_ns, queue_ns;
	uint32_t drop_per_mille;
	uint64_t saw_ns; /* 0: it stands; or its senders slow down and speed up so often */
	/*
	 * 0: packets wait behind all of that queue; else before it, behind one such batch, unless
	 * they are data: that waits in its queue, whatever class passes before it
	 */
	uint64_t batch_ns;
};

/* When what goes in now comes out; 0: never. */
uint64_t link_through(struct link *link, struct prng *prng, uint32_t bytes, bool is_data,
		      uint64_t now_ns);

#endif
