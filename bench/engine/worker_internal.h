/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * worker_internal.h - what the files of a worker share: its state, and what each offers the others.
 *
 * worker.c starts and loops; worker_requests.c does what the coordinator asks, worker_open.c begins
 * a run; worker_streams.c moves and verifies messages, worker_read.c those that are read,
 * worker_member.c opens and closes groups of a load during the run; worker_measure.c counts;
 * worker_loads.c says when which message is due. Each calls those named after it, and
 * worker_base.c.
 * Owns: struct worker, one per process. Thread: the process has one.
 */
#ifndef WORKER_INTERNAL_H
#define WORKER_INTERNAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/hist.h"
#include "engine/arrivals.h"
#include "engine/memory.h"
#include "engine/message.h"
#include "engine/rendezvous.h"
#include "engine/stream.h"
#include "engine/traffic.h"
#include "core/cpu.h"
#include "qp/baseline.h"
#include "launch/limits.h"

#define WORKER_MAX_STREAMS  1024
#define WORKER_MAX_LOADS    16
#define WORKER_MAX_EARLY    256
#define WORKER_MAX_DRAWN    100000     /* rounds whose sizes differ */
#define WORKER_SEND_ROUNDS  100000     /* in an answer */
#define WORKER_CREDIT	    UINT64_MAX /* context of what a receiver writes */
#define WORKER_MAX_COMMANDS 4096       /* of a stream, not yet posted */
#define WORKER_OPEN_NS	    UINT64_C(20000000000)
#define WORKER_COMPARE	    16 /* so often is what a file holds compared */
#define WORKER_MAX_ARENA    (UINT64_C(4) << 30)
#define WORKER_MAX_BINS	    4000000 /* of a millisecond */
#define WORKER_SEND_BINS    300000  /* in an answer */
#define WORKER_BIN_NS	    UINT64_C(1000000)

/* Whether a load's groups are open here. */
enum worker_presence {
	WORKER_PRESENT,
	WORKER_ABSENT,
	WORKER_JOINING, /* not all of them are connected */
	WORKER_LEAVING, /* something is under way */
	WORKER_LEFT
};

/* Streams of one kind of traffic: when their messages are due, and what is measured of them. */
struct worker_load {
	char name[16];
	enum arrival_law law;
	double mean_ns;		 /* between arrivals of a stream */
	uint64_t spread_ns;	 /* of a burst */
	uint64_t seed, delay_ns; /* nothing is due before delay_ns after the start */
	unsigned verify_every;	 /* whole messages; the others' header alone */
	/* rounds: a message per stream and round; 0: there are none. Sizes repeat after `drawn` */
	uint64_t rounds, drawn;
	unsigned overlap; /* rounds under way at once */
	uint64_t period_ns, gap_ns;
	bool report, read;
	enum traffic_member member;
	enum worker_presence presence;
	uint64_t *round_start, *round_end; /* round_room of both; 0: not yet */
	uint64_t round_room, rounds_ended;
	uint64_t unposted; /* due in the window, and not posted when the run was stopped */
	uint64_t late;	   /* due in the window, completed after its end */
	/* of messages that were due in the window measured: from then until posted, completed (at
	 * the sender), delivered (at the receiver) */
	struct hist *posted, *completed, *delivered;
};

struct worker_command {
	uint64_t id, bytes, arrival_ns;
};

/* Payload that crossed per plane at a moment: acknowledged, or read. */
struct worker_mark {
	uint64_t plane_bytes[FARE_MAX_PLANES];
};

struct worker_tx {
	struct fare_group *group; /* NULL: not open, or closed */
	struct fare_group_options options;
	struct fare_baseline baseline;
	struct in6_addr peer;
	struct fare_group_stats last; /* of a group that was closed during the run */
	struct worker_load *load;
	struct stream_tx books;
	struct arrivals arrivals;
	uint32_t gpu; /* the peer's global index */
	uint32_t key; /* the stream's number in the run */
	bool connected;
	uint64_t offset, slot_bytes, remote_addr;
	uint32_t rkey;
	uint64_t *round_bytes; /* per round; NULL: every message has slot_bytes */
	uint64_t due_ns[STREAM_MAX_SLOTS];
	struct worker_command *command; /* a ring; NULL: not by command */
	unsigned n_commands, next_command;
	struct worker_mark at_from, at_to;
	uint64_t messages; /* completed of those due in the window */
};

