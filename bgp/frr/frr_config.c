/* SPDX-License-Identifier: BSD-2-Clause */
/* frr_config.c - see frr_config.h */
#include "frr_config.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/address.h"

enum family { V4, V6, FAMILIES };

static const char *const family_text[FAMILIES] = {"ipv4", "ipv6"};
static const char digit[FAMILIES] = {'4', '6'};
static const unsigned host_bits[FAMILIES] = {32, 128};

static enum family family_of(const struct in6_addr *address)
{
	return IN6_IS_ADDR_V4MAPPED(address) ? V4 : V6;
}

void frr_config_zebra(FILE *out, const struct frr_release *release)
{
	/* kernel next-hop groups are left one member short after a local flap; a work queue only
	 * adds delay */
	if (release->has_work_queue)
		fputs("zebra work-queue 0\n", out);
	fputs("no zebra nexthop kernel enable\n", out);
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
		/* a new session is otherwise sent nothing for a second, lest another one come up
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

/* bandwidths: Link Bandwidth communities are sent to them. */
static void write_group(FILE *out, const struct frr_config_speaker *s, const char *name,
			bool bandwidths)
{
	fprintf(out,
		" neighbor %s peer-group\n"
		" neighbor %s remote-as external\n"
		" neighbor %s timers %u %u\n"
		" neighbor %s timers connect 1\n",
		name, name, name, s->keepalive_s, s->hold_s, name);
	if (bandwidths && s->extended_bandwidth)
		fprintf(out, " neighbor %s extended-link-bandwidth\n", name);
}

static void write_neighbors(FILE *out, const struct in6_addr *addresses, size_t n,
			    enum family family, const char *group)
{
	char text[ADDRESS_TEXT_MAX];

	for (size_t i = 0; i < n; i++)
		if (family_of(&addresses[i]) == family)
			fprintf(out, " neighbor %s peer-group %s\n",
				address_format(&addresses[i], text), group);
}

static void begin_family(FILE *out, enum family f)
{
	fprintf(out, " address-family %s unicast\n", family_text[f]);
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

/* Each loopback is advertised on that GPU's own sub-ports alone. */
static void write_self_lists(FILE *out, const struct frr_config_gpu *gpus, size_t n)
{
	char text[ADDRESS_TEXT_MAX];

	for (size_t j = 0; j < n; j++)
		for (enum family f = V4; f < FAMILIES; f++) {
			const struct in6_addr *own = loopback_of(&gpus[j], f);

			if (own)
				fprintf(out, "%s prefix-list SELF%c-G%zu seq 5 permit %s/%u\n",
					f == V4 ? "ip" : "ipv6", digit[f], j,
					address_format(own, text), host_bits[f]);
		}
}

static void write_mbps_map(FILE *out, unsigned mbps)
{
	fprintf(out,
		"route-map MBPS-%u permit 10\n"
		" set extcommunity bandwidth %u\n"
		"exit\n",
		mbps, mbps);
}

/* True if an earlier session of these GPUs has that value. */
static bool is_written(const struct frr_config_gpu *gpus, size_t gpu, size_t leaf)
{
	for (size_t j = 0; j <= gpu; j++)
		for (size_t i = 0; i < (j == gpu ? leaf : gpus[j].n_leaves); i++)
			if (gpus[j].leaf_mbps[i] == gpus[gpu].leaf_mbps[leaf])
				return true;
	return false;
}

static void write_mbps_maps(FILE *out, const struct frr_config_gpu *gpus, size_t n)
{
	for (size_t j = 0; j < n; j++)
		for (size_t i = 0; gpus[j].leaf_mbps && i < gpus[j].n_leaves; i++)
			if (!is_written(gpus, j, i))
				write_mbps_map(out, gpus[j].leaf_mbps[i]);
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
			fprintf(out, "  bmp monitor %s unicast pre-policy\n", family_text[f]);
	fputs(" exit\n", out);
}

static void write_leaf_mbps(FILE *out, const struct frr_config_gpu *gpu, enum family f)
{
	char text[ADDRESS_TEXT_MAX];

	for (size_t i = 0; gpu->leaf_mbps && i < gpu->n_leaves; i++)
		if (family_of(&gpu->leaves[i]) == f)
			fprintf(out, "  neighbor %s route-map MBPS-%u out\n",
				address_format(&gpu->leaves[i], text), gpu->leaf_mbps[i]);
}

static void write_server_family(FILE *out, const struct frr_config_gpu *gpus, size_t n,
				enum family f)
{
	char text[ADDRESS_TEXT_MAX];

	begin_family(out, f);
	for (size_t j = 0; j < n; j++) {
		const struct in6_addr *own = loopback_of(&gpus[j], f);
		char v = digit[f];

		if (own)
			fprintf(out,
				"  network %s/%u\n"
				"  neighbor LEAF%c-G%zu activate\n"
				"  neighbor LEAF%c-G%zu soft-reconfiguration inbound\n"
				"  neighbor LEAF%c-G%zu prefix-list SELF%c-G%zu out\n",
				address_format(own, text), host_bits[f], v, j, v, j, v, j, v, j);
		write_leaf_mbps(out, &gpus[j], f);
	}
	fputs(" exit-address-family\n", out);
}

void frr_config_server(FILE *out, const struct frr_config_speaker *speaker,
		       const struct frr_config_gpu *gpus, size_t n_gpus, const char *bmp_address,
		       unsigned bmp_port)
{
	char group[32];

	write_self_lists(out, gpus, n_gpus);
	write_mbps_maps(out, gpus, n_gpus);
	write_speaker(out, speaker);
	for (size_t j = 0; j < n_gpus; j++)
		for (enum family f = V4; f < FAMILIES; f++) {
			if (!loopback_of(&gpus[j], f))
				continue;
			snprintf(group, sizeof(group), "LEAF%c-G%zu", digit[f], j);
			write_group(out, speaker, group, gpus[j].leaf_mbps);
			write_neighbors(out, gpus[j].leaves, gpus[j].n_leaves, f, group);
		}
	write_bmp(out, gpus, n_gpus, bmp_address, bmp_port);
	for (enum family f = V4; f < FAMILIES; f++)
		if (any_loopback(gpus, n_gpus, f))
			write_server_family(out, gpus, n_gpus, f);
	fputs("exit\n", out);
}

/* ---- leaves and spines --------------------------------------------------- */

static bool any_of(const struct in6_addr *addresses, size_t n, enum family family)
{
	for (size_t i = 0; i < n; i++)
		if (family_of(&addresses[i]) == family)
			return true;
	return false;
}

/* Loopbacks and nothing else. */
static void write_loopback_lists(FILE *out, const struct bgp_prefix *loopbacks, size_t n)
{
	unsigned seq[FAMILIES] = {0};
	char text[ADDRESS_TEXT_MAX];

	for (size_t i = 0; i < n; i++) {
		enum family f = family_of(&loopbacks[i].address);

		fprintf(out, "%s prefix-list LOOPBACKS%c seq %u permit %s/%u ge %u\n",
			f == V4 ? "ip" : "ipv6", digit[f], seq[f] += 5,
			address_format(&loopbacks[i].address, text),
			loopbacks[i].length - (f == V4 ? 96u : 0u), host_bits[f]);
	}
}

/*
 * The lower end connects: two ends that call at once cut each other off, and wait to try again.
 */
static void write_peers(FILE *out, const struct frr_config_speaker *s, enum family f,
			const char *name, bool passive, bool bandwidths,
			const struct in6_addr *addresses, size_t n)
{
	char group[16];

	if (!any_of(addresses, n, f))
		return;
	snprintf(group, sizeof(group), "%s%c", name, digit[f]);
	write_group(out, s, group, bandwidths);
	if (passive)
		fprintf(out, " neighbor %s passive\n", group);
	write_neighbors(out, addresses, n, f, group);
}

static void write_peer_policy(FILE *out, enum family f, const char *name, bool counts)
{
	char v = digit[f];

	fprintf(out,
		"  neighbor %s%c activate\n"
		"  neighbor %s%c soft-reconfiguration inbound\n"
		"  neighbor %s%c prefix-list LOOPBACKS%c out\n",
		name, v, name, v, name, v, v);
	if (counts)
		fprintf(out, "  neighbor %s%c route-map BW out\n", name, v);
}

static void write_leaf_family(FILE *out, const struct frr_config_leaf *leaf, enum family f)
{
	begin_family(out, f);
	write_peer_policy(out, f, "GPU", !leaf->sums);
	if (any_of(leaf->spines, leaf->n_spines, f))
		write_peer_policy(out, f, "SPINE", true);
	fputs(" exit-address-family\n", out);
}

void frr_config_leaf(FILE *out, const struct frr_config_speaker *speaker,
		     const struct frr_config_leaf *leaf)
{
	write_loopback_lists(out, leaf->loopbacks, leaf->n_loopbacks);
	if (!leaf->sums || leaf->n_spines)
		fputs("! Mbit/s by number of live links: fared's bgp.bandwidth_scale is what one "
		      "carries\n"
		      "route-map BW permit 10\n"
		      " set extcommunity bandwidth num-multipaths\n"
		      "exit\n",
		      out);
	write_speaker(out, speaker);
	for (enum family f = V4; f < FAMILIES; f++) {
		write_peers(out, speaker, f, "GPU", true, true, leaf->servers, leaf->n_servers);
		write_peers(out, speaker, f, "SPINE", false, true, leaf->spines, leaf->n_spines);
	}
	for (enum family f = V4; f < FAMILIES; f++)
		if (any_of(leaf->servers, leaf->n_servers, f))
			write_leaf_family(out, leaf, f);
	fputs("exit\n", out);
}

void frr_config_spine(FILE *out, const struct frr_config_speaker *speaker,
		      const struct in6_addr *leaves, size_t n_leaves,
		      const struct bgp_prefix *loopbacks, size_t n_loopbacks)
{
	write_loopback_lists(out, loopbacks, n_loopbacks);
	write_speaker(out, speaker);
	for (enum family f = V4; f < FAMILIES; f++)
		write_peers(out, speaker, f, "LEAF", true, false, leaves, n_leaves);
	for (enum family f = V4; f < FAMILIES; f++) {
		if (!any_of(leaves, n_leaves, f))
			continue;
		begin_family(out, f);
		write_peer_policy(out, f, "LEAF", false);
		fputs(" exit-address-family\n", out);
	}
	fputs("exit\n", out);
}

void frr_config_leaf_mbps(FILE *out, const struct in6_addr *leaf, unsigned mbps)
{
	char text[ADDRESS_TEXT_MAX];

	write_mbps_map(out, mbps);
	fprintf(out,
		"router bgp\n"
		"address-family %s unicast\n"
		"neighbor %s route-map MBPS-%u out\n",
		family_text[family_of(leaf)], address_format(leaf, text), mbps);
}
