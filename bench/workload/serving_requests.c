/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serving_requests.c - a request from its arrival to the arrival of its cache.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "workload/serving_internal.h"

/*
 * a receiver has a message before its sender knows; by as much as a GPU may stall
 * (audit.h)
 */
#define SERVING_EDGE_NS AUDIT_STALL_NS
#define SERVING_NEAR	0.1  /* of what a decode worker holds at most: about as empty */
#define SERVING_NEWER	0.25 /* weight of the last cache in what a path takes */

void queue_put(struct serving *s, struct queue *q, uint32_t i)
{
	s->request[i].next = SERVING_NONE;
	if (q->n++)
		s->request[q->tail].next = i;
	else
		q->head = i;
	q->tail = i;
}

uint32_t queue_take(struct serving *s, struct queue *q)
{
	uint32_t i = q->n ? q->head : SERVING_NONE;

	if (q->n) {
		q->n--;
		q->head = s->request[i].next;
	}
	return i;
}

/* ---- the router ---- */

static unsigned serving_emptiest(const struct serving *s)
{
	unsigned best = 0;

	for (unsigned i = 1; i < s->o->n_decode; i++)
		if (s->decode[i].tokens < s->decode[best].tokens)
			best = i;
	return best;
}

static unsigned serving_waiting(const struct prefill_worker *p)
{
	return p->queue.n + (p->busy != SERVING_NONE);
}

static unsigned serving_shortest_prefill(const struct serving *s)
{
	unsigned best = 0;

	for (unsigned i = 1; i < s->o->n_prefill; i++)
		if (serving_waiting(&s->prefill[i]) < serving_waiting(&s->prefill[best]))
			best = i;
	return best;
}

/* When a cache would be there: what is to come by the busier end is first. A path that nobody knows
 * is tried. */
static double serving_reach_ns(const struct serving *s, double bytes, unsigned prefill,
			       unsigned decode)
{
	unsigned from = prefill % s->prefill_gpus, to = decode % s->decode_gpus;
	double ns = s->ns_per_byte[from][to];

	return (fmax(s->open_from[from], s->open_to[to]) + bytes) * (ns > 0 ? ns : 1);
}

/* Of the workers about as good as the best of their pool, the two between which its cache is
 * soonest across. */
static void serving_route_by_path(struct serving *s, struct request *q)
{
	unsigned shortest = serving_waiting(&s->prefill[q->prefill]), best = q->decode;
	double most = s->decode[best].tokens + SERVING_NEAR * s->o->kv_tokens, soonest = INFINITY;

	q->open_bytes = model_kv_bytes(s->o->model, q->prompt) / s->t->scale;
	for (unsigned i = 0; i < s->o->n_prefill; i++)
		for (unsigned j = 0; j < s->o->n_decode; j++) {
			double ns = serving_reach_ns(s, q->open_bytes, i, j),
			       tokens = s->decode[j].tokens;

			if (serving_waiting(&s->prefill[i]) > shortest || tokens > most ||
			    ns > soonest || (ns == soonest && tokens >= s->decode[best].tokens))
				continue;
			q->prefill = i;
			best = j;
			soonest = ns;
		}
	q->decode = best;
	s->open_from[q->prefill % s->prefill_gpus] += q->open_bytes;
	s->open_to[q->decode % s->decode_gpus] += q->open_bytes;
}

static double serving_block_tokens(const struct serving *s)
{
	return s->o->trace && s->o->trace->block ? s->o->trace->block_tokens : s->o->prefix_tokens;
}

/* Tokens of the prompt, from its beginning, that a worker has: all but one at most. */
static unsigned serving_held(const struct serving *s, const struct request *q,
			     const struct prefix_cache *cache)
{
	double held = prefix_cache_match(cache, q->block, q->n_blocks) * serving_block_tokens(s);

	return held < q->prompt ? (unsigned)held : q->prompt - 1;
}

