/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * queue_class.h - whether the fabric queues probes before data: measured by pairs of probes, one of
 * the class of probes and one of data's, sent together over the same cables.
 *
 * Solely owns: the pairs of one plane that are under way, and what those found that met a queue.
 * In: times at which probes of pairs left and their answers came. Out: a finding for people; no
 * verdict of a path uses it. Thread: any, one at a time. Pure.
 *
 * A round trip beyond the fastest of the plane was spent in queues. A pair counts if one of its
 * two was there for longer than what any packet waits (HEALTH_CLASS_NOISE_NS, and a batch in
 * transmission at each of four ports). If the probe of probes' class waited less than half as long
 * as data's, it passed before data; else it waited behind data.
 */
#ifndef QUEUE_CLASS_H
#define QUEUE_CLASS_H

#include <stdbool.h>
#include <stdint.h>

#define QUEUE_CLASS_PAIRS 16u /* a power of two; under way: HEALTH_DOUBTFUL_NS times that */

enum queue_class_finding {
	QUEUE_CLASS_UNKNOWN, /* too few pairs have met a queue */
	QUEUE_CLASS_BEFORE,  /* probes pass before data */
	QUEUE_CLASS_BEHIND,  /* probes wait behind data, at some port at least */
};

enum queue_class_kind { QUEUE_CLASS_PROBE, QUEUE_CLASS_DATA, QUEUE_CLASS_KINDS };

struct queue_class_pair {
	uint64_t nonce, sent_ns;	    /* nonce 0: none is under way */
	uint64_t rtt_ns[QUEUE_CLASS_KINDS]; /* 0: not answered */
};

struct queue_class {
	uint32_t next;		     /* pair */
	uint64_t fastest_ns;	     /* round trip of the plane, of either class; 0: none yet */
	uint32_t n_before, n_behind; /* of pairs that met a queue; older ones count half */
	/* how long packets were in queues at most, there and back; older times count half */
	uint64_t longest_ns[QUEUE_CLASS_KINDS];
	struct queue_class_pair pairs[QUEUE_CLASS_PAIRS];
};

/* A pair leaves. Returns the sequence number of its first probe; the second one's is the next. */
uint32_t queue_class_sent(struct queue_class *q, uint64_t nonce, uint64_t now);
/*
 * An answer came at came_ns; burst_ns: of the plane, as in sub_ports.h. false: it answers no probe
 * of a pair that is under way.
 */
bool queue_class_answered(struct queue_class *q, uint32_t sequence, uint64_t nonce,
			  uint64_t came_ns, uint64_t burst_ns);
enum queue_class_finding queue_class_finding(const struct queue_class *q);
/* "no queue seen", "before data", "behind data". */
const char *queue_class_name(enum queue_class_finding finding);

#endif
