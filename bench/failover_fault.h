/*
 * failover_fault.h - faults that begin at a known moment.
 *
 * Owns: a child process for the time of an injection. In: network namespaces and devices. Out: when
 * it was done, and when the kernel told the server of it. Thread: the coordinator's.
 *
 * farelab takes tens of milliseconds to start, longer than what is measured here; so links are
 * taken down and forwarding is stopped from here, by one system call each, and given back the same
 * way. What farelab alone can do (loss, daemons) is timed from before its start: its own time is
 * inside.
 */
#ifndef FAILOVER_FAULT_H
#define FAILOVER_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#define FAILOVER_MAX_DEVICES 8

struct failover_fault {
	char leaf_netns[64];
	bool forwarding; /* true: the leaf stops forwarding; false: its devices go down */
	unsigned n_devices;
	char device[FAILOVER_MAX_DEVICES][16]; /* on the leaf */
	char server_netns[64],
		server_device[16]; /* where the kernel's event is waited for; "" : nowhere */
};

/*
 * Does it (on) or undoes it. *done_ns: just before the first system call that matters. *kernel_ns
 * (may be NULL): when the server's kernel said that server_device lost its carrier, 0 if it did not
 * within 2 s. 0 or -errno.
 */
int failover_fault_do(const struct failover_fault *fault, bool on, uint64_t *done_ns,
		      uint64_t *kernel_ns);

#endif
