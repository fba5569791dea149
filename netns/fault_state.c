/* SPDX-License-Identifier: BSD-2-Clause */
#include "fault_state.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text_file.h"

static void faults_path(const struct lab *lab, char path[LAB_PATH_MAX])
{
	snprintf(path, LAB_PATH_MAX, LAB_RUN_DIR "/%.32s/faults.json", lab->name);
}

static unsigned fault_state_number(const json_t *o, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(o, key));

	return value < 0 || value > 1000000 ? 0 : (unsigned)value;
}

static unsigned number_or(const json_t *o, const char *key, unsigned otherwise)
{
	return json_object_get(o, key) ? fault_state_number(o, key) : otherwise;
}

static void links_read(const json_t *links, struct fault_state *out)
{
	const char *key;
	json_t *one;

	json_object_foreach ((json_t *)(uintptr_t)links, key, one) {
		unsigned k;

		if (plan_parse_index(key, out->n_links, &k))
			continue;
		out->links[k] = (struct fault_link){
			.failed = json_is_true(json_object_get(one, "failed")),
			.from_leaf_loss_ppm = fault_state_number(one, "from_leaf_loss_ppm"),
			.to_leaf_loss_ppm = fault_state_number(one, "to_leaf_loss_ppm"),
			.rate_mbps = number_or(one, "rate_mbps", out->links[k].rate_mbps),
		};
		out->announced_mbps[k] = number_or(one, "announced_mbps", out->announced_mbps[k]);
	}
}

static const char *const failed_keys[] = {
	[PLAN_LEAF] = "failed_leaves",
	[PLAN_SPINE] = "failed_spines",
	[PLAN_SUPERSPINE] = "failed_superspines",
};

static void switches_read(const json_t *list, bool failed[PLAN_SWITCHES_MAX])
{
	json_t *one;
	size_t i;

	json_array_foreach (list, i, one) {
		json_int_t k = json_integer_value(one);

		if (k >= 0 && k < PLAN_SWITCHES_MAX)
			failed[k] = true;
	}
}

/* All well. */
static int state_init(const struct topology *t, struct fault_state *out)
{
	*out = (struct fault_state){.topology = t, .n_links = plan_links(t)};
	out->links = calloc(out->n_links, sizeof(*out->links));
	out->announced_mbps = calloc(out->n_links, sizeof(*out->announced_mbps));
	if (!out->links || !out->announced_mbps) {
		fault_state_fini(out);
		return -ENOMEM;
	}
	for (unsigned k = 0; k < out->n_links; k++)
		out->links[k].rate_mbps = out->announced_mbps[k] = plan_link_mbps(t, k);
	return 0;
}

int fault_state_load(const struct lab *lab, struct fault_state *out)
{
	char path[LAB_PATH_MAX];
	int rc = state_init(&lab->topology, out);
	json_t *o;

	faults_path(lab, path);
	if (rc || access(path, F_OK))
		return rc;
	o = json_load_file(path, 0, NULL);
	if (!o) {
		fault_state_fini(out);
		return -EBADMSG;
	}
	links_read(json_object_get(o, "links"), out);
	for (enum plan_role role = PLAN_LEAF; role <= PLAN_SUPERSPINE; role++)
		switches_read(json_object_get(o, failed_keys[role]), out->switch_failed[role]);
	json_decref(o);
	return 0;
}

static json_t *switches_json(const bool failed[PLAN_SWITCHES_MAX])
{
	json_t *list = json_array();

	for (unsigned k = 0; k < PLAN_SWITCHES_MAX; k++)
		if (failed[k])
			json_array_append_new(list, json_integer(k));
	return list;
}

static bool as_planned(const struct fault_state *state, unsigned k)
{
	const struct fault_link *f = &state->links[k];
	unsigned mbps = plan_link_mbps(state->topology, k);

	return !f->failed && !fault_state_gray(state, k) && f->rate_mbps == mbps &&
	       state->announced_mbps[k] == mbps;
}

