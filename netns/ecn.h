/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ecn.h - a device that marks packets when the queue of its shaper is long.
 *
 * Owns, in the kernel, a BPF program (tcx, egress) for each such device, and its counters: they
 * end with it. The program sees packets before the shaper does, so it keeps the shaper's books
 * itself: a virtual queue that drains at the rate, after a bucket of tokens. A packet that finds
 * min_bytes or more in it gets CE, if its sender does ECN, with a probability that grows from 0 to
 * max_percent at max_bytes, and always from there on. A super-packet is one packet to mark, and
 * several to count. In: devices of the namespace that the calling thread is in. Needs Linux 6.6
 * (tcx.h). Errors are -errno.
 */
#ifndef ECN_H
#define ECN_H

#include <stdbool.h>
#include <stdint.h>

#define ECN_DATA_BYTES 1024 /* what is smaller may be BGP, a probe, an acknowledgement */

#define ECN_RAMP_PARTS 8 /* of equal width, from min_bytes to max_bytes */

struct ecn_ramp {
	unsigned rate_mbps;    /* not 0 */
	unsigned bucket_bytes; /* of the shaper */
	unsigned min_bytes, max_bytes;
	unsigned max_percent; /* at max_bytes; of no use where that is not above min_bytes */
};

struct ecn_counters {
	uint64_t queue_empty_ns; /* CLOCK_MONOTONIC: when the virtual queue would run empty */
	uint64_t packets, bytes; /* all that was sent there */
	uint64_t marked;	 /* packets that left with CE */
	/* CLOCK_MONOTONIC of the first packet of ECN_DATA_BYTES, and of the first mark; 0: none */
	uint64_t first_ns, first_mark_ns;
	uint64_t queue_at_first_mark_ns; /* what was in the queue then: time to drain */
	uint64_t queue_peak_ns; /* the most that a packet met; of two CPUs at once one counts */
	/* Of the packets of senders that do ECN and that met min_bytes or more, by part of the
	 * ramp; last, those above it. Squares, of the packets that were one super-packet, summed:
	 * as many draws decided as packets squared over them. */
	uint64_t ramp_packets[ECN_RAMP_PARTS + 1], ramp_marked[ECN_RAMP_PARTS + 1];
	uint64_t ramp_squares[ECN_RAMP_PARTS + 1];
};

/* ---- the rule, for simulations; unit/netns/check_ecn holds the program to it ---- */

/* A ramp as the program has it: times to drain. */
struct ecn_rule {
	unsigned rate_mbps;
	int min_ns, max_ns;
	int width_ns; /* at least 1 */
	int most;     /* share at max_ns, of INT32_MAX */
};

struct ecn_rule ecn_rule(const struct ecn_ramp *ramp);
/* How long the shaper sends at so many bytes. */
uint64_t ecn_drain_ns(uint64_t bytes, unsigned rate_mbps);
/* Whether a packet is marked that meets so much and draws that number. */
bool ecn_marks(const struct ecn_rule *rule, uint64_t queue_ns, uint32_t random);

/* ---- the program ---- */

struct bpf_code;

/* Its instructions, from the first on; map: an array of one struct ecn_counters. */
void ecn_program(struct bpf_code *out, int map, const struct ecn_ramp *ramp);
/* In the place of what was attached to dev before. -EOPNOTSUPP: this kernel has no tcx. */
int ecn_attach(const char *dev, const struct ecn_ramp *ramp);
/* 0 also if nothing is attached. */
int ecn_detach(const char *dev);
/* -ENOENT: nothing is attached. */
int ecn_read(const char *dev, struct ecn_counters *out);

#endif
