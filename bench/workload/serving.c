/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload/serving.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "workload/serving_internal.h"

#define SERVING_SLOTS	   16
#define SERVING_ROUNDS	   50000
#define SERVING_COUNT_FROM 0.15	       /* of the window: what arrives before is warm-up */
#define SERVING_ARRIVE_TO  0.85	       /* and nothing arrives behind */
#define SERVING_MESSAGE	   (64u << 10) /* of other traffic */
#define SERVING_PEAK_MS	   10

/* ---- traffic ---- */

static unsigned serving_prefill_gpu(const struct trial *t, unsigned worker)
{
	return worker % trial_prefill(t);
}

static unsigned serving_decode_gpu(const struct trial *t, unsigned worker)
{
	unsigned first = trial_prefill(t);

	return first + worker % (trial_gpus(t) - first);
}

static unsigned serving_longest(const struct lengths *lengths)
{
	return lengths->max > lengths->min ? lengths->max : lengths->min;
}

static uint64_t serving_slot_bytes(const struct serving *s)
{
	const struct trace *trace = s->o->trace;
	double tokens = (trace ? trace->longest_prompt : serving_longest(&s->o->prompt)) +
			s->o->prefix_tokens;

	if (s->o->kv_tokens > 0) /* a request that is made anew has its output in its prompt */
		tokens += trace ? trace->longest_output : serving_longest(&s->o->output);
	tokens = model_kv_bytes(s->o->model, tokens) / s->t->scale;
	return (uint64_t)(tokens / (s->o->pieces ? s->o->pieces : 1)) + 128;
}

static void serving_plan_kv(struct serving *s, struct plan *plan)
{
	struct traffic_load kv = trial_load(s->t, "kv", 0);
	unsigned load;
	uint64_t slot_bytes = serving_slot_bytes(s);

	kv.law = ARRIVAL_COMMAND;
	load = plan_load(plan, &kv);
	for (unsigned i = 0; i < s->o->n_prefill; i++)
		for (unsigned j = 0; j < s->o->n_decode; j++)
			s->kv_stream[i][j] =
				plan_stream(plan, load, serving_prefill_gpu(s->t, i),
					    serving_decode_gpu(s->t, j), SERVING_SLOTS, slot_bytes);
}

/* Dispatch and combine of one layer a step among the GPUs that decode. */
static void serving_plan_experts(struct serving *s, struct plan *plan, struct moe *moe,
				 const char *name, bool tell)
{
	struct traffic_load ep = trial_load(s->t, name, 0);
	unsigned first = trial_prefill(s->t), n = trial_gpus(s->t) - first, load;

	*moe = moe_of_config(s->o->experts, first, n, s->o->batch ? s->o->batch : 16, s->t->scale,
			     s->t->seed);
	moe->combine = true;
	moe->padded = true;
	ep.moe = moe;
	ep.rounds = SERVING_ROUNDS;
	ep.gap_s = s->o->model->step_s / 2;
	ep.tell = tell;
	load = plan_load(plan, &ep);
	plan_all_to_all(plan, s->t->fabric->topo, load, first, n, 1, moe_largest(moe, 2));
}

/* Poisson messages between the pools, both ways: that share of every GPU's line, in and out. */
static void serving_plan_background(struct serving *s, struct plan *plan)
{
	struct traffic_load other = trial_load(s->t, "background", 0);
	unsigned first = trial_prefill(s->t), n = trial_gpus(s->t), load;
	double bps = fabric_line_bps(s->t->fabric, 0) * s->o->background;

	other.law = ARRIVAL_POISSON;
	other.mean_s = SERVING_MESSAGE * 8 / bps;
	other.verify_every = 16;
	load = plan_load(plan, &other);
	for (unsigned i = 0; i < first; i++)
		plan_stream(plan, load, i, first + i % (n - first), 64, SERVING_MESSAGE);
	for (unsigned i = first; i < n; i++)
		plan_stream(plan, load, i, (i - first) % first, 64, SERVING_MESSAGE);
}

static bool serving_has_experts(const struct serving *s)
{
	return s->o->experts && s->decode_gpus > 1;
}

