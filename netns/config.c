/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "frr_config.h"

#define VETH_MBPS 10000u /* what the kernel says of a link without a shaper */

/* From text that plan.c wrote. */
static struct in6_addr address_of(const char *text)
{
	struct in6_addr out = {0};

	address_parse(text, &out);
	return out;
}

static struct frr_config_speaker speaker_of(const struct topology *t, struct plan_host host,
					    uint32_t as, const struct frr_release *release)
{
	struct frr_config_speaker s = {.as = as,
				       .keepalive_s = t->keepalive_s,
				       .hold_s = t->hold_s,
				       .graceful_restart_s = t->graceful_restart_s,
				       .extended_bandwidth = release->has_extended_bandwidth,
				       .internal = t->ibgp};

	plan_router_id(t, host, s.router_id);
	return s;
}

/* Families in which a link has sessions: one for both, if it is unnumbered. */
static unsigned first_family(const struct topology *t)
{
	return !t->ipv4 && !t->unnumbered;
}

static unsigned last_family(const struct topology *t)
{
	return t->ipv6 && !t->unnumbered;
}

/* That end of a link, as the other one sees it. */
static struct frr_config_peer end_of(const struct topology *t, const struct plan_link *link,
				     bool leaf, bool six)
{
	struct frr_config_peer peer = {0};

	if (t->unnumbered)
		peer.address = address_of("fe80::");
	else if (leaf)
		peer.address = address_of(six ? link->leaf_v6 : link->leaf_v4);
	else
		peer.address = address_of(six ? link->far_v6 : link->far_v4);
	memcpy(peer.dev, leaf ? link->far_dev : link->leaf_dev, sizeof(peer.dev));
	return peer;
}

/*
 * What is at the other end of the links of a switch that lead to hosts of that role, a family
 * after the other. Room for 2 * plan_links(). Returns how many.
 */
static size_t neighbors_of(const struct topology *t, struct plan_host host, enum plan_role role,
			   struct frr_config_peer *out)
{
	struct plan_link link;
	size_t n = 0;

	for (unsigned six = first_family(t); six <= last_family(t); six++)
		PLAN_EACH_LINK(t, host, k)
		{
			bool at_leaf;

			plan_link_at(t, k, &link);
			at_leaf = !plan_at_leaf(&link, host);
			if ((at_leaf ? link.leaf.role : link.far.role) == role)
				out[n++] = end_of(t, &link, at_leaf, six);
		}
	return n;
}

/* The leaves of one GPU of a server, and what it announces of its sub-ports. */
static size_t leaves_of(const struct topology *t, struct plan_gpu gpu,
			const unsigned *announced_mbps, struct frr_config_peer *out, unsigned *mbps)
{
	unsigned first = plan_link_number(t, gpu, 0, 0), n_links = t->planes * t->sub_ports;
	struct plan_link link;
	size_t n = 0;

	for (unsigned six = first_family(t); six <= last_family(t); six++)
		for (unsigned k = 0; k < n_links; k++) {
			plan_link_at(t, first + k, &link);
			mbps[n] = config_link_units(t, announced_mbps[first + k]);
			out[n++] = end_of(t, &link, true, six);
		}
	return n;
}

/* Returns how many. */
static size_t loopbacks_of(const struct topology *t, unsigned global, struct in6_addr out[2])
{
	char text[INET6_ADDRSTRLEN];
	size_t n = 0;

	if (t->ipv4) {
		plan_loopback_v4(global, text);
		out[n++] = address_of(text);
	}
	if (t->ipv6) {
		plan_loopback_v6(global, text);
		out[n++] = address_of(text);
	}
	return n;
}

/* Do servers announce bandwidths, or do leaves count? */
static bool servers_announce(const struct topology *t)
{
	return t->announce_rates || t->spines_per_plane;
}

