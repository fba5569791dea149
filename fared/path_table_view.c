/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path_table_view.c - see path_table.h: what others may ask of the table, and the names of what it
 * says
 */
#include "path_table_internal.h"

uint32_t path_table_end(const struct path_table *t)
{
	return t->end;
}

uint32_t path_table_n_pairs(const struct path_table *t)
{
	return t->n_pairs;
}

void path_table_count(const struct path_table *t, uint32_t *n_paths, uint32_t *n_usable)
{
	*n_paths = *n_usable = 0;
	for (uint32_t i = 0; i < t->end; i++)
		for (uint32_t p = 0; t->pairs[i] && p < t->pairs[i]->n_planes; p++) {
			++*n_paths;
			*n_usable += t->pairs[i]->paths[p].result.usable_bps > 0;
		}
}

uint32_t path_table_n_planes(const struct path_table *t, uint32_t gpu)
{
	return gpu < t->n_gpus ? t->gpus[gpu].shape.n_planes : 0;
}

bool path_table_pair(const struct path_table *t, uint32_t pair, uint32_t *local_gpu,
		     struct in6_addr *peer)
{
	if (pair >= t->end || !t->pairs[pair])
		return false;
	*local_gpu = t->pairs[pair]->key.local_gpu;
	*peer = t->pairs[pair]->key.peer;
	return true;
}

bool path_table_has_route(const struct path_table *t, uint32_t pair)
{
	return pair < t->end && t->pairs[pair] && !t->pairs[pair]->gone_ns;
}

bool path_table_is_silent(const struct path_table *t, uint32_t pair, uint64_t now)
{
	for (uint32_t p = 0; pair < t->end && t->pairs[pair] && p < t->pairs[pair]->n_planes; p++) {
		const struct path *path = &t->pairs[pair]->paths[p];

		if (path->routed && path->probe.judged && path->probe.silent &&
		    now >= path->routed_ns + t->times.installed_ns)
			return true;
	}
	return false;
}

bool path_table_find(const struct path_table *t, uint32_t gpu, const struct in6_addr *peer,
		     uint32_t *pair)
{
	const struct pair *found = path_table_locate(t, gpu, peer);

	*pair = found ? found->id : UINT32_MAX;
	return found != NULL;
}

bool path_table_view(const struct path_table *t, uint32_t pair, uint32_t plane,
		     struct path_view *out)
{
	const struct path *path;

	if (pair >= t->end || !t->pairs[pair] || plane >= t->pairs[pair]->n_planes)
		return false;
	path = &t->pairs[pair]->paths[plane];
	*out = (struct path_view){
		.peer = t->pairs[pair]->key.peer,
		.local_gpu = t->pairs[pair]->key.local_gpu,
		.plane = plane,
		.verdict = path->result.verdict,
		.reason = path->result.reason ? path->result.reason : "not evaluated yet",
		.look_next = path->result.look_next ? path->result.look_next : "",
		.rule = path->result.rule,
		.usable_bps = path->result.usable_bps,
		.since_ns = path->since_ns,
		.route_source = path->result.route_source,
		.normalised = path->result.normalised,
		.drained = path->drained,
		.drained_sub_ports = t->gpus[t->pairs[pair]->key.local_gpu].drained[plane],
		.unused_sub_ports = path_table_unused(t, t->pairs[pair], plane),
		.n_sub_ports = t->gpus[t->pairs[pair]->key.local_gpu].shape.n_sub_ports[plane],
		.adopted_bps = path->adopted ? path->adopted_bps : 0,
		.probe = path->probe,
		.kernel_route = path->kernel_route,
	};
	out->local_bps = path_table_local_bps(t, out->local_gpu, plane, &out->n_live_sub_ports);
	for (int s = 0; s < PATH_SOURCE_COUNT; s++)
		out->received[s] = path_table_received(t, path, s);
	if (plane < t->pairs[pair]->notice.n_planes) {
		out->noticed_bps = t->pairs[pair]->notice.bps[plane];
		out->noticed = path->result.noticed;
	}
	return true;
}

bool path_table_brief(const struct path_table *t, uint32_t pair, uint32_t plane,
		      struct path_brief *out)
{
	const struct pair *p = pair < t->end ? t->pairs[pair] : NULL;
	const struct path_result *result;
	uint32_t n_live;

	if (!p || plane >= p->n_planes)
		return false;
	result = &p->paths[plane].result;
	*out = (struct path_brief){
		.verdict = result->verdict,
		.usable_bps = result->usable_bps,
		.reason = result->reason,
		.look_next = result->look_next,
		.route_source = result->route_source,
		.is_whole = path_rules_is(result, PATH_RULE_WHOLE),
		.is_probe_lost = path_rules_is(result, PATH_RULE_PROBES),
		.is_stale = path_rules_is(result, PATH_RULE_BMP_AWAY),
		.is_lost_there =
			result->noticed && plane < p->notice.n_planes && !p->notice.bps[plane],
	};
	path_table_local_bps(t, p->key.local_gpu, plane, &n_live);
	out->is_carrier_lost = result->verdict == FARE_VERDICT_LOCAL_DOWN && !n_live;
	return true;
}

bool path_table_verdict(const struct path_table *t, uint32_t pair, uint32_t plane,
			enum fare_verdict *verdict, uint64_t *usable_bps)
{
	if (pair >= t->end || !t->pairs[pair] || plane >= t->pairs[pair]->n_planes)
		return false;
	*verdict = t->pairs[pair]->paths[plane].result.verdict;
	*usable_bps = t->pairs[pair]->paths[plane].result.usable_bps;
	return true;
}

void path_table_source(const struct path_table *t, enum path_source source,
		       struct path_source_view *out)
{
	*out = t->sources[source];
}

const char *path_route_source_name(enum path_route_source route_source)
{
	static const char *const names[] = {[PATH_FROM_NONE] = "none",
					    [PATH_FROM_BMP] = "bmp",
					    [PATH_FROM_ZSERV] = "zserv",
					    [PATH_FROM_ADOPTED] = "adopted"};

	return names[route_source];
}

const char *path_source_name(enum path_source source)
{
	return source == PATH_SOURCE_BMP ? "bmp" : "zserv";
}

const char *path_source_state_name(enum bgp_source_state state)
{
	static const char *const names[] = {[BGP_SOURCE_DOWN] = "down",
					    [BGP_SOURCE_SYNCING] = "syncing",
					    [BGP_SOURCE_UP] = "up"};

	return names[state];
}
