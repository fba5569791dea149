/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rendezvous.h - how the coordinator and the workers talk: a stream socket, a line of JSON per
 * message.
 *
 * Owns: its socket and its line buffer. In and out: JSON objects. A line that is
 * too long, one that is not a JSON object, or a closed socket ends the conversation. Thread: one
 * per object; receiving can wait, or not.
 */
#ifndef RENDEZVOUS_H
#define RENDEZVOUS_H

#include <jansson.h>
#include <stddef.h>

#define RENDEZVOUS_MAX_LINE (4u << 20)

struct rendezvous;

/*
 * address: "/path" or "unix:/path" of a unix socket, or "host:port" (IPv6 as "[host]:port"). To
 * connect also "fd:N": a socket that is connected already. fd or -errno.
 */
int rendezvous_listen(const char *address);
int rendezvous_connect(const char *address);

/* Takes fd (also on failure). -ENOMEM. */
int rendezvous_create(struct rendezvous **out, int fd);
void rendezvous_destroy(struct rendezvous *r); /* NULL is fine */
int rendezvous_fd(const struct rendezvous *r);
/* Lines longer than bytes end the conversation; RENDEZVOUS_MAX_LINE unless this says otherwise. */
void rendezvous_limit(struct rendezvous *r, size_t bytes);
/* Frees r and gives its socket back. -EBUSY, and r stays: something was read that nobody took. */
int rendezvous_release(struct rendezvous *r);

/* Sends message (borrowed) whole; waits while the socket is full. -EPIPE, -EMSGSIZE, -ENOMEM. */
int rendezvous_send(struct rendezvous *r, const json_t *message);

/* Reads what is there, without waiting. 0, or -EPIPE: the other end is gone (lines read before
 * stay). */
int rendezvous_fill(struct rendezvous *r);
/* The next message already read. 1: *out is the caller's; 0: none; -EMSGSIZE, -EBADMSG: stop
 * talking. */
int rendezvous_next(struct rendezvous *r, json_t **out);

/* Waits for one message. -ETIMEDOUT, or as above. */
int rendezvous_receive(struct rendezvous *r, int timeout_ms, json_t **out);

/* The pure half, for tests and fuzzing: bytes in, lines out. */
int rendezvous_feed(struct rendezvous *r, const void *bytes, size_t n);

#endif
