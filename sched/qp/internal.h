/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * internal.h - structures and functions that the files of sched/qp/ share.
 *
 * Ownership: a domain owns its endpoint, event queue and groups; a group owns its messages, chunks
 * and lanes; a lane owns its QPs. Chunks are named by index. Everything runs on the thread that
 * calls fare_domain_poll().
 *
 * A lane is a set of QPs that are made and end together. There is one lane for each plane. In
 * FARE_MODE_KERNEL there are as many lanes as the QPs that were asked for need.
 */
#ifndef QP_INTERNAL_H
#define QP_INTERNAL_H

#include "attach.h"
#include "fare.h"
#include "flow_table.h"
#include "qp/admission.h"
#include "qp/candidates.h"
#include "qp/control_seal.h"
#include "qp/control_wire.h"
#include "qp/endpoint.h"
#include "qp/engine.h"
#include "qp/event_queue.h"
#include "qp/failures.h"
#include "qp/handshake.h"
#include "qp/peer_address.h"
#include "qp/port_cache.h"
#include "qp/port_path.h"
#include "qp/provider.h"
#include "qp/ring.h"
#include "qp/run_queue.h"
#include "qp/timers.h"
#include "spray_fly.h"

#define PENDING_PER_QP 16 /* chunks assigned to a QP and not yet posted */
#define NO_CHUNK       UINT32_MAX
#define NO_MESSAGE     UINT32_MAX /* chunk.message of the READ of a flush (flush.h) */
#define KNOWN_KEYS     64
#define WINDOW_UNITS   16 /* most chunks in a window, if both follow the rate of the link */
#define MAX_GROUPS     4096

struct placement;

struct chunk {
	uint32_t next;	  /* in its list */
	uint32_t message; /* index into messages */
	uint32_t length;
	uint64_t offset;
	uint64_t flow;
	uint16_t lane, qp;
	bool is_record;
};

struct chunk_list {
	uint32_t head, tail, n;
};

struct lane_qp {
	struct qp *qp;
	uint16_t home;	   /* sub-port that the QP was made for */
	uint16_t sub_port; /* sub-port that the QP uses now */
	uint16_t source_port;
	uint32_t posted; /* chunks that were posted and have not completed */
	uint64_t posted_bytes;
	uint64_t progress_ns; /* when one completed last, or when one was posted after none was */
	/* assigned to this QP by the spray since the QP was made, times the QPs of its sub-port */
	uint64_t sprayed_bytes;
	struct chunk_list pending;
	uint64_t pending_bytes;
	bool is_dirty, is_flush_due; /* flush.c */
	struct fare_group *group;    /* qp_wc.context points to this struct lane_qp */
	uint16_t lane, index;
};

enum lane_state {
	/* no QPs. The opener rebuilds when the path is usable and the back-off is over */
	LANE_DOWN,
	LANE_LEARNING,	 /* until the port cache knows enough source ports of the path */
	LANE_OPENING,	 /* opener: LANE_OPEN was sent */
	LANE_CONNECTING, /* opener: LANE_ACCEPT arrived, the QPs are changing to RTS */
	LANE_ACCEPTING,	 /* acceptor: LANE_ACCEPT was sent, the QPs can receive */
	LANE_UP,
	/*
	 * own QPs are in error; waiting until their work requests are flushed, and until the peer
	 * confirms that its QPs are in error
	 */
	LANE_RESETTING,
};

/* Content of the peer's LANE_OPEN, kept until it is answered. */
struct lane_offer {
	struct control_qp qps[CONTROL_MAX_QPS];
	uint16_t n_addresses;
	uint8_t addresses[FARE_MAX_SUB_PORTS][16];
};