int fault_state_save(const struct lab *lab, const struct fault_state *state)
{
	char path[LAB_PATH_MAX], key[16], *text;
	json_t *links = json_object(), *o;
	int rc;

	for (unsigned k = 0; k < state->n_links; k++) {
		const struct fault_link *f = &state->links[k];

		if (as_planned(state, k))
			continue;
		snprintf(key, sizeof(key), "%u", k);
		json_object_set_new(links, key,
				    json_pack("{s:b, s:i, s:i, s:i, s:i}", "failed", (int)f->failed,
					      "from_leaf_loss_ppm", (int)f->from_leaf_loss_ppm,
					      "to_leaf_loss_ppm", (int)f->to_leaf_loss_ppm,
					      "rate_mbps", (int)f->rate_mbps, "announced_mbps",
					      (int)state->announced_mbps[k]));
	}
	o = json_pack("{s:o}", "links", links);
	for (enum plan_role role = PLAN_LEAF; role <= PLAN_SUPERSPINE; role++)
		json_object_set_new(o, failed_keys[role],
				    switches_json(state->switch_failed[role]));
	faults_path(lab, path);
	text = json_dumps(o, 0);
	rc = text ? text_file_replace(path, 0644, text, strlen(text)) : -ENOMEM;
	free(text);
	json_decref(o);
	return rc;
}

void fault_state_fini(struct fault_state *state)
{
	free(state->links);
	free(state->announced_mbps);
	state->links = NULL;
	state->announced_mbps = NULL;
}

bool fault_state_host_failed(const struct fault_state *state, struct plan_host host)
{
	return host.role != PLAN_SERVER && state->switch_failed[host.role][host.index];
}

bool fault_state_live(const struct fault_state *state, unsigned link)
{
	struct plan_link l;

	plan_link_ends(state->topology, link, &l);
	return !state->links[link].failed && !fault_state_host_failed(state, l.leaf) &&
	       !fault_state_host_failed(state, l.far);
}

bool fault_state_gray(const struct fault_state *state, unsigned link)
{
	return state->links[link].from_leaf_loss_ppm || state->links[link].to_leaf_loss_ppm;
}

/* ---- in words ------------------------------------------------------------ */

struct text_visitor {
	void (*visit)(const char *text, void *arg);
	void *arg;
};

__attribute__((format(printf, 2, 3))) static void visit_text(const struct text_visitor *w,
							     const char *format, ...)
{
	char text[PLAN_TEXT_MAX + 64];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	w->visit(text, w->arg);
}

static void visit_gray(const struct text_visitor *w, const char *link, const struct fault_link *f)
{
	double from = f->from_leaf_loss_ppm / 1e4, to = f->to_leaf_loss_ppm / 1e4;

	if (from == to && from > 0) {
		visit_text(w, "gray %s --loss-percent %g", link, from);
		return;
	}
	if (from > 0)
		visit_text(w, "gray %s --loss-percent %g --direction from-leaf", link, from);
	if (to > 0)
		visit_text(w, "gray %s --loss-percent %g --direction to-leaf", link, to);
}

void fault_state_each(const struct fault_state *state, void (*visit)(const char *text, void *arg),
		      void *arg)
{
	const struct text_visitor w = {visit, arg};

	for (unsigned k = state->topology->servers; k < plan_hosts(state->topology); k++) {
		struct plan_host host = plan_host_at(state->topology, k);
		char name[PLAN_HOST_NAME_MAX];

		plan_host_name(host, name);
		if (fault_state_host_failed(state, host))
			visit_text(&w, "fail %s %s", plan_role_name(host.role), name);
	}
	for (unsigned k = 0; k < state->n_links; k++) {
		const struct fault_link *f = &state->links[k];
		char link[PLAN_TEXT_MAX];

		if (as_planned(state, k))
			continue;
		plan_link_text(state->topology, k, link);
		if (f->failed)
			visit_text(&w, "fail %s", link);
		visit_gray(&w, link, f);
		if (state->announced_mbps[k] != plan_link_mbps(state->topology, k))
			visit_text(&w, "rate %s %u", link, state->announced_mbps[k]);
		if (f->rate_mbps != state->announced_mbps[k])
			visit_text(&w, "throttle %s %u", link, f->rate_mbps);
	}
}
