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
 */
#ifndef OFI_PEER_H
#define OFI_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "fare.h"
#include "ofi/ofi_hash.h"
#include "ofi/ofi_keys.h"
#include "ofi/ofi_limits.h"

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
	struct ofi_peer *prev, *next; /* in ofi_peers.dirty */
	struct ofi_domain *domain;
	struct fare_address address;
	struct ofi_link *links, *tx;
	struct ofi_op *queue;
	unsigned n_writes;	  /* that a group has, and has not completed */
	uint32_t eager_out;	  /* eager bytes that the peer has not given credit for */
	uint32_t owed;		  /* eager bytes taken here that the peer has not been told of */
	struct ofi_limits limits; /* of what it sends */
	struct ofi_keys keys;	  /* of its regions */
	bool is_self, is_dirty, credit_queued, is_cut;
	bool asks_keys;	    /* it keeps keys of regions here */
	uint64_t reopen_ns; /* not before; 0: at once */
};

struct ofi_own_message;

struct ofi_peers {
	struct ofi_peer *by_address, *dirty;
	struct ofi_own_message *own; /* from this process to itself */
	unsigned n_reopening;	     /* peers that wait to be opened again */
};

/* Finds or makes it; opens nothing. NULL: no memory. */
struct ofi_peer *ofi_peer_get(struct ofi_domain *domain, const struct fare_address *address);
/* Eager bytes were taken out of the queues here: the peer is told, now or with a next message. */
void ofi_peer_give_credit(struct ofi_peer *peer, uint32_t bytes);
/* The region with that key is closed: peers that may know it are told. */
void ofi_peers_forget_key(struct ofi_domain *domain, uint64_t key);
bool ofi_peer_has_window(const struct ofi_peer *peer, uint64_t bytes);
/* Its links end; what is outstanding toward it fails. A next operation opens another. */
void ofi_peer_disconnect(struct ofi_peer *peer);
/*
 * The peer does not keep to the protocol: its links end, what is outstanding toward it fails, and
 * it can open no other. Messages that it has sent before are still delivered.
 */
void ofi_peer_cut(struct ofi_peer *peer, const char *why);

void ofi_peers_on_event(struct ofi_domain *domain, const struct fare_event *event);
/* After events were taken: ends links that are closed, starts what waited. */
void ofi_peers_sweep(struct ofi_domain *domain);
/* Deadlines, and links to be opened again. */
void ofi_peers_tick(struct ofi_domain *domain, uint64_t now_ns);
/* No operation is queued or outstanding any more. */
void ofi_peers_fini(struct ofi_domain *domain);

#endif
