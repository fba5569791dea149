/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * audit.h - does a run contradict itself? What it measured then tells of the benchmark, not of the
 * fabric, and there is no result. And is everything that went in accounted for (conservation)?
 *
 * Owns: nothing; pure but for stderr. In: what the workers say; out: 0, or -EBADE after saying what
 * cannot be. Thread: any.
 *
 * Of every message that was verified, receivers add up the words that they read; senders compute
 * the same sum without having read anything (pattern.h). A receiver that does not look cannot know
 * it.
 */
#ifndef AUDIT_H
#define AUDIT_H

#include "engine/measure.h"

#define AUDIT_STALL_NS	  UINT64_C(250000000)
#define AUDIT_RATE_SPARE  0.02	/* what clocks and windows may differ by */
#define AUDIT_CHUNK_BYTES 65536 /* of a stream, acknowledged at once at either edge */

/*
 * What a trial counted. Of each line both sides are counted by others, and what goes in is what
 * comes out: a message or a request that fails ends the run, so nothing is lost without an error.
 * Zeros where a trial has nothing of the kind.
 */
struct audit_counts {
	/* messages due in the window: at senders; of these never handed over; acknowledged */
	uint64_t due, unposted, completed;
	uint64_t timed, delivered;	     /* of loads whose receivers know what was due when */
	uint64_t sent_bytes, received_bytes; /* payload: by senders, by receivers that read it */
	/* held: in a queue, a batch, on the way */
	uint64_t requests, requests_ended, requests_held;
	/* places in the batches that were stepped; what requests asked for, less what is left */
	uint64_t tokens, request_tokens;
	/* the same since the warm-up; of these, of requests that were never preempted */
	uint64_t window_tokens, window_request_tokens, good_tokens;
	/* of prefill workers: the clock's; the compute times of prompts; between them */
	uint64_t time_ns, busy_ns, idle_ns;
	/* since the warm-up: of caches that arrived, by receivers, but close to where that time
	 * begins or ends; of all traffic, as senders have it */
	uint64_t cache_bytes, fabric_bytes;
	uint64_t window_ns, waited_ns; /* waited: of the GPU that waited most for rounds */
};

/* False: something was made or lost, and *why (size bytes) says what. */
bool audit_conserved(const struct audit_counts *c, char *why, size_t size);
/* Adds what a run of traffic counted; loads, streams: those that were measured. */
void audit_count(struct audit_counts *c, const struct measured *m, const struct traffic_load *loads,
		 const struct traffic_stream *streams);

/* Every message arrived once, was looked at, and later than it was sent. */
int audit_books(const struct traffic_result *books);
/* The same, and nobody sent or received more than its links carry. */
int audit_measured(const struct measured *m, const struct topo *topo,
		   const struct traffic_stream *streams);
/* The GPU that stalled far longer than the others; -1: none did. *ns: for how long. */
int audit_stalled(const struct measured *m, unsigned n_gpus, uint64_t *ns);

#endif