struct lane {
	struct fare_group *group;
	uint16_t index; /* within the group */
	enum lane_state state;
	uint32_t epoch;
	bool confirmed; /* RESETTING: the peer's QPs are known to be in error, or were never made */
	bool yields;	/* acceptor: on the next epoch nothing is posted before post_ns */
	bool attempted; /* an attempt to bring the lane up has succeeded or failed */
	int error;	/* -errno of the last failed attempt; 0: none failed since it was up */
	int post_error; /* -errno: a QP takes no posts, which lane_step() acts on */
	bool is_spared; /* RESETTING: not the path's failure, so back-off does not grow */
	unsigned n_qps;
	struct lane_qp *qps; /* n_qps of them */
	/* source ports that the lane needs: one for each QP; FARE_MODE_PACKET: all for one QP */
	unsigned n_ports;
	struct qp_path *ways; /* FARE_MODE_PACKET: path set, room for n_ports; n_ways in use */
	unsigned n_ways;
	struct lane_offer *offer;	    /* acceptor, LEARNING: not answered yet */
	struct port_entry *path;	    /* NULL: source ports are random */
	struct lane *path_prev, *path_next; /* all lanes of that path */
	/* LANE_RESET_ACK for ack_epoch is to be sent once all own completions have been read */
	bool ack_owed;
	uint32_t ack_epoch;
	uint64_t due_ns;   /* of the next action: resend, give up, rebuild */
	uint64_t since_ns; /* when the state began */
	uint64_t backoff_ns;
	uint64_t up_since_ns;
	uint64_t post_ns; /* UP: nothing is posted before */
	unsigned sends;
	unsigned post_turn;    /* index of the QP that may post next */
	uint64_t posted_bytes; /* of all its QPs */
	/* what the lane and each of its QPs may have posted; a little more by the last chunk */
	uint64_t room_bytes, qp_room_bytes;
};

enum record_state {
	RECORD_NONE,
	RECORD_WAITS,	/* for a number, for a chunk, or for a flush (flush.h) */
	RECORD_OUT,	/* a chunk of its own carries it */
	RECORD_PAIRED,	/* posted right behind the data, on the same QP */
	RECORD_UNKNOWN, /* the pair was flushed; the peer will say whether it took the record */
	RECORD_DONE,	/* acknowledged, or taken by the peer */
};

struct message {
	struct message *cut_prev, *cut_next;
	struct fare_write write; /* its mr is not used: it may be deregistered meanwhile */
	uint64_t number;	 /* counts the group's messages */
	uint64_t assigned;	 /* bytes that were cut into n_cut chunks */
	uint64_t n_cut;
	uint64_t placed;	/* bytes */
	uint64_t record_number; /* if has_number */
	uint32_t lkey;
	uint32_t open_chunks; /* chunks of data that were cut and are not placed yet */
	uint32_t stale_lanes; /* bit l: packets of an attempt on lane l may still arrive */
	uint32_t parked;      /* the chunk that was cut last, if no QP could take it */
	uint32_t held;	      /* the data chunk of a pair that was flushed */
	uint32_t kernel_qp;   /* placements hash and least: its QP */
	uint32_t send_bytes;  /* fare_group_send(): bytes of the message */
	uint64_t flush_round; /* number of the flush that its record waits for; 0: none */
	/* first error: no more chunks are posted, and those that were posted are awaited */
	int status;
	enum record_state record;
	bool in_use, is_read, is_send, is_queued, has_number;
	bool is_followed; /* FARE_SEND_MORE */
	bool late;	  /* its deadline passed and -ETIMEDOUT was reported */
};

enum group_state {
	GROUP_OPENING,
	GROUP_OPEN,
	/* nothing is sent or delivered; waits until no device uses memory of messages */
	GROUP_ENDING,
	GROUP_CLOSED,
};

