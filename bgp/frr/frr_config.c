/* SPDX-License-Identifier: BSD-2-Clause */
/* frr_config.c - see frr_config.h */
#include "frr_config.h"

#include <arpa/inet.h>
#include <string.h>

enum family { V4, V6, FAMILIES };

static const char *const family_words[FAMILIES] = {"ipv4", "ipv6"};
static const char digit[FAMILIES] = {'4', '6'};
static const unsigned host_bits[FAMILIES] = {32, 128};

static enum family family_of(const struct in6_addr *address)
{
	return IN6_IS_ADDR_V4MAPPED(address) ? V4 : V6;
}

static const char *text_of(const struct in6_addr *address, char text[INET6_ADDRSTRLEN])
{
	if (family_of(address) == V4)
		inet_ntop(AF_INET, address->s6_addr + 12, text, INET6_ADDRSTRLEN);
	else
		inet_ntop(AF_INET6, address, text, INET6_ADDRSTRLEN);
	return text;
}

void frr_config_zebra(FILE *out)
{
	/* kernel next-hop groups are left one member short after a local flap; a work queue only
	 * adds delay */
	fputs("zebra work-queue 0\n"
	      "no zebra nexthop kernel enable\n",
	      out);
}

static void write_speaker(FILE *out, const struct frr_config_speaker *s)
{
	fprintf(out,
		"router bgp %u\n"
		" bgp router-id %s\n"
		" no bgp ebgp-requires-policy\n"
		" no bgp network import-check\n"
		" no bgp default ipv4-unicast\n"
		" bgp bestpath as-path multipath-relax\n"
		/* a new session is otherwise told nothing for a second, lest another one come up
		 * meanwhile */
		" coalesce-time 10\n",
		s->as, s->router_id);
	/* the forwarding state outlives bgpd here, and the neighbours may rely on it for that long
	 */
	if (s->graceful_restart_s)
		fprintf(out,
			" bgp graceful-restart\n"
			" bgp graceful-restart preserve-fw-state\n"
			" bgp graceful-restart restart-time %u\n"
			" bgp graceful-restart stalepath-time %u\n"
			" bgp graceful-restart rib-stale-time %u\n"
			" bgp graceful-restart select-defer-time 2\n",
			s->graceful_restart_s, s->graceful_restart_s, s->graceful_restart_s);
}

static void write_group(FILE *out, const struct frr_config_speaker *s, const char *name)
{
	fprintf(out,
		" neighbor %s peer-group\n"
		" neighbor %s remote-as external\n"
		" neighbor %s timers %u %u\n"
		" neighbor %s timers connect 1\n",
		name, name, name, s->keepalive_s, s->hold_s, name);
}

static void write_neighbors(FILE *out, const struct in6_addr *addresses, size_t n,
			    enum family family, const char *group)
{
	char text[INET6_ADDRSTRLEN];

	for (size_t i = 0; i < n; i++)
		if (family_of(&addresses[i]) == family)
			fprintf(out, " neighbor %s peer-group %s\n", text_of(&addresses[i], text),
				group);
}

/* ---- a server ------------------------------------------------------------ */

static const struct in6_addr *loopback_of(const struct frr_config_gpu *gpu, enum family family)
{
	for (size_t i = 0; i < gpu->n_loopbacks; i++)
		if (family_of(&gpu->loopbacks[i]) == family)
			return &gpu->loopbacks[i];
	return NULL;
}

static bool any_loopback(const struct frr_config_gpu *gpus, size_t n, enum family family)
{
	for (size_t j = 0; j < n; j++)
		if (loopback_of(&gpus[j], family))
			return true;
	return false;
}

/* Each loopback is told on that GPU's own sub-ports alone. */
static void write_self_lists(FILE *out, const struct frr_config_gpu *gpus, size_t n)
{
	char text[INET6_ADDRSTRLEN];

	for (size_t j = 0; j < n; j++)
		for (enum family f = V4; f < FAMILIES; f++) {
			const struct in6_addr *own = loopback_of(&gpus[j], f);

			if (own)
				fprintf(out, "%s prefix-list SELF%c-G%zu seq 5 permit %s/%u\n",
					f == V4 ? "ip" : "ipv6", digit[f], j, text_of(own, text),
					host_bits[f]);
		}
}