struct worker_rx {
	struct fare_group *group;
	struct worker_load *load;
	struct stream_rx books;
	uint32_t gpu, key;
	uint64_t offset, slot_bytes;
	/* of a load that is read: the sender's slots, and what was offered of each: 0: nothing */
	uint64_t remote_addr, offered[STREAM_MAX_SLOTS];
	bool reading[STREAM_MAX_SLOTS];
	uint32_t rkey;
	struct worker_mark at_from, at_to;
	uint64_t *round_bytes;
	uint64_t credit[STREAM_MAX_SLOTS]; /* that found no room: sequence number + 1 */
	uint64_t messages;		   /* delivered in the window */
};

/* Of the endpoint: sent again; received while one before them was missing. */
struct worker_packets {
	uint64_t retransmitted, out_of_order;
};

struct worker {
	struct rendezvous *coordinator;
	struct fare *fare;
	struct fare_domain *domain;
	struct memory source, target; /* one arena for what is sent, one for what arrives */
	struct fare_mr *tx_mr, *rx_mr;
	uint8_t *tx_arena, *rx_arena; /* where the CPU and the transport reach them */
	uint64_t arena_bytes;
	uint64_t regions, region_bytes; /* registered */
	const char *store;		/* this host's directory for files; NULL: none */
	uint32_t gpu, local_gpu;
	int64_t clock_offset_ns; /* of this host's clock, ahead of the coordinator's */
	uint64_t planted_ns;	 /* what a planted defect adds to it (planted.h) */
	struct limits limits;
	struct limits_meter meter;
	struct crew *crew; /* that fills and compares blocks */
	bool held;	   /* the limit of the rate made messages wait, in the window */

	struct worker_load load[WORKER_MAX_LOADS];
	struct worker_tx *tx;
	struct worker_rx *rx;
	unsigned n_loads, n_tx, n_rx;
	/* accepted before the coordinator announced the run: claimed when it does */
	struct fare_group *early[WORKER_MAX_EARLY];
	unsigned n_early;
	uint32_t nonce;
	bool running, stopping, opened, done;
	uint64_t open_ns; /* when the run in force was asked for */
	uint64_t start_ns;
	uint64_t wake_ns;  /* when a message is due that cannot be posted yet; UINT64_MAX: none */
	uint64_t event_ns; /* when the events in hand were taken */
	uint64_t from_ns, to_ns;
	bool from_marked, to_marked;
	uint64_t mark_from_ns, mark_to_ns; /* when what was counted was read */
	uint64_t cpu_from_ns, cpu_to_ns;
	struct cpu_times host_from, host_to; /* of this machine; local GPU 0 alone asks */
	json_t *counters_from, *counters_to; /* of this namespace's interfaces */
	uint64_t verified_bytes, sent_bytes;
	uint64_t proof_sent, proof_seen; /* message.h */
	uint64_t unsent;		 /* messages that came before they were sent */
	uint64_t stall_ns;		 /* longest in the window that this process stalled */
	struct worker_packets before;	 /* in earlier runs */
	/* payload acknowledged per load and ms since bins_ns (WORKER_MAX_BINS of each load);
	 * NULL: not asked for */
	uint32_t *bins;
	uint64_t bins_ns, bin, acked_bytes[WORKER_MAX_LOADS]; /* bin: the one under way */
};

/* ---- worker_base.c: used by all, calls none of them ---- */

