/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_signal.h - a descriptor that is readable while it is raised: what an application waits on.
 *
 * Owns the descriptor. Raising twice is raising once. Not locked: its queue's lock holds.
 */
#ifndef OFI_SIGNAL_H
#define OFI_SIGNAL_H

#include <stdbool.h>

struct ofi_signal {
	int fd; /* -1: nobody can wait, and raising does nothing */
	bool raised;
};

#define OFI_SIGNAL_NONE ((struct ofi_signal){.fd = -1})

/* 0 or -errno. */
int ofi_signal_init(struct ofi_signal *signal);
void ofi_signal_fini(struct ofi_signal *signal);
void ofi_signal_raise(struct ofi_signal *signal);
void ofi_signal_clear(struct ofi_signal *signal);

#endif
