/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * audit.h - does a run contradict itself? What it measured then tells of the benchmark, not of the
 * fabric, and there is no result.
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

/* Every message arrived once, was looked at, and later than it was sent. */
int audit_books(const struct traffic_result *books);
/* The same, and nobody sent or received more than its links carry. */
int audit_measured(const struct measured *m, const struct topo *topo,
		   const struct traffic_stream *streams);
/* The GPU that stood still far longer than the others; -1: none did. *ns: for how long. */
int audit_stalled(const struct measured *m, unsigned n_gpus, uint64_t *ns);

#endif
