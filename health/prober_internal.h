/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prober_internal.h - the prober's one struct, for its own files alone.
 *
 * prober.c holds sessions and what is done when; prober_told.c what the daemon says; prober_pace.c
 * how often; prober_judge.c their judgement; prober_io.c probes and replies; prober_mtu.c path
 * MTUs; prober_rx.c what comes in over a plane; prober_peers.c finds sessions again.
 */
#ifndef PROBER_INTERNAL_H
#define PROBER_INTERNAL_H

#include "device_count.h"
#include "gray.h"
#include "health_limits.h"
#include "health_planted.h"
#include "loss_rtt.h"
#include "mtu.h"
#include "nonces.h"
#include "prober.h"
#include "udp.h"
#include "wheel.h"

#define PROBER_INDEX_SIZE  (2u * PROBER_MAX_PEERS)
#define PROBER_MAX_SOCKETS (2 * SUB_PORTS_MAX_GPUS * PROBER_PORTS)
_Static_assert(PROBER_MAX_SOCKETS <= UDP_POLL_MAX, "one look at all of them");

struct prober_path {
	struct gray gray;
	bool wanted, answered_ever, third_party;
	uint32_t discriminator;
	uint64_t next_ns;	     /* when the next probe is due */
	uint64_t answering_since_ns; /* every probe sent since then, but for a stray one, was
					answered */
	uint64_t silent_since_ns; /* as loss_rtt_silent_since() last said; 0: nothing is overdue */
	uint64_t n_turns;	  /* probes sent that count: sub-ports take turns */
	uint64_t acked_ns;	  /* data was acknowledged over it, or the peer hears us */
	uint64_t sent_ns;	  /* the last probe */
	uint64_t resumed_ns; /* first probe after a pause: what was lost before is no silence */
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
	uint32_t permille;	     /* as last told */
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
	uint64_t overdue_ns;	  /* a path of it was overdue, or asked as a witness, last */
	uint64_t noted_ns;	  /* when was last noted what its replies usually take */
	uint64_t stamped_ns;	  /* it last repeated a stamp of ours; 0: never */
	uint32_t acked;		  /* sequence of the newest notice that it has acknowledged */
	/*
	 * it knows a later incarnation of ours than our clock says: notices to it are of this one.
	 * 0: it does not
	 */
	uint64_t boot;
	uint64_t receiver; /* the peer's nonce, for notices to it; 0: not known */
	struct prober_path paths[];
};

/* What a GPU's ports carry, as its peers are to know. */
struct prober_notice {
	struct notice_capacity capacity;
	bool limited;
	uint64_t until_ns;   /* repeated until then, or while limited */
	uint64_t refresh_ns; /* when it becomes news again */
};

