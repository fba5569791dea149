/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serving_internal.h - what the files of the serving emulator share.
 *
 * serving.c builds the traffic and runs the loop; serving_requests.c takes a request from arrival
 * to its cache's transfer; serving_decode.c steps the decode workers. Thread: the coordinator's.
 */
#ifndef SERVING_INTERNAL_H
#define SERVING_INTERNAL_H

#include "workload/prefix_cache.h"
#include "workload/serving.h"

#define SERVING_PREFIX_ROOM  8	  /* that a worker keeps */
#define SERVING_BLOCK_ROOM   4096 /* the same of a trace's blocks: 2 M tokens of 512 each */
#define SERVING_NONE	     UINT32_MAX
#define SERVING_LEAST_BYTES  64	    /* of a message */
#define SERVING_MAX_DONE     200000 /* requests whose times are kept one by one */
#define SERVING_BURST_GAP_NS UINT64_C(20000000)

struct request {
	uint64_t arrival_ns, computed_ns, arrived_ns, first_ns, last_ns;
	unsigned prompt, output, emitted; /* output: that are to come since it was (re)started */
	unsigned asked;			  /* tokens, whatever became of it */
	unsigned cached, computed;	  /* tokens that need not be sent, and not be computed */
	unsigned window_tokens;		  /* emitted since the warm-up */
	unsigned prefill, decode;	  /* workers */
	unsigned first_decode;		  /* the same, whatever became of it */
	uint64_t ideal_ns;		  /* the end of its prefill by the model */
	double ideal_bytes;		  /* of its cache, as it came */
	unsigned pieces_out;		  /* that were computed */
	unsigned sent, arrived;		  /* messages of its cache */
	const uint64_t *block;		  /* of its prompt, from the beginning */
	unsigned n_blocks;
	double open_bytes; /* of its cache, that the router counts as to come */
	double work;	   /* tokens that its prefill worker had to compute, as the router saw it */
	bool counted, preempted; /* counted: its latencies are */
	uint32_t next;		 /* in a queue */
};

struct queue {
	uint32_t head, tail;
	unsigned n;
};

struct prefill_worker {
	struct queue queue;
	uint32_t busy; /* the request in hand */
	uint64_t piece_ns;
	uint64_t piece_length_ns;	 /* of the piece in hand */
	uint64_t computed_ns;		 /* what its pieces took, by the model */
	uint64_t free_since_ns, idle_ns; /* between prompts */
	uint64_t ideal_free_ns;		 /* when it has computed all that came, by the model */
	double work;			 /* of those in the queue and in hand */
	struct prefix_cache prefixes;
};

struct decode_worker {
	struct queue waiting;
	uint32_t active[4096];
	unsigned n_active;
	double tokens; /* of cache, with what is on its way */
	struct prefix_cache prefixes;
	uint64_t steps, busy_steps;
};

struct serving {
	struct trial *t;
	const struct serving_options *o;
	struct serving_result *r;
	const struct plan *plan;
	unsigned kv_stream[SERVING_MAX_WORKERS][SERVING_MAX_WORKERS];	 /* [prefill][decode] */
	unsigned prefill_first, prefill_gpus, decode_first, decode_gpus; /* its GPUs */
	/* by its GPUs: caches of requests that are routed and not there yet; what a byte of the
	 * last ones took between two, from due to arrival, 0: none has arrived */
	double open_from[SERVING_MAX_WORKERS], open_to[SERVING_MAX_WORKERS];
	double ns_per_byte[SERVING_MAX_WORKERS][SERVING_MAX_WORKERS];
	unsigned first_stream, end_stream, kv_load, experts_load; /* in the plan */
	struct moe moe[2];
	struct request *request;
	uint32_t n_requests, room;
	struct prefill_worker prefill[SERVING_MAX_WORKERS];
	struct decode_worker decode[SERVING_MAX_WORKERS];
	struct prefix_cache seen; /* by any decode worker, in the room of all of them together */
	unsigned turn;
	uint64_t random, from_ns, to_ns, next_arrival_ns;
	uint64_t count_ns, latency_ns; /* what counts begins; latencies of who comes later do not */
	uint64_t step_ns; /* when the step under way ends, if no dispatch says so; UINT64_MAX: it
			     does */
	uint64_t whole[TOPO_MAX_GPUS]; /* rounds that have arrived at each GPU */
	uint64_t round;
	unsigned transfers, messages; /* under way: of caches, and their messages */
	double edge_bytes; /* of caches that arrived close to where what counts begins or ends */
	uint64_t tokens, window_tokens; /* of all batches; since the warm-up */
	uint64_t ended;			/* requests, whenever */
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

/* Bytes of a page, or of a shard, of a piece of so many. */
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

/* Of a counted request that has its first token, or never gets one: what of its TTFT was the
 * fabric's. */
void serving_fabric_part(struct serving *s, const struct request *q, uint64_t now);
/* At the end: requests without a token or a cache, and whose tokens were good. */
void serving_unfinished(struct serving *s);
/* Requests in the service at once, mean. */
double serving_concurrent(const struct serving *s);
/* Payload of a load (below 0: of all) that was acknowledged in the time that counts. */
double serving_window_bytes(const struct serving *s, const struct measured *m, int load);
/* What came and went, for audit_conserved(). */
void serving_count(const struct serving *s, struct audit_counts *c);

/* serving_decode.c: a step of all decode workers ends. */
void serving_step(struct serving *s, uint64_t now);

#endif
