/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prober_internal.h - the prober's one struct, for its own files alone.
 *
 * From the top: prober.c runs sessions by the clock, prober_input.c takes what the daemon says;
 * prober_judge.c has judgement and prober_io.c probes and replies, which call each other;
 * prober_report.c has reports, prober_mtu.c path MTUs, prober_extra.c probes that are in no count;
 * prober_pace.c how often and when,
 * prober_view.c shows the daemon paths; prober_peers.c finds sessions again.
 */
#ifndef PROBER_INTERNAL_H
#define PROBER_INTERNAL_H

#include "gray.h"
#include "health_limits.h"
#include "health_planted.h"
#include "judge.h"
#include "loss_rtt.h"
#include "mtu.h"
#include "nonces.h"
#include "prober.h"
#include "queue_class.h"
#include "udp.h"
#include "wheel.h"

#define PROBER_INDEX_SIZE  (2u * PROBER_MAX_PEERS)
#define PROBER_MAX_SOCKETS (2 * SUB_PORTS_MAX_GPUS * PROBER_PORTS)
_Static_assert(PROBER_MAX_SOCKETS <= UDP_POLL_MAX, "one look at all of them");

struct prober_path {
	struct gray gray;
	bool wanted, answered_ever, third_party;
	uint32_t discriminator;
	uint64_t next_ns;	  /* when the next probe is due */
	uint64_t silent_since_ns; /* as loss_rtt_silent_since() last said; 0: nothing is overdue */
	uint64_t n_turns;	  /* probes sent that count: sub-ports take turns */
	uint64_t acked_ns;	  /* data was acknowledged over it, or the peer hears us */
	uint64_t sent_ns;	  /* the last probe */
	uint32_t counted_by;	  /* sub-port + 1 of the last packet that counts */
	uint64_t gray_ns;	  /* a sub-port became gray last */
	bool is_lossy;		  /* as is reported to the peer, until it is up again */
	uint32_t n_probed;	  /* probes that are no tries */
	uint32_t n_counted;	  /* packets to the peer over it that count, replies included */
	/* one sub-port would explain what it loses, but so would chance */
	bool suspicion;
	/*
	 * bit s: what leaves by sub-port s is received over another plane, by the peer (there) or
	 * on its return; over which one, last (-1: by no sub-port), and when
	 */
	uint8_t crossed;
	bool is_crossed_there;
	int8_t crossed_plane;
	uint64_t crossed_ns;
	/* what was decided when a gray sub-port was last searched for */
	uint32_t searched_at;
	uint32_t n_skipped; /* probes that acknowledgements made needless, in a row */
	uint32_t proven;    /* bit s: a probe out of sub-port s came back since it has carrier */
	/* bit s: it has carrier again, and no probe out of it has come back yet */
	uint8_t returning;
	/* bit s: the kernel has no route by it, and has by others of the plane */
	uint8_t unrouted;
	uint64_t unrouted_until_ns;  /* until then that is no fault of the sub-port itself */
	uint32_t permille;	     /* as last shown */
	int8_t remote[PROBER_PORTS]; /* where a probe from that port arrives, ... */
	int8_t back[PROBER_PORTS];   /* ... and by which of our sub-ports the answer came */
	uint8_t n_remote;
	bool tried;		     /* the last probe was a try, and counts for nothing */
	uint8_t tries[PROBER_PORTS]; /* of ports of which nothing is known */
	uint64_t unknown_ns;	     /* the next try of one that was tried in vain */
	struct mtu mtu;
	uint64_t mtu_ns;      /* when its next round is due; 0: none is */
	bool mtu_is_small;    /* it carries less than another plane, and is out of use */
	uint32_t n_to_answer; /* answers until it is asked which sub-ports had none */
	struct probe_fsm fsm;
	struct loss_rtt loss; /* begins with what is looked at each time */
};

struct prober_peer {
	struct in6_addr address;
	uint32_t gpu, n_planes;
	uint32_t index;		  /* in prober.peers; another after one has been forgotten */
	uint32_t place;		  /* in prober.places; its own as long as it is known */
	uint64_t active_until_ns; /* it has traffic, or a path of it is suspect: probed fast */
	uint64_t overdue_ns;	  /* a path of it was overdue, or quiet, last */
	uint64_t stamped_ns;	  /* it last repeated a stamp of ours; 0: never */
	uint32_t acked;		  /* sequence of the newest notice that it has acknowledged */
	/*
	 * it knows a later incarnation of ours than our clock says: notices to it are of this one.
	 * 0: it does not
	 */
	uint64_t incarnation;
	uint64_t receiver;	      /* the peer's nonce, for notices to it; 0: not known */
	uint64_t cookie, peer_cookie; /* report_wire.h; 0: not known */
	uint64_t report_came_ns;      /* one that counts */
	struct judge judge;
	struct prober_path paths[];
};

