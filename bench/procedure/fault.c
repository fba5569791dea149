/* SPDX-License-Identifier: BSD-2-Clause */
#include "procedure/fault.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct fault_link *fault_links_add(struct fault_links *links)
{
	return links->n < FAULT_LINKS_MAX ? &links->link[links->n++] : NULL;
}

static void fault_links_sub_ports(struct fault_links *links, const struct topo *topo, unsigned gpu)
{
	char name[2 * TOPO_NAME_MAX];

	topo_gpu_label(topo, gpu, name, sizeof(name));
	for (unsigned plane = 0; plane < topo->n_planes; plane++)
		for (unsigned s = 0; s < topo->gpus[gpu].plane[plane].n_sub_ports; s++) {
			const struct topo_sub_port *port =
				&topo->gpus[gpu].plane[plane].sub_port[s];
			struct fault_link *link = port->up ? fault_links_add(links) : NULL;

			if (!link)
				continue;
			*link = (struct fault_link){.plane = plane, .rate_bps = port->rate_bps};
			snprintf(link->spec, sizeof(link->spec), "subport %.40s %u %u", name, plane,
				 s);
			snprintf(link->host, sizeof(link->host), "%s",
				 topo->servers[topo->gpus[gpu].server].name);
			snprintf(link->dev, sizeof(link->dev), "%s", port->dev);
		}
}

/* The upper switch has a device of the lower one's name. */
static void fault_links_between(struct fault_links *links, unsigned plane, const char *lower,
				const char *upper, uint64_t rate_bps)
{
	struct fault_link *link = fault_links_add(links);

	if (!link)
		return;
	*link = (struct fault_link){.plane = plane, .rate_bps = rate_bps, .is_sent = true};
	snprintf(link->spec, sizeof(link->spec), "uplink %.40s %.40s", lower, upper);
	snprintf(link->host, sizeof(link->host), "%s", upper);
	snprintf(link->dev, sizeof(link->dev), "%.*s", FARE_DEV_NAME_MAX - 1, lower);
}

static void fault_links_uplinks(struct fault_links *links, const struct topo *topo, unsigned gpu,
				bool above)
{
	for (unsigned plane = 0; plane < topo->n_planes; plane++)
		for (unsigned i = 0; i < topo->n_uplinks; i++) {
			const struct topo_uplink *uplink = &topo->uplinks[i];
			const struct topo_spine *spine = &topo->spines[uplink->spine];

			if (uplink->leaf != topo->gpus[gpu].plane[plane].leaf || !uplink->up)
				continue;
			if (!above)
				fault_links_between(links, plane, topo->leaves[uplink->leaf].name,
						    spine->name, uplink->rate_bps);
			else if (spine->superspine >= 0 && spine->uplink_bps)
				fault_links_between(links, plane, spine->name,
						    spine->superspine_name, spine->uplink_bps);
		}
}

bool fault_links_init(struct fault_links *links, const struct topo *topo, enum fault_tier tier,
		      unsigned gpu, unsigned wanted, unsigned turn)
{
	bool is_port = tier == FAULT_SUB_PORT;

	*links = (struct fault_links){
		.wanted = wanted, .turn = turn, .planes_apart = !is_port, .share = NAN};
	if (is_port)
		fault_links_sub_ports(links, topo, gpu);
	else
		fault_links_uplinks(links, topo, gpu, tier == FAULT_SPINE_SPINE);
	if (is_port)
		return links->n > wanted;
	/* by planes, the first plane's first */
	return links->n && (wanted == 1 || links->link[0].plane != links->link[links->n - 1].plane);
}

static const json_t *fault_links_device(const json_t *root, const struct fault_link *link)
{
	const json_t *host, *device;
	size_t i, k;

	json_array_foreach (json_object_get(root, "hosts"), i, host) {
		const char *name = json_string_value(json_object_get(host, "name"));

		if (!name || strcmp(name, link->host) != 0)
			continue;
		json_array_foreach (json_object_get(host, "devices"), k, device) {
			const char *dev = json_string_value(json_object_get(device, "dev"));

			if (dev && strcmp(dev, link->dev) == 0)
				return device;
		}
	}
	return NULL;
}

