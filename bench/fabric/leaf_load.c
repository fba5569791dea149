/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/leaf_load.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

unsigned leaf_load_switches(const struct topo *topo)
{
	return topo->n_leaves + topo->n_spines + topo->n_superspines;
}

/* Which of them has that name; -1: none. */
static int leaf_load_find(const struct topo *topo, const char *name)
{
	int leaf = topo_find_leaf(topo, name), spine = topo_find_spine(topo, name);
	unsigned superspine;

	if (leaf >= 0)
		return leaf;
	if (spine >= 0)
		return (int)topo->n_leaves + spine;
	if (sscanf(name, "ss%u", &superspine) == 1 && superspine < topo->n_superspines)
		return (int)(topo->n_leaves + topo->n_spines + superspine);
	return -1;
}

/* Adds the daemons of a host to the switch that it is, if it is one. */
static int leaf_load_host(struct leaf_load *load, const struct topo *topo, const json_t *host)
{
	const json_t *daemons = json_object_get(host, "daemons"), *daemon;
	const char *name = json_string_value(json_object_get(host, "name"));
	int at = name ? leaf_load_find(topo, name) : -1;
	size_t i;

	if (!name || !json_is_array(daemons))
		return -EBADMSG;
	json_array_foreach (daemons, i, daemon) {
		const json_t *cpu = json_object_get(daemon, "cpu_s"),
			     *rss = json_object_get(daemon, "rss_bytes");

		if (!json_is_number(cpu) || json_number_value(cpu) < 0 ||
		    json_number_value(cpu) > 1e9 || !json_is_integer(rss) ||
		    json_integer_value(rss) < 0)
			return -EBADMSG;
		if (at < 0)
			continue;
		load->cpu_ns[at] += (uint64_t)llround(json_number_value(cpu) * 1e9);
		load->rss_bytes[at] += (uint64_t)json_integer_value(rss);
	}
	return 0;
}

int leaf_load_parse(struct leaf_load *load, const struct topo *topo, const char *counters)
{
	json_t *root = json_loads(counters, 0, NULL), *hosts = json_object_get(root, "hosts"),
	       *host;
	unsigned n = leaf_load_switches(topo);
	int err = json_is_array(hosts) ? 0 : -EBADMSG;
	size_t i;

	*load = (struct leaf_load){.at_ns = clock_now_ns(),
				   .cpu_ns = calloc(n + 1, sizeof(*load->cpu_ns)),
				   .rss_bytes = calloc(n + 1, sizeof(*load->rss_bytes))};
	if (!load->cpu_ns || !load->rss_bytes)
		err = -ENOMEM;
	json_array_foreach (hosts, i, host)
		if (!err)
			err = leaf_load_host(load, topo, host);
	json_decref(root);
	if (err)
		leaf_load_fini(load);
	return err;
}

int leaf_load_read(struct leaf_load *load, const struct topo *topo, const struct lab *lab)
{
	char *text;
	int err = lab_counters(lab, &text);

	if (err)
		return err;
	err = leaf_load_parse(load, topo, text);
	free(text);
	if (!err)
		load->knows_sessions = !lab_sessions_dropped(lab, topo, &load->dropped);
	return err;
}

void leaf_load_fini(struct leaf_load *load)
{
	free(load->cpu_ns);
	free(load->rss_bytes);
	*load = (struct leaf_load){0};
}

double leaf_load_cpu_percent(const struct leaf_load *from, const struct leaf_load *to, unsigned n)
{
	double most = 0, passed = (double)(to->at_ns - from->at_ns);

	for (unsigned i = 0; i < n; i++)
		/* a daemon that ended took its time along */
		if (to->cpu_ns[i] > from->cpu_ns[i])
			most = fmax(most, (double)(to->cpu_ns[i] - from->cpu_ns[i]) / passed * 100);
	return passed > 0 ? most : 0;
}

double leaf_load_rss_bytes(const struct leaf_load *load, unsigned n)
{
	double most = 0;

	for (unsigned i = 0; i < n; i++)
		most = fmax(most, (double)load->rss_bytes[i]);
	return most;
}
