/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload/serving.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fabric/optimum.h"
#include "workload/serving_internal.h"

#define SERVING_SLOTS	16
#define SERVING_MESSAGE (64u << 10) /* of other traffic */
#define SERVING_PEAK_MS 10

/* ---- traffic ---- */

static bool serving_has_experts(const struct serving *s)
{
	return s->o->experts && s->decode_gpus > 1;
}

static unsigned serving_prefill_gpu(const struct serving *s, unsigned worker)
{
	return s->prefill_first + worker % s->prefill_gpus;
}

static unsigned serving_decode_gpu(const struct serving *s, unsigned worker)
{
	return s->decode_first + worker % s->decode_gpus;
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
	return serving_page_bytes(s, (uint64_t)(tokens / (s->o->pieces ? s->o->pieces : 1))) +
	       2 * SERVING_LEAST_BYTES;
}

static void serving_plan_kv(struct serving *s, struct plan *plan)
{
	struct traffic_load kv = trial_load(s->t, "kv", 0);
	unsigned load;
	uint64_t slot_bytes = serving_slot_bytes(s);

	kv.law = ARRIVAL_COMMAND;
	kv.read = s->o->read;
	load = s->kv_load = plan_load(plan, &kv);
	for (unsigned i = 0; i < s->o->n_prefill; i++)
		for (unsigned j = 0; j < s->o->n_decode; j++)
			s->kv_stream[i][j] =
				plan_stream(plan, load, serving_prefill_gpu(s, i),
					    serving_decode_gpu(s, j), SERVING_SLOTS, slot_bytes);
}

/* Dispatch and combine of one layer a step among the GPUs that decode. Returns the load. */
static unsigned serving_plan_experts(struct serving *s, struct plan *plan, struct moe *moe,
				     const char *name, bool report)
{
	struct traffic_load ep = trial_load(s->t, name, 0);
	unsigned load;

	*moe = moe_of_config(s->o->experts, s->decode_first, s->decode_gpus,
			     s->o->batch ? s->o->batch : 16, s->t->scale, s->t->seed);
	moe->combine = true;
	moe_pad(moe);
	ep.moe = moe;
	ep.rounds = TRAFFIC_ROUNDS;
	ep.gap_s = s->o->model->step_s / 2;
	ep.report = report;
	load = plan_load(plan, &ep);
	plan_all_to_all(plan, s->t->fabric->topo, load, s->decode_first, s->decode_gpus, 1,
			moe_largest(moe, 2));
	return load;
}

/* Poisson messages from one pool to the other: that share of the lines of the smaller one. */
static void serving_plan_other(struct serving *s, struct plan *plan, unsigned from, unsigned n_from,
			       unsigned to, unsigned n_to)
{
	struct traffic_load other = trial_load(s->t, "background", 0);
	double bps = fabric_line_bps(s->t->fabric, 0) * s->o->background *
		     fmin(1, (double)n_to / n_from);
	unsigned load;

	other.law = ARRIVAL_POISSON;
	other.mean_s = SERVING_MESSAGE * 8 / bps;
	other.verify_every = 16;
	load = plan_load(plan, &other);
	for (unsigned i = 0; i < n_from; i++)
		plan_stream(plan, load, from + i, to + i % n_to, 64, SERVING_MESSAGE);
}

static void serving_plan(struct serving *s, struct plan *plan)
{
	unsigned first = trial_prefill(s->t), decode = trial_gpus(s->t) - first;

	s->first_stream = plan->n_streams;
	serving_plan_kv(s, plan);
	s->end_stream = plan->n_streams;
	if (serving_has_experts(s))
		s->experts_load = serving_plan_experts(s, plan, &s->moe[0], "experts", true);
	if (serving_has_experts(s) && s->o->extra_dispatch)
		serving_plan_experts(s, plan, &s->moe[1], "experts-2", false);
	if (s->o->background > 0) {
		serving_plan_other(s, plan, 0, first, first, decode);
		serving_plan_other(s, plan, first, decode, 0, first);
	}
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
	s->whole[gpu] = round + 1;
	for (;;) {
		for (unsigned i = s->decode_first; i < s->decode_first + s->decode_gpus; i++)
			if (s->whole[i] <= s->round)
				return;
		s->round += 2;
		if (t_ns >= s->from_ns)
			serving_step(s, t_ns);
	}
}

