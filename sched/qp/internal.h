/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * internal.h - what the files of sched/qp/ share of their insides.
 *
 * Ownership: a domain owns its endpoint, event queue and groups; a group owns its messages, chunks
 * and lanes; a lane owns its QPs. Chunks are named by index. Everything runs on the thread that
 * calls fare_domain_poll().
 *
 * A lane is the set of QPs that live and die together: one per plane, or, in FARE_MODE_KERNEL, as
 * many as it takes to hold the QPs asked for.
 */
#ifndef QP_INTERNAL_H
#define QP_INTERNAL_H

#include "attach.h"
#include "fare.h"
#include "flow_table.h"
#include "qp/candidates.h"
#include "qp/control_seal.h"
#include "qp/control_wire.h"
#include "qp/engine.h"
#include "qp/handshake.h"
#include "qp/peer_address.h"
#include "qp/port_cache.h"
#include "qp/port_path.h"
#include "qp/provider.h"
#include "qp/ring.h"
#include "qp/timers.h"
#include "spray_fly.h"

#define MAX_MESSAGES   128
#define PENDING_PER_QP 16 /* chunks assigned to a QP beyond what it may have on the wire */
#define NO_CHUNK       UINT32_MAX
#define NO_MESSAGE     UINT32_MAX /* of a chunk: a flush (flush.h) */
#define KNOWN_KEYS     64
#define WINDOW_UNITS   16 /* chunks that a window holds at most where both follow the rate */
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
	uint16_t home;	   /* sub-port it was made for */
	uint16_t sub_port; /* where it is now */
	uint16_t source_port;
	uint32_t posted; /* chunks the provider holds */
	uint64_t posted_bytes;
	uint64_t sprayed_bytes; /* that the spray gave it since it was made */
	struct chunk_list pending;
	uint64_t pending_bytes;
	bool is_dirty, is_flush_due; /* flush.c */
	struct fare_group *group;    /* struct qp_wc.context leads here */
	uint16_t lane, index;
};

enum lane_state {
	/* no QPs. The opener rebuilds when the path works and the back-off is over */
	LANE_DOWN,
	LANE_LEARNING,	 /* until the port cache knows enough of the path */
	LANE_OPENING,	 /* opener: LANE_OPEN sent */
	LANE_CONNECTING, /* opener: LANE_ACCEPT came, its QPs are on their way to RTS */
	LANE_ACCEPTING,	 /* acceptor: LANE_ACCEPT sent, its QPs already receive */
	LANE_UP,
	/* own QPs in error; waiting for their flushes and for the peer's word that its are, too */
	LANE_RESETTING,
};

/* What the peer's LANE_OPEN said, while it is being answered. */
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
	bool confirmed; /* RESETTING: the peer's QPs are known to be gone */
	bool attempted; /* was once tried to the end */
	int error;	/* -errno: why it is not up; 0: no attempt failed since it was */
	unsigned n_qps;
	struct lane_qp *qps; /* n_qps of them */
	/* source ports that it needs: one a QP, or, FARE_MODE_PACKET, all for one */
	unsigned n_ports;
	struct qp_path *ways; /* FARE_MODE_PACKET: room for n_ports; n_ways are in force */
	unsigned n_ways;
	struct lane_offer *offer;	    /* acceptor, LEARNING: to be answered */
	struct port_entry *path;	    /* NULL: its ports are left to chance */
	struct lane *path_prev, *path_next; /* all lanes of that path */
	bool ack_owed; /* LANE_RESET_ACK for ack_epoch, as soon as our QPs are known to be quiet */
	uint32_t ack_epoch;
	uint64_t due_ns;   /* next action: resend, give up, rebuild */
	uint64_t since_ns; /* of the state */
	uint64_t backoff_ns;
	uint64_t up_since_ns;
	unsigned sends;
	unsigned post_turn;    /* and who may post next */
	uint64_t posted_bytes; /* of all its QPs */
};

enum record_state {
	RECORD_NONE,
	RECORD_WAITS,	/* for a number, a chunk, or for its pair to be resolved */
	RECORD_OUT,	/* a chunk of its own carries it */
	RECORD_PAIRED,	/* posted right behind the data, on the same QP */
	RECORD_UNKNOWN, /* it was paired, and flushed: the peer will say whether it took it */
	RECORD_DONE,
};

