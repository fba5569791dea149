/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/pauses.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/command.h"
#include "fabric/undo_guard.h"

#define PAUSES_COMMAND_MS 60000

static int pauses_add(struct pauses *all, json_t *object)
{
	struct pauses_port *port = &all->port[all->n];
	json_int_t sent, received, storms, dropped, held, peak, reactions;
	double paused_ms, mean_us, max_us;
	const char *host, *dev;
	int paused;

	if (json_unpack(object, "{s:s, s:s, s:I, s:I, s:F, s:b, s:I, s:I, s:I, s:I, s:I, s:F, s:F}",
			"host", &host, "dev", &dev, "tx_pauses", &sent, "rx_pauses", &received,
			"paused_ms", &paused_ms, "paused", &paused, "storms", &storms,
			"headroom_drops", &dropped, "buffered_bytes", &held, "buffered_peak_bytes",
			&peak, "reactions", &reactions, "reaction_mean_us", &mean_us,
			"reaction_max_us", &max_us) ||
	    sent < 0 || received < 0 || storms < 0 || dropped < 0 || reactions < 0 ||
	    (size_t)snprintf(port->name, sizeof(port->name), "%s/%s", host, dev) >=
		    sizeof(port->name))
		return -EBADMSG;
	port->is_server = host[0] == 's' && host[1] != 'p';
	port->sent = (uint64_t)sent;
	port->received = (uint64_t)received;
	port->paused_s = paused_ms / 1e3;
	port->paused = paused != 0;
	all->n++;
	all->sent += port->sent;
	all->storms += (uint64_t)storms;
	all->dropped += (uint64_t)dropped;
	all->held_bytes += held > 0 ? (uint64_t)held : 0;
	all->peak_bytes =
		peak > 0 && (uint64_t)peak > all->peak_bytes ? (uint64_t)peak : all->peak_bytes;
	all->paused += port->paused;
	all->reactions += (uint64_t)reactions;
	all->reaction_mean_us += mean_us * (double)reactions; /* a sum until all are there */
	all->reaction_max_us = fmax(all->reaction_max_us, max_us);
	return 0;
}

int pauses_parse(struct pauses *out, const char *text)
{
	json_t *root = json_loads(text, 0, NULL), *ports = json_object_get(root, "ports"), *port;
	json_int_t xoff = 0, xon = 0;
	int err = json_is_array(ports) &&
				  !json_unpack(root, "{s:I, s:I}", "xoff_bytes", &xoff, "xon_bytes",
					       &xon) &&
				  xoff > 0 && xon >= 0
			  ? 0
			  : -EBADMSG;
	size_t i;

	*out = (struct pauses){.port = calloc(json_array_size(ports) + 1, sizeof(*out->port)),
			       .xoff_bytes = (uint64_t)xoff,
			       .xon_bytes = (uint64_t)xon};
	if (!out->port)
		err = -ENOMEM;
	json_array_foreach (ports, i, port)
		if (!err)
			err = pauses_add(out, port);
	json_decref(root);
	if (out->reactions)
		out->reaction_mean_us /= (double)out->reactions;
	if (err)
		pauses_fini(out);
	return err;
}

int pauses_read(struct pauses *out, const struct lab *lab)
{
	const char *argv[] = {lab->farelab, "pfc", lab->name, "--json", NULL};
	char *text;
	int err = command_check(argv, PAUSES_COMMAND_MS, &text);

	if (err)
		return err;
	err = pauses_parse(out, text);
	free(text);
	if (err)
		fprintf(stderr, "farebench: farelab pfc: not what is expected\n");
	return err;
}

void pauses_fini(struct pauses *p)
{
	free(p->port);
	*p = (struct pauses){0};
}

int pauses_set(const struct lab *lab, enum pauses_setting what, uint64_t value)
{
	static const char *const names[PAUSES_SETTINGS] = {[PAUSES_HEADROOM] = "headroom",
							   [PAUSES_WATCHDOG] = "watchdog",
							   [PAUSES_XOFF] = "xoff"};
	char number[24];
	const char *args[] = {names[what], number, NULL};

	snprintf(number, sizeof(number), "%llu", (unsigned long long)value);
	return lab_do(lab, "pfc", args);
}

struct pauses_guard {
	struct lab lab;
	uint64_t of_topology[PAUSES_SETTINGS];
	struct undo_guard *undo;
};

/* state: which were set. */
static int guard_give_back(const void *context, const void *state)
{
	const struct pauses_guard *g = context;
	const bool *is_set = state;
	int err = 0;

	for (unsigned i = 0; i < PAUSES_SETTINGS; i++) {
		int one = is_set[i] ? pauses_set(&g->lab, (enum pauses_setting)i, g->of_topology[i])
				    : 0;

		err = err ? err : one;
	}
	return err;
}