static bool serving_owns(const struct serving *s, const json_t *event)
{
	json_int_t stream = json_integer_value(json_object_get(event, "stream")),
		   load = json_integer_value(json_object_get(event, "load"));

	if (json_object_get(event, "round"))
		return serving_has_experts(s) && load == s->experts_load;
	return stream >= s->first_stream && stream < s->end_stream;
}

static void serving_event(struct services *all, unsigned gpu, const json_t *event)
{
	uint64_t t_ns = (uint64_t)json_integer_value(json_object_get(event, "t_ns"));
	struct serving *s = all->one;

	while (s < all->one + all->n && !serving_owns(s, event))
		s++;
	if (s == all->one + all->n)
		return;
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
	s->latency_ns = from_ns + (uint64_t)(length * SERVING_LATENCY_TO);
	s->next_arrival_ns = from_ns;
	s->step_ns = serving_has_experts(s) ? UINT64_MAX
					    : from_ns + (uint64_t)(s->o->model->step_s * 1e9);
	s->round = 1;
	for (unsigned i = 0; i < s->o->n_prefill; i++) {
		s->prefill[i].busy = SERVING_NONE;
		s->prefill[i].piece_ns = UINT64_MAX;
		s->prefill[i].free_since_ns = from_ns;
	}
}

/* What is due by now, of all; *next_ns: when more will be. */
static int services_timers(struct services *all, uint64_t now, uint64_t *next_ns)
{
	*next_ns = UINT64_MAX;
	for (unsigned i = 0; i < all->n; i++) {
		struct serving *s = &all->one[i];
		uint64_t next;

		serving_timers(s, now);
		if (s->err)
			return s->err;
		next = serving_next_ns(s);
		*next_ns = next < *next_ns ? next : *next_ns;
	}
	return all->meanwhile ? all->meanwhile(all->arg, clock_now_ns()) : 0;
}

static int serving_loop(void *arg, uint64_t from_ns, uint64_t to_ns)
{
	struct services *all = arg;
	uint64_t next_ns;
	int err = 0;

	for (unsigned i = 0; i < all->n; i++)
		serving_begin(&all->one[i], from_ns, to_ns);
	while (!err && clock_now_ns() < to_ns) {
		json_t *event = NULL;
		unsigned gpu;

		err = services_timers(all, clock_now_ns(), &next_ns);
		if (!err)
			err = cluster_next(all->t->fabric->cluster, next_ns, &gpu, &event);
		if (!err && event)
			serving_event(all, gpu, event);
		json_decref(event);
	}
	if (!err) /* what became due while it waited for the end */
		err = services_timers(all, to_ns, &next_ns);
	for (unsigned i = 0; i < all->n; i++)
		serving_burst_end(&all->one[i]);
	return err;
}

/* ---- results ---- */

/* Of requests with a token, or at the end without one, in the time that each has had till now. */
void serving_fabric_part(struct serving *s, const struct request *q, uint64_t now)
{
	if (!q->computed_ns)
		return;
	s->r->fabric_part_s +=
		fmax(0, (double)(q->arrived_ns ? q->arrived_ns : now) - (double)q->computed_ns) /
		1e9;
	s->r->fabric_of_s += (double)(now - q->arrival_ns) / 1e9;
	s->r->fabric_requests++;
}

/* One that has no token at the end, or not its cache, has waited so long at least. */
void serving_unfinished(struct serving *s)
{
	for (uint32_t i = 0; i < s->n_requests; i++) {
		const struct request *q = &s->request[i];

		s->r->good_tokens += q->preempted ? 0 : q->window_tokens;
		if (!q->counted)
			continue;
		if (!q->first_ns) {
			hist_add(&s->r->ttft, s->to_ns - q->arrival_ns);
			serving_fabric_part(s, q, s->to_ns);
			s->r->tokenless++;
		}
		if (q->computed_ns && !q->arrived_ns)
			hist_add(&s->r->transfer, s->to_ns - q->computed_ns);
		s->r->transfers += q->computed_ns != 0;
		s->r->arrived += q->arrived_ns != 0;
	}
}

/* A step's dispatch and its combine, one after the other. */
static void serving_itl_fabric(struct serving *s, const struct measured_load *load)
{
	for (uint64_t r = 0; r + 1 < load->n_rounds; r += 2)
		if (load->round_start[r] >= s->count_ns && load->round_end[r + 1] < s->to_ns)
			hist_add(&s->r->itl_fabric, load->round_end[r] - load->round_start[r] +
							    load->round_end[r + 1] -
							    load->round_start[r + 1]);
}