/* Where most of the prompt is; one that nobody has gets a worker of its own. */
static void serving_route_by_prefix(const struct serving *s, struct request *q)
{
	unsigned most = 0, held;

	q->prefill = (unsigned)(q->block[0] % s->o->n_prefill);
	for (unsigned i = 0; i < s->o->n_prefill; i++) {
		held = serving_held(s, q, &s->prefill[i].prefixes);
		q->prefill = held > most ? i : q->prefill;
		most = held > most ? held : most;
	}
	most = 0;
	q->decode = (unsigned)(q->block[0] % s->o->n_decode);
	for (unsigned i = 0; i < s->o->n_decode; i++) {
		held = serving_held(s, q, &s->decode[i].prefixes);
		q->decode = held > most ? i : q->decode;
		most = held > most ? held : most;
	}
}

/* Where least is to be computed before the request is, and least cache would be. */
static void serving_route_by_work(const struct serving *s, struct request *q)
{
	double least = INFINITY;

	for (unsigned i = 0; i < s->o->n_prefill; i++) {
		double work = s->prefill[i].work - serving_held(s, q, &s->prefill[i].prefixes);

		if (work < least)
			q->prefill = i;
		least = fmin(work, least);
	}
	least = INFINITY;
	for (unsigned i = 0; i < s->o->n_decode; i++) {
		double tokens = s->decode[i].tokens - serving_held(s, q, &s->decode[i].prefixes);

		if (tokens < least)
			q->decode = i;
		least = fmin(tokens, least);
	}
}

static void serving_route(struct serving *s, struct request *q)
{
	bool in_turn = s->o->router == ROUTER_ROUND_ROBIN;

	q->prefill = in_turn ? s->turn % s->o->n_prefill : serving_shortest_prefill(s);
	q->decode = in_turn ? s->turn % s->o->n_decode : serving_emptiest(s);
	s->turn++;
	if (s->o->router == ROUTER_KV_PATHS)
		serving_route_by_path(s, q);
	else if (s->o->router == ROUTER_PREFIX && q->n_blocks)
		serving_route_by_prefix(s, q);
	else if (s->o->router == ROUTER_PREFIX_LOAD)
		serving_route_by_work(s, q);
	q->work = q->prompt - serving_held(s, q, &s->prefill[q->prefill].prefixes);
}

static void serving_enqueue(struct serving *s, uint32_t i, uint64_t now)
{
	struct request *q = &s->request[i];

	s->prefill[q->prefill].work += q->work;
	queue_put(s, &s->prefill[q->prefill].queue, i);
	serving_prefill_next(s, q->prefill, now);
}

/* ---- arrival ---- */

static struct request *serving_new(struct serving *s)
{
	if (s->n_requests == s->room) {
		uint32_t room = s->room ? 2 * s->room : 1024;
		struct request *grown = realloc(s->request, room * sizeof(*grown));

		if (!grown) {
			s->err = -ENOMEM;
			return NULL;
		}
		s->request = grown;
		s->room = room;
	}
	memset(&s->request[s->n_requests], 0, sizeof(*s->request));
	return &s->request[s->n_requests++];
}

static void serving_lengths(struct serving *s, struct request *q)
{
	const struct trace *trace = s->o->trace;
	const struct trace_request *was =
		trace ? &trace->request[(s->n_requests - 1) % trace->n] : NULL;

	q->prompt = was ? was->prompt : lengths_draw(&s->o->prompt, &s->random);
	q->output = q->asked = was ? was->output : lengths_draw(&s->o->output, &s->random);
	if (was && s->o->reuse && was->n_blocks) {
		q->block = trace->block + was->first_block;
		q->n_blocks = was->n_blocks;
	}
}

/* Prefixes of requests that no trace has: one block each. */
static void serving_draw_prefix(struct serving *s, struct request *q)
{
	static const uint64_t prefix[SERVING_PREFIXES] = {0, 1, 2,  3,	4,  5,	6,  7,
							  8, 9, 10, 11, 12, 13, 14, 15};

	if (rng_uniform(&s->random) >= s->o->prefix_share)
		return;
	q->block = &prefix[rng_below(&s->random, SERVING_PREFIXES)];
	q->n_blocks = 1;
	q->prompt += s->o->prefix_tokens;
}

/* From the requests that just came to the next ones. */
static double serving_distance_s(struct serving *s, unsigned burst)
{
	const struct trace *trace = s->o->trace;

	if (trace)
		return trace_gap_s(trace, (s->n_requests - 1) % trace->n) /
		       (trace_mean_gap_s(trace) * s->o->per_s);
	return rng_exponential(&s->random) * burst / s->o->per_s;
}