/* What a GPU's ports carry, as its peers are to know. */
struct prober_notice {
	struct notice_capacity capacity;
	bool limited;
	uint64_t until_ns;   /* repeated until then, or while limited */
	uint64_t refresh_ns; /* when it becomes news again */
};

/* A plane of a GPU. */
struct prober_plane {
	uint64_t hurry_until_ns; /* the leaf has lost one peer: ask for the idle ones at once */
	uint64_t n_sent;	 /* probes */
	struct prober_totals forgotten; /* of paths that are gone */
	bool traffic_known;		/* see prober_set_traffic_known() */
	uint64_t pair_ns;		/* the next pair is due */
	struct queue_class queued;
};

struct prober_socket {
	uint32_t gpu;
	uint16_t port;		/* 0: others hold them all, see prober_take_ports() */
	struct udp_socket *udp; /* NULL: no address of that family */
	struct in6_addr address;
};

struct prober {
	struct probe_fsm_times times; /* interval_ns: the one in force, see prober.h */
	struct prober_options options;
	const struct sub_ports *ports;
	const struct notice_keys *keys;
	const struct prober_handlers *handlers;
	void *arg;
	uint64_t random;
	struct nonces nonces; /* of stamps and discriminators */
	bool said_clock_back; /* that a peer knows a later incarnation of ours */
	uint64_t tick_ns, armed_ns, counted_ns;
	uint64_t longest_ns, longest_until_ns; /* delay of the loop; reported until then */
	uint32_t report_incarnation;	       /* random; reports have 4 bytes for it */
	/* so many replies that the sockets are read by the tick, not by what comes */
	bool by_tick;
	uint64_t answered_before; /* replies by counted_ns */
	uint64_t perhaps_ns;	  /* how often peers are probed that perhaps have traffic */
	struct wheel *wheel;	  /* of sessions, by their places */
	struct udp *udp;
	struct prober_counters counters;
	uint32_t pair_at; /* place + 1 of the path that the next pair is for; 0: none is due */
	const struct prober_peer *traced; /* of which a path is; NULL: none */
	uint32_t traced_plane;
	struct prober_plane planes[SUB_PORTS_MAX_GPUS][SUB_PORTS_MAX_PLANES];
	struct prober_notice notices[SUB_PORTS_MAX_GPUS];
	struct prober_socket sockets[SUB_PORTS_MAX_GPUS][2][PROBER_PORTS];
	uint32_t n_open; /* of them */
	struct prober_socket *open[PROBER_MAX_SOCKETS];
	struct udp_socket *polled[PROBER_MAX_SOCKETS]; /* the same, in the same order */
	uint32_t n_peers;
	struct prober_peer *peers[PROBER_MAX_PEERS];  /* n_peers of them, in any order */
	struct prober_peer *places[PROBER_MAX_PEERS]; /* NULL: free */
	uint32_t place_turn;
	uint32_t index[PROBER_INDEX_SIZE]; /* place + 1; 0: free */
};

#define PROBER_PLACES (PROBER_MAX_PEERS * SUB_PORTS_MAX_PLANES)

/* A session's place: in the wheel, and in its discriminator. */
static inline uint32_t prober_place(const struct prober_peer *peer, uint32_t plane)
{
	return peer->place * SUB_PORTS_MAX_PLANES + plane;
}

static inline uint64_t prober_larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t prober_smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Sub-ports but for some, if any are left then. */
static inline uint32_t prober_without(uint32_t all, uint32_t some)
{
	return all & ~some ? all & ~some : all;
}

/* prober_peers.c */
struct prober_peer *prober_peer_find(const struct prober *p, uint32_t gpu,
				     const struct in6_addr *address);
int prober_peer_get(struct prober *p, uint32_t gpu, const struct in6_addr *address,
		    struct prober_peer **out);
/* By a discriminator that came back; NULL: none of ours. */
struct prober_peer *prober_peer_of(const struct prober *p, uint32_t discriminator, uint32_t *plane);

/* prober_pace.c */
bool prober_is_overdue(const struct prober *p, const struct prober_path *path, uint64_t now);
/* The peer's packets should come over it, and have not for a while. */
bool prober_is_quiet(const struct prober *p, const struct prober_peer *peer, uint32_t plane,
		     uint64_t now);
/* Bit s: see prober_routed(). */
uint32_t prober_unrouted(const struct prober_path *path, uint64_t now);
/*
 * Shares the budget out: more fast paths than it pays for at the interval asked for are all asked
 * less often.
 */
void prober_pace_share(struct prober *p, uint64_t now);
/*
 * Data acknowledged within the last interval says what a probe would, unless the peer is being
 * judged.
 */
bool prober_pace_skips(const struct prober *p, const struct prober_peer *peer, uint32_t plane,
		       uint64_t now);
/*
 * When the probe after one that is skipped now is due: an interval after what was acknowledged, so
 * that silence after it is found as soon.
 */
