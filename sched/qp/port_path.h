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
 * Solely owns: what is known of each (local sub-port, port), how many QPs use it, which of them are
 * being asked for. In: the daemon's list, replies to echoes, picks of lanes. Out: the next echo,
 * the port that suits a QP best. When to ask is port_cache.c's.
 */
#ifndef PORT_PATH_H
#define PORT_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fare_limits.h"
#include "roce_ports.h"

#define PORT_PATH_SENDS 8 /* whose times are kept, to measure round trips */

enum port_source {
	PORT_UNKNOWN,
	PORT_LISTED,   /* by the daemon: may be seconds old */
	PORT_ANSWERED, /* by the peer, to an echo of this process */
};

struct port_slot {
	uint8_t source; /* enum port_source */
	uint8_t remote; /* sub-port; valid unless PORT_UNKNOWN */
	uint16_t n_users;
};

/* Bit p of a mask: port FARE_SOURCE_PORT_FIRST + p. */
struct port_path {
	uint16_t n_sub_ports; /* local ones, configured */
	uint32_t live;	      /* bit s: local sub-port s is up */
	/* the exchange under way */
	uint64_t nonce; /* 0: none */
	uint16_t asked[FARE_MAX_SUB_PORTS], answered[FARE_MAX_SUB_PORTS];
	uint16_t n_asked, n_answered;
	uint16_t sends;
	uint64_t sent_ns[PORT_PATH_SENDS]; /* of the last sends, by number */
	struct port_slot slots[];	   /* n_sub_ports x FARE_SOURCE_PORTS */
};

/* The ports that one lane has picked so far. */
struct port_pick {
	uint8_t load[FARE_MAX_SUB_PORTS];		      /* by remote sub-port */
	uint8_t pair[FARE_MAX_SUB_PORTS][FARE_MAX_SUB_PORTS]; /* by local and remote */
	uint16_t taken[FARE_MAX_SUB_PORTS];		      /* by local */
	uint16_t refused[FARE_MAX_SUB_PORTS];		      /* by the provider */
};

/* Bytes of a path whose plane has so many sub-ports here. */
size_t port_path_bytes(unsigned n_sub_ports);
/* NULL: not a port of the pool, or no such sub-port. */
struct port_slot *port_path_slot(struct port_path *path, unsigned local, uint16_t port);

/* One entry of the daemon's list. It counts where no echo was answered yet. */
void port_path_list(struct port_path *path, unsigned local, uint16_t port, unsigned remote);
/* Bit r: a known port leads to remote sub-port r. */
uint32_t port_path_remotes(const struct port_path *path);
/* Nothing is known any more, except what the exchange under way has answered. */
void port_path_forget(struct port_path *path);

/*
 * The port of a local sub-port that suits a lane best: one that is known before one that is not;
 * then to the remote sub-port of which the lane uses least; then whose (local, remote) pair it uses
 * least; then one that it does not use (distinct: never one that it uses); then what other groups
 * use least. The pick is noted in *pick. NULL: none is left.
 */
struct port_slot *port_path_pick(struct port_path *path, struct port_pick *pick, unsigned local,
				 bool distinct);
uint16_t port_path_port(const struct port_path *path, const struct port_slot *slot);
/* A lane uses that port already, or the provider refused it. */
void port_path_note(struct port_path *path, struct port_pick *pick, unsigned local, uint16_t port);
void port_path_refuse(struct port_path *path, struct port_pick *pick, unsigned local,
		      uint16_t port);

/* ---- the exchange ---- */

void port_path_begin(struct port_path *path, uint64_t nonce);
void port_path_end(struct port_path *path);
/* Asks for n more ports of each live local sub-port. Whether there are any. */
bool port_path_ask_more(struct port_path *path, unsigned n, bool known_first);
/* Asks for the ports that are in use. Whether there are any. */
bool port_path_ask_used(struct port_path *path);
/* Sub-ports that went down are not waited for. */
void port_path_set_live(struct port_path *path, uint32_t live);
bool port_path_all_answered(const struct port_path *path);
/* One round is sent: the number that its echoes carry is of this round. */
void port_path_sent(struct port_path *path, uint64_t now_ns);

struct port_echo {
	uint16_t local, port, candidate;
};
/* The echoes of a round, one after the other from *i = 0: those not answered yet. */
bool port_path_next_echo(const struct port_path *path, unsigned *i, struct port_echo *out);

/* It cannot be sent, as another process has the port: it is not asked again in this exchange. */
void port_path_unusable(struct port_path *path, const struct port_echo *echo);

enum port_reply {
	PORT_REPLY_STRAY,   /* no such echo is under way, or it was answered before */
	PORT_REPLY_GOOD,    /* as was known, or nothing was known */
	PORT_REPLY_CHANGED, /* the port leads elsewhere than was known */
};
/* *rtt_ns: of this echo; 0: not known. learns: the reply tells where the port leads. */
enum port_reply port_path_on_reply(struct port_path *path, uint64_t now_ns, uint64_t nonce,
				   uint16_t candidate, unsigned remote, bool learns,
				   uint64_t *rtt_ns);

#endif