int fault_links_read(struct fault_links *links, const char *counters)
{
	json_t *root = json_loads(counters, 0, NULL);
	uint64_t at_ns = (uint64_t)json_integer_value(json_object_get(root, "monotonic_ns"));
	double passed_s = (double)(at_ns - links->at_ns) / 1e9;
	int err = at_ns > links->at_ns ? 0 : -EBADMSG;

	for (unsigned i = 0; !err && i < links->n; i++) {
		struct fault_link *link = &links->link[i];
		const json_t *bytes = json_object_get(fault_links_device(root, link),
						      link->is_sent ? "tx_bytes" : "rx_bytes");

		if (!json_is_integer(bytes) || (uint64_t)json_integer_value(bytes) < link->bytes) {
			err = -EBADMSG;
			break;
		}
		if (links->at_ns)
			link->share = (double)((uint64_t)json_integer_value(bytes) - link->bytes) *
				      8 / passed_s / (double)link->rate_bps;
		link->bytes = (uint64_t)json_integer_value(bytes);
	}
	json_decref(root);
	if (!err) {
		links->share = links->at_ns ? 0 : NAN;
		links->at_ns = at_ns;
	}
	return err;
}

/* Whether link i may be cut beside the first one (-1: it is the first). */
static bool fault_links_may(const struct fault_links *links, unsigned i, int first)
{
	return first < 0 || ((int)i != first && (!links->planes_apart ||
						 links->link[i].plane != links->link[first].plane));
}

/* One of the busiest that may be: from number `turn` on. */
static unsigned fault_links_busiest(const struct fault_links *links, int first, unsigned turn)
{
	double most = 0;
	unsigned k = 0;

	for (unsigned i = 0; i < links->n; i++)
		if (fault_links_may(links, i, first))
			most = fmax(most, links->link[i].share);
	for (; k < links->n; k++) {
		unsigned i = (turn + k) % links->n;

		if (fault_links_may(links, i, first) &&
		    links->link[i].share >= FAULT_AS_BUSY_AS * most)
			return i;
	}
	return 0; /* not met: fault_links_init() counted them */
}

void fault_links_choose(struct fault_links *links)
{
	bool known = isfinite(links->share);
	double carried = 0, rate = 0, most = 0;
	int first = -1;
	size_t used = 0, named = 0;

	links->spec[0] = links->text[0] = '\0';
	for (unsigned k = 0; k < links->wanted; k++) {
		unsigned i = fault_links_busiest(links, first, links->turn + k);
		const struct fault_link *link = &links->link[i];

		first = k ? first : (int)i;
		carried += link->share * (double)link->rate_bps;
		rate += (double)link->rate_bps;
		used += (size_t)snprintf(links->spec + used, sizeof(links->spec) - used, "%s%s",
					 k ? "," : "", link->spec);
		named += (size_t)snprintf(links->text + named, sizeof(links->text) - named, "%s%s",
					  k ? ", " : "", link->spec);
		if (known)
			named += (size_t)snprintf(links->text + named, sizeof(links->text) - named,
						  " (%.0f%%)", link->share * 100);
	}
	for (unsigned i = 0; i < links->n; i++)
		most = fmax(most, links->link[i].share);
	links->share = known ? carried / rate : NAN;
	if (!known)
		snprintf(links->text + named, sizeof(links->text) - named,
			 "; what it carried was not read");
	else if (most < FAULT_CARRIES)
		snprintf(links->text + named, sizeof(links->text) - named,
			 "; no link of its tier carried a tenth of its rate just before");
}

int fault_links_count(struct fault_links *links, const struct fabric *fabric)
{
	char *text;
	int err;

	if (fabric->hosts)
		return 0;
	err = lab_counters(&fabric->lab, &text);
	if (err)
		return err;
	err = fault_links_read(links, text);
	free(text);
	if (err)
		fprintf(stderr, "farebench: farelab counters: not the links that may be cut\n");
	return err;
}

struct fault {
	struct fabric *fabric;
	const char *spec; /* NULL: of links */
	struct fault_links *links;
	double share;
	uint64_t inject_ns;
};

