/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serving.h - a disaggregated inference service: requests, prefill, KV transfer, decode.
 *
 * Owns: the requests of one run. In: pools of workers, laws of arrival and length, a router; out:
 * latencies and counts as an operator would read them. Compute is emulated by the times of model.h;
 * every byte of KV cache and of expert dispatch crosses the fabric, sent by the workers, verified,
 * and timed where it arrives. Thread: the coordinator's.
 *
 * A request waits for a prefill worker, computes there, and its cache goes to the decode worker
 * that the router chose, in `pieces` pieces as they become ready (layer-wise transfer), each of one
 * message, of one for every `page_tokens` tokens (paged transfer), or of one for each of `shards`
 * ranks. It then waits for a place in that worker's batch. All decode workers step together, as
 * wide expert parallelism makes them; with experts, a step ends when dispatch and combine have
 * arrived everywhere and step_s has passed. Each request of the batch emits a token at its end.
 */
#ifndef SERVING_H
#define SERVING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/hist.h"
#include "suite/trial.h"
#include "workload/lengths.h"
#include "workload/model.h"
#include "workload/trace.h"

#define SERVING_MAX_WORKERS 64
#define SERVING_PREFIXES    16	 /* that requests choose from */
#define SERVING_COUNT_FROM  0.15 /* of the window: what happens before is warm-up */
#define SERVING_LATENCY_TO  0.85 /* who comes later may have no token when it ends */

/*
 * In turn; the shortest prefill queue and the least cache; the same, and of the prefill workers
 * with as short a queue and the decode workers with little more cache than that the two between
 * which a cache is soonest across; the worker that has most of the prompt, whatever its load; where
 * least is left to do, with what waits there and without what is there.
 */
enum serving_router {
	ROUTER_ROUND_ROBIN,
	ROUTER_KV_AWARE,
	ROUTER_KV_PATHS,
	ROUTER_PREFIX,
	ROUTER_PREFIX_LOAD
};

struct serving_options {
	const struct model *model;
	const struct moe_config *experts; /* NULL: a dense model, no dispatch */
	unsigned n_prefill, n_decode;	  /* workers; several may be played by one GPU */
	unsigned pieces;		  /* 0: 1 */
	unsigned page_tokens;		  /* 0: a piece is one message */
	unsigned shards; /* > 0: a piece is so many messages at once, one of each rank; no pages */
	bool read; /* decode workers read the cache (pull) instead of its being written (push) */
	struct lengths prompt, output;
	/* lengths and distances of requests as they were recorded, the distances stretched so that
	 * per_s come on the mean; NULL: drawn by the laws */
	const struct trace *trace;
	double per_s;	/* requests; Poisson. 0: one at a time, the next when one has ended */
	unsigned burst; /* requests that arrive together; 0: 1 */
	enum serving_router router;
	bool reuse;	   /* of a trace's blocks, by workers that have them */
	unsigned batch;	   /* requests that a decode worker steps at once; 0: 64 */
	bool static_batch; /* a batch is filled only when the one before has ended */
	double kv_tokens;  /* that a decode worker holds; 0: without bound. Above: eviction */
	/*
	 * share of requests with a common prefix of prefix_tokens; of a trace with ids of blocks
	 * these count. A prefill worker that has blocks does not compute them anew, and a decode
	 * worker that has them is not sent them
	 */
	double prefix_share;
	unsigned prefix_tokens;
	double background;     /* share of each GPU's line that other traffic takes, open loop */
	bool extra_dispatch;   /* dispatches of another service beside */
	unsigned max_requests; /* 0: until the time is up */
	/* several services at once: which of how many (0: 1) equal parts of both pools' GPUs */
	unsigned tenant, tenants;
};

/* A request as it came, and what becomes of it where prefill takes what the model says. */
struct serving_came {
	double computed_s; /* the end of its prefill, in the queue that the router chose; since the
			      window began */
	double cache_bytes;
	unsigned decode, output; /* worker; tokens */
};

/*
 * Latencies are of the requests that came between the warm-up and the last part of the window;
 * tokens, bytes and completions are of all requests, by when they happened, from the warm-up to the
 * end, which is `seconds`.
 */