static void serving_plan(struct serving *s, struct plan *plan, struct moe moe[2])
{
	serving_plan_kv(s, plan);
	if (serving_has_experts(s))
		serving_plan_experts(s, plan, &moe[0], "experts", true);
	if (serving_has_experts(s) && s->o->extra_dispatch)
		serving_plan_experts(s, plan, &moe[1], "experts-2", false);
	if (s->o->background > 0)
		serving_plan_background(s, plan);
}

/* ---- the loop ---- */

static uint64_t serving_next_ns(const struct serving *s)
{
	uint64_t next = s->to_ns;

	next = s->next_arrival_ns < next ? s->next_arrival_ns : next;
	next = s->step_ns < next ? s->step_ns : next;
	for (unsigned i = 0; i < s->o->n_prefill; i++)
		if (s->prefill[i].piece_ns < next)
			next = s->prefill[i].piece_ns;
	return next;
}

/* What was due up to now, in the order of its times. */
static void serving_timers(struct serving *s, uint64_t now)
{
	uint64_t due;

	while (!s->err && (due = serving_next_ns(s)) <= now && due < s->to_ns) {
		if (s->next_arrival_ns == due)
			serving_arrive(s);
		for (unsigned i = 0; i < s->o->n_prefill; i++)
			if (s->prefill[i].piece_ns == due)
				serving_piece(s, i);
		if (s->step_ns == due) {
			serving_step(s, due);
			s->step_ns = due + (uint64_t)(s->o->model->step_s * 1e9);
		}
	}
}

/* A GPU has everything of a round; with odd ones, the combines, at all of them a step ends. */
static void serving_round(struct serving *s, unsigned gpu, uint64_t round, uint64_t t_ns)
{
	unsigned first = trial_prefill(s->t);

	s->whole[gpu] = round + 1;
	for (;;) {
		for (unsigned i = first; i < first + s->decode_gpus; i++)
			if (s->whole[i] <= s->round)
				return;
		s->round += 2;
		if (t_ns >= s->from_ns)
			serving_step(s, t_ns);
	}
}

static void serving_event(struct serving *s, unsigned gpu, const json_t *event)
{
	uint64_t t_ns = (uint64_t)json_integer_value(json_object_get(event, "t_ns"));

	if (json_object_get(event, "round"))
		serving_round(s, gpu, (uint64_t)json_integer_value(json_object_get(event, "round")),
			      t_ns);
	else
		serving_delivered(
			s, (uint64_t)json_integer_value(json_object_get(event, "id")),
			(uint64_t)json_integer_value(json_object_get(event, "arrival_ns")), t_ns,
			(double)json_integer_value(json_object_get(event, "bytes")));
}

static void serving_begin(struct serving *s, uint64_t from_ns, uint64_t to_ns)
{
	double length = (double)(to_ns - from_ns);

	s->from_ns = from_ns;
	s->to_ns = to_ns;
	s->count_ns = from_ns;
	if (s->o->per_s > 0 && !s->o->max_requests)
		s->count_ns += (uint64_t)(length * SERVING_COUNT_FROM);
	s->last_arrival_ns = from_ns + (uint64_t)(length * SERVING_ARRIVE_TO);
	s->next_arrival_ns = from_ns;
	s->step_ns = serving_has_experts(s) ? UINT64_MAX
					    : from_ns + (uint64_t)(s->o->model->step_s * 1e9);
	s->round = 1;
	for (unsigned i = 0; i < s->o->n_prefill; i++) {
		s->prefill[i].busy = SERVING_NONE;
		s->prefill[i].piece_ns = UINT64_MAX;
	}
}

static int serving_loop(void *arg, uint64_t from_ns, uint64_t to_ns)
{
	struct serving *s = arg;

	serving_begin(s, from_ns, to_ns);
	while (!s->err && cluster_now_ns() < to_ns) {
		json_t *event;
		unsigned gpu;

		serving_timers(s, cluster_now_ns());
		if (!s->err && s->meanwhile)
			s->err = s->meanwhile(s->arg, cluster_now_ns());
		if (!s->err)
			s->err = cluster_next(s->t->fabric->cluster, serving_next_ns(s), &gpu,
					      &event);
		if (!s->err && event)
			serving_event(s, gpu, event);
		if (!s->err)
			json_decref(event);
	}
	serving_burst_end(s);
	return s->err;
}