static int server_bgpd(FILE *out, const struct topology *t, struct plan_host host,
		       const unsigned *announced_mbps, const struct frr_release *release)
{
	const struct frr_config_speaker speaker =
		speaker_of(t, host, plan_server_as(t, host.index), release);
	size_t per_gpu = 2u * t->planes * t->sub_ports;
	struct frr_config_gpu *gpus = calloc(t->gpus_per_server, sizeof(*gpus));
	struct frr_config_peer *leaves = calloc(t->gpus_per_server * per_gpu, sizeof(*leaves));
	struct in6_addr(*own)[2] = calloc(t->gpus_per_server, sizeof(*own));
	unsigned *mbps = calloc(t->gpus_per_server * per_gpu, sizeof(*mbps));
	int rc = gpus && leaves && own && mbps ? 0 : -ENOMEM;

	for (unsigned j = 0; !rc && j < t->gpus_per_server; j++) {
		struct plan_gpu gpu = {host.index, j};

		gpus[j] = (struct frr_config_gpu){
			.loopbacks = own[j],
			.n_loopbacks = loopbacks_of(t, plan_global(t, gpu), own[j]),
			.leaves = leaves + j * per_gpu,
			.n_leaves = leaves_of(t, gpu, announced_mbps, leaves + j * per_gpu,
					      mbps + j * per_gpu),
			.leaf_mbps = servers_announce(t) ? mbps + j * per_gpu : NULL};
	}
	if (!rc)
		frr_config_server(out, &speaker, gpus, t->gpus_per_server, "127.0.0.1",
				  CONFIG_BMP_PORT);
	free(gpus);
	free(leaves);
	free(own);
	free(mbps);
	return rc;
}

unsigned config_link_units(const struct topology *t, unsigned announced_mbps)
{
	if (t->announce_rates)
		return announced_mbps;
	return t->spines_per_plane ? topology_pod_spines(t) : 1;
}

static int switch_bgpd(FILE *out, const struct topology *t, struct plan_host host,
		       const struct frr_release *release)
{
	const struct frr_config_speaker speaker =
		speaker_of(t, host, plan_switch_as(t, host), release);
	const struct bgp_prefix loopbacks[] = {{address_of("198.19.0.0"), 96 + 16},
					       {address_of("2001:db8:19::"), 48}};
	size_t room = 2u * plan_links(t);
	struct frr_config_peer *below = calloc(room, sizeof(*below)),
			       *above = calloc(room, sizeof(*above));
	int rc = below && above ? 0 : -ENOMEM;

	if (!rc && host.role != PLAN_LEAF) {
		const struct frr_config_spine spine = {
			.below_name = host.role == PLAN_SPINE ? "LEAF" : "SPINE",
			.below = below,
			.n_below = neighbors_of(t, host, host.role - 1, below),
			.superspines = above,
			.n_superspines = neighbors_of(t, host, PLAN_SUPERSPINE, above),
			.loopbacks = loopbacks + !t->ipv4,
			.n_loopbacks = (size_t)t->ipv4 + t->ipv6};

		frr_config_spine(out, &speaker, &spine);
	} else if (!rc) {
		const struct frr_config_leaf leaf = {
			.servers = below,
			.n_servers = neighbors_of(t, host, PLAN_SERVER, below),
			.sums = servers_announce(t),
			.spines = above,
			.n_spines = neighbors_of(t, host, PLAN_SPINE, above),
			.loopbacks = loopbacks + !t->ipv4,
			.n_loopbacks = (size_t)t->ipv4 + t->ipv6};

		frr_config_leaf(out, &speaker, &leaf);
	}
	free(below);
	free(above);
	return rc;
}

int config_bgpd(FILE *out, const struct topology *t, struct plan_host host,
		const unsigned *announced_mbps, const struct frr_release *release)
{
	return host.role == PLAN_SERVER ? server_bgpd(out, t, host, announced_mbps, release)
					: switch_bgpd(out, t, host, release);
}

void config_link_rate(FILE *out, const struct topology *t, unsigned number, unsigned mbps)
{
	struct plan_link link;

	plan_link_at(t, number, &link);
	for (unsigned six = !t->ipv4; six <= t->ipv6; six++) {
		const struct frr_config_peer leaf = end_of(t, &link, true, six);

		frr_config_leaf_mbps(out, &leaf, six, mbps);
	}
}

