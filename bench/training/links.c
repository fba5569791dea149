/* SPDX-License-Identifier: BSD-2-Clause */
#include "training/links.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/command.h"
#include "engine/cluster.h"

#define LINKS_TIMEOUT_MS 10000
#define LINKS_ABOVE	 "up" /* farelab's names of a switch's links to those above it */
#define LINKS_UNUSED	 0.1  /* of the mean; probes and BGP are less */
#define LINKS_FULL	 0.8  /* of a link's rate: collectives have pauses between iterations */
#define LINKS_APART	 1.25 /* so much fuller than the busiest sub-port, which has room then */

static size_t links_place(const struct topo *topo, unsigned gpu, unsigned plane, unsigned sub)
{
	return ((size_t)gpu * topo->n_planes + plane) * FARE_MAX_SUB_PORTS + sub;
}

static uint64_t *links_find(const struct links *links, const struct topo *topo, unsigned server,
			    const char *dev)
{
	unsigned plane, sub;
	int gpu = topo_find_sub_port(topo, server, dev, &plane, &sub);

	return gpu < 0 ? NULL : &links->tx_bytes[links_place(topo, (unsigned)gpu, plane, sub)];
}

int links_parse(struct links *links, const struct topo *topo, int server, const char *text)
{
	json_t *devices = json_loads(text, 0, NULL), *device;
	int err = json_is_array(devices) ? 0 : -EBADMSG;
	size_t i;

	json_array_foreach (devices, i, device) {
		const char *name = json_string_value(json_object_get(device, "ifname"));
		const json_t *stats = json_object_get(device, "stats64");
		const json_t *tx = json_object_get(stats, "tx");
		const json_t *bytes = json_object_get(tx, "bytes");
		json_int_t changes = json_integer_value(json_object_get(tx, "carrier_changes"));
		uint64_t *at = name && server >= 0 ? links_find(links, topo, (unsigned)server, name)
						   : NULL;
		bool above = name && server < 0 && strncmp(name, LINKS_ABOVE, 2) == 0;

		if (at && json_integer_value(bytes) >= 0)
			*at = (uint64_t)json_integer_value(bytes);
		if ((at || above) && changes > 0)
			links->transitions += (uint64_t)changes;
	}
	json_decref(devices);
	return err;
}

static int links_read_host(struct links *links, const struct topo *topo, int server,
			   const char *netns)
{
	const char *argv[] = {"ip", "-j", "-s", "-s", "-n", netns, "link", "show", NULL};
	char *text;
	int err = command_check(argv, LINKS_TIMEOUT_MS, &text);

	if (err)
		return err;
	err = links_parse(links, topo, server, text);
	free(text);
	return err;
}

/* By an agent: "p0.tx_bytes" (host_counters.h). */
static int links_read_agent(struct links *links, const struct fabric *fabric, unsigned server)
{
	const struct topo *topo = fabric->topo;
	json_t *counters;
	int err = hosts_counters_read(fabric->hosts, server, &counters);

	for (unsigned gpu = 0; !err && gpu < topo->n_gpus; gpu++)
		for (unsigned p = 0; topo->gpus[gpu].server == server && p < topo->n_planes; p++)
			for (unsigned s = 0; s < topo->gpus[gpu].plane[p].n_sub_ports; s++) {
				char key[FARE_DEV_NAME_MAX + 16];
				const json_t *bytes;

				snprintf(key, sizeof(key), "%s.tx_bytes",
					 topo->gpus[gpu].plane[p].sub_port[s].dev);
				bytes = json_object_get(counters, key);
				if (json_is_integer(bytes))
					links->tx_bytes[links_place(topo, gpu, p, s)] =
						(uint64_t)json_integer_value(bytes);
			}
	if (!err)
		json_decref(counters);
	return err;
}

int links_read(struct links *links, const struct fabric *fabric)
{
	const struct topo *topo = fabric->topo;
	size_t n = links_place(topo, topo->n_gpus, 0, 0);
	int err = 0;

	links->tx_bytes = malloc(n * sizeof(*links->tx_bytes));
	if (!links->tx_bytes)
		return -ENOMEM;
	memset(links->tx_bytes, 0xff, n * sizeof(*links->tx_bytes));
	links->at_ns = clock_now_ns();
	for (unsigned i = 0; !err && i < topo->n_servers; i++)
		err = fabric->hosts ? links_read_agent(links, fabric, i)
				    : links_read_host(links, topo, (int)i, topo->servers[i].netns);
	for (unsigned i = 0; !err && topo->n_uplinks && i < topo->n_leaves; i++)
		err = links_read_host(links, topo, -1, topo->leaves[i].netns);
	for (unsigned i = 0; !err && topo->n_superspines && i < topo->n_spines; i++)
		err = links_read_host(links, topo, -1, topo->spines[i].netns);
	return err;
}

void links_fini(struct links *links)
{
	free(links->tx_bytes);
	links->tx_bytes = NULL;
}

/* What that sub-port carried between the two readings, as a share of its rate; NaN: it is dead, or
 * was not seen. */
static double links_share(const struct links *from, const struct links *to, const struct topo *topo,
			  unsigned gpu, unsigned plane, unsigned sub)
{
	size_t i = links_place(topo, gpu, plane, sub);

	if (!(topo_live_sub_ports(topo, gpu, plane) >> sub & 1) ||
	    from->tx_bytes[i] == UINT64_MAX || to->tx_bytes[i] == UINT64_MAX ||
	    to->tx_bytes[i] < from->tx_bytes[i]) /* another device of that name */
		return NAN;
	return (double)(to->tx_bytes[i] - from->tx_bytes[i]) * 8e9 /
	       (double)(to->at_ns - from->at_ns) /
	       (double)topo->gpus[gpu].plane[plane].sub_port[sub].rate_bps;
}

struct links_use links_use(const struct links *from, const struct links *to,
			   const struct topo *topo, unsigned n_gpus)
{
	struct links_use use = {.min = INFINITY};
	size_t end = links_place(topo, n_gpus < topo->n_gpus ? n_gpus : topo->n_gpus, 0, 0);
	double share, squares = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < end; i++) {
			unsigned sub = i % FARE_MAX_SUB_PORTS,
				 plane = i / FARE_MAX_SUB_PORTS % topo->n_planes,
				 gpu = (unsigned)(i / FARE_MAX_SUB_PORTS / topo->n_planes);

			share = links_share(from, to, topo, gpu, plane, sub);
			if (!isfinite(share))
				continue;
			if (pass) {
				use.unused += share < use.mean * LINKS_UNUSED;
				continue;
			}
			use.max = fmax(use.max, share);
			use.min = fmin(use.min, share);
			squares += share * share;
			use.mean += (share - use.mean) / ++use.n;
		}
	}
	use.min = use.n ? use.min : NAN;
	use.jfi = squares > 0 ? use.n * use.mean * use.mean / squares : NAN;
	return use;
}

bool links_are_bound_above(double uplink, double sub_port)
{
	return uplink >= LINKS_FULL && uplink >= LINKS_APART * sub_port;
}