/* ---- results ---- */

/* One that has no token at the end has waited so long at least. */
static void serving_unfinished(struct serving *s)
{
	for (uint32_t i = 0; i < s->n_requests; i++)
		if (s->request[i].counted && !s->request[i].first_ns)
			hist_add(&s->r->ttft, s->to_ns - s->request[i].arrival_ns);
}

static double serving_peak_bps(const struct measured *m)
{
	double peak = 0;

	for (size_t i = 0; i + SERVING_PEAK_MS <= m->n_bins; i += SERVING_PEAK_MS) {
		double sum = 0;

		for (unsigned load = 0; load < m->n_loads; load++)
			for (unsigned k = 0; k < SERVING_PEAK_MS; k++)
				sum += m->load[load].bin_bytes[i + k];
		peak = fmax(peak, sum * 8e3 / SERVING_PEAK_MS);
	}
	return peak;
}

static void serving_results(struct serving *s, const struct measured *m)
{
	struct serving_result *r = s->r;

	serving_unfinished(s);
	r->seconds = (double)(s->to_ns - s->count_ns) / 1e9;
	r->memory_cv = s->cv_n ? s->cv_sum / (double)s->cv_n : 0;
	for (unsigned i = 0; i < m->n_loads; i++)
		r->fabric_bps += m->load[i].bps;
	for (unsigned i = 0; i < m->n_links; i++)
		r->dropped_packets += m->link[i].tx_dropped + m->link[i].rx_dropped;
	for (unsigned i = 0; i < s->o->n_decode; i++)
		r->decode_busy[i] = s->decode[i].steps ? (double)s->decode[i].busy_steps /
								 (double)s->decode[i].steps
						       : 0;
	r->peak_bps = serving_peak_bps(m);
	r->books = m->books;
}

static int serving_alloc(struct serving_result *r)
{
	struct hist *all[] = {&r->ttft,	    &r->itl,	     &r->e2e,	     &r->prefill,
			      &r->transfer, &r->decode_init, &r->kv_latency, &r->burst_bytes,
			      &r->burst_ns, &r->burst_gap_ns};

	memset(r, 0, sizeof(*r));
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		hist_init(all[i]);
	r->done_s = calloc(SERVING_MAX_DONE, sizeof(double));
	r->done_ttft_s = calloc(SERVING_MAX_DONE, sizeof(double));
	return r->done_s && r->done_ttft_s ? 0 : -ENOMEM;
}

void serving_fini(struct serving_result *r)
{
	free(r->done_s);
	free(r->done_ttft_s);
	r->done_s = r->done_ttft_s = NULL;
}

int serving_run(struct trial *t, const struct serving_options *options,
		int (*meanwhile)(void *arg, uint64_t now_ns), void *arg, struct serving_result *out)
{
	struct serving *s = calloc(1, sizeof(*s));
	struct plan *plan = calloc(1, sizeof(*plan));
	struct measured m = {0};
	struct moe moe[2];
	int err = serving_alloc(out);

	if (!err && s && plan && options->n_prefill && options->n_decode &&
	    options->n_prefill <= SERVING_MAX_WORKERS && options->n_decode <= SERVING_MAX_WORKERS) {
		s->t = t;
		s->o = options;
		s->r = out;
		s->plan = plan;
		s->random = t->seed;
		s->decode_gpus = trial_gpus(t) - trial_prefill(t);
		s->meanwhile = meanwhile;
		s->arg = arg;
		serving_plan(s, plan, moe);
		t->bins = true;
		err = trial_measure(t, plan, serving_loop, s, &m);
	} else if (!err) {
		err = s && plan ? -EINVAL : -ENOMEM;
	}
	if (!err)
		serving_results(s, &m);
	measured_fini(&m);
	if (plan)
		plan_fini(plan);
	free(plan);
	if (s)
		free(s->request);
	free(s);
	return err;
}
