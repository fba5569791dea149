/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

void config_zebra(FILE *out)
{
	/* Kernel nexthop groups are left one member short after a local flap; a work queue only
	 * adds delay. */
	fputs("zebra work-queue 0\n"
	      "no zebra nexthop kernel enable\n",
	      out);
}

static void bgpd_base(FILE *out, const struct topology *t, struct plan_host host, uint32_t as)
{
	char router_id[INET_ADDRSTRLEN];

	plan_router_id(t, host, router_id);
	fprintf(out,
		"router bgp %u\n"
		" bgp router-id %s\n"
		" no bgp ebgp-requires-policy\n"
		" no bgp network import-check\n"
		" no bgp default ipv4-unicast\n"
		" bgp bestpath as-path multipath-relax\n"
		/*
		 * A new session is otherwise told nothing for a second, lest another one come up
		 * meanwhile.
		 */
		" coalesce-time 10\n",
		as, router_id);
	/* The forwarding state outlives bgpd here, and the neighbours may rely on it for that long.
	 */
	if (t->graceful_restart_s)
		fprintf(out,
			" bgp graceful-restart\n"
			" bgp graceful-restart preserve-fw-state\n"
			" bgp graceful-restart restart-time %u\n"
			" bgp graceful-restart stalepath-time %u\n"
			" bgp graceful-restart rib-stale-time %u\n"
			" bgp graceful-restart select-defer-time 2\n",
			t->graceful_restart_s, t->graceful_restart_s, t->graceful_restart_s);
}

static void peer_group(FILE *out, const struct topology *t, const char *name)
{
	fprintf(out,
		" neighbor %s peer-group\n"
		" neighbor %s timers %u %u\n"
		" neighbor %s timers connect 1\n",
		name, name, t->keepalive_s, t->hold_s, name);
}

static void neighbor(FILE *out, const char *address, uint32_t as, const char *group)
{
	fprintf(out, " neighbor %s remote-as %u\n neighbor %s peer-group %s\n", address, as,
		address, group);
}

static void server_neighbors(FILE *out, const struct topology *t, struct plan_gpu gpu)
{
	struct plan_link link;
	char group[16];

	for (unsigned six = 0; six <= t->ipv6; six++) {
		snprintf(group, sizeof(group), "LEAF%c-G%u", six ? '6' : '4', gpu.gpu % 100);
		peer_group(out, t, group);
		for (unsigned plane = 0; plane < t->planes; plane++)
			for (unsigned sub = 0; sub < t->sub_ports; sub++) {
				plan_link_at(t, gpu, plane, sub, &link);
				neighbor(out, six ? link.leaf_v6 : link.leaf_v4,
					 plan_leaf_as(t, plane), group);
			}
	}
}

/* One family of a server: every GPU's loopback, and each only on that GPU's own sub-ports. */
static void server_family(FILE *out, const struct topology *t, unsigned server, bool six)
{
	char loopback[INET6_ADDRSTRLEN];

	fprintf(out, " address-family %s unicast\n  maximum-paths 256\n", six ? "ipv6" : "ipv4");
	for (unsigned j = 0; j < t->gpus_per_server; j++) {
		unsigned global = plan_global(t, (struct plan_gpu){server, j});
		char v = six ? '6' : '4';

		if (six)
			plan_loopback_v6(global, loopback);
		else
			plan_loopback_v4(global, loopback);
		fprintf(out,
			"  network %s/%d\n"
			"  neighbor LEAF%c-G%u activate\n"
			"  neighbor LEAF%c-G%u soft-reconfiguration inbound\n"
			"  neighbor LEAF%c-G%u prefix-list SELF%c-G%u out\n",
			loopback, six ? 128 : 32, v, j, v, j, v, j, v, j);
	}
	fputs(" exit-address-family\n", out);
}

void config_server_bgpd(FILE *out, const struct topology *t, unsigned server)
{
	char v4[INET_ADDRSTRLEN], v6[INET6_ADDRSTRLEN];

	for (unsigned j = 0; j < t->gpus_per_server; j++) {
		unsigned global = plan_global(t, (struct plan_gpu){server, j});

		plan_loopback_v4(global, v4);
		plan_loopback_v6(global, v6);
		fprintf(out, "ip prefix-list SELF4-G%u seq 5 permit %s/32\n", j, v4);
		if (t->ipv6)
			fprintf(out, "ipv6 prefix-list SELF6-G%u seq 5 permit %s/128\n", j, v6);
	}
	bgpd_base(out, t, (struct plan_host){.leaf = false, .index = server},
		  plan_server_as(t, server));
	for (unsigned j = 0; j < t->gpus_per_server; j++)
		server_neighbors(out, t, (struct plan_gpu){server, j});
	fprintf(out,
		" bmp targets fared\n"
		"  bmp listener 127.0.0.1 port %d\n"
		"  bmp monitor ipv4 unicast pre-policy\n"
		"%s"
		" exit\n",
		CONFIG_BMP_PORT, t->ipv6 ? "  bmp monitor ipv6 unicast pre-policy\n" : "");
	for (unsigned six = 0; six <= t->ipv6; six++)
		server_family(out, t, server, six);
	fputs("exit\n", out);
}

void config_leaf_bgpd(FILE *out, const struct topology *t, unsigned plane)
{
	struct plan_link link;

	fputs("ip prefix-list LOOPBACKS4 seq 5 permit 198.19.0.0/16 ge 32\n"
	      "ipv6 prefix-list LOOPBACKS6 seq 5 permit 2001:db8:19::/48 ge 128\n"
	      "route-map BW permit 10\n"
	      " set extcommunity bandwidth num-multipaths\n"
	      "exit\n",
	      out);
	bgpd_base(out, t, (struct plan_host){.leaf = true, .index = plane}, plan_leaf_as(t, plane));
	for (unsigned six = 0; six <= t->ipv6; six++) {
		const char *group = six ? "GPU6" : "GPU4";

		peer_group(out, t, group);
		/* The servers call: two ends that call at once cut each other off, and wait to try
		 * again. */
		fprintf(out, " neighbor %s passive\n", group);
		for (unsigned k = 0; k < t->servers * t->gpus_per_server * t->sub_ports; k++) {
			unsigned global = k / t->sub_ports, server = global / t->gpus_per_server;

			plan_link_at(t, (struct plan_gpu){server, global % t->gpus_per_server},
				     plane, k % t->sub_ports, &link);
			neighbor(out, six ? link.server_v6 : link.server_v4,
				 plan_server_as(t, server), group);
		}
	}
	for (unsigned six = 0; six <= t->ipv6; six++) {
		char v = six ? '6' : '4';

		fprintf(out,
			" address-family ipv%c unicast\n"
			"  maximum-paths 256\n"
			"  neighbor GPU%c activate\n"
			"  neighbor GPU%c soft-reconfiguration inbound\n"
			"  neighbor GPU%c prefix-list LOOPBACKS%c out\n"
			"  neighbor GPU%c route-map BW out\n"
			" exit-address-family\n",
			v, v, v, v, v, v);
	}
	fputs("exit\n", out);
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
