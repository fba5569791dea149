/* SPDX-License-Identifier: BSD-2-Clause */
#include "resilience/drill_faults.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drill_plan.h"
#include "fare_verdict.h"

#define AFTER_NS UINT64_C(1000000000)
#define DIP_BINS 100
#define NO_PLANE (-2)
#define ALL	 (-1)

/* ---- lines ----------------------------------------------------------------------------------- */

/* What it breaks, and at which GPU. false: it is no fault. */
static bool understand(struct drill_fault *f, const struct topo *topo)
{
	char what[16], where[32];
	double loss = drill_plan_loss(f->spec);
	unsigned plane;
	int leaf;

	f->gpu = f->server = ALL;
	f->plane = NO_PLANE;
	if (sscanf(f->spec, "gray leaf %31s", where) == 1) {
		if (loss <= 0)
			return false;
		snprintf(f->kind, sizeof(f->kind), "leaf-%s",
			 loss < 100			  ? "loss"
			 : strstr(f->spec, "--direction") ? "gray-one-way"
							  : "gray");
	} else if (sscanf(f->spec, "gray subport %31s %u", where, &plane) == 2) {
		if (loss <= 0)
			return false;
		snprintf(f->kind, sizeof(f->kind), "subport-gray");
		f->gpu = topo_find_gpu(topo, where);
		f->plane = (int)plane;
	} else if (sscanf(f->spec, "fail %15s %31s", what, where) == 2) {
		snprintf(f->kind, sizeof(f->kind), "%s", what);
		if (!strcmp(what, "subport") || !strcmp(what, "plane")) {
			f->gpu = topo_find_gpu(topo, where);
			if (sscanf(f->spec, "fail %*s %*s %u", &plane) == 1)
				f->plane = (int)plane;
		}
	} else {
		return false;
	}
	for (unsigned i = 0;
	     (!strcmp(f->kind, "bgpd") || !strcmp(f->kind, "zebra")) && i < topo->n_servers; i++)
		if (!strcmp(topo->servers[i].name, where))
			f->server = (int)i;
	leaf = strstr(f->spec, " leaf ") ? topo_find_leaf(topo, where) : -1;
	if (f->plane == NO_PLANE && leaf >= 0)
		f->plane = (int)topo->leaves[leaf].plane;
	return f->gpu >= ALL;
}

/* Does this command heal it? */
static bool heals(const char *spec, const struct drill_fault *f)
{
	size_t length = strcspn(f->spec, "-"); /* options do not name the part */

	if (!strncmp(f->spec, "fail ", 5))
		return !strncmp(spec, "heal ", 5) && !strcmp(spec + 5, f->spec + 5);
	return !strncmp(spec, f->spec, length) && drill_plan_loss(spec) <= 0;
}

