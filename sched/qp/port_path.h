/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * port_path.h - one path (peer, plane): where each source port of the pool leads, and the one
 * exchange of echoes that asks (pure).
 *
 * The leaf hashes (addresses, ports) over its links to the peer. So the UDP source port decides
 * over which of the peer's sub-ports a QP's packets arrive. The source ports of a process are a
 * pool of FARE_SOURCE_PORTS for each local sub-port. What is known of one serves all groups toward
 * the same peer.
 *
 * Solely owns: what is known of each (local sub-port, port), how many QPs use it, and which ports
 * echoes ask about now. In: the daemon's list, replies to echoes, picks of lanes. Out: the next
 * echo, the most suitable port for a QP. port_cache.c decides when to ask.
 */
#ifndef PORT_PATH_H
#define PORT_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fare_limits.h"
#include "roce_ports.h"

#define PORT_PATH_SENDS 8 /* rounds whose times are kept, to measure round trips */

struct port_slot {
	bool is_known;	/* the peer answered an echo */
	uint8_t remote; /* remote sub-port; valid if it is known */
	uint16_t n_users;
};

/* Bit p of a mask: port FARE_SOURCE_PORT_FIRST + p. */
struct port_path {
	uint16_t plane, n_planes;
	uint16_t n_sub_ports; /* configured local sub-ports */
	uint32_t live;	      /* bit s: local sub-port s is up */
	/* the exchange of echoes that is under way */
	uint64_t nonce; /* 0: none */
	uint16_t asked[FARE_MAX_SUB_PORTS], answered[FARE_MAX_SUB_PORTS];
	uint16_t n_asked, n_answered;
	uint16_t sends;
	uint64_t sent_ns[PORT_PATH_SENDS]; /* of the last rounds: round modulo PORT_PATH_SENDS */
	struct port_slot slots[];	   /* n_sub_ports x FARE_SOURCE_PORTS */
};

/*
 * Counts of the ports that one lane has picked so far. used: ports that QPs of the group have, by
 * any plane and sub-port; the caller begins with those of other lanes.
 */
struct port_pick {
	uint16_t used;
	uint8_t load[FARE_MAX_SUB_PORTS];		      /* by remote sub-port */
	uint8_t pair[FARE_MAX_SUB_PORTS][FARE_MAX_SUB_PORTS]; /* by local and remote */
	uint16_t taken[FARE_MAX_SUB_PORTS];		      /* mask of ports, by local */
	uint16_t refused[FARE_MAX_SUB_PORTS];		      /* the same, by the provider */
};

/* Bytes of a struct port_path with that many local sub-ports. */
size_t port_path_bytes(unsigned n_sub_ports);
/* NULL: not a port of the pool, or no such sub-port. */
struct port_slot *port_path_slot(struct port_path *path, unsigned local, uint16_t port);

/* Bit r: a known port leads to remote sub-port r. */
uint32_t port_path_remotes(const struct port_path *path);
/* Forgets all ports, except those that were answered in the exchange under way. */
void port_path_forget(struct port_path *path);

/*
 * The most suitable port of a local sub-port for a lane. The criteria in order: known before
 * unknown; leads to the remote sub-port that the lane uses least; has the (local, remote) pair that
 * the lane uses least; is not used by the lane there (distinct: this is required); other groups use
 * its remote sub-port least; no QP of the group has it elsewhere; other groups use the port least.
 * The pick is noted in *pick. NULL: no port is left.
 */
struct port_slot *port_path_pick(struct port_path *path, struct port_pick *pick, unsigned local,
				 bool distinct);
uint16_t port_path_port(const struct port_path *path, const struct port_slot *slot);
/* Notes that the lane uses that port already; that the provider refused it. */
void port_path_note(struct port_path *path, struct port_pick *pick, unsigned local, uint16_t port);
void port_path_refuse(struct port_path *path, struct port_pick *pick, unsigned local,
		      uint16_t port);

/* ---- the exchange ---- */

void port_path_begin(struct port_path *path, uint64_t nonce);
void port_path_end(struct port_path *path);
/* Asks about n more ports of each live local sub-port. True: there were any. */
bool port_path_ask_more(struct port_path *path, unsigned n, bool known_first);
/* Asks about the ports that are in use. True: there were any. */
bool port_path_ask_used(struct port_path *path);
/* Sets which sub-ports are live. Answers for the others are not waited for. */
void port_path_set_live(struct port_path *path, uint32_t live);
bool port_path_all_answered(const struct port_path *path);
/* A new round begins: its echoes carry this round's number. */
void port_path_sent(struct port_path *path, uint64_t now_ns);

struct port_echo {
	uint16_t local, port, candidate;
};
/* Gives the unanswered echoes of a round one after the other, from *i = 0. False: no more. */
bool port_path_next_echo(const struct port_path *path, unsigned *i, struct port_echo *out);

/* Another process has the port, so the echo cannot be sent: it is not asked again this time. */
void port_path_unusable(struct port_path *path, const struct port_echo *echo);

enum port_reply {
	PORT_REPLY_STRAY,   /* no such echo is under way, or it was answered before */
	PORT_REPLY_GOOD,    /* the port leads where it was known to lead, or it was not known */
	PORT_REPLY_CHANGED, /* the port leads elsewhere than it was known to lead */
};
/* *rtt_ns: round trip of this echo; 0: not known. learns: the reply says where the port leads. */
enum port_reply port_path_on_reply(struct port_path *path, uint64_t now_ns, uint64_t nonce,
				   uint16_t candidate, unsigned remote, bool learns,
				   uint64_t *rtt_ns);

#endif