struct fare_group {
	struct fare_domain *domain;
	struct fare_group *prev, *next; /* all of the domain */
	struct run_item run;
	struct handshake handshake;
	struct timer timer;
	bool is_listed, is_busy;
	/* a chunk could not be posted although there is room: no completion will retry it */
	bool is_stalled;
	enum group_state state;
	bool opener, announced; /* announced: CONNECTED or ACCEPTED was queued */
	/* the peer ended the group: -errno to end with, after what it had sent is delivered */
	int closing;
	int end_status; /* ENDING: status of the CLOSED event to come */
	uint32_t id, peer_id;
	uint64_t peer_incarnation;
	/*
	 * acceptor: a message named this group's id, so the opener is alive (a delayed GROUP_OPEN
	 * cannot name it)
	 */
	bool peer_proven;
	struct peer_address peer;
	/* another process at the GPU's own address: the kernel's loopback carries it */
	bool is_own_gpu;
	bool names_process; /* opener: only the incarnation that the application named counts */
	/* opener: of the last GROUP_CHALLENGE; is_challenged: no GROUP_OPEN was sent since */
	uint8_t nonce[CONTROL_NONCE_BYTES];
	bool is_challenged;
	uint32_t path_mtu;		     /* that both ends use */
	uint8_t *own_private, *peer_private; /* NULL: none */
	uint16_t own_private_bytes, peer_private_bytes;
	struct port_peer *port_peer;
	struct fare_pair *pair;
	struct fare_group_options options; /* defaults filled in */
	/*
	 * options.window_bytes belongs to a sub-port. All QPs of the sub-port share it. If it were
	 * divided among many QPs, each would have less than a batch. A lane may have posted the
	 * windows of its sub-ports, or less if it is slow (group_shape.h). A QP may have posted its
	 * part of that, so that one path that stalls does not stop the others. Beyond that, one
	 * chunk more for each sub-port of the lane, and one more for the QP, keeps the sender from
	 * waiting for the next chunk.
	 */
	uint32_t qp_window_bytes;
	uint32_t unit_bytes;	  /* size of a chunk now; not above the options' */
	uint32_t read_unit_bytes; /* size of a chunk that is read */
	unsigned n_sharing;	  /* sub-ports of a lane, which its QPs share */
	bool follows_rate;
	void *context;

	struct fare_paths paths; /* usable_bps without sub-ports that are narrow */
	uint64_t generation;	 /* of paths */
	/* bit s of a plane: what sub-port s carries (qp_mtus) is less than path_mtu */
	uint32_t narrow[FARE_MAX_PLANES];
	uint64_t mtu_changes; /* qp_mtus.changes that narrow was made for */
	unsigned n_lanes;
	struct lane *lanes;
	unsigned control_turn; /* chooses plane and sub-port of the next control message */
	/*
	 * while not announced. Opener: when to send the next GROUP_OPEN; after GROUP_ACCEPT: how
	 * long to wait for lanes. Acceptor: when the group is given up
	 */
	uint64_t due_ns;
	uint64_t opening_ns; /* when the first GROUP_OPEN was sent, or one was accepted */
	uint64_t alive_ns;   /* when to send the next GROUP_ALIVE */
	unsigned sends;

	/* exported state; NULL: the segment had no rows left */
	struct conn_shm_qp *shown_qps;	   /* n_lanes x n_qps */
	struct conn_shm_path *shown_paths; /* n_lanes; NULL also in FARE_MODE_KERNEL */

	/* what placement.c decides by */
	struct weights weights; /* usable planes whose lane is up */
	/* FARE_MODE_SPRAY, _PACKET: schedule over lanes, by bytes */
	struct spray_fly spray;
	uint64_t spray_bps[FARE_MAX_PLANES]; /* bandwidths that the schedule was made for */
	struct flow_table *flows;
	struct conn_shm_entry *flow_entries;
	struct conn_shm_entry *own_entries; /* used if the segment had no rows left */
	uint64_t flow_turn;
	unsigned kernel_turn;
	/* where the record went that the next one follows (FARE_SEND_MORE) */
	bool is_joined;
	uint16_t join_lane, join_qp;
	uint32_t join_bytes; /* of those that went there one behind the other */