struct message {
	struct message *cut_prev, *cut_next;
	struct fare_write write; /* its mr is not looked at again: it may be gone */
	uint64_t number;	 /* counts the group's messages */
	uint64_t assigned;	 /* bytes cut into chunks, n_cut of them */
	uint64_t n_cut;
	uint64_t placed;	/* bytes */
	uint64_t record_number; /* if has_number */
	uint32_t lkey;
	uint32_t open_chunks; /* of data: cut, and not yet placed for good */
	uint32_t stale_lanes; /* bit l: an attempt on lane l may still be under way */
	uint32_t parked;      /* the chunk cut last, which no QP takes now */
	uint32_t held;	      /* the data of a pair that was flushed */
	uint32_t kernel_qp;   /* placements hash and least: its QP */
	uint32_t send_bytes;  /* of a message that is its record */
	uint64_t flush_round; /* its record waits for that; 0: for none */
	int status;	      /* first error: nothing more is placed, what is out is awaited */
	enum record_state record;
	bool in_use, is_read, is_send, is_queued, has_number;
	bool late; /* its deadline passed, and that was reported */
};

enum group_state {
	GROUP_OPENING,
	GROUP_OPEN,
	/* nothing is sent or taken any more; memory is held until no device uses it */
	GROUP_ENDING,
	GROUP_CLOSED,
};

struct fare_group {
	struct fare_domain *domain;
	struct fare_group *prev, *next;		  /* all of the domain */
	struct fare_group *run_prev, *run_next;	  /* those to be stepped */
	struct fare_group *turn_prev, *turn_next; /* those that wait to shake hands */
	enum handshake_turn turn;
	struct timer timer;
	bool is_listed, is_runnable, is_busy;
	/* a chunk was not posted although there is room: no completion brings that back */
	bool is_stalled;
	enum group_state state;
	bool opener, announced; /* announced: CONNECTED or ACCEPTED was said */
	/* the peer closed: -errno to close with, once what it had sent before is delivered */
	int closing;
	int end_status; /* ENDING: what CLOSED will say */
	uint32_t id, peer_id;
	uint64_t peer_incarnation;
	/* acceptor: a message named its id, which is as old as the group: the opener is alive */
	bool peer_proven;
	struct peer_address peer;
	bool names_process; /* opener: of that incarnation alone, or none */
	uint32_t path_mtu, peer_path_mtu;
	uint8_t *own_private, *peer_private; /* NULL: none */
	uint16_t own_private_bytes, peer_private_bytes;
	struct port_peer *port_peer;
	struct fare_pair *pair;
	struct fare_group_options options; /* defaults filled in */
	/*
	 * options.window_bytes belongs to a sub-port, and whichever of its QPs has something to
	 * send may use it: divided among them for good, it would leave each of many less than a
	 * batch. What a lane has posted keeps to the windows of its sub-ports; what one QP has, to
	 * its part of that, so that a path that stalls does not stop the others. Both and a chunk
	 * more, for the wire never to run dry.
	 */
	uint32_t qp_window_bytes;
	uint64_t lane_room_bytes, qp_room_bytes;
	/* in force: of a sub-port, of a chunk; no more than the options say */
	uint32_t window_bytes, unit_bytes;
	unsigned n_sharing; /* sub-ports of a lane that its QPs share */
	bool follows_rate;
	void *context;

	struct fare_paths paths;
	uint64_t generation; /* of paths */
	unsigned n_lanes;
	struct lane *lanes;
	unsigned control_turn; /* which plane and sub-port carry the next control message */
	/*
	 * while not announced; opener: the next GROUP_OPEN, then the end of waiting for a lane;
	 * acceptor: it is given up
	 */
	uint64_t due_ns;
	uint64_t opening_ns; /* the first GROUP_OPEN */
	uint64_t alive_ns;   /* the next GROUP_ALIVE */
	unsigned sends;

	struct conn_shm_qp *shown_qps;	   /* n_lanes x n_qps; NULL: none was left */
	struct conn_shm_path *shown_paths; /* n_lanes; NULL too in FARE_MODE_KERNEL */

	/* what decides */
	struct weights weights; /* usable planes whose lane is up */
	/* FARE_MODE_SPRAY, _PACKET: lanes in turn, chunks paid for by their bytes */
	struct spray_fly spray;
	uint64_t spray_bps[FARE_MAX_PLANES]; /* its weights */
	struct flow_table *flows;
	struct conn_shm_entry *flow_entries;
	struct conn_shm_entry *own_entries; /* where the segment had none left */
	uint64_t flow_turn;
	unsigned kernel_turn;

	/* transfer.c: what is on its way */
	const struct placement *placement;
	struct message *messages; /* options.max_messages of them */
	struct message *cut;	  /* those not wholly cut, in their order */
	unsigned message_turn;
	uint64_t next_number;
	unsigned n_messages, n_deadlines; /* outstanding; with a deadline */
	struct chunk *chunks;
	uint32_t n_chunks, max_chunks, free_chunk;
	struct chunk_list replay; /* to be placed before anything new */
	bool posting;		  /* within an operation of the application: nothing completes */
	uint64_t known_keys[KNOWN_KEYS]; /* a chunk by them was placed; in no order */
	bool ends_wait;			 /* a message came to its end meanwhile */
	bool records_wait;		 /* for a number or a chunk */