static void serving_count_prompt(struct serving *s, struct request *q)
{
	double prefill_s = model_prefill_s(s->o->model, q->prompt);
	uint64_t *free_ns = &s->prefill[q->prefill].ideal_free_ns,
		 begins = *free_ns > q->arrival_ns ? *free_ns : q->arrival_ns;

	*free_ns = begins + (uint64_t)(prefill_s * 1e9);
	q->ideal_ns = *free_ns;
	q->ideal_bytes = model_kv_bytes(s->o->model, q->prompt) / s->t->scale;
	q->first_decode = q->decode;
	if (!q->counted)
		return;
	s->r->requests++;
	s->r->prompt_tokens += q->prompt;
	s->r->prefill_s += prefill_s;
	s->r->wait_s += (double)(begins - q->arrival_ns) / 1e9;
}

static void serving_one(struct serving *s, uint64_t now)
{
	struct request *q = serving_new(s);

	if (!q)
		return;
	q->arrival_ns = now;
	serving_lengths(s, q);
	serving_draw_prefix(s, q);
	q->counted = now >= s->count_ns && now < s->latency_ns;
	serving_route(s, q);
	serving_count_prompt(s, q);
	serving_enqueue(s, s->n_requests - 1, now);
}

void serving_arrive(struct serving *s)
{
	unsigned burst = s->o->burst && s->o->per_s > 0 ? s->o->burst : 1;
	uint64_t due = s->next_arrival_ns;

	for (unsigned i = 0; i < burst; i++)
		serving_one(s, due);
	s->next_arrival_ns = UINT64_MAX; /* one at a time: when this one has ended */
	if (s->o->per_s > 0)
		s->next_arrival_ns = due + (uint64_t)(serving_distance_s(s, burst) * 1e9);
	if (s->next_arrival_ns >= s->to_ns ||
	    (s->o->max_requests && s->n_requests >= s->o->max_requests))
		s->next_arrival_ns = UINT64_MAX;
}

/* ---- prefill ---- */

static unsigned serving_pieces(const struct serving *s)
{
	return s->o->pieces ? s->o->pieces : 1;
}

static uint64_t serving_prefill_ns(const struct serving *s, const struct request *q)
{
	return (uint64_t)(model_prefill_s(s->o->model, q->prompt - q->computed) * 1e9);
}

void serving_prefill_next(struct serving *s, unsigned worker, uint64_t now)
{
	struct prefill_worker *p = &s->prefill[worker];
	struct request *q;

	if (p->busy != SERVING_NONE || !p->queue.n)
		return;
	p->busy = queue_take(s, &p->queue);
	q = &s->request[p->busy];
	q->pieces_out = q->sent = q->arrived = 0;
	q->arrived_ns = q->computed_ns = 0;
	q->computed = serving_held(s, q, &p->prefixes);
	prefix_cache_use(&p->prefixes, q->block, q->n_blocks);
	/* a step that preempts may be known only after a prompt that ended later */
	now = now > p->free_since_ns ? now : p->free_since_ns;
	p->idle_ns += now - p->free_since_ns;
	p->piece_length_ns = serving_prefill_ns(s, q) / serving_pieces(s);
	p->piece_ns = now + p->piece_length_ns;
	s->decode[q->decode].tokens += q->prompt;
}

void serving_burst_end(struct serving *s)
{
	if (s->burst_bytes == 0)
		return;
	hist_add(&s->r->burst_bytes, (uint64_t)s->burst_bytes);
	hist_add(&s->r->burst_ns, s->burst_last_ns - s->burst_start_ns);
	s->burst_bytes = 0;
}

static void serving_burst(struct serving *s, double bytes, uint64_t now)
{
	if (s->burst_bytes > 0 && now - s->burst_last_ns > SERVING_BURST_GAP_NS) {
		hist_add(&s->r->burst_gap_ns, now - s->burst_last_ns);
		serving_burst_end(s);
	}
	if (s->burst_bytes == 0)
		s->burst_start_ns = now;
	s->burst_bytes += bytes;
	s->burst_last_ns = now;
}