	/* transfer.c: messages and chunks */
	const struct placement *placement;
	struct message *messages; /* options.max_messages of them */
	struct message *cut;	  /* messages that are not wholly cut into chunks, in order */
	unsigned message_turn;
	uint64_t next_number;
	unsigned n_messages, n_deadlines; /* outstanding; with a deadline */
	struct chunk *chunks;
	uint32_t n_chunks, max_chunks, free_chunk;
	struct chunk_list replay; /* chunks to be placed before new ones */
	bool posting;		  /* within an operation of the application: nothing completes */
	uint64_t known_keys[KNOWN_KEYS]; /* a chunk with this key was placed; a hash table */
	bool ends_wait;			 /* a message is done and has not completed yet */
	bool records_wait;		 /* a record waits for a number, a chunk or a flush */

	struct kept_piece *pieces; /* pieces.c */

	/*
	 * records.c: own records are sent from tx_records to the peer's ring, which has the layout
	 * of ring. The peer's records arrive in ring.
	 */
	uint64_t next_record, record_floor; /* all numbers below the floor are done */
	bool *records;			    /* number modulo max_messages: in use */
	struct ring_seen peer_seen;	    /* records that the peer has taken, as it said */
	uint8_t *tx_records;
	size_t tx_bytes;
	struct early_record *early; /* in_order: number modulo the ring's slots */
	uint64_t next_told;	    /* in_order: number of the next record to deliver */
	struct ring ring;
	struct qp_mr tx_mr, rx_mr;

	/* flush.c */
	unsigned n_dirty, n_flushing;
	uint64_t flush_rounds, flush_wanted; /* rounds done; last round that is waited for */
	uint32_t unflushed_lanes; /* bit l: not flushed until lane l is quiet at both ends */

	uint64_t peer_ring_addr;
	uint32_t peer_ring_rkey;

	struct fare_group_stats stats;
};

struct fare_domain {
	struct fare *fare;
	unsigned local_gpu;
	struct fare_domain_options options;
	struct endpoint ep;
	struct fare_mr *regions;
	struct mr_cache *mr_cache; /* NULL: fare_mr_get() was not called yet */
	uint64_t polled_ns; /* when the provider was last asked */

	/* engine.c */
	struct fare_group *groups, *scan;
	struct run_item *run_queue;
	struct fare_group *slots[MAX_GROUPS]; /* by id */
	uint32_t next_generation;
	unsigned n_groups, n_busy;
	struct timers timers;
	uint64_t scan_due_ns;
	uint64_t generation;  /* of what the daemon published */
	uint64_t mtu_changes; /* qp_mtus.changes that groups were woken for */
	struct event_queue events;
	uint64_t control_rejected;
	struct admission admission;

	struct port_cache ports;
	struct handshake_pace pace;

	/* domain.c */
	int epoll_fd, timer_fd;
	uint64_t tick_ns; /* interval of timer_fd, which is not read before tick_due_ns */
	uint64_t tick_due_ns;
};

/* What every public function asks first (attach.h). */
static inline int domain_check(const struct fare_domain *domain)
{
	return attach_check(domain ? domain->fare : NULL);
}

static inline int group_check(const struct fare_group *group)
{
	return domain_check(group ? group->domain : NULL);
}

/* domain.c: something begins, and the application is to look soon. */
void domain_has_work(struct fare_domain *domain);

/* regions.c */
void regions_fini(struct fare_domain *domain);
uint32_t domain_mr_lkey(const struct fare_mr *mr);
/* True: length bytes at data lie within the region, and the region is the domain's. */
bool domain_mr_holds(const struct fare_domain *domain, const struct fare_mr *mr, const void *data,
		     uint64_t length);

/* group.c */
/* offer: the GROUP_OPEN of a peer; NULL: this end opens the group. */
int group_create(struct fare_group **out, struct fare_domain *domain,
		 const struct peer_address *peer, const struct fare_group_options *options,
		 const struct control_message *offer);
