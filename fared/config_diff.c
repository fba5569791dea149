/* SPDX-License-Identifier: BSD-2-Clause */
#include "config_diff.h"

#include <stdio.h>
#include <string.h>

static bool gpus_differ(const struct config *a, const struct config *b)
{
	if (a->n_gpus != b->n_gpus)
		return true;
	for (uint32_t g = 0; g < a->n_gpus; g++) {
		const struct config_gpu *x = &a->gpus[g], *y = &b->gpus[g];

		if (strcmp(x->name, y->name) ||
		    memcmp(x->address, y->address, sizeof(x->address)) ||
		    x->n_planes != y->n_planes)
			return true;
		for (uint32_t p = 0; p < x->n_planes; p++) {
			if (x->planes[p].n_sub_ports != y->planes[p].n_sub_ports)
				return true;
			for (uint32_t s = 0; s < x->planes[p].n_sub_ports; s++)
				if (strcmp(x->planes[p].sub_ports[s].dev,
					   y->planes[p].sub_ports[s].dev))
					return true;
		}
	}
	return false;
}

static bool health_differs(const struct config_health *a, const struct config_health *b)
{
	return a->enabled != b->enabled || a->realtime != b->realtime ||
	       a->slow_interval_ns != b->slow_interval_ns ||
	       a->max_probes_per_s != b->max_probes_per_s || a->interval_ns != b->interval_ns ||
	       a->multiplier != b->multiplier || a->dscp != b->dscp ||
	       a->recover_probes != b->recover_probes || a->max_loss_ppm != b->max_loss_ppm ||
	       a->hold_ns != b->hold_ns || a->hold_max_ns != b->hold_max_ns ||
	       a->ramp_ns != b->ramp_ns || strcmp(a->key_file, b->key_file);
}

void config_restart_keys(const struct config *a, const struct config *b, char *out, size_t size)
{
	const struct {
		const char *key;
		bool differs;
	} keys[] = {
		{"node", strcmp(a->node, b->node) != 0},
		{"run_dir", strcmp(a->run_dir, b->run_dir) != 0},
		{"user", strcmp(a->user, b->user) != 0},
		{"group", strcmp(a->group, b->group) != 0},
		{"bgp.bmp_user", strcmp(a->bmp_user, b->bmp_user) != 0},
		{"health", health_differs(&a->health, &b->health)},
		{"local_gpus (other than speed_mbps and neighbors)", gpus_differ(a, b)},
	};
	size_t length = 0;

	out[0] = '\0';
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].differs && length < size)
			length += (size_t)snprintf(out + length, size - length, "%s%s",
						   length ? ", " : "", keys[i].key);
}

static bool neighbors_differ(const struct bgp_source_config *a, const struct bgp_source_config *b)
{
	if (a->n_neighbors != b->n_neighbors || a->n_peer_prefixes != b->n_peer_prefixes)
		return true;
	for (size_t i = 0; i < a->n_neighbors; i++)
		if (!IN6_ARE_ADDR_EQUAL(&a->neighbors[i].address, &b->neighbors[i].address) ||
		    a->neighbors[i].local_gpu != b->neighbors[i].local_gpu ||
		    a->neighbors[i].plane != b->neighbors[i].plane ||
		    a->neighbors[i].sub_port != b->neighbors[i].sub_port)
			return true;
	for (size_t i = 0; i < a->n_peer_prefixes; i++)
		if (!IN6_ARE_ADDR_EQUAL(&a->peer_prefixes[i].address,
					&b->peer_prefixes[i].address) ||
		    a->peer_prefixes[i].length != b->peer_prefixes[i].length)
			return true;
	return false;
}

bool config_sources_differ(const struct config *a, const struct config *b)
{
	return strcmp(a->bmp_text, b->bmp_text) || a->stale_ns != b->stale_ns ||
	       strcmp(a->zserv_path, b->zserv_path) || strcmp(a->frr_version, b->frr_version) ||
	       a->bgp.bandwidth_scale != b->bgp.bandwidth_scale ||
	       a->bgp.max_as_path != b->bgp.max_as_path || neighbors_differ(&a->bgp, &b->bgp);
}
