/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace.h - the probes of one path, as they come and go, for the one client that looks on.
 *
 * Solely owns: what has happened since it was last handed out, TRACE_ROOM lines of it at most; how
 * many probes are left. In: probes and transitions of the path, said by the prober. Out: a line of
 * JSON for each, in order:
 *
 *   {"what": "sent", "sequence", "mono_ns", "wall_ns", "local_sub_port", "remote_sub_port" and
 *    "reply_sub_port" (null: not known), "source_port", "counts", "state"}
 *   {"what": "answered", the same and "rtt_ns"}: one of those that were sent since the beginning
 *   {"what": "state", "mono_ns", "wall_ns", "from", "to", "reason"}
 *   {"what": "missed", "n"}: so many did not fit
 *   {"what": "end", "sent", "answered"}: the last one
 *
 * Thread: the loop's. Pure; nothing is allocated for a probe before it is handed out.
 */
#ifndef TRACE_H
#define TRACE_H

#include <jansson.h>

#include "prober.h"

#define TRACE_ROOM 256 /* more than a turn of the loop brings of one path */

struct trace_line {
	bool is_change;
	struct prober_trace probe;
	uint64_t at_ns; /* of a change */
	enum probe_state from, to;
	const char *reason; /* static */
};

struct trace {
	bool running; /* since trace_begin(), until "end" was handed out */
	bool over;    /* as many probes as were asked for are done */
	uint32_t gpu, plane;
	struct in6_addr peer;
	uint32_t count, n_sent, n_answered, n_missed;
	uint32_t last_sequence; /* of the last one; once n_sent is count */
	uint64_t first_sent_ns; /* once n_sent is not 0 */
	uint32_t n;
	struct trace_line lines[TRACE_ROOM];
};

void trace_begin(struct trace *t, uint32_t gpu, const struct in6_addr *peer, uint32_t plane,
		 uint32_t count);
/* While no trace runs, these do nothing. A change of another path is left out. */
void trace_probe(struct trace *t, const struct prober_trace *probe);
void trace_change(struct trace *t, uint32_t gpu, const struct in6_addr *peer, uint32_t plane,
		  const struct probe_fsm_change *change, uint64_t now_ns);
/*
 * Hands out what there is; after "end" the trace does not run any more. now_ns and wall_ns: the two
 * clocks at this moment.
 */
void trace_flush(struct trace *t, uint64_t now_ns, uint64_t wall_ns,
		 void (*on_line)(void *arg, const json_t *line), void *arg);
void trace_stop(struct trace *t);

#endif