static int fault_strike(void *arg, uint64_t from_ns, uint64_t to_ns)
{
	struct fault *f = arg;
	uint64_t at_ns = from_ns + (uint64_t)((double)(to_ns - from_ns) * f->share);
	int err = 0;

	if (f->links) {
		err = cluster_sleep_until(f->fabric->cluster, at_ns - FAULT_COUNT_NS);
		if (!err)
			err = fault_links_count(f->links, f->fabric);
	}
	if (!err)
		err = cluster_sleep_until(f->fabric->cluster, at_ns);
	if (!err && f->links) {
		err = fault_links_count(f->links, f->fabric);
		fault_links_choose(f->links);
	}
	return err ? err
		   : fabric_fail(f->fabric, f->links ? f->links->spec : f->spec, &f->inject_ns);
}

bool fault_uplink(const struct topo *topo, unsigned gpu, unsigned plane, char *spec, size_t size)
{
	unsigned leaf = topo->gpus[gpu].plane[plane].leaf;

	for (unsigned i = 0; i < topo->n_uplinks; i++)
		if (topo->uplinks[i].leaf == leaf) {
			snprintf(spec, size, "uplink %.40s %.40s", topo->leaves[leaf].name,
				 topo->spines[topo->uplinks[i].spine].name);
			return true;
		}
	return false;
}

bool fault_spine_uplink(const struct topo *topo, unsigned gpu, unsigned plane, char *spec,
			size_t size)
{
	unsigned leaf = topo->gpus[gpu].plane[plane].leaf;

	for (unsigned i = 0; i < topo->n_uplinks; i++) {
		const struct topo_spine *spine = &topo->spines[topo->uplinks[i].spine];

		if (topo->uplinks[i].leaf != leaf || spine->superspine < 0)
			continue;
		snprintf(spec, size, "uplink %.40s %.40s", spine->name, spine->superspine_name);
		return true;
	}
	return false;
}

int fault_settle(struct trial *t, const struct observe *observe, uint64_t healed_ns,
		 const char *kpi)
{
	uint64_t last_ns = 0;
	uint32_t n;
	int err = fabric_settle(t->fabric);

	if (!err && observe)
		err = observe_n(observe, &n);
	if (err)
		return err;
	if (observe)
		last_ns = observe_last(observe, n, OBSERVE_WEIGHTS, healed_ns);
	if (!observe)
		trial_missing(t, kpi, "published weights are watched in labs alone");
	else if (!last_ns || !observe_weights_are_first(observe, t->fabric->topo))
		trial_missing(t, kpi, "no weight was lowered, or not all came back");
	else
		trial_value(t, kpi, (double)(last_ns - healed_ns) / 1e6, 1);
	return 0;
}

struct recovery fault_goodput(const struct measured *m)
{
	return (struct recovery){.from_ns = m->from_ns / TRAFFIC_BIN_NS * TRAFFIC_BIN_NS,
				 .n = m->n_bins,
				 .bytes = m->load[0].bin_bytes};
}

static int fault_measure_any(struct trial *t, const struct plan *plan, struct fault f,
			     uint64_t *inject_ns, struct measured *m, struct recovery *goodput)
{
	int err;

	t->bins = true;
	t->is_fault_planned = true;
	err = trial_measure(t, plan, fault_strike, &f, m);
	if (err)
		return err;
	*inject_ns = f.inject_ns;
	*goodput = fault_goodput(m);
	return 0;
}

int fault_measure(struct trial *t, const struct plan *plan, const char *spec, double share,
		  uint64_t *inject_ns, struct measured *m, struct recovery *goodput)
{
	const struct fault f = {.fabric = t->fabric, .spec = spec, .share = share};

	return fault_measure_any(t, plan, f, inject_ns, m, goodput);
}

int fault_measure_busiest(struct trial *t, const struct plan *plan, struct fault_links *links,
			  double share, uint64_t *inject_ns, struct measured *m,
			  struct recovery *goodput)
{
	const struct fault f = {.fabric = t->fabric, .links = links, .share = share};

	return fault_measure_any(t, plan, f, inject_ns, m, goodput);
}
