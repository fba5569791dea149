/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * connection.h - a stream connection to one of FRR's daemons, for ever: lost, it is tried again.
 *
 * Solely owns: the socket, the attempts to connect it and their back-off, and the timer of its
 * reader. In: an address, bytes. Out: connection_handlers. Thread: the loop's.
 *
 * What is read means nothing here. Attempts are 0.1 s apart, then twice as long each time up to 5
 * s; a connection that lived for 5 s was no failed attempt, and the first wait is 0.1 s again.
 */
#ifndef CONNECTION_H
#define CONNECTION_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define CONNECTION_NEVER UINT64_MAX

struct connection;
struct ev_loop;

/* Times are monotonic. None may destroy the connection. */
struct connection_handlers {
	/*
	 * Connected; may send a greeting on fd (borrowed). -errno: it is given up and tried again.
	 */
	int (*on_connected)(void *arg, int fd, uint64_t now_ns);
	/*
	 * Not 0: these bytes are none to go on from; *reason (static, or valid until the next call)
	 * says why. NULL: all are dropped.
	 */
	int (*on_bytes)(void *arg, const uint8_t *bytes, size_t n, uint64_t now_ns,
			const char **reason);
	/* The connection, or an attempt at one, is over. */
	void (*on_lost)(void *arg, const char *reason, uint64_t now_ns);
	/* The time that settle() asked for has come. */
	void (*on_tick)(void *arg, uint64_t now_ns);
	/*
	 * Last of every wake: nothing more comes for now. When on_tick() is due, or
	 * CONNECTION_NEVER, as without it (NULL).
	 */
	uint64_t (*settle)(void *arg);
	/*
	 * The other end sends first: one that sends nothing for so long is given up. 0: it need
	 * not.
	 */
	double silent_s;
};

/*
 * Begins to connect. address (any family) and handlers are copied; name, what reasons call the
 * other end, and arg are borrowed. -EINVAL: no address is so long. -ENOMEM. Handlers run from the
 * loop, never from here.
 */
int connection_create(struct connection **out, struct ev_loop *loop, const struct sockaddr *address,
		      socklen_t address_bytes, const char *name,
		      const struct connection_handlers *handlers, void *arg);
void connection_destroy(struct connection *c); /* NULL is fine; no handler runs any more */

#endif
