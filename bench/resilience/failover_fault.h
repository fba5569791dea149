/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * failover_fault.h - faults that begin at a known moment.
 *
 * Owns: a child process for the time of an injection. In: what to break. Out: when it was done.
 * Thread: the coordinator's.
 *
 * farelab takes tens of milliseconds to start, longer than what is measured here; so links are
 * taken down, forwarding is stopped and daemons are killed from here, by one system call each. What
 * farelab alone can do (loss, starting daemons) is timed from before its start: its own time is
 * inside. farelab's record (faults.json) has none of what is done from here: an undo_guard sees to
 * it that it is undone.
 */
#ifndef FAILOVER_FAULT_H
#define FAILOVER_FAULT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "fabric/lab.h"

#define FAILOVER_MAX_DEVICES 256

enum failover_fault_kind {
	FAILOVER_LINKS, /* the leaf's devices go down: carrier is lost at both ends */
	/* the leaf forwards nothing, or (devices) nothing that comes in by those */
	FAILOVER_FORWARDING,
	FAILOVER_KILL, /* a process */
	FAILOVER_SPEC, /* farelab does it */
};

struct failover_fault {
	enum failover_fault_kind kind;
	unsigned plane;	  /* that suffers */
	int gpu;	  /* whose paths over it suffer; -1: everybody's */
	double remaining; /* of their weight; 1: nothing may change */
	char leaf_netns[64];
	unsigned n_devices;
	char device[FAILOVER_MAX_DEVICES][16]; /* on the leaf */
	/* of FAILOVER_FORWARDING: off and on that often; 0: off */
	unsigned cycles;
	uint64_t period_ns;
	pid_t pid;
	/* for farelab, after what is above was done and instead of undoing it; "": nothing */
	char spec_on[96], spec_off[96];
};

/*
 * Does it (on) or undoes it. *done_ns: just before the first system call that matters; *over_ns:
 * just after the last. A fault with cycles heals itself: *over_ns is when it did, and undoing it
 * does nothing. 0 or -errno.
 */
int failover_fault_do(const struct failover_fault *fault, const struct lab *lab, bool on,
		      uint64_t *done_ns, uint64_t *over_ns);

/* Undoes it whether it was done, or half of it, or not, also one that heals itself. 0 or -errno. */
int failover_fault_undo(const struct failover_fault *fault, const struct lab *lab);

#endif
