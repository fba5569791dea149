/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * session.h - what the tests of transports share: one trial of one method, in namespaces that all
 * trials of a test use.
 *
 * Owns: the namespaces, and which points a peer's library has failed at. In: a trial whose test has
 * the parameters "method", "bytes" and "max_handover"; out: rows of it. Thread: the coordinator's;
 * every end that is measured is a process of its own.
 */
#ifndef TRANSPORT_SESSION_H
#define TRANSPORT_SESSION_H

#include "micro/transport/end.h"
#include "suite/trial.h"

/* Names of methods (method.h): levels of the parameter. */
#define SESSION_WRITES "soft,group-1,group-4-flow,group-4-spray,group-4-packet,tcp,tcp-tuned"
#define SESSION_READS  "soft-read,group-4-read"
#define SESSION_SENDS  "soft-send"
#define SESSION_PROBES "udp,group-1-busy,group-4-notified"
#define SESSION_PEERS  "ofi-tcp,ofi-net,ofi-udp,ucx-tcp"

#define SESSION_PARAM_METHOD(names)                                                                \
	{                                                                                          \
		"method", PARAM_NAME, "", "how bytes are moved, as farebench(1) tells",            \
		{                                                                                  \
			names, NULL, NULL                                                          \
		}                                                                                  \
	}
#define SESSION_PARAM_HANDOVER                                                                     \
	{                                                                                          \
		"max_handover", PARAM_NUMBER, "ns",                                                \
			"measured while a cache line takes no longer between the ends' cores (0: " \
			"however long), waited for 300 s in all",                                  \
		{                                                                                  \
			"0", NULL, NULL                                                            \
		}                                                                                  \
	}

#define SESSION_KPI_GOODPUT                                                                        \
	KPI("goodput", "Gb/s", "receiver", "payload delivered and compared", BETTER_HIGHER, 0)
#define SESSION_KPI_OF_CEILING                                                                     \
	KPI("of_ceiling", "", "receiver", "goodput over that of raw, medians of this run",         \
	    BETTER_HIGHER, 0)
#define SESSION_KPI_CPU                                                                            \
	KPI("cpu", "s/GB", "both ends", "processor time for 1e9 bytes", BETTER_LOWER, 0)
#define SESSION_KPI_HANDOVER                                                                       \
	KPI("handover", "ns", "machine",                                                           \
	    "a cache line between the ends' cores, the slower of before and after; where a host "  \
	    "puts them on different caches, goodput is a fraction",                                \
	    BETTER_NONE, 0)

#define SESSION_REAL                                                                               \
	"Real: sockets and kernel, two processes pinned to a core each, every byte compared by "   \
	"the receiver. Emulated: the wire (veth pairs between two network namespaces)."

/* What all these tests declare alike. */
#define SESSION_TEST                                                                               \
	.clause = "none", .dut = "transport", .no_strategies = true, .no_fabric = true,            \
	.trials = {5, 7, 20}, .seconds = {0.4, 0.4, 2}, .close = session_close

/* What is measured of the trial's method. */
struct session_how {
	unsigned qps;
	bool latency;
	bool block; /* both ends sleep while nothing is due */
};

/*
 * 0, and *measured tells whether out is of this trial; if not, the trial's rows say why. -errno,
 * after saying why: one of our own or a socket method failed; a peer's library that fails is left
 * out with its reason.
 */
int session_measure(struct trial *t, const struct session_how *how, struct transport_outcome *out,
		    bool *measured);
/* One trial of goodput, with the rows of SESSION_KPI_GOODPUT, _CPU, _HANDOVER. */
int session_goodput(struct trial *t, const struct session_how *how);
/* of_ceiling of every goodput. */
int session_derive(const struct test *test, struct rows *rows);
void session_close(void *state);

#endif
