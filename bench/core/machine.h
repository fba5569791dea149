/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * machine.h - what a figure was measured on, and by which command.
 *
 * Owns: nothing. In: the kernel's own accounts; out: text for people and for JSON. Thread: any.
 */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdint.h>

struct machine {
	char kernel[65], processor[200];
	int cores;	    /* that this process may use */
	char command[1024]; /* this process's own; "..." at its end if it was longer */
	char started[32];   /* UTC, when this was asked for */
};

/* Bytes of memory that processes can take now; 0: not known. */
uint64_t machine_memory_available(void);

void machine_read(struct machine *machine); /* what cannot be read is "unknown" */

#endif