static void write_bmp(FILE *out, const struct frr_config_gpu *gpus, size_t n, const char *address,
		      unsigned port)
{
	fprintf(out,
		" bmp targets fared\n"
		"  bmp listener %s port %u\n",
		address, port);
	for (enum family f = V4; f < FAMILIES; f++)
		if (any_loopback(gpus, n, f))
			fprintf(out, "  bmp monitor %s unicast pre-policy\n", family_words[f]);
	fputs(" exit\n", out);
}

static void write_server_family(FILE *out, const struct frr_config_gpu *gpus, size_t n,
				enum family f)
{
	char text[INET6_ADDRSTRLEN];

	fprintf(out, " address-family %s unicast\n  maximum-paths 256\n", family_words[f]);
	for (size_t j = 0; j < n; j++) {
		const struct in6_addr *own = loopback_of(&gpus[j], f);
		char v = digit[f];

		if (own)
			fprintf(out,
				"  network %s/%u\n"
				"  neighbor LEAF%c-G%zu activate\n"
				"  neighbor LEAF%c-G%zu soft-reconfiguration inbound\n"
				"  neighbor LEAF%c-G%zu prefix-list SELF%c-G%zu out\n",
				text_of(own, text), host_bits[f], v, j, v, j, v, j, v, j);
	}
	fputs(" exit-address-family\n", out);
}

void frr_config_server(FILE *out, const struct frr_config_speaker *speaker,
		       const struct frr_config_gpu *gpus, size_t n_gpus, const char *bmp_address,
		       unsigned bmp_port)
{
	char group[32];

	write_self_lists(out, gpus, n_gpus);
	write_speaker(out, speaker);
	for (size_t j = 0; j < n_gpus; j++)
		for (enum family f = V4; f < FAMILIES; f++) {
			if (!loopback_of(&gpus[j], f))
				continue;
			snprintf(group, sizeof(group), "LEAF%c-G%zu", digit[f], j);
			write_group(out, speaker, group);
			write_neighbors(out, gpus[j].leaves, gpus[j].n_leaves, f, group);
		}
	write_bmp(out, gpus, n_gpus, bmp_address, bmp_port);
	for (enum family f = V4; f < FAMILIES; f++)
		if (any_loopback(gpus, n_gpus, f))
			write_server_family(out, gpus, n_gpus, f);
	fputs("exit\n", out);
}

/* ---- a leaf -------------------------------------------------------------- */

static bool any_server(const struct frr_config_leaf *leaf, enum family family)
{
	for (size_t i = 0; i < leaf->n_servers; i++)
		if (family_of(&leaf->servers[i]) == family)
			return true;
	return false;
}

/* Loopbacks and nothing else, and a bandwidth with each. */
static void write_leaf_policy(FILE *out, const struct frr_config_leaf *leaf)
{
	unsigned seq[FAMILIES] = {0};
	char text[INET6_ADDRSTRLEN];

	for (size_t i = 0; i < leaf->n_loopbacks; i++) {
		enum family f = family_of(&leaf->loopbacks[i].address);

		fprintf(out, "%s prefix-list LOOPBACKS%c seq %u permit %s/%u ge %u\n",
			f == V4 ? "ip" : "ipv6", digit[f], seq[f] += 5,
			text_of(&leaf->loopbacks[i].address, text),
			leaf->loopbacks[i].length - (f == V4 ? 96u : 0u), host_bits[f]);
	}
	fputs("route-map BW permit 10\n"
	      " set extcommunity bandwidth num-multipaths\n"
	      "exit\n",
	      out);
}

static void write_leaf_family(FILE *out, enum family f)
{
	char v = digit[f];

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

void frr_config_leaf(FILE *out, const struct frr_config_speaker *speaker,
		     const struct frr_config_leaf *leaf)
{
	write_leaf_policy(out, leaf);
	write_speaker(out, speaker);
	for (enum family f = V4; f < FAMILIES; f++) {
		const char *group = f == V4 ? "GPU4" : "GPU6";

		if (!any_server(leaf, f))
			continue;
		write_group(out, speaker, group);
		/* The servers call: two ends that call at once cut each other off, and wait to try
		 * again. */
		fprintf(out, " neighbor %s passive\n", group);
		if (leaf->extended_bandwidth)
			fprintf(out, " neighbor %s extended-link-bandwidth\n", group);
		write_neighbors(out, leaf->servers, leaf->n_servers, f, group);
	}
	for (enum family f = V4; f < FAMILIES; f++)
		if (any_server(leaf, f))
			write_leaf_family(out, f);
	fputs("exit\n", out);
}
