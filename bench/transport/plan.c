/* SPDX-License-Identifier: BSD-2-Clause */
#include "plan.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stats.h"

static const char *const names[] = {"goodput", "qps", "cpu", "latency"};

const char *plan_part_name(enum plan_part part)
{
	return names[part];
}

int plan_add(struct plan *plan, enum plan_part part, const struct transport_case *c)
{
	if (plan->n_points == PLAN_MAX_POINTS)
		return -E2BIG;
	plan->point[plan->n_points++] = (struct plan_point){.part = part, .c = *c};
	return 0;
}

/* Methods that need more than this machine's kernel and ourselves may fail without failing us. */
static bool is_foreign(const struct transport_method *m)
{
	return !strncmp(m->name, "ofi-", 4) || !strncmp(m->name, "ucx-", 4);
}

/* One sample, and how far apart the ends' cores were: their host may move them at any time. */
static int take_sample(const struct plan_point *p, const struct transport_net *net,
		       struct transport_outcome *out)
{
	double before = transport_handover_ns(), after;
	int err = transport_run(net, &p->c, out);

	after = err ? before : transport_handover_ns();
	out->handover_ns = before < 0 || after < 0 ? -1 : fmax(before, after);
	return err;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool is_far(const struct plan *plan, double handover_ns)
{
	return plan->max_handover_ns > 0 && handover_ns > plan->max_handover_ns;
}

/* A host moves cores every few seconds. */
static void await_near(struct plan *plan)
{
	double start = now_s();

	while (now_s() - start < plan->patience_s && is_far(plan, transport_handover_ns()))
		nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	plan->patience_s -= now_s() - start;
}

static int run_point(struct plan *plan, struct plan_point *p, struct transport_net *net)
{
	struct transport_outcome *out = &p->sample[p->n];
	int err = p->c.method->n_planes ? transport_net_publish(net, p->c.method->n_planes) : 0;

	for (bool again = true; !err && again;) {
		double start;

		await_near(plan);
		start = now_s();
		err = take_sample(p, net, out);
		again = !err && is_far(plan, out->handover_ns) && plan->patience_s > 0;
		plan->n_again += again;
		plan->patience_s -= again ? now_s() - start : 0;
	}
	if (!err) {
		p->n++;
		return 0;
	}
	p->absent = err == -EOPNOTSUPP;
	p->failed = !p->absent;
	memcpy(p->why, p->sample[p->n].why, sizeof(p->why));
	return p->absent || is_foreign(p->c.method) ? 0 : err;
}

int plan_run(struct plan *plan, struct transport_net *net, struct progress *progress)
{
	int err = 0;

	for (unsigned i = 0; i < plan->n_points && !err; i++) {
		struct plan_point *p = &plan->point[i];

		progress_step(progress, "%s: %s, %zu bytes, %u QPs", plan_part_name(p->part),
			      p->c.method->name, p->c.bytes, p->c.qps);
		if (!p->absent && !p->failed)
			err = run_point(plan, p, net);
	}
	return err;
}

/* The same point of the ceiling, which stands in the same plan. */
static const struct plan_point *ceiling_of(const struct plan *plan, const struct plan_point *p)
{
	for (unsigned i = 0; i < plan->n_points; i++) {
		const struct plan_point *q = &plan->point[i];

		if (q->c.method == &transport_raw && !q->c.latency && q->c.bytes == p->c.bytes &&
		    q->c.block == p->c.block && q->n)
			return q;
	}
	return NULL;
}

static double number(const struct transport_outcome *o, int what)
{
	switch (what) {
	case -3:
		return o->handover_ns;
	case -1:
		return o->goodput_bps / 1e9;
	case -2:
		return o->cpu_s_per_gb;
	default:
		return o->half_rtt_us[what];
	}
}

static struct stats_summary summary(const struct plan_point *p, int what)
{
	struct stats_summary s = {0};
	double values[PLAN_MAX_N];

	for (unsigned i = 0; i < p->n; i++)
		values[i] = number(&p->sample[i], what);
	stats_summarise(values, p->n, &s);
	return s;
}

static json_t *latency_json(const struct plan_point *p)
{
	struct stats_summary p50 = summary(p, 0);

	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "p50_us", p50.median, "p50_us_min",
			 p50.min, "p50_us_max", p50.max, "p99_us", summary(p, 1).median, "p999_us",
			 summary(p, 2).median, "worst_us", summary(p, 3).max);
}

static json_t *goodput_json(const struct plan *plan, const struct plan_point *p)
{
	const struct plan_point *ceiling = ceiling_of(plan, p);
	struct stats_summary s = summary(p, -1);
	json_t *o = json_pack("{s:f, s:f, s:f, s:f}", "gbps", s.median, "gbps_min", s.min,
			      "gbps_max", s.max, "cpu_s_per_gb", summary(p, -2).median);

	if (ceiling)
		json_object_set_new(o, "of_ceiling",
				    json_real(s.median / summary(ceiling, -1).median));
	return o;
}

static void add_handover(json_t *one, const struct plan_point *p)
{
	double ns = summary(p, -3).median;

	if (ns >= 0)
		json_object_set_new(one, "handover_ns", json_real(ns));
}

/* Over all samples; NULL: it could not be measured. */
static json_t *handover_json(const struct plan *plan)
{
	double *ns = calloc((size_t)plan->n_points * PLAN_MAX_N + 1, sizeof(*ns));
	struct stats_summary s;
	json_t *out = NULL;
	size_t n = 0;

	for (unsigned i = 0; ns && i < plan->n_points; i++)
		for (unsigned k = 0; k < plan->point[i].n; k++)
			if (plan->point[i].sample[k].handover_ns >= 0)
				ns[n++] = plan->point[i].sample[k].handover_ns;
	if (n && !stats_summarise(ns, n, &s))
		out = json_pack("{s:I, s:f, s:f, s:f, s:i}", "n", (json_int_t)n, "ns", s.median,
				"ns_min", s.min, "ns_max", s.max, "taken_again",
				(int)plan->n_again);
	free(ns);
	return out;
}

json_t *plan_json(const struct plan *plan)
{
	json_t *root = json_object(), *handover = handover_json(plan);

	for (unsigned i = 0; i < plan->n_points; i++) {
		const struct plan_point *p = &plan->point[i];
		const char *part = plan_part_name(p->part);
		json_t *one =
			json_pack("{s:s, s:I, s:i, s:i}", "method", p->c.method->name, "bytes",
				  (json_int_t)p->c.bytes, "qps", (int)p->c.qps, "n", (int)p->n);
		json_t *figures = !p->n		 ? NULL
				  : p->c.latency ? latency_json(p)
						 : goodput_json(plan, p);

		if (figures) {
			json_object_update(one, figures);
			add_handover(one, p);
		}
		if (p->absent)
			json_object_set_new(one, "why", json_string("not on this machine"));
		else if (p->failed)
			json_object_set_new(one, "why", json_sprintf("did not run: %s", p->why));
		json_decref(figures);
		if (!json_object_get(root, part))
			json_object_set_new(root, part, json_array());
		json_array_append_new(json_object_get(root, part), one);
	}
	if (handover)
		json_object_set_new(root, "handover", handover);
	return root;
}