/* The coordinator's monotonic clock, as far as its offset is known. */
uint64_t worker_now_ns(const struct worker *w);
/* Tells the coordinator of the error and ends the process: a run with an error has no result. */
_Noreturn void worker_fail(struct worker *w, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void worker_send(struct worker *w, json_t *event); /* takes event */
/* Not to be slept over. */
void worker_wake_at(struct worker *w, uint64_t at_ns);
bool worker_in_window(const struct worker *w, uint64_t t_ns);
/* An integer of a request, 0..max; else the worker fails. */
uint64_t worker_number(struct worker *w, json_t *object, const char *key, uint64_t max);
/* Of a peer: one that this host does not allow ends the worker, before anything is sent. */
void worker_address(struct worker *w, json_t *object, struct in6_addr *out);
void worker_open_group(struct worker *w, struct worker_tx *tx);
/* Zeroes before the group was opened, the last ones after it was closed. */
void worker_tx_stats(const struct worker_tx *tx, struct fare_group_stats *out);
/* Payload that crossed so far: of a stream that is read the receiver knows. */
void worker_tx_mark(const struct worker_tx *tx, struct worker_mark *out);
void worker_rx_mark(const struct worker_rx *rx, struct worker_mark *out);
struct worker_packets worker_packets(const struct worker *w);

/* ---- worker_loads.c ---- */

/* Is the stream's message seq due? True: *due_ns says since when. False: w->wake_ns is brought
 * forward, if time alone is missing. */
bool worker_is_due(struct worker *w, struct worker_tx *tx, uint64_t seq, uint64_t *due_ns);
/* A message that was due then has ended, the sender knows now. False: that was not in the window.
 */
bool worker_ended(const struct worker *w, struct worker_load *load, uint64_t due_ns);
/* Sequence numbers below this may be posted, as far as rounds go. */
uint64_t worker_limit(const struct worker *w, const struct worker_load *load);
void worker_round_posted(struct worker *w, struct worker_load *load, uint64_t seq, uint64_t now);
/* Something of the load arrived: ends the rounds that are whole. */
void worker_rounds_end(struct worker *w, struct worker_load *load, uint64_t now);
/* Nothing is posted any more: counts what was due by now and waits. */
void worker_stop(struct worker *w);

/* ---- worker_measure.c: called often; marks the ends of the window, fills bins ---- */

void worker_measure(struct worker *w, uint64_t now);
json_t *worker_measured(struct worker *w);

/* ---- worker_member.c: what the coordinator asks of a load that joins or leaves ---- */

void worker_op_join(struct worker *w, json_t *request);
void worker_op_leave(struct worker *w, json_t *request);
/* Called each turn: says "joined" and "left". */
void worker_members(struct worker *w);

/* ---- worker_read.c: loads whose receivers read ---- */

/* The sender offers message seq of so many bytes: 0, or -errno as of fare_group_send(). */
int worker_offer(struct worker_tx *tx, uint64_t seq, uint64_t bytes);
/* The receiver is offered one; reads what it can; has read one: how many bytes. */
void worker_on_offer(struct worker *w, struct worker_rx *rx, const struct fare_event *event);
void worker_read(struct worker *w, struct worker_rx *rx);
uint64_t worker_on_read(struct worker *w, struct worker_rx *rx, uint64_t seq);

/* ---- worker_streams.c: takes what the domain has, posts what is due ---- */

void worker_turn(struct worker *w); /* also says "opened" and "done" */
/* The first messages are filled and posted on return. */
void worker_start(struct worker *w);
/* Gives every waiting receive stream the group that its peer opened meanwhile. */
void worker_claim_early(struct worker *w);

/* ---- worker_open.c: begins a run; worker_close_*() ends it ---- */

void worker_open(struct worker *w, json_t *request);
void worker_close_tx(struct worker *w);
void worker_close_rx(struct worker *w);
void worker_free_loads(struct worker *w); /* of the last run */

/* ---- worker_requests.c: memory goes; does one request (borrowed); false: it was the last ---- */

void worker_free_memory(struct worker *w);
bool worker_request(struct worker *w, json_t *request);

#endif