struct serving_result {
	/* ns; itl_fabric: dispatch and combine of a step, as they crossed the fabric */
	struct hist ttft, itl, e2e, prefill, transfer, decode_init, kv_latency, itl_fabric;
	uint64_t requests;    /* whose latencies count */
	double prompt_tokens; /* of these, all together */
	/* of these, what computing takes, and the wait for it in the queues that the router chose
	 * if prefill took just that long: sums */
	double prefill_s, wait_s;
	uint64_t tokenless;	     /* of these: no token when the window ended */
	uint64_t transfers, arrived; /* of these: caches that were sent, that arrived whole */
	/* good: never preempted, nothing evicted. good_tokens: those that came in the time that
	 * counts of requests that are good when it ends, so output_tokens at most */
	uint64_t completed, good;
	uint64_t output_tokens, input_tokens, good_tokens;
	/* of requests whose prefill had ended: transfers and TTFT of the same ones, added up */
	uint64_t fabric_requests;
	double fabric_part_s, fabric_of_s;
	uint64_t stalls; /* tokens more than 100 ms after the one before */
	/* look-ups of blocks at decode workers; repeats: of blocks that any had looked up before */
	uint64_t evictions, preemptions, prefix_hits, prefix_repeats, prefix_lookups;
	double kv_bytes; /* of caches that arrived */
	double sent_bytes, wasted_bytes;
	/* of one request; what token buckets pass at once between two GPUs; what the pools' links
	 * carry */
	double largest_cache, bucket_bytes, line_bps;
	/* requests whose cache was under way at once, and messages of caches */
	unsigned peak_transfers, peak_messages;
	unsigned decode_gpus;
	double per_s;	   /* requests offered; 0: one at a time */
	double concurrent; /* requests that had come and not ended, mean */
	double seconds;
	double fabric_bps;    /* payload of all loads, acknowledged in the time that counts */
	double kv_bps;	      /* of these, of caches */
	double all_lines_bps; /* that all GPUs' lines carry */
	double cache_tokens;  /* of decode workers when it ends, with what is on its way */
	double decode_bytes[SERVING_MAX_WORKERS], decode_tokens[SERVING_MAX_WORKERS];
	double decode_busy[SERVING_MAX_WORKERS]; /* share of steps with a batch */
	double memory_cv;			 /* of decode workers' cache, mean over steps */
	/* bytes that became due together: bursts are transfers less than a step apart */
	struct hist burst_bytes, burst_ns, burst_gap_ns;
	double peak_bps; /* of caches, acknowledged in the busiest 10 ms */
	uint64_t dropped_packets;
	struct traffic_result books; /* retransmissions, deaths of paths */
	double *done_s; /* when each request had its first token, s since the window began */
	double *done_ttft_s;
	unsigned n_done;
	double *bin_tokens; /* of each ms of the window */
	size_t n_bins;
	double warm_s;		   /* from the window's begin until what happens counts */
	struct serving_came *came; /* all, in the order of their arrival */
	unsigned n_came;
};

/* Runs t->seconds of it. `meanwhile` as of trial_measure(). -errno, after saying why. */
int serving_run(struct trial *t, const struct serving_options *options,
		int (*meanwhile)(void *arg, uint64_t now_ns), void *arg,
		struct serving_result *out);
/* The same of n at once, each with its own part of the pools (serving_options.tenants). */
int serving_run_all(struct trial *t, const struct serving_options *options, unsigned n,
		    int (*meanwhile)(void *arg, uint64_t now_ns), void *arg,
		    struct serving_result *out);
void serving_fini(struct serving_result *r);

/* ---- serving_text.c: the requests of a service in words, as section 14 of the methodology asks
 * for them. Pure. ---- */

#define SERVING_TEXT_MAX 600

/* "prompts: ...; outputs: ...; arrivals: ...; prefixes: ..." */
void serving_text(const struct serving_options *o, char *out, size_t size);
/* That as a row SUITE_REQUESTS, once for each text of a trial. */
void serving_text_add(struct trial *t, const struct serving_options *o);

#endif