void group_destroy(struct fare_group *group);
void group_step(struct fare_group *group);
/* When the group has to be stepped although nothing happens to it; now or before: at once. */
uint64_t group_due_ns(const struct fare_group *group);
bool group_paths_changed(const struct fare_group *group);
void group_follow_paths(struct fare_group *group); /* what the daemon says is in force */
void group_on_control(struct fare_group *group, const struct control_message *message);
/* Sends over the usable planes in turn. */
void group_send(struct fare_group *group, struct control_message *message);
/* The application has received no event of the group, and the group ended or is given up. */
bool group_stillborn(const struct fare_group *group);
/* The group ends or has ended: messages of the peer are answered with GROUP_GONE. */
bool group_is_over(const struct fare_group *group);
bool group_busy(const struct fare_group *group);
bool group_plane_usable(const struct fare_group *group, unsigned lane);
/* Bit s: QPs may use local sub-port s of the plane: it is live, and carries their packets. */
uint32_t group_sub_ports(const struct fare_group *group, unsigned plane);
/* The plane has live sub-ports, and none of them carries the group's packets. */
bool group_plane_narrow(const struct fare_group *group, unsigned plane);
/*
 * Ends the group. Once no device uses memory of its messages any more, they complete with
 * -ECANCELED and CLOSED follows.
 */
void group_end(struct fare_group *group, int status);
/* The peer has ended the group: it is ended here once everything that arrived was read. */
void group_on_peer_gone(struct fare_group *group);
void group_announce(struct fare_group *group); /* queues CONNECTED or ACCEPTED, once */
void group_fill_open(const struct fare_group *group, struct control_message *message);
/*
 * Call when usable bandwidths changed, or a lane came up or ended. Schedules follow, and chunks
 * that were not posted are assigned again.
 */
void group_reweight(struct fare_group *group);
/* operations.c: what an application asks for, in one form. */
struct operation {
	struct fare_write write;
	bool is_read;
	bool is_send; /* of send_bytes at send_data */
	bool is_followed;
	const void *send_data;
	uint32_t send_bytes;
};

/* transfer.c */
/* The operation was checked. 0, -ENOBUFS, -ENOMEM. */
int transfer_queue(struct fare_group *group, const struct operation *op);
/* What was queued begins. */
void transfer_go(struct fare_group *group);
int transfer_init(struct fare_group *group); /* -ENOMEM: transfer_fini() all the same */
void transfer_fini(struct fare_group *group);
void transfer_step(struct fare_group *group);
void transfer_check_deadlines(struct fare_group *group);
void transfer_on_completion(struct fare_group *group, const struct qp_wc *wc);
/* A lane's old QPs are gone at both ends: messages that waited for that may complete. */
void transfer_lane_confirmed(struct fare_group *group, unsigned lane);
/* Takes back the QP's chunks that were not posted; they are assigned again. */
void transfer_recall(struct fare_group *group, struct lane_qp *q);
/* The same for all QPs, and for chunks that wait for a QP: the weights changed. */
void transfer_place_anew(struct fare_group *group);
/* The group has ended and all its QPs are quiet: all messages complete with -ECANCELED. */
void transfer_cancel(struct fare_group *group);

/* lane.c */
int lanes_create(struct fare_group *group, unsigned n_lanes, unsigned n_qps, unsigned n_ports);
void lanes_destroy(struct fare_group *group);
/* During the group's handshake, asks where source ports lead that its lanes will need. */
void lanes_prepare(struct fare_group *group);
void lane_step(struct fare_group *group, unsigned lane);
uint64_t lane_due_ns(const struct fare_group *group, unsigned lane);
/* The lane changes its state, and has done so for less than a second: the fast tick is needed. */
bool lane_is_busy(const struct fare_group *group, unsigned lane);
/* Why no lane is up: -errno of a lane that failed; -ENETUNREACH: none was tried. */
int lanes_error(const struct fare_group *group);
void lane_on_control(struct fare_group *group, const struct control_message *message);
void lane_kill(struct fare_group *group, unsigned lane); /* QPs to error, LANE_RESET follows */
/* The same, because a work request of a QP failed. */
void lane_on_failure(struct fare_group *group, unsigned lane, enum failure failure);
/* A QP takes no posts, for a reason of the path: the lane ends at its next step. */
void lane_refuses_posts(struct fare_group *group, unsigned lane, int error);
void lane_drained(struct fare_group *group, unsigned lane); /* a work request was flushed */
/* The published path changed. hashes_anew: the leaf may use other links for each source port. */
void lane_follow_path(struct fare_group *group, unsigned lane, bool hashes_anew);

