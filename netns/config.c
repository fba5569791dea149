/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frr_config.h"

/* From text that plan.c wrote. */
static struct in6_addr address_of(const char *text)
{
	struct in6_addr out = {.s6_addr = {[10] = 0xff, [11] = 0xff}};

	if (strchr(text, ':'))
		inet_pton(AF_INET6, text, &out);
	else
		inet_pton(AF_INET, text, out.s6_addr + 12);
	return out;
}

static struct frr_config_speaker speaker_of(const struct topology *t, struct plan_host host,
					    uint32_t as)
{
	struct frr_config_speaker s = {.as = as,
				       .keepalive_s = t->keepalive_s,
				       .hold_s = t->hold_s,
				       .graceful_restart_s = t->graceful_restart_s};

	plan_router_id(t, host, s.router_id);
	return s;
}

/* Of a GPU: its leaves' addresses, a family after the other. Returns how many. */
static size_t leaves_of(const struct topology *t, struct plan_gpu gpu, struct in6_addr *out)
{
	struct plan_link link;
	size_t n = 0;

	for (unsigned six = 0; six <= t->ipv6; six++)
		for (unsigned plane = 0; plane < t->planes; plane++)
			for (unsigned sub = 0; sub < t->sub_ports; sub++) {
				plan_link_at(t, gpu, plane, sub, &link);
				out[n++] = address_of(six ? link.leaf_v6 : link.leaf_v4);
			}
	return n;
}

int config_server_bgpd(FILE *out, const struct topology *t, unsigned server)
{
	const struct frr_config_speaker speaker = speaker_of(
		t, (struct plan_host){.leaf = false, .index = server}, plan_server_as(t, server));
	size_t per_gpu = 2u * t->planes * t->sub_ports;
	struct frr_config_gpu *gpus = calloc(t->gpus_per_server, sizeof(*gpus));
	struct in6_addr *leaves = calloc(t->gpus_per_server * per_gpu, sizeof(*leaves));
	struct in6_addr(*own)[2] = calloc(t->gpus_per_server, sizeof(*own));
	int rc = gpus && leaves && own ? 0 : -ENOMEM;
	char text[INET6_ADDRSTRLEN];

	for (unsigned j = 0; !rc && j < t->gpus_per_server; j++) {
		struct plan_gpu gpu = {server, j};

		plan_loopback_v4(plan_global(t, gpu), text);
		own[j][0] = address_of(text);
		plan_loopback_v6(plan_global(t, gpu), text);
		own[j][1] = address_of(text);
		gpus[j] = (struct frr_config_gpu){own[j], 1u + t->ipv6, leaves + j * per_gpu,
						  leaves_of(t, gpu, leaves + j * per_gpu)};
	}
	if (!rc)
		frr_config_server(out, &speaker, gpus, t->gpus_per_server, "127.0.0.1",
				  CONFIG_BMP_PORT);
	free(gpus);
	free(leaves);
	free(own);
	return rc;
}

static size_t servers_of(const struct topology *t, unsigned plane, struct in6_addr *out)
{
	unsigned links = t->servers * t->gpus_per_server * t->sub_ports;
	struct plan_link link;
	size_t n = 0;

	for (unsigned six = 0; six <= t->ipv6; six++)
		for (unsigned k = 0; k < links; k++) {
			unsigned global = k / t->sub_ports, server = global / t->gpus_per_server;

			plan_link_at(t, (struct plan_gpu){server, global % t->gpus_per_server},
				     plane, k % t->sub_ports, &link);
			out[n++] = address_of(six ? link.server_v6 : link.server_v4);
		}
	return n;
}

int config_leaf_bgpd(FILE *out, const struct topology *t, unsigned plane)
{
	const struct frr_config_speaker speaker = speaker_of(
		t, (struct plan_host){.leaf = true, .index = plane}, plan_leaf_as(t, plane));
	const struct bgp_prefix loopbacks[] = {{address_of("198.19.0.0"), 96 + 16},
					       {address_of("2001:db8:19::"), 48}};
	struct in6_addr *servers =
		calloc(2u * t->servers * t->gpus_per_server * t->sub_ports, sizeof(*servers));
	struct frr_config_leaf leaf = {servers, 0, loopbacks, 1u + t->ipv6, false};

	if (!servers)
		return -ENOMEM;
	leaf.n_servers = servers_of(t, plane, servers);
	frr_config_leaf(out, &speaker, &leaf);
	free(servers);
	return 0;
}

static void fared_plane(FILE *out, const struct topology *t, struct plan_gpu gpu, unsigned plane)
{
	struct plan_link link;

	fputs("      - sub_ports:\n", out);
	for (unsigned sub = 0; sub < t->sub_ports; sub++) {
		plan_link_at(t, gpu, plane, sub, &link);
		fprintf(out, "          - {dev: %s, speed_mbps: %u, neighbors: [%s%s%s%s]}\n",
			link.server_dev, t->rate_mbps, link.leaf_v4, t->ipv6 ? ", \"" : "",
			t->ipv6 ? link.leaf_v6 : "", t->ipv6 ? "\"" : "");
	}
}

void config_fared(FILE *out, const struct topology *t, unsigned server, const char *run_dir,
		  const char *zserv_path, const char *frr_version, const char *key_file)
{
	char v4[INET_ADDRSTRLEN], v6[INET6_ADDRSTRLEN];

	/* A leaf advertises 1 Mbps for each live sub-link, which stands for the sub-link's shaped
	 * rate. */
	fprintf(out,
		"node: s%u\n"
		"run_dir: %s\n"
		"log_level: info\n"
		"user: \"\"\n"
		"group: \"\"\n"
		"bgp:\n"
		"  bmp_address: 127.0.0.1\n"
		"  bmp_port: %d\n"
		"  bandwidth_scale: %u\n"
		"  max_as_path: 2\n"
		"  stale_s: 120\n"
		"  zserv_path: %s\n",
		server, run_dir, CONFIG_BMP_PORT, t->rate_mbps ? t->rate_mbps : 1, zserv_path);
	if (*frr_version)
		fprintf(out, "  frr_version: \"%s\"\n", frr_version);
	fprintf(out, "  peer_prefixes: [198.19.0.0/16%s]\n",
		t->ipv6 ? ", \"2001:db8:19::/48\"" : "");
	fprintf(out, "health:\n  enabled: true\n  key_file: %s\n", key_file);
	if (t->probe_interval_ms)
		fprintf(out, "  interval_ms: %u\n", t->probe_interval_ms);
	if (t->probe_multiplier)
		fprintf(out, "  multiplier: %u\n", t->probe_multiplier);
	fputs("local_gpus:\n", out);
	for (unsigned j = 0; j < t->gpus_per_server; j++) {
		struct plan_gpu gpu = {server, j};

		plan_loopback_v4(plan_global(t, gpu), v4);
		plan_loopback_v6(plan_global(t, gpu), v6);
		fprintf(out, "  - name: g%u\n    addresses: [%s%s%s%s]\n    planes:\n", j, v4,
			t->ipv6 ? ", \"" : "", t->ipv6 ? v6 : "", t->ipv6 ? "\"" : "");
		for (unsigned plane = 0; plane < t->planes; plane++)
			fared_plane(out, t, gpu, plane);
	}
}
