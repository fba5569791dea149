/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * admission.h - connections to a coordinator whose other end has still to show that it has the key.
 *
 * Owns: those connections, ADMISSION_MAX at most, all of them waited for together; each has
 * ADMISSION_MS. In: a listening socket, which others own, and the key; out: a rendezvous at a time.
 * Thread: the coordinator's. Nothing waits.
 *
 * Anybody on the network can connect, and say nothing. If there is no more room, the source that
 * has the most connections loses the oldest of them: one that floods displaces its own.
 */
#ifndef ADMISSION_H
#define ADMISSION_H

#include <poll.h>

#include "engine/rendezvous.h"
#include "qp/control_auth.h"

#define ADMISSION_MAX	 128u
#define ADMISSION_POLLED (ADMISSION_MAX + 1)
#define ADMISSION_MS	 5000

struct admission;

/* Both are borrowed; listener is made non-blocking. 0 or -errno. */
int admission_create(struct admission **out, int listener, const struct control_auth *key);
void admission_destroy(struct admission *a); /* NULL is fine */
/* What to wait for: room for ADMISSION_POLLED; returns how many. */
unsigned admission_polled(const struct admission *a, struct pollfd *out);
/*
 * Takes what has come. 0: *link is the caller's, and there may be more; -EAGAIN: none yet. Refusals
 * are said on stderr, one a second.
 */
int admission_next(struct admission *a, struct rendezvous **link);

#endif
