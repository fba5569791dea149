/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lanes.h - the lanes of a group. A lane is a set of QPs that are made and end together: those of
 * one plane (or, where the kernel routes, as few as possible).
 *
 * Solely owns: each lane's state, epoch and QPs, the handshakes that make and end them, the source
 * ports that they use (port_cache.h), how much is posted on each. In: control messages of the peer,
 * failures, changes of paths, `now` (the endpoint's). Out: QPs, control messages, and what the
 * group is to know: lanes_next_event(), which the group asks after each call that may change a
 * lane. Nothing in here calls the group or transfer.h. The domain's thread.
 */
#ifndef QP_LANES_H
#define QP_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "fare.h"
#include "qp/failures.h"

struct conn_segment;
struct control_message;
struct endpoint;
struct group_paths;
struct lanes;
struct peer_link;
struct port_peer;
struct qp_dcqcn;
struct qp_work;
struct run_item;

struct lanes_attr {
	const struct endpoint *ep;
	const struct group_paths *paths;
	struct peer_link *link;
	struct port_peer *peer; /* of the port cache */
	struct run_item *run;	/* the group's */
	struct fare_group *group;
	const struct fare_group_options *options; /* defaults filled in */
	const struct qp_dcqcn *dcqcn;		  /* of QPs */
	bool is_opener;
	bool learns_ports; /* false: source ports are random */
	unsigned n_lanes, n_qps;
	/* source ports that a lane needs, if one QP uses several (FARE_MODE_PACKET) */
	unsigned n_ports;
	uint32_t qp_window_bytes; /* that one QP may have on the wire */
};

/* All of it is borrowed. 0 or -ENOMEM. */
int lanes_create(struct lanes **out, const struct lanes_attr *attr);
void lanes_destroy(struct lanes *lanes); /* NULL is fine */
/* The group has an id: the lanes are exported to the daemon and the operator. */
void lanes_export(struct lanes *lanes, struct conn_segment *segment, unsigned local_gpu);

/* ---- what happened ---- */

enum lanes_event_kind {
	LANES_DYING = 1 << 0,	  /* nothing can be posted any more; what was posted comes back */
	LANES_UP = 1 << 1,	  /* it carries */
	LANES_CONFIRMED = 1 << 2, /* its QPs are gone at both ends, and their completions read */
	LANES_LOST = 1 << 3,	  /* the peer is another process than the one it led to */
};

struct lanes_event {
	unsigned lane;
	unsigned kinds; /* in the order of their numbers */
};

/* Takes what happened on one lane since it was asked last. False: nothing on any. */
bool lanes_next_event(struct lanes *lanes, struct lanes_event *out);

/* ---- the group's part ---- */

/* During the group's handshake, asks where source ports lead that the lanes will need. */
void lanes_prepare(struct lanes *lanes);
void lanes_step(struct lanes *lanes);
/* When lanes_step() is due although nothing happens; ENDPOINT_NEVER: not at all. */
uint64_t lanes_due_ns(const struct lanes *lanes);
/* A lane changes its state, and has done so for less than a second: the fast tick is needed. */
bool lanes_are_busy(const struct lanes *lanes);
/* No device sends from or places into memory of messages any more. */
bool lanes_are_quiet(const struct lanes *lanes);
/* Why no lane is up: -errno of a lane that failed; -ENETUNREACH: none was tried. */
int lanes_error(const struct lanes *lanes);
void lanes_on_control(struct lanes *lanes, const struct control_message *message);
void lanes_end(struct lanes *lanes); /* all QPs to error */
/*
 * The published path of a lane changed. hashes_anew: the leaf may use other links for each source
 * port. is_slower: what is queued toward a link that went is lost, so it is sent again at once.
 */
void lanes_follow_path(struct lanes *lanes, unsigned lane, bool hashes_anew, bool is_slower);
/* What the lane and each of its QPs may have posted; a little more by the last chunk. */
void lanes_set_room(struct lanes *lanes, unsigned lane, uint64_t bytes, uint64_t qp_bytes);
/* An attempt to bring the lane up has succeeded or failed. */
bool lanes_was_tried(const struct lanes *lanes, unsigned lane);
uint64_t lanes_n_deaths(const struct lanes *lanes);
uint64_t lanes_n_rebuilds(const struct lanes *lanes);
/* One line for each lane, and for each QP that has something to do. */
void lanes_dump(const struct lanes *lanes, const uint32_t *weights, int fd);

/* ---- the part of transfer.h ---- */

/* qp_wc.context points to it. */
struct lanes_qp {
	struct fare_group *group;
	uint16_t lane, index;
};

bool lanes_is_up(const struct lanes *lanes, unsigned lane);
/* The lane ends, and the peer's QPs are known to be in error. */
bool lanes_is_confirmed(const struct lanes *lanes, unsigned lane);
/* The QP may post now: a chunk; or a record, which needs no room. */
bool lanes_has_room(const struct lanes *lanes, unsigned lane, unsigned qp, bool is_record);
/* Of the lane as a whole. */
bool lanes_lane_has_room(const struct lanes *lanes, unsigned lane);
/* The provider's post(). What was posted counts until it completes. */
int lanes_post(struct lanes *lanes, unsigned lane, unsigned qp, const struct qp_work *work);
/*
 * Something of that length completed, with success or not. False: nothing was posted on that QP.
 * If it failed, lanes_on_failure() follows once the completion is dealt with.
 */
bool lanes_on_completion(struct lanes *lanes, unsigned lane, unsigned qp, uint32_t bytes);
/* It was acknowledged (exported state). */
void lanes_on_acknowledged(struct lanes *lanes, unsigned lane, unsigned qp, uint32_t bytes);
/* A work request of a QP failed: the lane ends, or has ended if that was the last one. */
void lanes_on_failure(struct lanes *lanes, unsigned lane, enum failure failure);
/* A QP takes no posts, for a reason of the path: the lane ends at its next step. */
void lanes_refuse_posts(struct lanes *lanes, unsigned lane, int error);

uint64_t lanes_posted_bytes(const struct lanes *lanes, unsigned lane);
uint64_t lanes_qp_posted_bytes(const struct lanes *lanes, unsigned lane, unsigned qp);
uint32_t lanes_qp_posted(const struct lanes *lanes, unsigned lane, unsigned qp); /* requests */
/* QPs of the lane that leave by the same sub-port. */
unsigned lanes_qp_sharing(const struct lanes *lanes, unsigned lane, unsigned qp);
uint16_t lanes_qp_source_port(const struct lanes *lanes, unsigned lane, unsigned qp);

#endif
