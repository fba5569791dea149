/* SPDX-License-Identifier: BSD-2-Clause */
#include "fault_state.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void faults_path(const struct lab *lab, const char *suffix, char path[LAB_PATH_MAX])
{
	snprintf(path, LAB_PATH_MAX, LAB_RUN_DIR "/%.32s/faults.json%s", lab->name, suffix);
}

static unsigned number_of(const json_t *o, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(o, key));

	return value < 0 || value > 1000000 ? 0 : (unsigned)value;
}

static void links_read(const struct topology *t, const json_t *links, struct fault_state *out)
{
	const char *key;
	json_t *one;

	json_object_foreach ((json_t *)(uintptr_t)links, key, one) {
		unsigned k;

		if (plan_parse_index(key, out->n_links, &k))
			continue;
		out->links[k] = (struct fault_link){
			.failed = json_is_true(json_object_get(one, "failed")),
			.from_leaf_loss_ppm = number_of(one, "from_leaf_loss_ppm"),
			.to_leaf_loss_ppm = number_of(one, "to_leaf_loss_ppm"),
			.rate_mbps = json_object_get(one, "rate_mbps") ? number_of(one, "rate_mbps")
								       : t->rate_mbps,
		};
	}
}

int fault_state_load(const struct lab *lab, struct fault_state *out)
{
	const struct topology *t = &lab->topology;
	char path[LAB_PATH_MAX];
	json_t *o, *one;
	size_t i;

	*out = (struct fault_state){.n_links = t->servers * t->gpus_per_server * t->planes *
					       t->sub_ports};
	out->links = calloc(out->n_links, sizeof(*out->links));
	if (!out->links)
		return -ENOMEM;
	for (unsigned k = 0; k < out->n_links; k++)
		out->links[k].rate_mbps = t->rate_mbps;
	faults_path(lab, "", path);
	if (access(path, F_OK))
		return 0;
	o = json_load_file(path, 0, NULL);
	if (!o) {
		fault_state_fini(out);
		return -EBADMSG;
	}
	links_read(t, json_object_get(o, "links"), out);
	json_array_foreach (json_object_get(o, "failed_leaves"), i, one) {
		json_int_t p = json_integer_value(one);

		if (p >= 0 && p < t->planes)
			out->leaf_failed[p] = true;
	}
	json_decref(o);
	return 0;
}

int fault_state_save(const struct lab *lab, const struct fault_state *state)
{
	char path[LAB_PATH_MAX], next[LAB_PATH_MAX], key[16];
	json_t *links = json_object(), *leaves = json_array(), *o;
	int rc = 0;

	for (unsigned k = 0; k < state->n_links; k++) {
		const struct fault_link *f = &state->links[k];

		if (!f->failed && !f->from_leaf_loss_ppm && !f->to_leaf_loss_ppm &&
		    f->rate_mbps == lab->topology.rate_mbps)
			continue;
		snprintf(key, sizeof(key), "%u", k);
		json_object_set_new(links, key,
				    json_pack("{s:b, s:i, s:i, s:i}", "failed", (int)f->failed,
					      "from_leaf_loss_ppm", (int)f->from_leaf_loss_ppm,
					      "to_leaf_loss_ppm", (int)f->to_leaf_loss_ppm,
					      "rate_mbps", (int)f->rate_mbps));
	}
	for (unsigned p = 0; p < lab->topology.planes; p++)
		if (state->leaf_failed[p])
			json_array_append_new(leaves, json_integer(p));
	o = json_pack("{s:o, s:o}", "links", links, "failed_leaves", leaves);
	faults_path(lab, "", path);
	faults_path(lab, ".next", next);
	if (!o || json_dump_file(o, next, 0) || rename(next, path))
		rc = errno ? -errno : -EIO;
	json_decref(o);
	return rc;
}

void fault_state_fini(struct fault_state *state)
{
	free(state->links);
	state->links = NULL;
}

bool fault_state_live(const struct fault_state *state, unsigned link, unsigned plane)
{
	return !state->links[link].failed && !state->leaf_failed[plane];
}

bool fault_state_gray(const struct fault_state *state, unsigned link)
{
	return state->links[link].from_leaf_loss_ppm || state->links[link].to_leaf_loss_ppm;
}