uint64_t prober_pace_skipped_ns(const struct prober *p, const struct prober_path *path);
/* How often the path is probed at present. */
uint64_t prober_pace_ns(const struct prober *p, const struct prober_peer *peer, uint32_t plane,
			uint64_t now);
/* When the probe after one that is sent now is due. */
uint64_t prober_pace_next_ns(struct prober *p, const struct prober_peer *peer, uint32_t plane,
			     uint64_t now);
/* When the path is to be looked at again: for its next probe, or for a verdict. */
void prober_schedule(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now);
/* Some time within an interval. */
uint64_t prober_soon(struct prober *p, uint64_t now);
/* The path is asked by then, if it is asked at all. */
void prober_ask(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t at_ns,
		uint64_t now);
/* The idle paths of a plane are asked within an interval. */
void prober_wake_idle(struct prober *p, uint32_t gpu, uint32_t plane, uint64_t now);

/* prober_view.c */
/* Tells the daemon of a transition (change), or of a step of the ramp if there was one. */
void prober_show(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now,
		 const struct probe_fsm_change *change);
/* Which of our sub-ports may be used has changed, because of carrier or its return. */
void prober_show_links(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now);
/* A sub-port of the path became gray, or is so no longer. */
void prober_show_gray(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now,
		      enum gray_side side, uint32_t sub_port);

/* prober_trace.c: of the path that is traced. */
static inline bool prober_is_traced(const struct prober *p, const struct prober_peer *peer,
				    uint32_t plane)
{
	return peer == p->traced && plane == p->traced_plane;
}

void prober_trace(const struct prober *p, enum prober_trace_kind kind,
		  const struct loss_rtt_probe *probe, uint32_t sequence, uint64_t now);

/* prober_mtu.c */
/*
 * Of a path that is probed every interval_ns: looks at what is lost, sends the next round if it is
 * due. When to call again; 0: with its next probe.
 */
uint64_t prober_mtu_run(struct prober *p, struct prober_peer *peer, uint32_t plane,
			uint64_t interval_ns, uint64_t now);
/* A reply that reports a size. */
void prober_mtu_arrived(struct prober *p, struct prober_peer *peer, uint32_t plane,
			const struct notice_trailer *t, uint64_t now);

/* prober_extra.c */
struct prober_extra {
	uint8_t local, port;
	struct notice_stamp stamp;
	bool is_sized; /* the answer is to say how long it was */
	size_t bytes;  /* it is padded to that; 0: it is not */
	bool is_data;  /* in data's class */
};

/* A probe that is in no count; the caller fills in what its answer is known by. */
void prober_extra_send(struct prober *p, const struct prober_peer *peer, uint32_t plane,
		       const struct prober_extra *e);
/* Of a path that is probed every interval_ns: the next pair is for it, if one is due. */
void prober_extra_want_pair(struct prober *p, const struct prober_peer *peer, uint32_t plane,
			    uint64_t interval_ns, uint64_t now);
/* Sends the pair that is wanted at once, while `now` is the time. */
void prober_extra_send_pair(struct prober *p, uint64_t now);
/* Takes the answer to a probe of a pair; false: it is none. */
bool prober_extra_is_of_pair(struct prober *p, const struct prober_peer *peer, uint32_t plane,
			     const struct notice_trailer *t, const struct udp_packet *in);

/* prober_report.c */
struct judge_limits prober_limits(const struct prober *p, const struct prober_peer *peer,
				  uint32_t plane);
struct judge_times prober_judge_times(const struct prober *p);
/* The sender's side of a report; counts the packet that carries it over that plane. */
void prober_report_fill(struct prober *p, struct prober_peer *peer, uint32_t plane,
			uint32_t sub_port, bool is_try, uint64_t now, struct report_wire *out);
/*
 * A report came over that plane. is_answer: in the answer to a probe of ours, so it is the peer's
 * whatever its cookie. waited_ns: it waited to be read.
 */
void prober_report_take(struct prober *p, struct prober_peer *peer, uint32_t plane,
			const struct report_wire *r, bool is_answer, bool authentic,
			uint64_t waited_ns, uint64_t now);
/* An answer without a report: what it says of other planes, see docs/health.md. */
void prober_report_infer(struct prober *p, struct prober_peer *peer, uint32_t plane,
			 const struct loss_rtt_probe *probe, uint64_t now);

/* prober_io.c */
int prober_io_open(struct prober *p);
void prober_io_close(struct prober *p);
void prober_io_probe(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now);
/* reads whatever has come in: answers, and by on_drain() probes */
void prober_io_drain(struct prober *p, uint64_t now);

/* prober_judge.c */
/* A reply has come. */
void prober_answered(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now);
void prober_judge(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now);
void prober_judge_blindness(struct prober *p, struct prober_peer *peer, uint64_t now);

#endif
