/* SPDX-License-Identifier: BSD-2-Clause */
#include "training/links.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/command.h"
#include "engine/cluster.h"

#define LINKS_TIMEOUT_MS 10000

static size_t links_place(const struct topo *topo, unsigned gpu, unsigned plane, unsigned sub)
{
	return ((size_t)gpu * topo->n_planes + plane) * FARE_MAX_SUB_PORTS + sub;
}

static uint64_t *links_find(const struct links *links, const struct topo *topo, unsigned server,
			    const char *dev)
{
	for (unsigned gpu = 0; gpu < topo->n_gpus; gpu++) {
		for (unsigned p = 0; topo->gpus[gpu].server == server && p < topo->n_planes; p++)
			for (unsigned s = 0; s < topo->gpus[gpu].plane[p].n_sub_ports; s++)
				if (strcmp(topo->gpus[gpu].plane[p].sub_port[s].dev, dev) == 0)
					return &links->tx_bytes[links_place(topo, gpu, p, s)];
	}
	return NULL;
}

static void links_take(struct links *links, const struct topo *topo, unsigned server,
		       const json_t *devices)
{
	const json_t *device;
	size_t i;

	json_array_foreach (devices, i, device) {
		const char *name = json_string_value(json_object_get(device, "ifname"));
		const json_t *stats = json_object_get(device, "stats64");
		const json_t *bytes = json_object_get(json_object_get(stats, "tx"), "bytes");
		uint64_t *at = name ? links_find(links, topo, server, name) : NULL;

		if (at && json_integer_value(bytes) >= 0)
			*at = (uint64_t)json_integer_value(bytes);
	}
}

int links_read(struct links *links, const struct topo *topo)
{
	size_t n = links_place(topo, topo->n_gpus, 0, 0);
	int err = 0;

	links->tx_bytes = malloc(n * sizeof(*links->tx_bytes));
	if (!links->tx_bytes)
		return -ENOMEM;
	memset(links->tx_bytes, 0xff, n * sizeof(*links->tx_bytes));
	links->at_ns = clock_now_ns();
	for (unsigned server = 0; !err && server < topo->n_servers; server++) {
		const char *argv[] = {"ip",   "-j",   "-s", "-n", topo->servers[server].netns,
				      "link", "show", NULL};
		json_t *devices;
		char *text;

		err = command_check(argv, LINKS_TIMEOUT_MS, &text);
		if (err)
			break;
		devices = json_loads(text, 0, NULL);
		links_take(links, topo, server, devices);
		json_decref(devices);
		free(text);
	}
	return err;
}

void links_fini(struct links *links)
{
	free(links->tx_bytes);
	links->tx_bytes = NULL;
}

struct links_use links_use(const struct links *from, const struct links *to,
			   const struct topo *topo, unsigned n_gpus)
{
	struct links_use use = {.min = INFINITY};
	double seconds = (double)(to->at_ns - from->at_ns) / 1e9, sum = 0;

	for (unsigned gpu = 0; gpu < n_gpus && gpu < topo->n_gpus; gpu++)
		for (unsigned p = 0; p < topo->n_planes; p++)
			for (unsigned s = 0; s < topo->gpus[gpu].plane[p].n_sub_ports; s++) {
				const struct topo_sub_port *port =
					&topo->gpus[gpu].plane[p].sub_port[s];
				size_t i = links_place(topo, gpu, p, s);
				double share;

				if (!(topo_live_sub_ports(topo, gpu, p) >> s & 1) ||
				    from->tx_bytes[i] == UINT64_MAX ||
				    to->tx_bytes[i] == UINT64_MAX)
					continue;
				share = (double)(to->tx_bytes[i] - from->tx_bytes[i]) * 8 /
					seconds / (double)port->rate_bps;
				use.max = fmax(use.max, share);
				use.min = fmin(use.min, share);
				sum += share;
				use.n++;
			}
	use.mean = use.n ? sum / use.n : 0;
	return use;
}

double links_sent(const struct links *from, const struct links *to, const struct topo *topo,
		  unsigned n_gpus)
{
	double sum = 0;

	for (size_t i = 0; i < links_place(topo, n_gpus, 0, 0); i++)
		if (from->tx_bytes[i] != UINT64_MAX && to->tx_bytes[i] != UINT64_MAX)
			sum += (double)(to->tx_bytes[i] - from->tx_bytes[i]);
	return sum / n_gpus;
}
