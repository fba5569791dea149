/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * handshake.h - a connection between coordinator and agent, authenticated (hello.h) or closed.
 *
 * Owns: nothing. In: a connected TCP socket; out: a rendezvous whose other end has the key. Until
 * then it takes short lines alone. Thread: any; both functions wait.
 */
#ifndef HANDSHAKE_H
#define HANDSHAKE_H

#include "engine/rendezvous.h"
#include "qp/control_seal.h"

/* That the other end may take for each message; an agent may have to wait for others' turns. */
#define HANDSHAKE_ADMIT_MS 5000
#define HANDSHAKE_ENTER_MS 30000

/* The key in the file at path; -errno after saying on stderr what is wrong with it. */
int handshake_key(struct control_seal *out, const char *path);

/*
 * The coordinator's end; takes fd. 0; -EACCES: refused; -ETIMEDOUT, -EPIPE, -EMSGSIZE, ...: it did
 * not come to that. *reason is a static text.
 */
int handshake_admit(struct rendezvous **out, int fd, const struct control_seal *key,
		    const char **reason);
/* The agent's end: the same. */
int handshake_enter(struct rendezvous **out, int fd, const struct control_seal *key,
		    const char **reason);

#endif
