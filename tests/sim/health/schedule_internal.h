/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * schedule_internal.h - a schedule under way; for the files of schedule.h alone: schedule.c (time,
 * and what is merely bad), schedule_faults.c, schedule_checks.c.
 */
#ifndef SIM_HEALTH_SCHEDULE_INTERNAL_H
#define SIM_HEALTH_SCHEDULE_INTERNAL_H

#include "bgp.h"
#include "schedule.h"
#include "server.h"
#include "sim_trace.h"

#define HOSTS_FEW      6 /* most schedules have no more */
#define HOSTS_TICK     8 /* so many replies that the prober reads them by its tick */
#define SUB_PORTS_MOST 2

#define STEP_NS	     (5 * LOOP_MS)
#define WARM_UP_NS   (500 * LOOP_MS)
#define FAULTS_NS    (3500 * LOOP_MS) /* all begin before */
#define END_NS	     (9 * LOOP_S)     /* and are long mended by then */
#define LASTING_NS   (5 * LOOP_S)
#define MAX_FAULTS   2u /* and one of path MTU, which no down may come of */
#define MTU_LASTS_NS (4 * LOOP_S)
#define MTU_FOUND_NS (3 * LOOP_S)
/* what a fault did may be found so long after it: a window of probes that skip, and some */
#define GRACE_NS (2 * LOOP_S)
/*
 * a dead plane is found within, at 3 ms x 3: the allowance of a late server, stalls, claims of
 * clients, twice if the run of answers over the only other plane ends once by what a queue drops
 */
#define FOUND_NS (900 * LOOP_MS)
/*
 * ... a gray leaf without queues and stalls: where no other peer can tell, the allowance for
 * queues, and some; false claims delay it by 42 ms (docs/health.md)
 */
#define FOUND_GRAY_NS (150 * LOOP_MS)
/* ... a leaf that loses a twentieth or more each way, where nothing else is bad */
#define FOUND_LOSSY_NS (1500 * LOOP_MS)
#define DETECT_NS      (9 * LOOP_MS) /* 3 ms x 3 */
#define NOTICE_NS      (1000 * LOOP_MS)
/* a leaf that loses so much of all may pass for whole again for a while */
#define FAULT_MILD_PER_MILLE 80u
/* chance marks one sub-port in some thousand of those that lose like all others: two, and ... */
#define GRAY_BY_CHANCE_MAX 2u
#define GRAY_BY_CHANCE_OF  1000u /* ... one more of so many paths */

struct fault {
	enum fault_kind kind;
	unsigned plane, host, sub_port;
	bool outward; /* one-way: what the server sends */
	uint32_t per_mille;
	uint32_t most_bytes; /* FAULT_MTU */
	bool is_of_leaf;     /* ... of all its ports */
	uint64_t from_ns, to_ns;
	uint64_t flap_ns, next_flap_ns; /* the carrier comes and goes so often; 0: it is away */
	bool inward, is_known; /* FAULT_UNROUTED: routes to it are gone, too; the kernel says so */
	bool is_on, is_checked;
	bool is_lasting; /* a sub-port that passes nothing, for long */
};

/* The full queue of a plane, its server, and one that sends to it or is sent what it holds. */
struct full_queue {
	struct link *link;
	unsigned host, other;
	uint64_t until_ns; /* it has drained */
};

struct schedule {
	struct net net;
	struct sim_trace *trace;
	struct server servers[NET_HOSTS];
	uint64_t seed;
	struct fault faults[MAX_FAULTS + 1];
	unsigned n_faults;
	struct bgp bgp;
	/* what else is bad in this schedule */
	bool has_queues, has_stalls, has_lies, has_loss;
	unsigned queues_per_mille; /* of steps in which one fills */
	struct full_queue queue[NET_PLANES];
	bool has_idle;			      /* pairs without traffic, and that is known */
	bool is_active[NET_HOSTS][NET_HOSTS]; /* has traffic */
	uint64_t burst_ns[NET_PLANES];
	uint64_t down_ns[NET_HOSTS][NET_HOSTS][NET_PLANES]; /* went down last; 0: is not down */
	uint64_t fell_ns[NET_HOSTS][NET_HOSTS][NET_PLANES]; /* went down last, if it is or not */
	/* its probing began or ended last, by BGP's word */
	uint64_t route_ns[NET_HOSTS][NET_HOSTS][NET_PLANES];
	bool has_route[NET_HOSTS][NET_HOSTS][NET_PLANES];
	/* one of the two had no CPU time, since the last fault began; counted until then */
	uint64_t stalled_ns[NET_HOSTS][NET_HOSTS], stalls_counted_ns;
	unsigned n_gray_by_chance;
	const struct schedule_options *options;
	uint64_t interval_ns; /* of probes, as the budget has it */
	struct schedule_stats *stats;
};

/* There are more paths than the budget of probes pays for. */
bool schedule_is_seldom(const struct schedule *s);

/* ---- schedule_faults.c */
void schedule_faults_draw(struct schedule *s, struct fault *f);
/* Of a plane with two sub-ports, one is without routes for seconds. */
void schedule_faults_draw_unrouted(struct schedule *s);
/* In a quarter of the schedules, one of path MTU besides. */
void schedule_faults_draw_mtu(struct schedule *s);
void schedule_faults_set(struct schedule *s, struct fault *f, bool on);
/* Takes or gives back the carrier of a sub-port that flaps, if it is time. */
void schedule_faults_flap(struct schedule *s, struct fault *f);
/* All links as the faults that are on have them. */
void schedule_faults_links(struct schedule *s);
/* No data of that server passes the plane while it is on. What loses some, or has one cable of
 * two, goes on. */
bool schedule_faults_stops(const struct schedule *s, const struct fault *f, unsigned host,
			   unsigned plane);
/* Does it touch packets between the two? */
bool schedule_faults_concern(const struct fault *f, unsigned from, unsigned to, unsigned plane);

/* ---- schedule_checks.c: a server's callbacks, and what is looked at when */
void schedule_checks_change(void *arg, unsigned from, unsigned to, unsigned plane,
			    const struct probe_fsm_change *change);
void schedule_checks_mtu(void *arg, unsigned from, unsigned to, unsigned plane);
void schedule_checks_gray(void *arg, unsigned from, unsigned to, unsigned plane);
void schedule_checks_route(void *arg, unsigned from, unsigned to, unsigned plane, bool routed);
void schedule_checks_publish(void *arg, unsigned from, unsigned to, unsigned plane);
void schedule_checks_fault(struct schedule *s, struct fault *f);
/* It is about to end. */
void schedule_checks_fault_end(struct schedule *s, const struct fault *f);
void schedule_checks_end(struct schedule *s);

#endif
