/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pfc_program.h - what a lab's switches count for PFC: bytes of each ingress port in their queues.
 *
 * Owns, in the kernel, BPF programs (tcx) at every port of a lab, with one array of slots, a slot
 * for each port: they end with the ports. A packet of data gets the number of the port that it came
 * in by as its tc_index. Where it enters a queue its bytes are added to that port's slot, or it is
 * dropped there if XOFF and headroom are used up; where it arrives at the other end of the link
 * they are subtracted. A port that reaches XOFF, or is at XON again, is written to a ring, which
 * wakes the agent. In: devices of the namespace that the calling thread is in. Needs Linux 6.6
 * (tcx.h). Errors are -errno.
 */
#ifndef PFC_PROGRAM_H
#define PFC_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "topology.h"

#define PFC_PROGRAM_SLOTS_MAX  4096
#define PFC_PROGRAM_RING_BYTES 4096 /* a page */

/* A port. The programs write the first part, the agent the second, pfc_lab.c the third. */
struct pfc_slot {
	int64_t bytes;	  /* of packets that came in here and are still in the switch */
	uint64_t left;	  /* packets that came in here and left the switch */
	uint64_t xoff;	  /* not 0: reached XOFF, and was not at XON since */
	uint64_t xoff_ns; /* CLOCK_MONOTONIC of the last time that it reached XOFF */
	uint64_t drops;	  /* packets that came in here and met no headroom */
	int64_t peak;	  /* of bytes */

	uint64_t tx_pauses, rx_pauses; /* frames; XON is none */
	uint64_t paused_ns, storms;
	uint64_t paused_since_ns;			  /* 0: not paused */
	uint64_t reactions, reaction_ns, reaction_max_ns; /* from XOFF to the neighbour's stop */

	int64_t xoff_bytes, xon_bytes; /* at which it asks for a pause, and ends it */
	int64_t limit_bytes;	       /* XOFF and headroom: more is dropped */
	uint64_t watchdog_ns;	       /* 0: there is none */
};

/* Descriptors, for the ports of one lab. */
struct pfc_maps {
	int slots, ring;
};

int pfc_maps_create(unsigned n_slots, struct pfc_maps *out);
/* Those of a port that has its programs. -ENOENT: it has none. */
int pfc_maps_open(const char *dev, struct pfc_maps *out);
void pfc_maps_close(struct pfc_maps *maps);

struct bpf_code;

/* The instructions of a port, as tcx runs them, from the first on. */
void pfc_program_ingress(struct bpf_code *out, unsigned slot, bool is_switch,
			 const struct topology *t, const struct pfc_maps *maps);
void pfc_program_egress(struct bpf_code *out, const struct pfc_maps *maps);
/* Of a switch's port or a server's. */
int pfc_program_attach(const char *dev, unsigned slot, bool is_switch, const struct topology *t,
		       const struct pfc_maps *maps);

#endif