/* ---- fared --------------------------------------------------------------- */

/* A YAML list of one or two: IPv6 addresses need quotes. */
static void print_pair(FILE *out, const struct topology *t, const char *v4, const char *v6)
{
	if (t->ipv4)
		fprintf(out, "[%s", v4);
	if (t->ipv6)
		fprintf(out, "%s\"%s\"", t->ipv4 ? ", " : "[", v6);
	fputc(']', out);
}

static void fared_plane(FILE *out, const struct topology *t, struct plan_gpu gpu, unsigned plane,
			const unsigned *announced_mbps)
{
	struct plan_link link;

	fputs("      - sub_ports:\n", out);
	for (unsigned sub = 0; sub < t->sub_ports; sub++) {
		plan_link_at(t, plan_link_number(t, gpu, plane, sub), &link);
		fprintf(out, "          - {dev: %s, speed_mbps: %u, neighbors: ", link.far_dev,
			announced_mbps[link.number]);
		if (t->unnumbered)
			fputs("[unnumbered]", out);
		else
			print_pair(out, t, link.leaf_v4, link.leaf_v6);
		fputs("}\n", out);
	}
}

/* Real bandwidth for each Mbit/s that BGP carries. */
static double bandwidth_scale(const struct topology *t)
{
	unsigned mbps = t->rate_mbps ? t->rate_mbps : VETH_MBPS;

	return t->announce_rates ? 1 : (double)mbps / config_link_units(t, 0);
}

/* Of switches: as many of them up as down, but the highest, are on the longest path. */
static unsigned tiers(const struct topology *t)
{
	return t->pods > 1 ? 3 : t->spines_per_plane ? 2 : 1;
}

void config_fared(FILE *out, const struct topology *t, unsigned server,
		  const unsigned *announced_mbps, const char *run_dir, const char *zserv_path,
		  const char *frr_version, const char *key_file)
{
	char v4[INET_ADDRSTRLEN], v6[INET6_ADDRSTRLEN];

	fprintf(out,
		"node: s%u\n"
		"run_dir: %s\n"
		"log_level: info\n"
		"user: \"\"\n"
		"group: \"\"\n"
		"bgp:\n"
		"  bmp_address: 127.0.0.1\n"
		"  bmp_port: %d\n"
		"  bandwidth_scale: %.10g\n"
		"  max_as_path: %u\n"
		"  stale_s: 120\n"
		"  zserv_path: %s\n",
		server, run_dir, CONFIG_BMP_PORT, bandwidth_scale(t), 2 * tiers(t), zserv_path);
	if (*frr_version)
		fprintf(out, "  frr_version: \"%s\"\n", frr_version);
	fputs("  peer_prefixes: ", out);
	print_pair(out, t, "198.19.0.0/16", "2001:db8:19::/48");
	fprintf(out, "\nhealth:\n  enabled: true\n  key_file: %s\n", key_file);
	if (t->probe_interval_ms)
		fprintf(out, "  interval_ms: %u\n", t->probe_interval_ms);
	if (t->probe_multiplier)
		fprintf(out, "  multiplier: %u\n", t->probe_multiplier);
	if (t->priority_band)
		fputs("  queue_ms: 0\n", out); /* leaves send probes before data */
	if (t->spines_per_plane)
		fprintf(out, "  max_routers: %u\n", 2 * tiers(t) - 1);
	fputs("local_gpus:\n", out);
	for (unsigned j = 0; j < t->gpus_per_server; j++) {
		struct plan_gpu gpu = {server, j};

		plan_loopback_v4(plan_global(t, gpu), v4);
		plan_loopback_v6(plan_global(t, gpu), v6);
		fprintf(out, "  - name: g%u\n    addresses: ", j);
		print_pair(out, t, v4, v6);
		fputs("\n    planes:\n", out);
		for (unsigned plane = 0; plane < t->planes; plane++)
			fared_plane(out, t, gpu, plane, announced_mbps);
	}
}