static double serving_peak_bps(const struct measured *m, const double *bytes)
{
	double peak = 0;

	for (size_t i = 0; i + SERVING_PEAK_MS <= m->n_bins; i += SERVING_PEAK_MS) {
		double sum = 0;

		for (unsigned k = 0; k < SERVING_PEAK_MS; k++)
			sum += bytes[i + k];
		peak = fmax(peak, sum * 8e3 / SERVING_PEAK_MS);
	}
	return peak;
}

double serving_window_bytes(const struct serving *s, const struct measured *m, int load)
{
	uint64_t base_ns = m->from_ns / TRAFFIC_BIN_NS * TRAFFIC_BIN_NS;
	double bytes = 0;

	for (unsigned i = 0; i < m->n_loads; i++)
		if (load < 0 || (unsigned)load == i)
			bytes += traffic_bins_bytes(m->load[i].bin_bytes, m->n_bins, base_ns,
						    s->count_ns, s->to_ns);
	return bytes;
}

/* The requests that came, for a model of the same ones. */
static void serving_list(struct serving *s)
{
	struct serving_result *r = s->r;

	r->warm_s = (double)(s->count_ns - s->from_ns) / 1e9;
	r->came = calloc(s->n_requests + 1, sizeof(*r->came));
	if (!r->came)
		s->err = -ENOMEM;
	for (uint32_t i = 0; r->came && i < s->n_requests; i++)
		r->came[r->n_came++] = (struct serving_came){
			.computed_s = ((double)s->request[i].ideal_ns - (double)s->from_ns) / 1e9,
			.cache_bytes = s->request[i].ideal_bytes,
			.decode = s->request[i].first_decode,
			.output = s->request[i].asked};
}

static void serving_results(struct serving *s, const struct measured *m)
{
	struct serving_result *r = s->r;
	double sends = 0, receives = 0;

	serving_unfinished(s);
	r->output_tokens = s->window_tokens;
	if (serving_has_experts(s))
		serving_itl_fabric(s, &m->load[s->experts_load]);
	r->seconds = (double)(s->to_ns - s->count_ns) / 1e9;
	r->decode_gpus = s->decode_gpus;
	r->per_s = s->o->per_s;
	r->concurrent = serving_concurrent(s);
	r->memory_cv = s->cv_n ? s->cv_sum / (double)s->cv_n : 0;
	r->fabric_bps = serving_window_bytes(s, m, -1) * 8 / r->seconds;
	r->kv_bps = serving_window_bytes(s, m, (int)s->kv_load) * 8 / r->seconds;
	for (unsigned i = 0; i < m->n_links; i++)
		r->dropped_packets += m->link[i].tx_dropped + m->link[i].rx_dropped;
	for (unsigned i = 0; i < trial_gpus(s->t); i++)
		r->all_lines_bps += fabric_line_bps(s->t->fabric, i);
	for (unsigned i = 0; i < s->o->n_decode; i++)
		r->cache_tokens += s->decode[i].tokens;
	for (unsigned i = 0; i < s->o->n_decode; i++)
		r->decode_busy[i] = s->decode[i].steps ? (double)s->decode[i].busy_steps /
								 (double)s->decode[i].steps
						       : 0;
	r->peak_bps = serving_peak_bps(m, m->load[s->kv_load].bin_bytes);
	for (unsigned i = 0; i < s->prefill_gpus; i++)
		sends += fabric_line_bps(s->t->fabric, s->prefill_first + i);
	for (unsigned i = 0; i < s->decode_gpus; i++)
		receives += fabric_line_bps(s->t->fabric, s->decode_first + i);
	r->line_bps = fmin(sends, receives);
	r->bucket_bytes = optimum_bucket_bytes(s->t->fabric->topo, s->prefill_first);
	r->books = m->books;
	serving_list(s);
}

static int serving_alloc(struct serving_result *r, double seconds)
{
	struct hist *all[] = {&r->ttft,	    &r->itl,	      &r->e2e,	      &r->prefill,
			      &r->transfer, &r->decode_init,  &r->kv_latency, &r->burst_bytes,
			      &r->burst_ns, &r->burst_gap_ns, &r->itl_fabric};

	memset(r, 0, sizeof(*r));
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		hist_init(all[i]);
	r->done_s = calloc(SERVING_MAX_DONE, sizeof(double));
	r->done_ttft_s = calloc(SERVING_MAX_DONE, sizeof(double));
	r->n_bins = (size_t)(seconds * 1e3);
	r->bin_tokens = calloc(r->n_bins + 1, sizeof(double));
	return r->done_s && r->done_ttft_s && r->bin_tokens ? 0 : -ENOMEM;
}

