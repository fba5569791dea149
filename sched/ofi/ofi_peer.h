/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_peer.h - the processes that this one exchanges data with, and the groups toward them.
 *
 * FI_EP_RDM knows no connections; groups are connections. A peer is a process (struct
 * fare_address). Two processes that open at the same time have two groups, one for each direction;
 * all messages of one direction take one in-order group (ofi_link.h).
 *
 * Owns peers and links, and what is counted for each peer.
 * Toward this process itself there is no group: its messages come back by ofi_self_deliver().
 *
 * A peer's name is what libfare has authenticated (fare_group_peer_address()); it says nothing of
 * that itself. A peer exists while there is a reason: a link, an entry of an AV, an operation, or
 * something of its messages that the application has not taken. After the last it is freed.
 */
#ifndef OFI_PEER_H
#define OFI_PEER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "fare.h"
#include "ofi/ofi_tables.h"
#include "ofi/ofi_wire.h"

struct ofi_domain;
struct ofi_message;
struct ofi_op;

struct ofi_link {
	struct ofi_link *prev, *next;
	struct ofi_peer *peer;
	struct fare_group *group;
	bool opened, connected, closed;
	int status;		     /* of FARE_EVENT_CLOSED */
	struct ofi_message *partial; /* of which records are still to come; ofi_rx.h */
};

struct ofi_peer {
	UT_hash_handle hh;
	struct ofi_peer *prev, *next;		  /* in ofi_peers.dirty */
	struct ofi_peer *timed_prev, *timed_next; /* in ofi_peers.timed */
	struct ofi_peer *left_prev, *left_next;	  /* in ofi_peers.left */
	struct ofi_domain *domain;
	struct fare_address address; /* or a name alone (ofi_named.h) */
	UT_hash_handle hh_name;	     /* in ofi_peers.by_name, while is_up */
	struct fare_address name;
	bool is_up;
	unsigned n_names;    /* of n_entries: inserted by name */
	struct in6_addr gpu; /* once there was a link */
	struct ofi_link *links, *tx;
	struct ofi_op *queue;
	unsigned n_entries;	  /* of AVs */
	unsigned n_ops;		  /* operations toward it */
	unsigned n_forgets;	  /* OFI_FORGETs in its queue */
	unsigned n_writes;	  /* that a group has, and has not completed */
	uint64_t out_bytes;	  /* sent to it, without credit so far (ofi_wire_cost()) */
	uint32_t owed;		  /* kept no longer here, and the peer has not been told */
	struct ofi_limits limits; /* of what it sends */
	struct ofi_keys keys;	  /* of its regions */
	bool is_self, is_dirty, is_timed, is_left, credit_queued, is_cut;
	bool asks_keys;	    /* it keeps keys of regions here */
	uint64_t reopen_ns; /* not before; 0: at once */
};

struct ofi_own_message;

struct ofi_peers {
	struct ofi_peer *by_address, *by_name, *dirty;
	struct ofi_peer *timed; /* whose operations wait: deadlines, links to be opened again */
	/* without a link or an entry of an AV: here for what the application has not taken */
	struct ofi_peer *left;
	struct ofi_own_message *own; /* from this process to itself */
	uint64_t said_ns;	     /* when a line that peers can cause was last logged */
	unsigned n_reopening;	     /* peers that wait to be opened again */
};

/* Finds or makes it; opens nothing. NULL: no memory. */
struct ofi_peer *ofi_peer_get(struct ofi_domain *domain, const struct fare_address *address);
/* Its address is a name: no link with it is known (ofi_named.h). */
bool ofi_peer_is_name(const struct ofi_peer *peer);
/* It is looked at in ofi_peers_sweep(): freed, if nothing needs it any more. */
void ofi_peer_changed(struct ofi_peer *peer);
/* It is looked at in each ofi_peers_tick() while operations of it wait. */
void ofi_peer_time(struct ofi_peer *peer);
/* It can be told something without a new link. */
bool ofi_peer_is_linked(const struct ofi_peer *peer);
/* An operation toward it is made, is over. */
void ofi_peer_add_op(struct ofi_peer *peer);
void ofi_peer_remove_op(struct ofi_peer *peer, struct ofi_op *op);

/*
 * So many bytes of what the peer has sent are kept no longer: it is told, now or with a next
 * message.
 */
void ofi_peer_give_credit(struct ofi_peer *peer, uint64_t bytes);
/* The same where it cannot be told, or need not be. */
void ofi_peer_taken(struct ofi_peer *peer, uint64_t bytes);
/* True: the peer keeps a message of that kind, which is counted until its credit comes. */
bool ofi_peer_charge(struct ofi_op *op, uint8_t kind, uint64_t length);
/* It is not kept, and no credit will come of it. */
void ofi_peer_uncharge(struct ofi_op *op);
/* The region with that key is closed: peers that may know it are told. */
void ofi_peers_forget_key(struct ofi_domain *domain, uint64_t key);
/* Its links end; what is outstanding toward it fails. A next operation opens another. */
void ofi_peer_disconnect(struct ofi_peer *peer);
/*
 * The peer does not keep to the protocol: its links end, what is outstanding toward it fails, and
 * what it has sent and no receive has taken is dropped. It can open no other link before.
 */
void ofi_peer_cut(struct ofi_peer *peer, const char *why);

/*
 * What peers from that address have left here is so much that no other from there is accepted,
 * until the application has taken some of it.
 */
bool ofi_peers_are_full(const struct ofi_domain *domain, const struct in6_addr *address);
/* A line that peers can cause may be logged: one a second. */
bool ofi_peers_may_say(struct ofi_domain *domain);

void ofi_peers_on_event(struct ofi_domain *domain, const struct fare_event *event);
/* After events were taken: ends links that are closed, starts what waited. */
void ofi_peers_sweep(struct ofi_domain *domain);
/* Deadlines, and links to be opened again. */
void ofi_peers_tick(struct ofi_domain *domain, uint64_t now_ns);
/* So no operation is a group's any more. */
void ofi_peers_close_links(struct ofi_domain *domain);
/* There are neither links nor operations. */
void ofi_peers_fini(struct ofi_domain *domain);

#endif
