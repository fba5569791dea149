/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prober.h - probes every path that routing has, and says which of them work (SBFDInitiator,
 * RFC 7880 section 7.3).
 *
 * Solely owns: the probing sockets, one session per (local GPU, peer, plane), what each session has
 * shown, and the capacity notices still to be acknowledged. In: which paths are wanted, which
 * devices are up, replies, and `now`. Out: probes (udp.h); on_path whenever a path's state or
 * usable share changes; when it is to run next. Thread: the loop's. Nothing is allocated per
 * packet. No clock, timer or event loop: those are health_loop.h's.
 *
 * Budget: max_probes_per_s for paths that are probed fast, and one per slow_interval for each of
 * the others. If the interval asked for would cost more, all fast paths get a longer one. A path is
 * fast when its peer has traffic, when a reply is overdue, or when another path of its plane has
 * gone down. Paths whose peers perhaps have traffic share what these leave of the budget.
 *
 * Of two ends that probe each other one suffices: a probe that says that its sender's last one was
 * answered acknowledges as much as data does, and so its receiver skips its own. Every eighth goes
 * out all the same, and then the other end skips.
 *
 * One fast probe per path: successive probes take its live local sub-ports in turn and, as far as
 * replies have shown which source port leads to which remote sub-port, the remote ones too. A reply
 * counts only if it comes in over the same plane, with a hop limit of 254 or 255 (max_routers), our
 * discriminator and the 64 random bits of a probe still undecided. A reflector that returns no
 * stamp is not fared's: used, matched by its discriminator alone whatever plane it answers over
 * (so only the way there is proven), and marked; but not within ten seconds of a reply that did
 * return one, from the same peer over any plane.
 *
 * Probes of full size tell which path MTU each path carries (mtu.h), and pairs of probes how their
 * class is queued beside data (queue_class.h), at a low rate. They say nothing else of a path, and
 * nothing of them is in its losses.
 */
#ifndef PROBER_H
#define PROBER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "notice_wire.h"
#include "probe_fsm.h"
#include "sub_ports.h"

#define PROBER_MAX_PEERS 4096u /* (local GPU, peer) pairs */
/* what daemons use unless configured otherwise: 63 peers over 4 planes, every 10 ms */
#define PROBER_MAX_PROBES_PER_S 25200u
/* UDP source ports per local address: some for each pair of ends, there and back */
#define PROBER_PORTS 16u

struct prober;
struct queue_class;
struct udp;

/* One session, as an operator sees it. */
struct prober_view {
	bool wanted; /* being probed */
	enum probe_state state;
	enum probe_where where;
	const char *reason;		/* static */
	struct probe_numbers last_down; /* all 0: it never was, or our ports or route were */
	uint64_t since_ns;
	uint32_t permille; /* of the path's bandwidth that may be used */
	uint32_t loss_ppm; /* of the last LOSS_RTT_WINDOW probes */
	uint32_t n_window;
	uint64_t n_sent, n_lost, n_downs;
	uint64_t rtt_p50_ns, rtt_p99_ns; /* 0: not measured */
	bool third_party; /* the reflector knows nothing of stamps and arrival reports */
	uint32_t hold_ms; /* back-off still to run */
	int8_t remote_sub_port[PROBER_PORTS]; /* where each source port leads; -1: not known */
	uint16_t source_port[PROBER_PORTS];
	/* bit s: out of use, for it loses while the others do not */
	uint8_t gray_local, gray_remote;
	/* of the first that is gray: tries answered in a row, of so many; 0: none is gray */
	uint16_t trial_passes, trial_wanted;
	/* bit s: out of use until a probe out of it is answered; its carrier is back */
	uint8_t returning_local;
	uint8_t n_remote; /* remote sub-ports; 0: not known */
	/*
	 * bit s: what leaves by sub-port s is received over another plane: by the peer (there), or
	 * on its return; over which one (-1: by no sub-port)
	 */
	uint8_t crossed;
	bool is_crossed_there;
	int8_t crossed_plane;
	/*
	 * Path MTUs in bytes: what this server sends, and what the path carries by its best
	 * sub-ports (0: less than the least). mtu_is_small: another plane carries more.
	 */
	bool mtu_is_small, mtu_is_proven;
	uint32_t mtu_wanted, mtu_carried;
	uint8_t small_local, small_remote; /* bit s: sub-port s carries less than that, ... */
	uint16_t mtu_local[SUB_PORTS_MAX_SUB_PORTS], mtu_remote[SUB_PORTS_MAX_SUB_PORTS];
};

