/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * queues.h - N senders into one port of a leaf, packet by packet: queue, marks, pauses, drops.
 * Simulated: a report of it must say so.
 *
 * Owns: the simulated leaf while it runs. In: rates, the marking ramp, PFC's thresholds; out: what
 * happened in the second half of the time. Senders go by the soft provider's dcqcn, pauses by the
 * labs' pfc_pause, marks and thresholds by ecn_marks() and pfc_buffer, which the tests of netns/
 * hold to the labs' BPF programs. Pure; time is the simulation's. Thread: one for each run.
 *
 * All links have one rate, so time goes in slots, each that of a packet: every sender that may send
 * puts one into the leaf, and the leaf sends one to the receiver, first in, first out. As in a lab
 * each ingress port counts its own bytes. A pause and a CNP arrive after delay_slots. One leaf:
 * pauses do not spread over spines here.
 */
#ifndef QUEUES_H
#define QUEUES_H

#include <stdbool.h>
#include <stdint.h>

#define QUEUES_MAX_SENDERS 1024
#define QUEUES_MAX_DELAY   64
#define QUEUES_MAX_SLOTS   100000000

struct queues {
	unsigned senders, packet_bytes, delay_slots; /* delay: from 1 */
	double line_bps, seconds;
	bool does_dcqcn; /* else senders send at line rate whenever they may */
	/* CNPs at the end of intervals, as in the fluid model; else as the soft provider: at once,
	 * then none for an interval */
	bool cnps_as_model;
	unsigned min_bytes, max_bytes, max_percent; /* of the marking ramp */
	/* of each ingress port; more than XOFF and headroom is dropped */
	int64_t xoff_bytes, xon_bytes, headroom_bytes;
	uint64_t seed;
};

struct queues_result {
	double depth_p50, depth_p99, depth_max; /* bytes in the leaf, at every packet that leaves */
	double marked;				/* share of packets */
	double paused;				/* share of time, mean of senders */
	double of_line;				/* what the receiver gets of its link */
	double jfi;				/* of the senders' bytes */
	uint64_t packets, drops, pauses;	/* pauses: XOFF frames */
	/* from the start until the senders' mean distance from the fair share stays within a tenth,
	 * by hundredths of the time; NaN: never */
	double converged_s;
};

/* -EINVAL: a number out of range; -ENOMEM. */
int queues_run(const struct queues *q, struct queues_result *out);

#endif
