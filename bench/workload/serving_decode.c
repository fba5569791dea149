/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serving_decode.c - the decode workers: batches, tokens, memory.
 */
#include <math.h>

#include "core/stats.h"
#include "workload/serving_internal.h"

#define STALL_NS UINT64_C(100000000)

static unsigned decode_room(const struct serving *s)
{
	unsigned room = s->o->batch ? s->o->batch : 64;

	return room < 4096 ? room : 4096;
}

static void decode_first(struct serving *s, struct request *q, uint64_t now)
{
	struct serving_result *r = s->r;

	q->first_ns = now;
	if (!q->counted)
		return;
	hist_add(&r->ttft, now - q->arrival_ns);
	serving_fabric_part(s, q, now);
	hist_add(&r->prefill, q->computed_ns - q->arrival_ns);
	hist_add(&r->decode_init, now > q->arrived_ns ? now - q->arrived_ns : 0);
	if (r->n_done == SERVING_MAX_DONE)
		return;
	r->done_s[r->n_done] = (double)(now - s->from_ns) / 1e9;
	r->done_ttft_s[r->n_done++] = (double)(now - q->arrival_ns) / 1e9;
}

static void decode_token(struct serving *s, struct request *q, uint64_t now)
{
	if (!q->first_ns) {
		decode_first(s, q, now);
	} else if (q->counted) {
		hist_add(&s->r->itl, now - q->last_ns);
		s->r->stalls += now - q->last_ns > STALL_NS;
	}
	q->last_ns = now;
	q->emitted++;
	q->window_tokens += now >= s->count_ns;
	s->decode[q->decode].tokens++;
}

static void decode_complete(struct serving *s, struct request *q)
{
	s->decode[q->decode].tokens -= q->prompt + q->emitted;
	s->ended++;
	if (q->counted)
		hist_add(&s->r->e2e, q->last_ns - q->arrival_ns);
	if (q->last_ns < s->count_ns)
		return;
	s->r->completed++;
	s->r->good += !q->preempted;
}

/* More cache than the worker holds: the request that was admitted last is preempted. */
static void decode_evict(struct serving *s, struct decode_worker *d, uint64_t now)
{
	while (s->o->kv_tokens > 0 && d->tokens > s->o->kv_tokens && d->n_active > 1)
		serving_preempt(s, d->active[--d->n_active], now);
}

/* A step may be known only after a cache that arrived later: that one waits for the next. */
static void decode_admit(struct serving *s, struct decode_worker *d, uint64_t now)
{
	unsigned room = s->o->static_batch && d->n_active ? 0 : decode_room(s);

	while (d->n_active < room && d->waiting.n && s->request[d->waiting.head].arrived_ns <= now)
		d->active[d->n_active++] = queue_take(s, &d->waiting);
}

static void decode_worker_step(struct serving *s, struct decode_worker *d, uint64_t now)
{
	unsigned kept = 0;

	d->steps++;
	d->busy_steps += d->n_active > 0;
	s->tokens += d->n_active;
	if ((now - s->from_ns) / 1000000 < s->r->n_bins)
		s->r->bin_tokens[(now - s->from_ns) / 1000000] += d->n_active;
	if (now >= s->count_ns) {
		s->window_tokens += d->n_active;
		s->r->decode_tokens[d - s->decode] += d->n_active;
	}
	for (unsigned k = 0; k < d->n_active; k++) {
		struct request *q = &s->request[d->active[k]];

		decode_token(s, q, now);
		if (q->emitted < q->output)
			d->active[kept++] = d->active[k];
		else
			decode_complete(s, q);
	}
	d->n_active = kept;
	decode_evict(s, d, now);
	decode_admit(s, d, now);
}

static void decode_memory(struct serving *s)
{
	double tokens[SERVING_MAX_WORKERS], cv;

	for (unsigned i = 0; i < s->o->n_decode; i++)
		tokens[i] = s->decode[i].tokens;
	cv = stats_cv(tokens, s->o->n_decode);
	if (!isfinite(cv)) /* one worker, or none has any */
		return;
	s->cv_sum += cv;
	s->cv_n++;
}

void serving_step(struct serving *s, uint64_t now)
{
	bool idle = true;

	for (unsigned i = 0; i < s->o->n_decode; i++) {
		decode_worker_step(s, &s->decode[i], now);
		idle &= s->decode[i].n_active == 0 && s->decode[i].waiting.n == 0;
	}
	decode_memory(s);
	for (unsigned i = 0; i < s->o->n_prefill; i++)
		idle &= s->prefill[i].busy == SERVING_NONE;
	/* one at a time: the next one comes when nothing is under way */
	if (s->o->per_s == 0 && idle && !s->transfers && s->next_arrival_ns == UINT64_MAX &&
	    now < s->latency_ns && (!s->o->max_requests || s->n_requests < s->o->max_requests))
		s->next_arrival_ns = now;
}
