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
#include "qp/provider.h"
#include "qp/ring.h"
#include "qp/soft/soft_timers.h"
#include "spray_fly.h"

#define MAX_MESSAGES   128
#define PENDING_PER_QP 16 /* chunks assigned to a QP beyond what it may have on the wire */
#define NO_CHUNK       UINT32_MAX
#define MAX_CANDIDATES 128
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
	int8_t remote_sub_port; /* where source_port leads from its home; -1: not known */
	uint32_t posted;	/* chunks the provider holds */
	uint64_t posted_bytes;
	uint64_t sprayed_bytes; /* that the spray gave it since it was made */
	struct chunk_list pending;
	uint64_t pending_bytes;
	struct fare_group *group; /* struct qp_wc.context leads here */
	uint16_t lane, index;
};

enum lane_state {
	/* no QPs. The opener rebuilds when the path works and the back-off is over */
	LANE_DOWN,
	LANE_LEARNING,	 /* echoes under way to learn which source ports lead where */
	LANE_OPENING,	 /* opener: LANE_OPEN sent */
	LANE_CONNECTING, /* opener: LANE_ACCEPT came, its QPs are on their way to RTS */
	LANE_ACCEPTING,	 /* acceptor: LANE_ACCEPT sent, its QPs already receive */
	LANE_UP,
	/* own QPs in error; waiting for their flushes and for the peer's word that its are, too */
	LANE_RESETTING,
};

struct learning {
	uint64_t nonce; /* 0: none under way */
	/* the daemon's probes have learned enough: one answer proves that the plane carries */
	bool known;
	unsigned n, replies;
	unsigned n_own; /* the first of them are the lane's own ways, in use */
	unsigned sends;
	struct candidate candidates[MAX_CANDIDATES];
};

enum rehash_state {
	REHASH_REST,
	REHASH_OWN,  /* echoes under way from the ports in use */
	REHASH_WIDE, /* and from others that might be better */
};

struct rehash {
	enum rehash_state state;
	uint32_t seen;	      /* of the daemon's list: its sequence */
	uint32_t met;	      /* bit r: a port led to remote sub-port r when last looked */
	uint64_t due_ns;      /* next round, or next sending within one */
	uint64_t began_ns;    /* the last round */
	uint64_t interval_ns; /* to the next round, if this one finds nothing */
};

struct lane {
	enum lane_state state;
	uint32_t epoch;
	bool confirmed; /* RESETTING: the peer's QPs are known to be gone */
	bool attempted; /* was once tried to the end */
	unsigned n_qps;
	struct lane_qp *qps; /* n_qps of them */
	/* source ports that it needs: one a QP, or, FARE_MODE_PACKET, all for one */
	unsigned n_ports;
	struct qp_path ways[QP_MAX_PATHS]; /* FARE_MODE_PACKET: those in force */
	unsigned n_ways;
	struct control_qp peer_qps[CONTROL_MAX_QPS]; /* acceptor: of the LANE_OPEN being answered */
	uint16_t n_peer_addresses;
	uint8_t peer_addresses[FARE_MAX_SUB_PORTS][16];
	bool ack_owed; /* LANE_RESET_ACK for ack_epoch, as soon as our QPs are known to be quiet */
	uint32_t ack_epoch;
	uint64_t due_ns;   /* next action: resend, give up, rebuild */
	uint64_t since_ns; /* of the state */
	uint64_t backoff_ns;
	uint64_t up_since_ns;
	unsigned sends;
	unsigned post_turn;    /* and who may post next */
	uint64_t posted_bytes; /* of all its QPs */
	struct learning learning;
	struct rehash rehash;
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
	int status;	      /* first error: nothing more is placed, what is out is awaited */
	enum record_state record;
	bool in_use, is_read, is_queued, has_number;
	bool late; /* its deadline passed, and that was reported */
};

enum group_state {
	GROUP_OPENING,
	GROUP_OPEN,
	GROUP_CLOSED,
};

struct fare_group {
	struct fare_domain *domain;
	struct fare_group *prev, *next;		/* all of the domain */
	struct fare_group *run_prev, *run_next; /* those to be stepped */
	struct soft_timer timer;
	bool is_listed, is_runnable, is_busy;
	/* a chunk was not posted although there is room: no completion brings that back */
	bool is_stalled;
	enum group_state state;
	bool opener, announced; /* announced: CONNECTED or ACCEPTED was said */
	/* the peer closed: -errno to close with, once what it had sent before is delivered */
	int closing;
	uint32_t id, peer_id;
	uint64_t peer_incarnation;
	struct in6_addr peer;
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
	void *context;

	struct fare_paths paths;
	uint64_t generation; /* of paths */
	unsigned n_lanes;
	struct lane lanes[FARE_MAX_PLANES];
	unsigned control_turn; /* which plane and sub-port carry the next control message */
	uint64_t due_ns;       /* opener: GROUP_OPEN resend; acceptor not yet announced: given up */
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
	bool ends_wait;		  /* a message came to its end meanwhile */
	bool records_wait;	  /* for a number or a chunk */

	/*
	 * Records: ours leave from tx_records, for a ring like our own; the peer's arrive in ring.
	 */
	uint64_t next_record, record_floor; /* numbers below the floor are done */
	bool *records;			    /* number modulo max_messages: unfinished */
	struct ring_seen peer_seen;	    /* what the peer has said that it took */
	uint8_t *tx_records;
	struct ring ring;
	struct qp_mr tx_mr, rx_mr;
	uint64_t peer_ring_addr;
	uint32_t peer_ring_rkey;