	struct kept_piece *pieces; /* pieces.c */

	/*
	 * records.c: ours leave from tx_records, for a ring like our own; the peer's arrive in
	 * ring.
	 */
	uint64_t next_record, record_floor; /* numbers below the floor are done */
	bool *records;			    /* number modulo max_messages: unfinished */
	struct ring_seen peer_seen;	    /* what the peer has said that it took */
	uint8_t *tx_records;
	size_t tx_bytes;
	struct early_record *early; /* in_order: number modulo the ring's slots */
	uint64_t next_told;	    /* in_order */
	struct ring ring;
	struct qp_mr tx_mr, rx_mr;

	/* flush.c */
	unsigned n_dirty, n_flushing;
	uint64_t flush_rounds, flush_wanted; /* done; the last that is waited for */
	uint32_t unflushed_lanes;	     /* bit l: until it is quiet at both ends */

	uint64_t peer_ring_addr;
	uint32_t peer_ring_rkey;

	struct fare_group_stats stats;
};

/* What arrived by fare_group_send(): the application's until the poll after it was told. */
struct inbox {
	struct inbox *next;
	uint8_t bytes[];
};

struct handshake_pace {
	unsigned n_active, limit;
	uint64_t cut_ns; /* when limit was last cut */
	struct fare_group *waiting;
};

struct fare_domain {
	struct fare *fare;
	unsigned local_gpu;
	struct fare_domain_options options;
	const struct qp_provider *provider;
	struct qp_endpoint *endpoint;
	struct qp_endpoint_attr attr;
	uint16_t port;	   /* UDP, where peers reach this process */
	uint32_t path_mtu; /* the largest that the endpoint takes */
	struct control_seal seal;
	uint64_t incarnation;
	struct fare_mr *regions;
	struct mr_cache *mr_cache; /* NULL: nothing was taken from it yet */
	/* never 0; a simulation's is seeded */
	uint64_t (*random)(void *arg);
	void *random_arg;
	uint64_t now_ns; /* of the current poll */

	/* engine.c */
	struct fare_group *groups, *run_queue, *scan;
	struct fare_group *slots[MAX_GROUPS]; /* by id */
	uint32_t next_generation;
	unsigned n_groups, n_busy;
	struct timers timers;
	uint64_t scan_due_ns;
	uint64_t generation; /* of what the daemon published */
	bool drained;	     /* the provider has no completions that it was not asked for */
	struct fare_event *events;
	uint32_t event_head, event_count, event_room, events_unasked;
	struct inbox *handed; /* named by events of the last poll */
	uint64_t control_rejected;

	struct port_cache ports;
	struct handshake_pace pace;

	/* domain.c */
	int epoll_fd, timer_fd;
	uint64_t tick_ns; /* between ticks of timer_fd; it is not asked before the next is due */
	uint64_t tick_due_ns;
};

static inline uint64_t domain_random(const struct fare_domain *domain)
{
	return domain->random(domain->random_arg);
}

/* domain.c: something begins, and the application is to look soon. */
void domain_has_work(struct fare_domain *domain);

/* regions.c */
void regions_fini(struct fare_domain *domain);
uint32_t domain_mr_lkey(const struct fare_mr *mr);
/* length bytes at data belong to the region, which is one of the domain's. */
bool domain_mr_holds(const struct fare_domain *domain, const struct fare_mr *mr, const void *data,
		     uint64_t length);

/* group.c */
/* offer: the GROUP_OPEN of a peer; NULL: this end opens it. */
int group_create(struct fare_group **out, struct fare_domain *domain,
		 const struct peer_address *peer, const struct fare_group_options *options,
		 const struct control_message *offer);
void group_destroy(struct fare_group *group);
void group_step(struct fare_group *group);
/* When it is to be stepped although nothing happens to it; not later than now: at once. */
uint64_t group_due_ns(const struct fare_group *group);
bool group_paths_changed(const struct fare_group *group);
void group_follow_paths(struct fare_group *group); /* what the daemon says is in force */
void group_on_control(struct fare_group *group, const struct control_message *message);
/* over the next live plane in turn */
void group_send(struct fare_group *group, struct control_message *message);
/* the application never heard of it, and need not */
bool group_stillborn(const struct fare_group *group);
/* It ends, or has ended: the peer is told that there is no such group. */
bool group_is_over(const struct fare_group *group);
bool group_busy(const struct fare_group *group);
bool group_plane_usable(const struct fare_group *group, unsigned lane);
/*
 * It is over. CLOSED follows, and before it -ECANCELED of all writes, once no device uses their
 * memory any more.
 */
void group_end(struct fare_group *group, int status);
/* It closes once everything that arrived was read. */
void group_on_peer_gone(struct fare_group *group);
void group_announce(struct fare_group *group); /* tells the application of it, once */
void group_fill_open(const struct fare_group *group, struct control_message *message);
/*
 * The weights in force changed, or a lane came or went: schedules follow, unposted chunks are
 * placed anew.
 */