/* A plane of a GPU: what comes in over it, whoever sent it; and what goes out. */
struct prober_plane {
	struct device_count rx[SUB_PORTS_MAX_SUB_PORTS]; /* packets that devices have received */
	uint64_t sampled_ns;				 /* last sample; 0: not sampled of late */
	/* something was read from it, or the last sample was larger than the one before */
	uint64_t heard_ns;
	uint64_t received_ns; /* likewise, but only if something surely was */
	uint64_t asked_ns;    /* the first probe sent over it since */
	uint64_t packets;
	uint64_t plane_judged_ns; /* when its paths were last judged together */
	uint64_t hurry_until_ns;  /* the leaf has lost one peer: ask for the idle ones at once */
	uint64_t witnessed_ns;	  /* others were asked last, because nothing came in over it */
	/* at that time: so many peers were looked at, and these would be heard */
	uint64_t searched_ns;
	uint32_t n_peers;
	const struct prober_peer *witness[2];
	uint64_t n_sent; /* probes, and replies to peers' probes */
	bool told;	 /* see prober_traffic_told() */
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
	/* we ran late: until then silence may be our own before it is a plane's */
	uint64_t late_ns, late_until_ns;
	uint64_t full_until_ns; /* the machine is full: likewise */
	uint64_t overdue_ns;	/* a reply was, last */
	/* so many replies that the sockets are read by the tick, not by what comes */
	bool by_tick;
	uint64_t answered_before; /* replies by counted_ns */
	uint64_t perhaps_ns;	  /* how often peers are probed that perhaps have traffic */
	struct wheel *wheel;	  /* of sessions, by their places */
	struct udp *udp;
	struct prober_counters counters;
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

/* Beside the sessions' in the wheel: when each plane's counts are read first. */
#define PROBER_PLANE_PLACE (PROBER_MAX_PEERS * SUB_PORTS_MAX_PLANES)
#define PROBER_PLACES	   (PROBER_PLANE_PLACE + SUB_PORTS_MAX_GPUS * SUB_PORTS_MAX_PLANES)

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

uint64_t prober_random(struct prober *p);

/* prober_peers.c */
struct prober_peer *prober_peer_find(const struct prober *p, uint32_t gpu,
				     const struct in6_addr *address);
int prober_peer_get(struct prober *p, uint32_t gpu, const struct in6_addr *address,
		    struct prober_peer **out);
/* By a discriminator that came back; NULL: none of ours. */
struct prober_peer *prober_peer_of(const struct prober *p, uint32_t discriminator, uint32_t *plane);

/* prober_pace.c */
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

/* prober_io.c */
int prober_io_open(struct prober *p);
void prober_io_close(struct prober *p);
/* Whether the peer is still to be told what our ports carry. */
bool prober_io_has_news(const struct prober *p, const struct prober_peer *peer, uint64_t now);
void prober_io_probe(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now);
/* reads whatever has come in: answers, and by on_drain() probes */
void prober_io_drain(struct prober *p, uint64_t now);

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
void prober_mtu_view(const struct prober_path *path, struct prober_view *out);

/* prober_rx.c */
void prober_rx_close(struct prober *p);
/* A probe or a reply came over the plane. */
void prober_plane_heard(struct prober *p, uint32_t gpu, uint32_t plane, uint64_t now);
/*
 * Looks whether anything at all comes in over a plane of which we have read nothing for half an
 * interval. At most once a tick.
 */
void prober_sample_plane(struct prober *p, uint32_t gpu, uint32_t plane, uint64_t now);
/*
 * A probe was sent over it. If nothing has come in a quarter of an interval after the first one, by
 * when a plane without queues has answered, its counts are read: later readings are compared with
 * that.
 */
void prober_plane_asked(struct prober *p, uint32_t gpu, uint32_t plane, uint64_t now);
/* That place of the wheel is due. */
void prober_plane_due(struct prober *p, uint32_t place, uint64_t now);

/* prober_judge.c */
/*
 * What the way to the peer and back takes without queues: the fastest hundredth of replies over the
 * plane where that is least, for where a queue stands all are slow.
 */
void prober_note_usual(struct prober_peer *peer, uint64_t now);
bool prober_is_overdue(const struct prober *p, const struct prober_path *path, uint64_t now);
/*
 * Probes answered over a path since the newest one that is missing, and since the newest one that
 * is overdue.
 */
void prober_runs(struct prober *p, const struct prober_peer *peer, uint32_t plane, uint64_t now,
		 uint32_t *clean, uint32_t *punctual);
/* So many, in full queues or not, that a gray sub-port is to be searched for. */
bool prober_has_losses(const struct prober_path *path);
/* Overdue, and for an interval nothing at all has come in over its plane. */
bool prober_is_quiet(const struct prober *p, const struct prober_peer *peer, uint32_t plane,
		     uint64_t now);
/*
 * Whether the peer has still to be asked, over that plane, something whose answer tells of the
 * silence of path `of`.
 */
bool prober_is_to_tell(const struct prober *p, const struct prober_peer *peer, uint32_t of,
		       uint32_t plane, uint64_t now);
/* true: the path went down. */
bool prober_judge(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now);
void prober_judge_blindness(struct prober *p, struct prober_peer *peer, uint64_t now);

/*
 * prober.c: when the path is to be looked at again, for its next probe, or because a reply is
 * overdue.
 */
void prober_schedule(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now);
/* prober_told.c: bit s: see prober_routed(). */
uint32_t prober_unrouted(const struct prober_path *path, uint64_t now);
/* prober.c: some time within an interval. */
uint64_t prober_soon(struct prober *p, uint64_t now);
/* prober.c: the path is asked by then, if it is asked at all. */
void prober_ask(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t at_ns,
		uint64_t now);
/* prober.c: the idle paths of a plane are asked within an interval. */
void prober_wake_idle(struct prober *p, uint32_t gpu, uint32_t plane, uint64_t now);
/* prober.c: tells of a transition (change), or of a step of the ramp if there was one. */
void prober_tell(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now,
		 const struct probe_fsm_change *change);
/* Which of our sub-ports may be used has changed, because of carrier or its return. */
void prober_tell_links(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now);
/* A sub-port of the path became gray, or is so no longer. */
void prober_tell_gray(struct prober *p, struct prober_peer *peer, uint32_t plane, uint64_t now,
		      enum gray_side side, uint32_t sub_port);
/* prober.c: a reply has come; the newest answered probe before it was that one. */
void prober_answered(struct prober *p, struct prober_peer *peer, uint32_t plane,
		     uint32_t answered_before, uint64_t now);

#endif