static void serving_message(struct serving *s, uint32_t i, uint64_t bytes)
{
	struct request *q = &s->request[i];
	unsigned stream = s->kv_stream[q->prefill][q->decode];

	if (bytes > s->plan->stream[stream].slot_bytes)
		bytes = s->plan->stream[stream].slot_bytes;
	s->transfers += q->sent == q->arrived;
	q->sent++;
	s->messages++;
	s->r->sent_bytes += (double)bytes;
	if (!s->err)
		s->err = traffic_transfer(s->t->fabric->cluster, &s->plan->stream[stream], stream,
					  i, bytes);
}

/* What is left behind the last whole page goes with that. */
static void serving_transfer(struct serving *s, uint32_t i, uint64_t now)
{
	const struct request *q = &s->request[i];
	double bytes = model_kv_bytes(s->o->model, q->prompt - q->cached) / s->t->scale /
		       serving_pieces(s);
	uint64_t left = bytes < SERVING_LEAST_BYTES ? SERVING_LEAST_BYTES : (uint64_t)bytes,
		 page = serving_page_bytes(s, left);

	serving_burst(s, (double)left, now);
	s->r->largest_cache = fmax(s->r->largest_cache, (double)left * serving_pieces(s));
	while (left && !s->err) {
		uint64_t n = left < page + SERVING_LEAST_BYTES ? left : page;

		serving_message(s, i, n);
		left -= n;
	}
	if (s->transfers > s->r->peak_transfers)
		s->r->peak_transfers = s->transfers;
	if (s->messages > s->r->peak_messages)
		s->r->peak_messages = s->messages;
}

/* Its cache is about to be sent: is a part of it there? */
static void serving_reuse(struct serving *s, struct request *q, uint64_t now)
{
	struct prefix_cache *cache = &s->decode[q->decode].prefixes;

	q->cached = serving_held(s, q, cache);
	if (now >= s->count_ns) {
		s->r->prefix_lookups += q->n_blocks;
		s->r->prefix_hits += prefix_cache_match(cache, q->block, q->n_blocks);
		s->r->prefix_repeats += prefix_cache_match(&s->seen, q->block, q->n_blocks);
	}
	prefix_cache_use(cache, q->block, q->n_blocks);
	prefix_cache_use(&s->seen, q->block, q->n_blocks);
}

void serving_piece(struct serving *s, unsigned worker)
{
	struct prefill_worker *p = &s->prefill[worker];
	struct request *q = &s->request[p->busy];
	uint64_t due = p->piece_ns;

	if (q->pieces_out == 0)
		serving_reuse(s, q, due);
	serving_transfer(s, p->busy, due);
	p->computed_ns += p->piece_length_ns;
	if (++q->pieces_out < serving_pieces(s)) {
		p->piece_ns += p->piece_length_ns;
		return;
	}
	q->computed_ns = due;
	s->r->input_tokens += due >= s->count_ns ? q->prompt : 0;
	p->work -= q->work;
	p->free_since_ns = due;
	p->busy = SERVING_NONE;
	p->piece_ns = UINT64_MAX;
	serving_prefill_next(s, worker, due);
}

static void serving_path_took(struct serving *s, const struct request *q, double ns, double bytes)
{
	double *path = &s->ns_per_byte[q->prefill % s->prefill_gpus][q->decode % s->decode_gpus];

	if (ns > 0 && bytes > 0)
		*path += (ns / bytes - *path) * (*path > 0 ? SERVING_NEWER : 1);
}

/* Nothing more of it is to come. */
static void serving_path_free(struct serving *s, struct request *q)
{
	s->open_from[q->prefill % s->prefill_gpus] -= q->open_bytes;
	s->open_to[q->decode % s->decode_gpus] -= q->open_bytes;
	q->open_bytes = 0;
}

void serving_delivered(struct serving *s, uint64_t id, uint64_t due_ns, uint64_t t_ns, double bytes)
{
	struct request *q;

	if (id >= s->n_requests)
		return;
	q = &s->request[id];
	serving_path_took(s, q, (double)t_ns - (double)due_ns, bytes);
	q->arrived++;
	s->messages--;
	s->transfers -= q->sent == q->arrived;
	if (q->counted && t_ns > due_ns)
		hist_add(&s->r->kv_latency, t_ns - due_ns);
	s->r->decode_bytes[q->decode] += bytes;
	s->r->kv_bytes += t_ns >= s->count_ns ? bytes : 0;
	if (t_ns >= s->count_ns &&
	    (t_ns < s->count_ns + SERVING_EDGE_NS || t_ns + SERVING_EDGE_NS > s->to_ns))
		s->edge_bytes += bytes;
	if (q->pieces_out < serving_pieces(s) || q->arrived < q->sent)
		return;
	serving_path_free(s, q);
	q->arrived_ns = t_ns;
	if (q->counted)
		hist_add(&s->r->transfer, t_ns > q->computed_ns ? t_ns - q->computed_ns : 0);
	queue_put(s, &s->decode[q->decode].waiting, (uint32_t)id);
}