enum prober_trace_kind { PROBER_TRACE_SENT, PROBER_TRACE_ANSWERED };

/* A probe of the path that is traced has left, or was answered in time. */
struct prober_trace {
	enum prober_trace_kind kind;
	uint64_t at_ns;
	uint32_t sequence; /* of the path's probes; 0 with an answer: the reflector returns none */
	uint8_t local_sub_port;
	/* where it arrives, and the answer: sent: as was learned last; -1: not known */
	int8_t remote_sub_port, reply_sub_port;
	uint16_t source_port;
	bool counts;		/* for the verdict: no try of a sub-port that is out of use */
	uint64_t rtt_ns;	/* of an answer */
	enum probe_state state; /* the session's, before what this does to it */
};

struct prober_handlers {
	/* change is NULL if only the share changed (a step of the ramp). */
	void (*on_path)(void *arg, uint32_t local_gpu, const struct in6_addr *peer, uint32_t plane,
			const struct prober_view *view, const struct probe_fsm_change *change);
	void (*on_log)(void *arg, int priority, const char *line);
	/* A sub-port became gray or is so no longer; on_path() has been called; may be NULL. */
	void (*on_gray)(void *arg, uint32_t local_gpu, const struct in6_addr *peer, uint32_t plane,
			bool is_local, uint32_t sub_port, bool gray);
	/*
	 * The sockets are read by the tick, or were left waiting: prober_received() is to be called
	 * for every probe that has come in; may be NULL.
	 */
	void (*on_drain)(void *arg);
	/* Between prober_trace_begin() and _end(); may be NULL if neither is called. */
	void (*on_trace)(void *arg, const struct prober_trace *trace);
};

struct prober_options {
	uint64_t incarnation; /* later ones have larger numbers: the wall clock */
	uint64_t seed;	      /* of random times */
	struct probe_fsm_times times;
	uint64_t slow_interval_ns; /* for peers without traffic */
	uint32_t max_probes_per_s; /* of paths probed fast, all together */
	/* what a full queue of a port may take at most; 0: probes' class passes before data */
	uint64_t queue_max_ns;
};

struct prober_totals {
	uint64_t n_sent, n_lost, n_downs;
};

struct prober_counters {
	uint64_t sent, answered, malformed, hop_limit, unknown, wrong_plane, acknowledged;
	uint64_t mtu_sent, mtu_answered;     /* of rounds that look for the path MTU */
	uint64_t class_sent, class_answered; /* of pairs (queue_class.h) */
	uint64_t skipped;    /* probes that acknowledgements, or peers' probes, made needless */
	uint64_t refused;    /* packets that the kernel did not send, the reflector's included */
	uint64_t late_ticks; /* the loop ran late; nothing is judged before replies are read */
};

/*
 * options are copied; udp, ports and keys (which may change) are borrowed for the prober's life.
 * 0 or -errno; a local address without a usable socket is an error.
 */
int prober_create(struct prober **out, struct udp *udp, const struct prober_options *options,
		  const struct sub_ports *ports, const struct notice_keys *keys,
		  const struct prober_handlers *handlers, void *arg, uint64_t now);
void prober_destroy(struct prober *p);

/* Does all that is due. */
void prober_run(struct prober *p, uint64_t now);
/* When prober_run() is to be called, unless something is read or said before; 0: not at all. */
uint64_t prober_next_ns(struct prober *p, uint64_t now);
/* The sockets that replies come in by: 0 .. prober_n_sockets() - 1. */
uint32_t prober_n_sockets(const struct prober *p);
int prober_fd(const struct prober *p, uint32_t i);
void prober_read(struct prober *p, uint32_t i, uint64_t now);
/*
 * Ports that other processes hold are tried again. NULL: it has them all; else an address at which
 * it has not. A path is not probed while its GPU has none.
 */
const struct in6_addr *prober_take_ports(struct prober *p);
/* The step of its clock: probes and verdicts are late by no more. */
uint64_t prober_tick_ns(const struct prober *p);
/* So many replies that prober_run() reads them: waking up for each would cost more. */
bool prober_reads_by_tick(const struct prober *p);

/*
 * Probe that path, or stop. was_down: only for a path not seen before, see probe_fsm_init(). A path
 * that is wanted again, or for the first time while its peer answers on another plane, has to pass
 * before its share is given (back), if its peer reflects at all. 0, -EINVAL, -ENOSPC, -ENOMEM.
 */
int prober_want(struct prober *p, uint32_t local_gpu, const struct in6_addr *peer, uint32_t plane,
		bool wanted, bool was_down, uint64_t now);