static int drill_faults_add(struct drill_faults *f, const struct drill_fault *fault)
{
	struct drill_fault *grown = realloc(f->fault, (f->n + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	f->fault = grown;
	f->fault[f->n++] = *fault;
	return 0;
}

static int take_step(struct drill_faults *f, const struct topo *topo, const json_t *o)
{
	const char *spec = json_string_value(json_object_get(o, "do"));
	double at_s = json_number_value(json_object_get(o, "monotonic_s"));
	double took_ms = json_number_value(json_object_get(o, "took_ms"));
	struct drill_fault fault = {.healed_ns = 0};

	if (!spec || strlen(spec) >= sizeof(fault.spec) || !(at_s > 0 && at_s < 1e9) ||
	    !(took_ms >= 0 && took_ms < 1e9))
		return -EBADMSG;
	if (!json_is_true(json_object_get(o, "ok")))
		return -EREMOTEIO;
	f->steps++;
	strcpy(fault.spec, spec);
	fault.from_ns = (uint64_t)(at_s * 1e9);
	fault.done_ns = fault.from_ns + (uint64_t)(took_ms * 1e6);
	if (understand(&fault, topo))
		return drill_faults_add(f, &fault);
	for (unsigned i = 0; i < f->n; i++)
		if (!f->fault[i].healed_ns && heals(spec, &f->fault[i]))
			f->fault[i].healed_ns = fault.done_ns;
	return 0;
}

int drill_faults_line(struct drill_faults *f, const struct topo *topo, const char *line)
{
	json_t *o = json_loads(line, 0, NULL);
	int err = json_is_object(o) ? 0 : -EBADMSG;

	if (!err && json_object_get(o, "do")) {
		err = take_step(f, topo, o);
	} else if (!err && json_object_get(o, "converged")) {
		f->converged = json_is_true(json_object_get(o, "converged"));
		f->converged_after_s = json_number_value(json_object_get(o, "converged_after_s"));
	} else if (!err) {
		err = -EBADMSG;
	}
	json_decref(o);
	return err;
}

void drill_faults_fini(struct drill_faults *f)
{
	free(f->fault);
	*f = (struct drill_faults){.n = 0};
}

/* ---- what they cost -------------------------------------------------------------------------- */

static double worst_tenth(const struct recovery *gpus, unsigned n_gpus, uint64_t from_ns,
			  uint64_t to_ns)
{
	double worst = -1;

	for (uint64_t t = from_ns; t < to_ns; t += DIP_BINS / 10 * RECOVERY_BIN_NS) {
		double sum = 0;

		for (unsigned i = 0; i < n_gpus; i++)
			sum += recovery_mean(&gpus[i], t, t + DIP_BINS * RECOVERY_BIN_NS);
		worst = worst < 0 || sum < worst ? sum : worst;
	}
	return worst;
}

void drill_faults_cost(struct drill_faults *f, const struct recovery *gpus, unsigned n_gpus,
		       double healthy_bytes)
{
	for (unsigned i = 0; i < f->n; i++) {
		struct drill_fault *fault = &f->fault[i];
		uint64_t until_ns =
			(fault->healed_ns ? fault->healed_ns : fault->done_ns) + AFTER_NS;

		for (unsigned g = 0; g < n_gpus; g++) {
			double hole = recovery_gap_ms(&gpus[g], fault->from_ns, until_ns);

			fault->hole_ms = hole > fault->hole_ms ? hole : fault->hole_ms;
		}
		fault->dip_ratio =
			worst_tenth(gpus, n_gpus, fault->from_ns, until_ns) / healthy_bytes;
	}
}

static bool lasts_at(const struct drill_fault *f, uint64_t t_ns, uint64_t settle_ns)
{
	return t_ns >= f->from_ns && !(f->healed_ns && t_ns >= f->healed_ns + settle_ns);
}

static bool affects(const struct drill_fault *f, int gpu, unsigned plane)
{
	return f->plane == (int)plane && (f->gpu == ALL || f->gpu == gpu);
}

/*
 * What is seen of a path by its own probes, and of its routes in the kernel. Its links and its
 * peer's notices have faults of their own.
 */
static bool is_seen_here(uint8_t verdict)
{
	return verdict == FARE_VERDICT_PROBE_DOWN || verdict == FARE_VERDICT_STALE ||
	       verdict == FARE_VERDICT_NOT_INSTALLED;
}

/*
 * When that bgpd or zebra died, was it still learning anew what a lost link or leaf had taken from
 * that GPU's plane? What it had not learned again it cannot leave in the kernel. What is merely
 * gray takes no route.
 */
static bool was_learning(const struct drill_faults *f, const struct drill_fault *frr, int gpu,
			 unsigned plane, uint64_t settle_ns)
{
	for (unsigned i = 0; i < f->n; i++)
		if (!strncmp(f->fault[i].spec, "fail ", 5) && affects(&f->fault[i], gpu, plane) &&
		    lasts_at(&f->fault[i], frr->from_ns, settle_ns))
			return true;
	return false;
}

bool drill_faults_explain(const struct drill_faults *f, const struct topo *topo,
			  const struct observe_event *e, unsigned plane, uint64_t settle_ns)
{
	const int end[] = {e->who / (int)topo->n_gpus, e->who % (int)topo->n_gpus};

	for (unsigned i = 0; i < f->n; i++) {
		const struct drill_fault *one = &f->fault[i];

		if (!lasts_at(one, e->t_ns, settle_ns))
			continue;
		for (unsigned k = 0; k < 2; k++) {
			if (one->server == ALL && affects(one, end[k], plane))
				return true;
			if (one->server != ALL && (int)topo->gpus[end[k]].server == one->server &&
			    (is_seen_here(e->verdict[plane]) ||
			     was_learning(f, one, end[k], plane, settle_ns)))
				return true;
		}
	}
	return false;
}

unsigned drill_faults_needless(const struct drill_faults *f, const struct topo *topo,
			       const struct observe *o, uint32_t n, uint64_t settle_ns,
			       uint64_t begin_ns, json_t *list)
{
	const struct observe_event **was =
		calloc((size_t)topo->n_gpus * topo->n_gpus, sizeof(*was));
	unsigned count = 0;

	for (uint32_t i = 0; was && i < n; i++) {
		const struct observe_event *e = observe_event(o, i);

		if (e->kind != OBSERVE_WEIGHTS)
			continue;
		for (unsigned p = 0; was[e->who] && p < topo->n_planes; p++) {
			bool lowered = e->t_ns >= begin_ns && e->bps[p] < was[e->who]->bps[p];

			if (!lowered || drill_faults_explain(f, topo, e, p, settle_ns))
				continue;
			count++;
			json_array_append_new(list,
					      observe_change(topo, was[e->who], e, p, begin_ns));
		}
		was[e->who] = e;
	}
	free(was);
	return count;
}