void serving_preempt(struct serving *s, uint32_t i, uint64_t now)
{
	struct request *q = &s->request[i];

	if (now >= s->count_ns) {
		s->r->preemptions++;
		s->r->evictions++;
		s->r->wasted_bytes +=
			model_kv_bytes(s->o->model, q->prompt - q->cached) / s->t->scale;
	}
	s->decode[q->decode].tokens -= q->prompt + q->emitted;
	q->prompt += q->emitted; /* what was emitted is part of the prompt now */
	q->output -= q->emitted;
	q->emitted = 0;
	q->preempted = true;
	q->n_blocks = 0;
	q->work = q->prompt;
	serving_enqueue(s, i, now);
}

/* Of the time that counts, how long each request was in the service, added up, over that time. */
double serving_concurrent(const struct serving *s)
{
	double sum_ns = 0;

	for (uint32_t i = 0; i < s->n_requests; i++) {
		const struct request *q = &s->request[i];
		bool ended = q->first_ns && q->emitted >= q->output;
		uint64_t from = q->arrival_ns > s->count_ns ? q->arrival_ns : s->count_ns,
			 to = ended ? q->last_ns : s->to_ns;

		sum_ns += to > from ? (double)(to - from) : 0;
	}
	return sum_ns / (double)(s->to_ns - s->count_ns);
}

/* A page, or a rank's shard, is a message, and not the shortest that there are. */
uint64_t serving_page_bytes(const struct serving *s, uint64_t piece)
{
	unsigned pieces = s->o->pieces ? s->o->pieces : 1;
	double page = model_kv_bytes(s->o->model, s->o->page_tokens) / s->t->scale / pieces;

	if (s->o->shards)
		page = (double)(piece / s->o->shards);
	if (page < SERVING_LEAST_BYTES)
		page = SERVING_LEAST_BYTES;
	return (s->o->page_tokens || s->o->shards) && page < (double)piece ? (uint64_t)page : piece;
}

/* What a prefill worker has done by the end: of the piece in hand a part. */
static void serving_count_prefill(const struct serving *s, const struct prefill_worker *p,
				  struct audit_counts *c)
{
	c->time_ns += s->to_ns - s->from_ns;
	c->busy_ns += p->computed_ns;
	c->idle_ns += p->idle_ns;
	if (p->busy == SERVING_NONE)
		c->idle_ns += s->to_ns - p->free_since_ns;
	else
		c->busy_ns += p->piece_length_ns - (p->piece_ns - s->to_ns);
}

/*
 * Requests: those that came against those that ended or lie in a queue, in a batch, on the way.
 * Tokens: the places of the batches against what each request asked for and still lacks.
 */
void serving_count(const struct serving *s, struct audit_counts *c)
{
	uint64_t held = 0;

	for (unsigned i = 0; i < s->o->n_prefill; i++) {
		serving_count_prefill(s, &s->prefill[i], c);
		held += s->prefill[i].queue.n + (s->prefill[i].busy != SERVING_NONE);
	}
	for (unsigned i = 0; i < s->o->n_decode; i++)
		held += s->decode[i].waiting.n + s->decode[i].n_active;
	for (uint32_t i = 0; i < s->n_requests; i++) {
		const struct request *q = &s->request[i];

		held += q->computed_ns && !q->arrived_ns;
		c->request_tokens += q->asked - (q->output - q->emitted);
		c->window_request_tokens += q->window_tokens;
	}
	c->requests += s->n_requests;
	c->requests_ended += s->ended;
	c->requests_held += held;
	c->tokens += s->tokens;
	c->window_tokens += s->window_tokens;
	c->good_tokens += s->r->good_tokens;
	c->cache_bytes += (uint64_t)(s->r->kv_bytes - s->edge_bytes);
}
