/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ecn.h - a device that marks packets when the queue of its shaper is long.
 *
 * Owns, in the kernel, a BPF program (tcx, egress) for each such device, and its counters: they end
 * with it. The program sees packets before the shaper does, so it keeps the shaper's books itself:
 * a virtual queue that drains at the rate, after a bucket of tokens. A packet that finds threshold
 * or more in it gets CE, if its sender does ECN. A super-packet is one packet to mark, and several
 * to count. In: devices of the namespace that the calling thread is in. Needs Linux 6.6; uses
 * bpf(2) itself, for one array and forty instructions. Errors are -errno.
 */
#ifndef ECN_H
#define ECN_H

#include <stdint.h>

#define ECN_DATA_BYTES 1024 /* what is smaller may be BGP, a probe, an acknowledgement */

struct ecn_counters {
	uint64_t queue_empty_ns; /* CLOCK_MONOTONIC: when the virtual queue would run empty */
	uint64_t packets, bytes; /* all that was sent there */
	uint64_t marked;	 /* packets that left with CE */
	/* CLOCK_MONOTONIC of the first packet of ECN_DATA_BYTES, and of the first mark; 0: none */
	uint64_t first_ns, first_mark_ns;
	uint64_t queue_at_first_mark_ns; /* what was in the queue then: time to drain */
};

/* In the place of what was attached to dev before. -EOPNOTSUPP: this kernel has no tcx. */
int ecn_attach(const char *dev, unsigned rate_mbps, unsigned bucket_bytes,
	       unsigned threshold_bytes);
/* 0 also if nothing is attached. */
int ecn_detach(const char *dev);
/* -ENOENT: nothing is attached. */
int ecn_read(const char *dev, struct ecn_counters *out);

#endif
