/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * method.h - one way to write messages from one process to another, as the tests of transports
 * drive it.
 *
 * Owns: nothing; the interface. Both ends hold the same number of slots of equal size; post(slot)
 * writes this end's slot over the other end's slot of the same number, or reads it from there. One
 * end, one thread, one process.
 *
 * All methods are driven by the same loops (end.c): messages under way are the driver's business,
 * and what arrived is read from memory by the driver, so no method can count what it did not
 * deliver.
 */
#ifndef TRANSPORT_METHOD_H
#define TRANSPORT_METHOD_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"

#define TRANSPORT_PLANES   4
#define TRANSPORT_PATH_MTU 4096
#define TRANSPORT_MAX_QPS  256

struct transport_end {
	const struct transport_method *method;
	unsigned who;		    /* 0 or 1; in a goodput run 0 sends */
	int oob;		    /* stream socket to the other end, for addresses and keys */
	const char *local, *remote; /* IPv4 addresses in text */
	const char *run_dir;	    /* a daemon's run directory that this end may attach to */
	/* one message at a time, both ways: no batching for its own sake */
	bool latency;
	unsigned qps, slots;
	size_t bytes;	 /* of every message */
	size_t stride;	 /* from slot to slot */
	uint8_t *memory; /* slots x stride, page aligned */
	size_t memory_bytes;
};

struct transport_method {
	const char *name, *what;
	bool many_qps; /* end.qps may be more than 1 */
	bool is_probe; /* latency only */
	bool reads;    /* goodput only: post(slot) fetches the other end's slot into this end's */
	unsigned n_planes; /* that a path table must call usable; 0: it asks none */
	/* what open() takes of it, where several methods have one */
	int mode;	      /* of a group: enum fare_mode */
	bool busy_poll;	      /* of a group */
	bool is_tuned;	      /* sockets */
	bool receives;	      /* as many as messages may be under way on a QP */
	const char *provider; /* of libfabric */
	/* Connects both ends. 0 or -errno (-EOPNOTSUPP: not on this machine). */
	int (*open)(struct transport_end *end, void **state);
	/* 0; -EAGAIN: not now, progress first; other: broken. */
	int (*post)(void *state, unsigned slot);
	/*
	 * Does what is due. Slots whose messages are placed (or as good as the method can know) go
	 * to done. >= 0: how many; -errno: broken.
	 */
	int (*progress)(void *state, unsigned *done, int max);
	/* How many messages the other end has notified of. NULL: only memory tells. */
	uint64_t (*notified)(void *state);
	/* Becomes readable when progress is due; -1: the method can only spin. NULL: the same. */
	int (*fd)(void *state);
	void (*close)(void *state);
};

/* Sends mine and takes theirs, both of that many bytes (a few KiB at most). 0 or -EPIPE. */
static inline int transport_exchange(const struct transport_end *end, const void *mine,
				     void *theirs, size_t bytes)
{
	if (write(end->oob, mine, bytes) != (ssize_t)bytes ||
	    recv(end->oob, theirs, bytes, MSG_WAITALL) != (ssize_t)bytes)
		return -EPIPE;
	return 0;
}

/* As ::ffff:a.b.c.d. */
static inline struct in6_addr transport_address(const char *ipv4)
{
	struct in6_addr out = {0};

	address_parse(ipv4, &out);
	return out;
}

extern const struct transport_method transport_soft, transport_soft_read, transport_soft_send;
extern const struct transport_method transport_group_plane, transport_group_busy,
	transport_group_flow, transport_group_spray, transport_group_packet, transport_group_read,
	transport_group_notified;
extern const struct transport_method transport_raw, transport_udp;
extern const struct transport_method transport_tcp, transport_tcp_tuned;

#define TRANSPORT_MAX_METHODS 20

/*
 * All methods that work here, the ceiling first; returns how many. Peers' libraries come as modules
 * beside the program (transport_NAME.so, exporting `transport_module`, an array of methods ended by
 * NULL), so that only who measures them loads them.
 */
unsigned transport_methods(const struct transport_method *out[TRANSPORT_MAX_METHODS]);

#endif