void serving_fini(struct serving_result *r)
{
	free(r->done_s);
	free(r->done_ttft_s);
	free(r->bin_tokens);
	free(r->came);
	r->done_s = r->done_ttft_s = r->bin_tokens = NULL;
	r->came = NULL;
}

/* What each worker keeps of prompts, if they have anything in common. */
static int serving_alloc_prefixes(struct serving *s)
{
	bool blocks = s->o->trace && s->o->trace->block;
	uint32_t room = blocks ? SERVING_BLOCK_ROOM : SERVING_PREFIX_ROOM;
	int err = 0;

	if (!blocks && s->o->prefix_share <= 0)
		return 0;
	err = prefix_cache_init(&s->seen, s->o->n_decode * room);
	for (unsigned i = 0; !err && i < s->o->n_prefill; i++)
		err = prefix_cache_init(&s->prefill[i].prefixes, room);
	for (unsigned i = 0; !err && i < s->o->n_decode; i++)
		err = prefix_cache_init(&s->decode[i].prefixes, room);
	return err;
}

static void serving_free(struct serving *s)
{
	for (unsigned i = 0; i < SERVING_MAX_WORKERS; i++) {
		prefix_cache_fini(&s->prefill[i].prefixes);
		prefix_cache_fini(&s->decode[i].prefixes);
	}
	prefix_cache_fini(&s->seen);
	free(s->request);
}

/* -EINVAL: workers that are none or too many, or no GPU for them. */
static int serving_prepare(struct serving *s, struct services *all, const struct serving_options *o,
			   struct serving_result *out)
{
	unsigned prefill = trial_prefill(all->t), decode = trial_gpus(all->t) - prefill,
		 n = o->tenants ? o->tenants : 1;
	int err;

	*s = (struct serving){.t = all->t,
			      .o = o,
			      .r = out,
			      .plan = &all->plan,
			      .random = all->t->seed + o->tenant,
			      .prefill_first = prefill * o->tenant / n,
			      .decode_first = prefill + decode * o->tenant / n};
	s->prefill_gpus = prefill * (o->tenant + 1) / n - s->prefill_first;
	s->decode_gpus = prefill + decode * (o->tenant + 1) / n - s->decode_first;
	if (!o->n_prefill || !o->n_decode || o->n_prefill > SERVING_MAX_WORKERS ||
	    o->n_decode > SERVING_MAX_WORKERS || !s->prefill_gpus || !s->decode_gpus)
		return -EINVAL;
	serving_plan(s, &all->plan);
	err = serving_alloc(out, all->t->seconds);
	return err ? err : serving_alloc_prefixes(s);
}

int serving_run_all(struct trial *t, const struct serving_options *options, unsigned n,
		    int (*meanwhile)(void *arg, uint64_t now_ns), void *arg,
		    struct serving_result *out)
{
	struct services *all = calloc(1, sizeof(*all));
	struct measured m = {0};
	int err = 0;

	memset(out, 0, n * sizeof(*out));
	if (all)
		*all = (struct services){.t = t, .n = n, .meanwhile = meanwhile, .arg = arg};
	if (all)
		all->one = calloc(n, sizeof(*all->one));
	if (!all || !all->one)
		err = -ENOMEM;
	for (unsigned i = 0; !err && i < n; i++)
		err = serving_prepare(&all->one[i], all, &options[i], &out[i]);
	t->bins = true;
	if (!err)
		err = trial_measure(t, &all->plan, serving_loop, all, &m);
	for (unsigned i = 0; all && all->one && i < n; i++) {
		if (!err) {
			serving_results(&all->one[i], &m);
			err = all->one[i].err;
		}
		if (!err)
			serving_count(&all->one[i], &t->counts);
		if (!err && i == 0) /* what all of them sent */
			t->counts.fabric_bytes +=
				(uint64_t)(out[0].fabric_bps / 8 * out[0].seconds + 0.5);
		if (!err)
			serving_text_add(t, &options[i]);
		serving_free(&all->one[i]);
	}
	measured_fini(&m);
	if (all) {
		plan_fini(&all->plan);
		free(all->one);
	}
	free(all);
	return err;
}

int serving_run(struct trial *t, const struct serving_options *options,
		int (*meanwhile)(void *arg, uint64_t now_ns), void *arg, struct serving_result *out)
{
	return serving_run_all(t, options, 1, meanwhile, arg, out);
}
