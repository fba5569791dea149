/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reflector.h - answers S-BFD probes (SBFDReflector, RFC 7880 section 7.2), without any state of a
 * session.
 *
 * Solely owns: one socket on UDP 7784 per local address, and one that hears probes which travel as
 * data does. In: probes; which device is which sub-port, and which of them has only
 * just come back. Out: replies, on the very device where the probe arrived (on another of its plane
 * while that one has carrier and no route yet: what leaves by it is lost); capacity notices that
 * came with an authentic probe. Thread: the loop's.
 *
 * Answered is only what came with a hop limit of 254 or 255 (one router at most between two GPUs),
 * to our discriminator, in demand mode, over a sub-port of the GPU that it is addressed to, and not
 * from the reflector's own port; and no more than a bounded number a second. The rest is counted.
 */
#ifndef REFLECTOR_H
#define REFLECTOR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "notice_wire.h"
#include "sub_ports.h"

struct reflector;
struct udp;

enum reflector_refusal {
	REFLECTOR_NOT_AUTHENTIC, /* by no key of ours */
	REFLECTOR_OLD_RELEASE,	 /* it looks like a replay, see notice_wire.h */
};

struct reflector_handlers {
	/*
	 * An authentic notice of peer to local_gpu. Called for repetitions too. true: *held is the
	 * newest that is held of that peer, and is reported to it; another than this one, if
	 * this one is older. false: none is held, and none reported.
	 */
	bool (*on_capacity)(void *arg, uint32_t local_gpu, const struct in6_addr *peer,
			    const struct notice_capacity *capacity, struct notice_ack *held);
	/*
	 * A probe of peer came over that plane, with that trailer, and waited so long to be read.
	 * It is answered, unless too many are. May be NULL.
	 */
	void (*on_received)(void *arg, uint32_t local_gpu, const struct in6_addr *peer,
			    uint32_t plane, const struct notice_trailer *trailer,
			    uint64_t waited_ns);
	/* What is reported in the answer to a probe with a report; false: nothing. May be NULL. */
	bool (*report)(void *arg, uint32_t local_gpu, const struct in6_addr *peer, uint32_t plane,
		       uint32_t sub_port, bool is_try, struct report_wire *out);
	/*
	 * Bit s: what is sent to peer out of sub-port s of that plane is not known to leave. May be
	 * NULL.
	 */
	uint32_t (*avoided)(void *arg, uint32_t local_gpu, const struct in6_addr *peer,
			    uint32_t plane);
	/* A notice of peer, or of somebody in its name, does not count. May be NULL. */
	void (*on_refused)(void *arg, uint32_t local_gpu, const struct in6_addr *peer,
			   enum reflector_refusal why);
};

struct reflector_counters {
	uint64_t answered, malformed, hop_limit, discriminator, wrong_device, limited, forged,
		replayed, second_key;
};

/*
 * udp, ports and keys (which may change) are borrowed for the reflector's life. 0 or -errno;
 * -EPERM: see udp_create(). UDP 7784 may be held by others: see reflector_take_ports().
 */
int reflector_create(struct reflector **out, struct udp *udp, const struct sub_ports *ports,
		     const struct notice_keys *keys, const struct reflector_handlers *handlers,
		     void *arg);
void reflector_destroy(struct reflector *r);
/*
 * UDP 7784, where another process holds it, is tried again. NULL: none does; else an address at
 * which probes are not answered.
 */
const struct in6_addr *reflector_take_ports(struct reflector *r);
/*
 * What was held of some peer has been forgotten: notices that were recorded before this are replays
 * from now on.
 */
void reflector_forgot(struct reflector *r);
/* The sockets that probes come in by: 0 .. reflector_n_sockets() - 1. */
uint32_t reflector_n_sockets(const struct reflector *r);
int reflector_fd(const struct reflector *r, uint32_t i);
/* Answers what has come in there. Returns how many packets that were. */
unsigned reflector_read(struct reflector *r, uint32_t i, uint64_t now);
/* Replies sent over that plane so far. */
uint64_t reflector_sent(const struct reflector *r, uint32_t gpu, uint32_t plane);
void reflector_counters(const struct reflector *r, struct reflector_counters *out);

#endif
