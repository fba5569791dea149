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

static unsigned serving_shortest_prefill(const struct serving *s)
{
	unsigned best = 0;

	for (unsigned i = 1; i < s->o->n_prefill; i++) {
		const struct prefill_worker *a = &s->prefill[i], *b = &s->prefill[best];

		if (a->queue.n + (a->busy != SERVING_NONE) < b->queue.n + (b->busy != SERVING_NONE))
			best = i;
	}
	return best;
}

/* Has the worker that prefix? It has from now on, and forgets the one that it used longest ago. */
static bool serving_prefix(uint64_t used[SERVING_PREFIXES], unsigned prefix, uint64_t now)
{
	unsigned n = 0, oldest = prefix;
	bool had = used[prefix];

	used[prefix] = now;
	for (unsigned i = 0; i < SERVING_PREFIXES; i++) {
		n += used[i] != 0;
		if (used[i] && used[i] < used[oldest])
			oldest = i;
	}
	if (n > SERVING_PREFIX_ROOM)
		used[oldest] = 0;
	return had;
}

static void serving_route(struct serving *s, struct request *q)
{
	bool aware = s->o->router == ROUTER_KV_AWARE;

	q->prefill = aware ? serving_shortest_prefill(s) : s->turn % s->o->n_prefill;
	q->decode = aware ? serving_emptiest(s) : s->turn % s->o->n_decode;
	s->turn++;
	if (q->prefix < 0 || !s->o->prefix_aware)
		return;
	q->prefill = (unsigned)q->prefix % s->o->n_prefill;
	q->decode = (unsigned)q->prefix % s->o->n_decode;
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
	q->output = was ? was->output : lengths_draw(&s->o->output, &s->random);
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

static void serving_one(struct serving *s, uint64_t now)
{
	struct request *q = serving_new(s);

	if (!q)
		return;
	q->arrival_ns = now;
	serving_lengths(s, q);
	q->prefix = -1;
	if (rng_uniform(&s->random) < s->o->prefix_share) {
		q->prefix = (int)rng_below(&s->random, SERVING_PREFIXES);
		q->prompt += s->o->prefix_tokens;
	}
	q->counted = now >= s->count_ns && now < s->latency_ns;
	s->r->requests += q->counted;
	serving_route(s, q);
	queue_put(s, &s->prefill[q->prefill].queue, s->n_requests - 1);
	serving_prefill_next(s, q->prefill, now);
}

void serving_arrive(struct serving *s)
{
	unsigned burst = s->o->burst ? s->o->burst : 1;
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
	q->computed = q->prefix >= 0 && serving_prefix(p->prefix_used, (unsigned)q->prefix, now)
			      ? s->o->prefix_tokens
			      : 0;
	p->idle_ns += now - p->since_ns;
	p->since_ns = now;
	p->piece_ns = now + serving_prefill_ns(s, q) / serving_pieces(s);
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
}

/* Its cache is about to be sent: is a part of it there? */
static void serving_reuse(struct serving *s, struct request *q, uint64_t now)
{
	bool hit;

	q->cached = 0;
	if (q->prefix < 0)
		return;
	hit = serving_prefix(s->decode[q->decode].prefix_used, (unsigned)q->prefix, now);
	q->cached = hit ? s->o->prefix_tokens : 0;
	s->r->prefix_lookups += now >= s->count_ns;
	s->r->prefix_hits += hit && now >= s->count_ns;
}

void serving_piece(struct serving *s, unsigned worker)
{
	struct prefill_worker *p = &s->prefill[worker];
	struct request *q = &s->request[p->busy];
	uint64_t due = p->piece_ns;

	if (q->pieces_out == 0)
		serving_reuse(s, q, due);
	serving_transfer(s, p->busy, due);
	if (++q->pieces_out < serving_pieces(s)) {
		p->piece_ns += serving_prefill_ns(s, q) / serving_pieces(s);
		return;
	}
	q->computed_ns = due;
	s->r->input_tokens += due >= s->count_ns ? q->prompt : 0;
	p->busy_ns += due - p->since_ns;
	p->since_ns = due;
	p->busy = SERVING_NONE;
	p->piece_ns = UINT64_MAX;
	serving_prefill_next(s, worker, due);
}

void serving_delivered(struct serving *s, uint64_t id, uint64_t due_ns, uint64_t t_ns, double bytes)
{
	struct request *q;

	if (id >= s->n_requests)
		return;
	q = &s->request[id];
	q->arrived++;
	s->transfers -= q->sent == q->arrived;
	if (q->counted && t_ns > due_ns)
		hist_add(&s->r->kv_latency, t_ns - due_ns);
	s->r->decode_bytes[q->decode] += bytes;
	s->r->kv_bytes += t_ns >= s->count_ns ? bytes : 0;
	if (q->pieces_out < serving_pieces(s) || q->arrived < q->sent)
		return;
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
	q->prefix = -1;
	queue_put(s, &s->prefill[q->prefill].queue, i);
	serving_prefill_next(s, q->prefill, now);
}

/* A page is a message, and not the shortest that there are. */
uint64_t serving_page_bytes(const struct serving *s, uint64_t piece)
{
	unsigned pieces = s->o->pieces ? s->o->pieces : 1;
	double page = model_kv_bytes(s->o->model, s->o->page_tokens) / s->t->scale / pieces;

	if (page < SERVING_LEAST_BYTES)
		page = SERVING_LEAST_BYTES;
	return s->o->page_tokens && page < (double)piece ? (uint64_t)page : piece;
}

void serving_count(const struct serving *s, struct audit_counts *c)
{
	uint64_t held = 0;

	for (unsigned i = 0; i < s->o->n_prefill; i++) {
		const struct prefill_worker *p = &s->prefill[i];
		uint64_t rest = s->to_ns > p->since_ns ? s->to_ns - p->since_ns : 0;

		c->time_ns += s->to_ns - s->from_ns;
		c->busy_ns += p->busy_ns + (p->busy != SERVING_NONE ? rest : 0);
		c->idle_ns += p->idle_ns + (p->busy == SERVING_NONE ? rest : 0);
		held += p->queue.n + (p->busy != SERVING_NONE);
	}
	for (unsigned i = 0; i < s->o->n_decode; i++)
		held += s->decode[i].waiting.n + s->decode[i].n_active;
	for (uint32_t i = 0; i < s->n_requests; i++) {
		held += s->request[i].computed_ns && !s->request[i].arrived_ns;
		c->request_tokens += s->request[i].tokens;
	}
	c->requests += s->n_requests;
	c->requests_ended += s->ended;
	c->requests_held += held;
	c->tokens += s->tokens;
}
