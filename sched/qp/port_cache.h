/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * port_cache.h - what a domain knows of its peers' paths: where source ports lead, and whether a
 * plane answers. All groups toward a peer share it.
 *
 * Solely owns: one entry for each peer (round trip, last message) and for each (peer, plane)
 * that a lane uses (port_path.h), the echoes under way, and when to ask again. In: lanes that are
 * about to be made, lanes that are up, changes of the path, replies, now. Out: echoes; groups that
 * are woken; source ports that lanes move to (lane_ports.c). Opens nothing and reads no clock.
 * Thread: the domain's.
 *
 * However many groups open toward a peer, one exchange for each path serves them all. It learns
 * where ports lead, and proves that the plane carries packets both ways: a lane is not built on a
 * plane that answers nothing.
 *
 * A leaf hashes anew whenever its links to the peer become fewer or more. So the ports in use are
 * asked for again: on a change of the path; else after FIRST_NS, twice that, and so on up to
 * MAX_NS. (Carrier returns seconds before BGP does, and no message says when the leaf is done. With
 * doubling intervals, what it did last is noticed after no longer than it took to do it.) If a port
 * leads elsewhere than before, nothing else that was known of the path counts; all ports are asked
 * for, and each lane moves the fewest QPs that make it even.
 *
 * Where echoes do not travel as QPs' packets do (qp_provider.echoes_learn_ports), they prove only
 * that the plane answers.
 */
#ifndef PORT_CACHE_H
#define PORT_CACHE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "qp/endpoint.h"
#include "qp/handshake.h"
#include "qp/peer_address.h"
#include "qp/timers.h"

struct control_message;
struct lane;
struct port_entry; /* one (peer, plane) */
struct port_peer;

struct port_cache {
	struct endpoint *ep;
	struct handshake_pace *pace;
	struct port_peer *peers; /* a hash by address and port: what a leaf hashes */
	struct timers timers;
	unsigned n_entries;
	struct handshake_rtt rtt; /* of all peers */
};

void port_cache_init(struct port_cache *cache, struct endpoint *ep, struct handshake_pace *pace);
void port_cache_fini(struct port_cache *cache); /* all lanes are detached */

/* The peer of a group. NULL: no memory. */
struct port_peer *port_cache_get_peer(struct port_cache *cache, const struct peer_address *address);
void port_cache_put_peer(struct port_cache *cache, struct port_peer *peer); /* NULL is fine */
/* An authenticated message came from there. */
void port_cache_on_message(struct port_cache *cache, const struct peer_address *address);
/* How long ago that was. */
uint64_t port_peer_silence_ns(const struct port_peer *peer);
/* A round trip was measured. */
void port_peer_measured(struct port_peer *peer, uint64_t rtt_ns);
/* handshake_resend_ns() of this peer; before anything is measured, of all peers. */
uint64_t port_peer_resend_ns(const struct port_peer *peer, unsigned n);

/* Bit s: local sub-port s toward that plane is up, and loses nothing. 0: not known, or none is. */
uint32_t port_cache_live(struct port_cache *cache, const struct peer_address *address,
			 unsigned plane);

/* The lane uses its path from now on. 0 or -ENOMEM. */
int port_cache_attach(struct lane *lane);
void port_cache_detach(struct lane *lane);

/* The lane will soon be in LANE_LEARNING: what it will need is asked for. */
void port_cache_prepare(struct lane *lane);
/*
 * A lane in LANE_LEARNING: 0: enough is known to make its QPs; > 0: its group is woken when that
 * may be so; -EHOSTUNREACH: the plane does not answer; another -errno: no echo could be sent.
 */
int port_cache_ready(struct lane *lane);
/* The lane is up: its ports are to be watched. */
void port_cache_watch(struct lane *lane);
/* A lane's QPs died: that the plane answered before proves nothing now. */
void port_cache_doubt(struct lane *lane);
/* The path changed: ask soon. */
void port_cache_hint(struct lane *lane);
/* Its live sub-ports may have changed. */
void port_cache_follow(struct lane *lane);

void port_cache_on_reply(struct port_cache *cache, const struct peer_address *remote,
			 const struct control_message *reply);
/* Does what is due. */
void port_cache_step(struct port_cache *cache);
/* ENDPOINT_NEVER: nothing. */
uint64_t port_cache_due_ns(const struct port_cache *cache);

#endif