void group_reweight(struct fare_group *group);
/* transfer.c */
int transfer_init(struct fare_group *group); /* -ENOMEM: transfer_fini() all the same */
void transfer_fini(struct fare_group *group);
void transfer_step(struct fare_group *group);
void transfer_check_deadlines(struct fare_group *group);
void transfer_on_completion(struct fare_group *group, const struct qp_wc *wc);
/* A lane's old QPs are gone at both ends: what waited for that may complete. */
void transfer_lane_confirmed(struct fare_group *group, unsigned lane);
/* Its unposted chunks go back, to be placed anew. */
void transfer_recall(struct fare_group *group, struct lane_qp *q);
/* The same for all QPs, and what waits for one: the weights changed. */
void transfer_place_anew(struct fare_group *group);
/* The group is over, and all its QPs are quiet: all messages complete with -ECANCELED. */
void transfer_cancel(struct fare_group *group);

/* lane.c */
int lanes_create(struct fare_group *group, unsigned n_lanes, unsigned n_qps, unsigned n_ports);
void lanes_destroy(struct fare_group *group);
/* The group shakes hands: what its lanes need to know is asked for meanwhile. */
void lanes_prepare(struct fare_group *group);
void lane_step(struct fare_group *group, unsigned lane);
uint64_t lane_due_ns(const struct fare_group *group, unsigned lane);
/* A handshake or its end is under way, and not for so long that a slow tick will do. */
bool lane_is_busy(const struct fare_group *group, unsigned lane);
/* Why no lane is up: -errno of one that failed; -ENETUNREACH: none was tried. */
int lanes_error(const struct fare_group *group);
void lane_on_control(struct fare_group *group, const struct control_message *message);
void lane_kill(struct fare_group *group, unsigned lane);    /* QPs to error, peer to be told */
void lane_refused(struct fare_group *group, unsigned lane); /* the same, after a NAK */
void lane_drained(struct fare_group *group, unsigned lane); /* a flush came back */
/* The path changed. */
void lane_follow_path(struct fare_group *group, unsigned lane, bool hashes_anew);

/* lane_qps.c */
bool lane_qps_exist(const struct lane *lane);
/* < 0: one failed by itself; > 0: one is changing state; 0: all are where they were sent. */
int lane_qps_status(const struct fare_group *group, unsigned lane);
uint32_t lane_qps_posted(const struct lane *lane);
int lane_qps_create(struct fare_group *group, unsigned lane); /* all of them, or none and -errno */
int lane_qps_connect(struct fare_group *group, unsigned lane, const struct control_qp *peer,
		     const uint8_t (*addresses)[16], unsigned n_addresses);
void lane_qps_follow_sub_ports(struct fare_group *group, unsigned lane);
void lane_qps_kick(struct fare_group *group, unsigned lane);
void lane_qps_destroy(struct fare_group *group, unsigned lane);

/* ways.c */
/* FARE_MODE_PACKET: the lane's QP leaves by its live sub-ports, evenly, from now on. */
int ways_set(struct fare_group *group, unsigned lane);
/* Way i leaves from another source port. 0 or -errno: nothing has changed then. */
int ways_replace(struct fare_group *group, unsigned lane, unsigned i, uint16_t port);
/* None is in force any more. */
void ways_clear(struct lane *lane);

/* ports.c */
/* The i-th QP's local sub-port: round-robin over those that are up. */
uint16_t ports_local_sub_port(const struct fare_group *group, unsigned lane, unsigned i);
/* The remote sub-port to which a port leads; -1: not known. */
int8_t ports_remote(const struct lane *lane, unsigned local, uint16_t port);
/* One QP or way of the lane more (or less, by = -1) leaves by that port. */
void ports_use(struct lane *lane, unsigned local, uint16_t port, int by);
/* What is known would give each QP a port, and each remote sub-port its part of them. */
bool ports_cover(const struct lane *lane);
/* The lane has more than one source port, so it may be uneven. */
bool ports_can_be_uneven(const struct lane *lane);
/* It loads these remote sub-ports evenly, as far as is known. */
bool ports_are_even(const struct lane *lane, uint32_t remotes);
/* As few QPs as it takes to make the lane even get other ports. Whether any did. */
bool ports_even_out(struct lane *lane);

/* shown.c */
void shown_create(struct fare_group *group);
void shown_destroy(struct fare_group *group);
/* its state, or one of its QPs' sub-ports, changed */
void shown_lane(struct fare_group *group, unsigned lane);
void shown_posted(struct fare_group *group, unsigned lane);
void shown_acked(struct fare_group *group, const struct lane_qp *q, uint32_t bytes);

#endif