/* A peer none of whose paths is wanted: what is known of it is gone, and another has room. */
void prober_forget(struct prober *p, uint32_t local_gpu, const struct in6_addr *peer);
/* A sub-port went up or down; the table that was borrowed already says so. */
void prober_link_changed(struct prober *p, uint32_t local_gpu, uint32_t plane, uint32_t sub_port,
			 uint64_t now);
/*
 * By which sub-ports of the plane the kernel has routes toward peer (bit s), from now on; before
 * the first call, by all. Those of a plane come and go one by one while bgpd learns anew: as long
 * as there are others, what has none is not asked, and what was sent by it says nothing, for up to
 * HEALTH_UNROUTED_NS. One that still has none then loses probes as any broken one does.
 */
void prober_routed(struct prober *p, uint32_t local_gpu, const struct in6_addr *peer,
		   uint32_t plane, uint32_t sub_ports, uint64_t now);
void prober_routes_unknown(struct prober *p); /* by all sub-ports toward all peers again */
/*
 * Tells every peer of a GPU what its ports carry now (NOTICE_WIRE_ANY: not limited), over every
 * plane, at once and again until acknowledged; repeated while anything is limited. Does nothing
 * without a key.
 */
void prober_set_capacity(struct prober *p, uint32_t local_gpu, const uint64_t *bps,
			 uint32_t n_planes, uint64_t now);

/*
 * When data was last posted toward and acknowledged by a peer over a plane (CLOCK_MONOTONIC; 0:
 * never; a stamp up to an interval later than now counts as now, a later one not at all). Peers
 * with posts within a second are probed fast on all planes. A path with an acknowledgement of
 * within the interval skips its probe, seven times in a row at most: what a client says makes
 * probes fewer, never a path live.
 */
void prober_traffic(struct prober *p, uint32_t local_gpu, const struct in6_addr *peer,
		    uint32_t plane, uint64_t posted_ns, uint64_t acked_ns, uint64_t now);
/*
 * Whether all packets that leave by that plane are known of: by prober_traffic(), or as our
 * own (prober_sent(), reflector_sent()). Until the first call they are not. While they are not,
 * every peer may have traffic there: those without posts share what the budget has left.
 */
void prober_set_traffic_known(struct prober *p, uint32_t local_gpu, uint32_t plane, bool known,
			      uint64_t now);
/* Probes sent over that plane so far. */
uint64_t prober_sent(const struct prober *p, uint32_t local_gpu, uint32_t plane);

/*
 * A probe of that peer came over that plane (reflector.h). is_received: it says that the peer's
 * last one was answered, which acknowledges as much as data does. report: the peer's, NULL: none;
 * authentic: by a key. waited_ns: it waited to be read.
 */
void prober_received(struct prober *p, uint32_t local_gpu, const struct in6_addr *peer,
		     uint32_t plane, bool is_received, const struct report_wire *report,
		     bool authentic, uint64_t waited_ns, uint64_t now);
/* What is reported to the peer in the answer to its probe over that plane. false: nothing. */
bool prober_report(struct prober *p, uint32_t local_gpu, const struct in6_addr *peer,
		   uint32_t plane, uint32_t sub_port, bool is_try, uint64_t now,
		   struct report_wire *out);

/*
 * From now on on_trace() is called for that path, and for no other. false: there is no such path,
 * and none is traced.
 */
bool prober_trace_begin(struct prober *p, uint32_t local_gpu, const struct in6_addr *peer,
			uint32_t plane);
void prober_trace_end(struct prober *p);

bool prober_path(const struct prober *p, uint32_t local_gpu, const struct in6_addr *peer,
		 uint32_t plane, uint64_t now, struct prober_view *out);
/*
 * Bit s: nothing should leave toward that peer by sub-port s. It has carrier again, and no probe
 * out of it has been answered yet; or prober_routed() says so.
 */
uint32_t prober_avoided(const struct prober *p, uint32_t local_gpu, const struct in6_addr *peer,
			uint32_t plane);
/* Of all paths over that plane, forgotten ones included: they never fall. */
void prober_totals(const struct prober *p, uint32_t local_gpu, uint32_t plane,
		   struct prober_totals *out);
void prober_counters(const struct prober *p, struct prober_counters *out);
/* How probes are queued beside data of that plane; valid until prober_destroy(). */
const struct queue_class *prober_queue_class(const struct prober *p, uint32_t local_gpu,
					     uint32_t plane);

#endif
