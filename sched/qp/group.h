/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group.h - a group: its handshake with the peer, and the wiring of lanes.h and transfer.h.
 *
 * Solely owns: the group's state and options, and the exchange that opens it. In: control messages,
 * completions, changes of paths, `now`. Out: calls of lanes and transfer, in one place each: what
 * lanes say by lanes_next_event() goes to transfer, what transfer cannot go on without ends the
 * group. Neither calls the group. The domain's thread.
 */
#ifndef QP_GROUP_H
#define QP_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "fare.h"
#include "qp/control_wire.h"
#include "qp/group_paths.h"
#include "qp/group_shape.h"
#include "qp/handshake.h"
#include "qp/lanes.h"
#include "qp/peer_link.h"
#include "qp/run_queue.h"
#include "qp/timers.h"
#include "qp/transfer.h"

enum group_state {
	GROUP_OPENING,
	GROUP_OPEN,
	/* nothing is sent or delivered; waits until no device uses memory of messages */
	GROUP_ENDING,
	GROUP_CLOSED,
};

struct fare_group {
	struct fare_domain *domain;
	struct fare_group_options options; /* defaults filled in */
	struct group_shape shape;
	struct group_paths paths;
	struct peer_link link;
	struct port_peer *port_peer;
	struct lanes *lanes;
	struct transfer *transfer;
	void *context;

	/* engine.c */
	struct fare_group *prev, *next; /* all of the domain */
	struct run_item run;
	struct timer timer;
	bool is_busy;
	/*
	 * acceptor: a message named this group's id, so the opener is alive (a delayed GROUP_OPEN
	 * cannot name it)
	 */
	bool peer_proven;

	enum group_state state;
	bool opener, announced; /* announced: CONNECTED or ACCEPTED was queued */
	/* the peer ended the group: -errno to end with, after what it had sent is delivered */
	int closing;
	int end_status; /* ENDING: status of the CLOSED event to come */
	struct handshake handshake;
	bool names_process; /* opener: only the incarnation that the application named counts */
	/* opener: of the last GROUP_CHALLENGE; is_challenged: no GROUP_OPEN was sent since */
	uint8_t nonce[CONTROL_NONCE_BYTES];
	bool is_challenged;
	uint8_t *own_private, *peer_private; /* NULL: none */
	uint16_t own_private_bytes, peer_private_bytes;
	/*
	 * while not announced. Opener: when to send the next GROUP_OPEN; after GROUP_ACCEPT: how
	 * long to wait for lanes. Acceptor: when the group is given up
	 */
	uint64_t due_ns;
	uint64_t opening_ns; /* when the first GROUP_OPEN was sent, or one was accepted */
	uint64_t alive_ns;   /* when to send the next GROUP_ALIVE */
	unsigned sends;
};

/* offer: the GROUP_OPEN of a peer; NULL: this end opens the group. */
int group_create(struct fare_group **out, struct fare_domain *domain,
		 const struct peer_address *peer, const struct fare_group_options *options,
		 const struct control_message *offer);
/* It has an id: it is exported, and follows the paths. */
void group_begin(struct fare_group *group, uint32_t id);
void group_destroy(struct fare_group *group);
/* Tells the peer that the group ends here, if it is open. */
void group_leave(struct fare_group *group);

void group_step(struct fare_group *group);
/* When the group has to be stepped although nothing happens to it; now or before: at once. */
uint64_t group_due_ns(const struct fare_group *group);
bool group_busy(const struct fare_group *group);
/* Operations were queued with transfer_queue(): they begin. */
void group_go(struct fare_group *group);
void group_on_control(struct fare_group *group, const struct control_message *message);
void group_on_completion(struct fare_group *group, const struct lanes_qp *at,
			 const struct qp_wc *wc);
void group_fill_open(const struct fare_group *group, struct control_message *message);
/* The application has received no event of the group, and the group ended or is given up. */
bool group_is_abandoned(const struct fare_group *group);
/* The group ends or has ended: messages of the peer are answered with GROUP_GONE. */
bool group_is_over(const struct fare_group *group);
/*
 * Ends the group. Once no device uses memory of its messages any more, they complete with
 * -ECANCELED and CLOSED follows.
 */
void group_end(struct fare_group *group, int status);
/* The peer has ended the group: it is ended here once everything that arrived was read. */
void group_on_peer_gone(struct fare_group *group);
/* Most events that the group may add without a poll. */
uint32_t group_most_events(const struct fare_group *group);

#endif