/* lane_qps.c */
bool lane_qps_exist(const struct lane *lane);
/* < 0: a QP failed by itself; > 0: a QP is changing its state; 0: no change is under way. */
int lane_qps_status(const struct fare_group *group, unsigned lane);
/* A QP has refused a request of the peer, and ended by that. */
bool lane_qps_refused(const struct fare_group *group, unsigned lane);
uint32_t lane_qps_posted(const struct lane *lane);
/* A chunk of so many bytes was posted on the QP; it completed, in whatever way. */
void lane_qps_on_post(struct fare_group *group, struct lane_qp *q, uint32_t bytes);
void lane_qps_on_completion(struct fare_group *group, struct lane_qp *q, uint32_t bytes);
/* A QP has posted chunks, and nothing has come back from it for longer than any path takes. */
bool lane_qps_stalled(const struct fare_group *group, unsigned lane);
int lane_qps_create(struct fare_group *group, unsigned lane); /* all of them, or none and -errno */
int lane_qps_connect(struct fare_group *group, unsigned lane, const struct control_qp *peer,
		     const uint8_t (*addresses)[16], unsigned n_addresses);
void lane_qps_follow_sub_ports(struct fare_group *group, unsigned lane);
void lane_qps_kick(struct fare_group *group, unsigned lane);
void lane_qps_destroy(struct fare_group *group, unsigned lane);

/* ways.c */
/* FARE_MODE_PACKET: from now on the lane's QP sends by all live sub-ports, evenly. */
int ways_set(struct fare_group *group, unsigned lane);
/* Source-port path i gets another source port. 0, or -errno: nothing was changed. */
int ways_replace(struct fare_group *group, unsigned lane, unsigned i, uint16_t port);
/* The lane has no path set any more. */
void ways_clear(struct lane *lane);

/* ports.c */
/* Local sub-port of the i-th QP: round-robin over the live ones. */
uint16_t ports_local_sub_port(const struct fare_group *group, unsigned lane, unsigned i);
/* The remote sub-port to which a port leads; -1: not known. */
int8_t ports_remote(const struct lane *lane, unsigned local, uint16_t port);
/* One QP or source-port path of the lane more (by = -1: less) uses that port. */
void ports_use(struct lane *lane, unsigned local, uint16_t port, int by);
/* Bit p: a QP of the group has port p of the pool; own: those of the lane itself count, too. */
uint16_t ports_of_group(const struct lane *lane, bool own);
/* Enough ports are known for each QP, and for each remote sub-port to get its part of them. */
bool ports_cover(const struct lane *lane);
/* The lane has more than one source port, so its load may be uneven. */
bool ports_can_be_uneven(const struct lane *lane);
/* The lane's ports are even over these remote sub-ports, as far as is known. */
bool ports_are_even(const struct lane *lane, uint32_t remotes);
/* The fewest QPs that make the lane even get other ports. True: at least one did. */
bool ports_even_out(struct lane *lane);

/* shown.c */
void shown_create(struct fare_group *group);
void shown_destroy(struct fare_group *group);
/* Call when the lane's state or the sub-port of one of its QPs changed. */
void shown_lane(struct fare_group *group, unsigned lane);
void shown_posted(struct fare_group *group, unsigned lane);
void shown_acked(struct fare_group *group, const struct lane_qp *q, uint32_t bytes);

#endif
