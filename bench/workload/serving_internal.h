/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serving_internal.h - what the files of the serving emulator share.
 *
 * serving.c builds the traffic and runs the loop; serving_requests.c takes a request from arrival
 * to its cache's transfer; serving_decode.c steps the decode workers. Thread: the coordinator's.
 */
#ifndef SERVING_INTERNAL_H
#define SERVING_INTERNAL_H

#include "workload/serving.h"

#define SERVING_PREFIX_ROOM  8 /* that a decode worker keeps */
#define SERVING_NONE	     UINT32_MAX
#define SERVING_LEAST_BYTES  64	    /* of a message */
#define SERVING_MAX_DONE     200000 /* requests whose times are kept one by one */
#define SERVING_BURST_GAP_NS UINT64_C(20000000)

struct request {
	uint64_t arrival_ns, computed_ns, arrived_ns, first_ns, last_ns;
	unsigned prompt, output, emitted;
	unsigned cached, computed; /* tokens that need not be sent, and not be computed */
	unsigned tokens;	   /* emitted in all, also before it was preempted */
	unsigned prefill, decode;  /* workers */
	unsigned pieces_out;	   /* that were computed */
	unsigned sent, arrived;	   /* messages of its cache */
	int prefix;		   /* -1: none */
	bool counted, preempted;   /* counted: its latencies are */
	uint32_t next;		   /* in a queue */
};

struct queue {
	uint32_t head, tail;
	unsigned n;
};

struct prefill_worker {
	struct queue queue;
	uint32_t busy; /* the request in hand */
	uint64_t piece_ns;
	uint64_t since_ns, busy_ns, idle_ns; /* since it has been busy, or not */
	uint64_t prefix_used[SERVING_PREFIXES];
};

struct decode_worker {
	struct queue waiting;
	uint32_t active[4096];
	unsigned n_active;
	double tokens;				/* of cache, with what is on its way */
	uint64_t prefix_used[SERVING_PREFIXES]; /* when last; 0: not there */
	uint64_t steps, busy_steps;
};

struct serving {
	struct trial *t;
	const struct serving_options *o;
	struct serving_result *r;
	const struct plan *plan;
	unsigned kv_stream[SERVING_MAX_WORKERS][SERVING_MAX_WORKERS];	 /* [prefill][decode] */
	unsigned prefill_first, prefill_gpus, decode_first, decode_gpus; /* its GPUs */
	unsigned first_stream, end_stream, kv_load, experts_load;	 /* in the plan */
	struct moe moe[2];
	struct request *request;
	uint32_t n_requests, room;
	struct prefill_worker prefill[SERVING_MAX_WORKERS];
	struct decode_worker decode[SERVING_MAX_WORKERS];
	unsigned turn;
	uint64_t random, from_ns, to_ns, next_arrival_ns;
	uint64_t count_ns, latency_ns; /* what counts begins; latencies of who comes later do not */
	uint64_t step_ns; /* when the step under way ends, if no dispatch says so; UINT64_MAX: it
			     does */
	uint64_t whole[TOPO_MAX_GPUS]; /* rounds that have arrived at each GPU */
	uint64_t round;
	unsigned transfers;	/* under way */
	uint64_t tokens, ended; /* of all requests, whenever */
	uint64_t burst_start_ns, burst_last_ns;
	double burst_bytes;
	double cv_sum;
	uint64_t cv_n;
	int err;
};

/* All that run at once. */
struct services {
	struct trial *t;
	struct serving *one;
	unsigned n;
	struct plan plan;
	int (*meanwhile)(void *arg, uint64_t now_ns);
	void *arg;
};

/* Bytes of a page of a piece of so many. */
uint64_t serving_page_bytes(const struct serving *s, uint64_t piece);

void queue_put(struct serving *s, struct queue *q, uint32_t i);
uint32_t queue_take(struct serving *s, struct queue *q); /* SERVING_NONE: it is empty */

/* serving_requests.c */
void serving_arrive(struct serving *s); /* who is due */
void serving_prefill_next(struct serving *s, unsigned worker, uint64_t now);
void serving_piece(struct serving *s, unsigned worker); /* its time has come */
void serving_delivered(struct serving *s, uint64_t id, uint64_t due_ns, uint64_t t_ns,
		       double bytes);
/* Its cache is gone: it begins anew. */
void serving_preempt(struct serving *s, uint32_t i, uint64_t now);
void serving_burst_end(struct serving *s);

/* What came and went, for audit_conserved(). */
void serving_count(const struct serving *s, struct audit_counts *c);

/* serving_decode.c: a step of all decode workers ends. */
void serving_step(struct serving *s, uint64_t now);

#endif
