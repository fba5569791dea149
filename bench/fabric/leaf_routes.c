/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/leaf_routes.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/command.h"
#include "fabric/undo_guard.h"

#define ROUTES_MAX	  64
#define ROUTES_COMMAND_MS 10000
#define ROUTES_METRIC	  "1"	/* BGP's have 20 */
#define ROUTES_PROTOCOL	  "bgp" /* zebra takes those for its own, and leaves them alone */

struct pinned {
	unsigned n;
	struct {
		char netns[TOPO_NAME_MAX], to[64];
	} route[ROUTES_MAX];
};

struct leaf_routes {
	const struct topo *topo;
	struct undo_guard *guard;
};

static int routes_remove(const void *context, const void *state)
{
	const struct pinned *p = state;
	int err = 0;

	(void)context;
	for (unsigned i = 0; i < p->n; i++) {
		const char *const argv[] = {"ip",     "-n",	     p->route[i].netns,
					    "route",  "del",	     p->route[i].to,
					    "metric", ROUTES_METRIC, NULL};
		int one = command_check(argv, ROUTES_COMMAND_MS, NULL);

		err = err ? err : one;
	}
	return err;
}

int leaf_routes_create(struct leaf_routes **out, const struct topo *topo)
{
	struct leaf_routes *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->topo = topo;
	err = undo_guard_create(&r->guard, "farebench", routes_remove, NULL, sizeof(struct pinned));
	if (err)
		free(r);
	else
		*out = r;
	return err;
}

int leaf_routes_destroy(struct leaf_routes *routes)
{
	int err = routes ? undo_guard_destroy(routes->guard) : 0;

	free(routes);
	return err;
}

int leaf_routes_pick(const char *text, unsigned first, unsigned n, struct leaf_hop *out)
{
	json_t *routes = json_loads(text, 0, NULL),
	       *hops = json_object_get(json_array_get(routes, 0), "nexthops"), *hop;
	unsigned found = 0;
	size_t i;

	for (unsigned k = 0; k < n; k++) {
		snprintf(out[k].dev, sizeof(out[k].dev), "up%u", first + k);
		json_array_foreach (hops, i, hop) {
			const char *dev = json_string_value(json_object_get(hop, "dev")),
				   *via = json_string_value(json_object_get(hop, "gateway"));

			if (!dev || !via || strcmp(dev, out[k].dev) != 0)
				continue;
			snprintf(out[k].via, sizeof(out[k].via), "%s", via);
			found++;
			break;
		}
	}
	json_decref(routes);
	return found == n ? 0 : -ENOENT;
}

static int routes_add(const char *netns, const char *to, const struct leaf_hop *hop, unsigned n)
{
	const char *argv[12 + 5 * LEAF_ROUTES_MAX_HOPS] = {
		"ip", "-n",	netns,	       "route",	   "replace",
		to,   "metric", ROUTES_METRIC, "protocol", ROUTES_PROTOCOL};
	unsigned at = 10;

	for (unsigned i = 0; i < n; i++) {
		argv[at++] = "nexthop";
		argv[at++] = "via";
		argv[at++] = hop[i].via;
		argv[at++] = "dev";
		argv[at++] = hop[i].dev;
	}
	argv[at] = NULL;
	return command_check(argv, ROUTES_COMMAND_MS, NULL);
}

int leaf_routes_set(struct leaf_routes *r, const char *netns, const char *to,
		    const struct leaf_hop *hop, unsigned n)
{
	struct pinned *p = undo_guard_state(r->guard);
	int err = n > LEAF_ROUTES_MAX_HOPS || p->n == ROUTES_MAX ? -E2BIG
								 : undo_guard_begin(r->guard);

	if (err)
		return err;
	snprintf(p->route[p->n].netns, sizeof(p->route[p->n].netns), "%s", netns);
	snprintf(p->route[p->n].to, sizeof(p->route[p->n].to), "%s", to);
	p->n++; /* before it is there: who is killed between leaves none */
	err = routes_add(netns, to, hop, n);
	p->n -= err != 0;
	return err;
}

static int routes_pin_at(struct leaf_routes *r, const char *netns, const char *to, unsigned first,
			 unsigned n)
{
	const char *const show[] = {"ip", "-j", "-n", netns, "route", "show", to, NULL};
	struct leaf_hop hop[LEAF_ROUTES_MAX_HOPS];
	char *text;
	int err;

	if (n > LEAF_ROUTES_MAX_HOPS)
		return -E2BIG;
	err = command_check(show, ROUTES_COMMAND_MS, &text);
	if (err)
		return err;
	err = leaf_routes_pick(text, first, n, hop);
	free(text);
	if (err) {
		fprintf(stderr, "farebench: %s has no route to %s by uplinks %u to %u\n", netns, to,
			first, first + n - 1);
		return err;
	}
	return leaf_routes_set(r, netns, to, hop, n);
}

int leaf_routes_pin(struct leaf_routes *routes, unsigned from, unsigned to, unsigned first,
		    unsigned n)
{
	const struct topo *topo = routes->topo;
	int err = 0;

	for (unsigned plane = 0; !err && plane < topo->n_planes; plane++)
		err = routes_pin_at(routes, topo->leaves[topo->gpus[from].plane[plane].leaf].netns,
				    topo->gpus[to].ipv4, first, n);
	return err;
}

static int routes_count(const char *netns, const char *family, unsigned *n)
{
	const char *const argv[] = {"ip", family, "-j", "-n", netns, "route", "show", NULL};
	json_t *routes;
	char *text;
	int err = command_check(argv, ROUTES_COMMAND_MS, &text);

	if (err)
		return err;
	routes = json_loads(text, 0, NULL);
	free(text);
	*n += (unsigned)json_array_size(routes);
	json_decref(routes);
	return 0;
}

int leaf_routes_most(const struct topo *topo, unsigned *most)
{
	int err = 0;

	*most = 0;
	for (unsigned i = 0; !err && i < topo->n_leaves + topo->n_spines; i++) {
		const char *netns = i < topo->n_leaves ? topo->leaves[i].netns
						       : topo->spines[i - topo->n_leaves].netns;
		unsigned n = 0;

		err = routes_count(netns, "-4", &n);
		if (!err)
			err = routes_count(netns, "-6", &n);
		*most = n > *most ? n : *most;
	}
	return err;
}
