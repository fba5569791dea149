/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * handshake.h - a connection between coordinator and agent, authenticated (hello.h) or closed.
 *
 * Owns: nothing. In: a connected TCP socket; out: a rendezvous whose other end has the key. Until
 * then it takes short lines alone. Thread: any. The coordinator's end never waits (admission.h);
 * the agent's does.
 */
#ifndef HANDSHAKE_H
#define HANDSHAKE_H

#include "engine/rendezvous.h"
#include "launch/hello.h"
#include "qp/control_auth.h"

#define HANDSHAKE_ENTER_MS 30000 /* that the coordinator may take for each message */

/* The key in the file at path; -errno after saying on stderr what is wrong with it. */
int handshake_key(struct control_auth *out, const char *path);

/* The coordinator's end, until the agent has answered. */
struct handshake {
	struct rendezvous *link;
	struct hello_challenge mine;
};

/* Sends the offer; takes fd. 0 or -errno. */
int handshake_offer(struct handshake *out, int fd);
/*
 * Reads what has come. 0: *out is the caller's, h is over; -EAGAIN: there is more to come; -EACCES:
 * refused; -EPIPE, -EMSGSIZE, ...: it did not come to that. *reason is a static text.
 */
int handshake_admit(struct handshake *h, const struct control_auth *key, struct rendezvous **out,
		    const char **reason);
void handshake_abandon(struct handshake *h);
/* The agent's end; takes fd, and waits. 0 or -errno as above; -ETIMEDOUT. */
int handshake_enter(struct rendezvous **out, int fd, const struct control_auth *key,
		    const char **reason);

#endif