int pauses_guard_create(struct pauses_guard **out, const struct lab *lab,
			const struct topo_pfc *pfc)
{
	struct pauses_guard *g = calloc(1, sizeof(*g));
	int err;

	if (!g)
		return -ENOMEM;
	g->lab = *lab;
	g->of_topology[PAUSES_HEADROOM] = pfc->headroom_bytes;
	g->of_topology[PAUSES_WATCHDOG] = pfc->watchdog_ms;
	g->of_topology[PAUSES_XOFF] = pfc->xoff_bytes;
	err = undo_guard_create(&g->undo, "farebench", guard_give_back, g,
				PAUSES_SETTINGS * sizeof(bool));
	if (err)
		free(g);
	else
		*out = g;
	return err;
}

int pauses_guard_set(struct pauses_guard *g, enum pauses_setting setting, uint64_t value)
{
	bool *is_set = undo_guard_state(g->undo);
	int err = undo_guard_begin(g->undo);

	if (err)
		return err;
	is_set[setting] = true; /* before it is: who is killed between leaves none */
	return pauses_set(&g->lab, setting, value);
}

int pauses_guard_destroy(struct pauses_guard *g)
{
	int err = g ? undo_guard_destroy(g->undo) : 0;

	free(g);
	return err;
}

/* Leaves, spines, servers, in that order. */
static unsigned depth_nodes(const struct topo *topo)
{
	return topo->n_leaves + topo->n_spines + topo->n_servers;
}

static const char *depth_name(const struct topo *topo, unsigned node)
{
	if (node < topo->n_leaves)
		return topo->leaves[node].name;
	node -= topo->n_leaves;
	return node < topo->n_spines ? topo->spines[node].name
				     : topo->servers[node - topo->n_spines].name;
}

static int depth_find(const struct topo *topo, const char *name, size_t length)
{
	for (unsigned i = 0; i < depth_nodes(topo); i++)
		if (strlen(depth_name(topo, i)) == length &&
		    strncmp(depth_name(topo, i), name, length) == 0)
			return (int)i;
	return -EBADMSG;
}

/* The leaf at the other end of a server's device. */
static int depth_leaf_of(const struct topo *topo, unsigned server, const char *dev)
{
	unsigned plane, sub_port;
	int gpu = topo_find_sub_port(topo, server, dev, &plane, &sub_port);

	return gpu < 0 ? -EBADMSG : (int)topo->gpus[gpu].plane[plane].leaf;
}

/* The spine at the other end of a leaf's device "up<number>". */
static int depth_spine_of(const struct topo *topo, unsigned leaf, const char *dev)
{
	unsigned number;

	if (sscanf(dev, "up%u", &number) != 1)
		return -EBADMSG;
	for (unsigned i = 0; i < topo->n_uplinks; i++)
		if (topo->uplinks[i].leaf == leaf && number-- == 0)
			return (int)(topo->n_leaves + topo->uplinks[i].spine);
	return -EBADMSG;
}

/* Who paused the port "l0/up1": its neighbour; *port_of: whose port it is. */
static int depth_neighbour(const struct topo *topo, const char *port, int *port_of)
{
	const char *dev = strchr(port, '/');

	*port_of = dev ? depth_find(topo, port, (size_t)(dev++ - port)) : -EBADMSG;
	if (*port_of < 0)
		return -EBADMSG;
	if ((unsigned)*port_of < topo->n_leaves)
		return depth_spine_of(topo, (unsigned)*port_of, dev);
	if ((unsigned)*port_of < topo->n_leaves + topo->n_spines)
		return depth_find(topo, dev, strlen(dev));
	return depth_leaf_of(topo, (unsigned)*port_of - topo->n_leaves - topo->n_spines, dev);
}

/* Of the nodes that pauses reach from one, the farthest. */
static unsigned depth_farthest(const bool *pauses, unsigned n, unsigned from, unsigned *links)
{
	unsigned farthest = 0;

	for (unsigned i = 0; i < n; i++)
		links[i] = i == from ? 0 : n;
	for (unsigned at = 0; at < n; at++) /* those that are so many links away */
		for (unsigned a = 0; a < n; a++)
			for (unsigned b = 0; links[a] == at && b < n; b++)
				if (pauses[a * n + b] && links[b] > at + 1)
					links[b] = farthest = at + 1;
	return farthest;
}

int pause_depth(const struct topo *topo, const struct pauses *from, const struct pauses *to,
		unsigned *hops)
{
	const unsigned n = depth_nodes(topo);
	bool *pauses = calloc((size_t)n * n, sizeof(*pauses)); /* [who][receiver] */
	unsigned *links = calloc(n, sizeof(*links));
	int err = pauses && links ? 0 : -ENOMEM;

	*hops = 0;
	for (unsigned i = 0; !err && i < to->n; i++) {
		int receiver, who;

		if (to->port[i].paused_s <= from->port[i].paused_s)
			continue;
		who = depth_neighbour(topo, to->port[i].name, &receiver);
		if (who < 0)
			err = who;
		else
			pauses[(unsigned)who * n + (unsigned)receiver] = true;
	}
	for (unsigned i = 0; !err && i < n; i++) {
		unsigned far = depth_farthest(pauses, n, i, links);

		*hops = far > *hops ? far : *hops;
	}
	free(pauses);
	free(links);
	return err;
}