	struct fare_group_stats stats;
};

struct fare_domain {
	struct fare *fare;
	unsigned local_gpu;
	struct fare_domain_options options;
	const struct qp_provider *provider;
	struct qp_endpoint *endpoint;
	struct qp_endpoint_attr attr;
	struct control_seal seal;
	uint64_t incarnation;
	struct fare_mr *regions;
	/* never 0; a simulation's is seeded */
	uint64_t (*random)(void *arg);
	void *random_arg;
	uint64_t now_ns; /* of the current poll */

	/* engine.c */
	struct fare_group *groups, *run_queue, *scan;
	struct fare_group *slots[MAX_GROUPS]; /* by id */
	uint32_t next_generation;
	unsigned n_groups, n_busy;
	struct soft_timers timers;
	uint64_t scan_due_ns;
	uint64_t generation; /* of what the daemon published */
	bool drained;	     /* the provider has no completions that it was not asked for */
	struct fare_event *events;
	uint32_t event_head, event_count, event_room, events_unasked;
	uint64_t control_rejected;

	/* domain.c */
	int epoll_fd, timer_fd;
	uint64_t tick_ns; /* between ticks of timer_fd; it is not asked before the next is due */
	uint64_t tick_due_ns;
};

static inline uint64_t domain_random(const struct fare_domain *domain)
{
	return domain->random(domain->random_arg);
}

/* regions.c */
uint32_t domain_mr_lkey(const struct fare_mr *mr);
/* length bytes at data belong to the region, which is one of the domain's. */
bool domain_mr_holds(const struct fare_domain *domain, const struct fare_mr *mr, const void *data,
		     uint64_t length);

/* group.c */
int group_create(struct fare_group **out, struct fare_domain *domain, const struct in6_addr *peer,
		 const struct fare_group_options *options, bool opener, unsigned qps_per_lane,
		 unsigned n_lanes);
void group_destroy(struct fare_group *group);
void group_step(struct fare_group *group);
/* When it is to be stepped although nothing happens to it; not later than now: at once. */
uint64_t group_due_ns(const struct fare_group *group);
bool group_paths_changed(const struct fare_group *group);
void group_on_control(struct fare_group *group, const struct control_message *message);
/* over the next live plane in turn */
void group_send(struct fare_group *group, struct control_message *message);
/* the application never heard of it, and need not */
bool group_stillborn(const struct fare_group *group);
bool group_busy(const struct fare_group *group);
bool group_plane_usable(const struct fare_group *group, unsigned lane);
void group_closed(struct fare_group *group, int status);
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
/* The group is closed: all messages complete with -ECANCELED. */
void transfer_cancel(struct fare_group *group);

/* lane.c */
void lane_step(struct fare_group *group, unsigned lane);
uint64_t lane_due_ns(const struct fare_group *group, unsigned lane);
void lane_on_control(struct fare_group *group, const struct control_message *message);
void lane_kill(struct fare_group *group, unsigned lane);    /* QPs to error, peer to be told */
void lane_drained(struct fare_group *group, unsigned lane); /* a flush came back */

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
void lane_qps_free(struct fare_group *group, unsigned lane); /* and the room for them */

/* ways.c */
/* FARE_MODE_PACKET: the lane's QP leaves by its live sub-ports, evenly, from now on. */
int ways_set(struct fare_group *group, unsigned lane);
/* Way i leaves from another source port. 0 or -errno: nothing has changed then. */
int ways_replace(struct fare_group *group, unsigned lane, unsigned i, uint16_t port);

/* rehash.c */
void rehash_start(struct fare_group *group, unsigned lane); /* the lane is up */
void rehash_hint(struct fare_group *group, unsigned lane);  /* something changed: ask soon */
uint64_t rehash_due_ns(const struct fare_group *group, unsigned lane);
void rehash_step(struct fare_group *group, unsigned lane);

/* ports.c */
void ports_start(struct fare_group *group, unsigned lane);
/* The ways that an up lane has; wide: and others. ports_send() asks. */
void ports_start_own(struct fare_group *group, unsigned lane, bool wide);
void ports_send(struct fare_group *group, unsigned lane);
/* enough is known to choose well */
bool ports_learned(const struct fare_group *group, unsigned lane);
void ports_on_reply(struct fare_group *group, const struct control_message *message);
/*
 * The source port for QP i of a lane, so that the lane's QPs cover the remote sub-ports evenly;
 * NULL: any will do.
 */
struct candidate *ports_choose(struct fare_group *group, unsigned lane, unsigned i,
			       uint16_t local_sub_port);
void ports_refuse(struct candidate *candidate); /* chosen, but somebody else has it */
/* The i-th QP's local sub-port: round-robin over those that are up. */
uint16_t ports_local_sub_port(const struct fare_group *group, unsigned lane, unsigned i);

/* shown.c */
void shown_create(struct fare_group *group);
void shown_destroy(struct fare_group *group);
/* its state, or one of its QPs' sub-ports, changed */
void shown_lane(struct fare_group *group, unsigned lane);
void shown_posted(struct fare_group *group, unsigned lane);
void shown_acked(struct fare_group *group, const struct lane_qp *q, uint32_t bytes);

#endif
