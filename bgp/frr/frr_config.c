/* SPDX-License-Identifier: BSD-2-Clause */
#include "frr_config.h"

#include "base/address.h"

/* What a session runs over. The last carries the routes of both families, the others their own. */
enum family { V4, V6, FAMILIES, LINK_LOCAL = FAMILIES, TRANSPORTS };

static const char *const family_text[FAMILIES] = {"ipv4", "ipv6"};
static const char digit[FAMILIES] = {'4', '6'};
static const char *const suffix[TRANSPORTS] = {"4", "6", ""}; /* of a peer-group */
static const unsigned host_bits[FAMILIES] = {32, 128};

static enum family family_of(const struct in6_addr *address)
{
	return IN6_IS_ADDR_LINKLOCAL(address)  ? LINK_LOCAL
	       : IN6_IS_ADDR_V4MAPPED(address) ? V4
					       : V6;
}

static bool carries(enum family transport, enum family f)
{
	return transport == f || transport == LINK_LOCAL;
}

/* As bgpd knows it. */
static const char *peer_name(const struct frr_config_peer *peer, char text[ADDRESS_TEXT_MAX])
{
	return IN6_IS_ADDR_LINKLOCAL(&peer->address) ? peer->dev
						     : address_format(&peer->address, text);
}

static bool any_of(const struct frr_config_peer *peers, size_t n, enum family transport)
{
	for (size_t i = 0; i < n; i++)
		if (family_of(&peers[i].address) == transport)
			return true;
	return false;
}

static bool any_carries(const struct frr_config_peer *peers, size_t n, enum family f)
{
	return any_of(peers, n, f) || any_of(peers, n, LINK_LOCAL);
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
	/* or a leaf may not say how many sub-ports are live of what it reflects */
	if (s->internal)
		fputs(" bgp route-reflector allow-outbound-policy\n", out);
	/* the forwarding state outlives bgpd here, and the neighbours may rely on it for that long
	 */
	if (s->graceful_restart_s)
		fprintf(out,
			" bgp graceful-restart\n"
			" bgp graceful-restart preserve-fw-state\n"
			" bgp graceful-restart restart-time %u\n"
			" bgp graceful-restart stalepath-time %u\n"
			" bgp graceful-restart rib-stale-time %u\n"
			" bgp graceful-restart select-defer-time 10\n",
			s->graceful_restart_s, s->graceful_restart_s, s->graceful_restart_s);
}

/* bandwidths: Link Bandwidth communities are sent to them. */
static void write_group(FILE *out, const struct frr_config_speaker *s, const char *name,
			bool bandwidths)
{
	fprintf(out,
		" neighbor %s peer-group\n"
		" neighbor %s remote-as %s\n"
		" neighbor %s timers %u %u\n"
		" neighbor %s timers connect 1\n",
		name, name, s->internal ? "internal" : "external", name, s->keepalive_s, s->hold_s,
		name);
	if (bandwidths && s->extended_bandwidth)
		fprintf(out, " neighbor %s extended-link-bandwidth\n", name);
}

static void write_neighbors(FILE *out, const struct frr_config_peer *peers, size_t n,
			    enum family transport, const char *group)
{
	char text[ADDRESS_TEXT_MAX];

	for (size_t i = 0; i < n; i++)
		if (family_of(&peers[i].address) == transport)
			fprintf(out, " neighbor %s %speer-group %s\n", peer_name(&peers[i], text),
				transport == LINK_LOCAL ? "interface " : "", group);
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
		if (carries(family_of(&gpu->leaves[i].address), f))
			fprintf(out, "  neighbor %s route-map MBPS-%u out\n",
				peer_name(&gpu->leaves[i], text), gpu->leaf_mbps[i]);
}

static void write_server_family(FILE *out, const struct frr_config_gpu *gpus, size_t n,
				enum family f)
{
	char text[ADDRESS_TEXT_MAX];

	begin_family(out, f);
	for (size_t j = 0; j < n; j++) {
		const struct in6_addr *own = loopback_of(&gpus[j], f);

		if (own)
			fprintf(out, "  network %s/%u\n", address_format(own, text), host_bits[f]);
		for (enum family t = V4; own && t < TRANSPORTS; t++) {
			const char *v = suffix[t];

			if (carries(t, f) && any_of(gpus[j].leaves, gpus[j].n_leaves, t))
				fprintf(out,
					"  neighbor LEAF%s-G%zu activate\n"
					"  neighbor LEAF%s-G%zu soft-reconfiguration inbound\n"
					"  neighbor LEAF%s-G%zu prefix-list SELF%c-G%zu out\n",
					v, j, v, j, v, j, digit[f], j);
		}
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
		for (enum family t = V4; t < TRANSPORTS; t++) {
			if (!any_of(gpus[j].leaves, gpus[j].n_leaves, t) ||
			    (t < FAMILIES && !loopback_of(&gpus[j], t)))
				continue;
			snprintf(group, sizeof(group), "LEAF%s-G%zu", suffix[t], j);
			write_group(out, speaker, group, gpus[j].leaf_mbps);
			write_neighbors(out, gpus[j].leaves, gpus[j].n_leaves, t, group);
		}
	write_bmp(out, gpus, n_gpus, bmp_address, bmp_port);
	for (enum family f = V4; f < FAMILIES; f++)
		if (any_loopback(gpus, n_gpus, f))
			write_server_family(out, gpus, n_gpus, f);
	fputs("exit\n", out);
}

/* ---- leaves and spines --------------------------------------------------- */

static bool any_prefix(const struct bgp_prefix *prefixes, size_t n, enum family f)
{
	for (size_t i = 0; i < n; i++)
		if (family_of(&prefixes[i].address) == f)
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
static void write_peers(FILE *out, const struct frr_config_speaker *s, const char *name,
			bool passive, bool bandwidths, const struct frr_config_peer *peers,
			size_t n)
{
	char group[16];

	for (enum family t = V4; t < TRANSPORTS; t++) {
		if (!any_of(peers, n, t))
			continue;
		snprintf(group, sizeof(group), "%s%s", name, suffix[t]);
		write_group(out, s, group, bandwidths);
		if (passive)
			fprintf(out, " neighbor %s passive\n", group);
		write_neighbors(out, peers, n, t, group);
	}
}

struct peer_policy {
	bool below;  /* further from the spines: in one AS, a route reflector's client */
	bool counts; /* is sent how many sub-ports are live */
};

static void write_peer_policy(FILE *out, const struct frr_config_speaker *s, enum family f,
			      const char *name, const struct peer_policy *policy,
			      const struct frr_config_peer *peers, size_t n)
{
	for (enum family t = V4; t < TRANSPORTS; t++) {
		const char *v = suffix[t];

		if (!carries(t, f) || !any_of(peers, n, t))
			continue;
		fprintf(out,
			"  neighbor %s%s activate\n"
			"  neighbor %s%s soft-reconfiguration inbound\n"
			"  neighbor %s%s prefix-list LOOPBACKS%c out\n",
			name, v, name, v, name, v, digit[f]);
		if (policy->counts)
			fprintf(out, "  neighbor %s%s route-map BW out\n", name, v);
		if (s->internal)
			fprintf(out, "  neighbor %s%s next-hop-self force\n", name, v);
		if (s->internal && policy->below)
			fprintf(out, "  neighbor %s%s route-reflector-client\n", name, v);
	}
}

void frr_config_leaf(FILE *out, const struct frr_config_speaker *speaker,
		     const struct frr_config_leaf *leaf)
{
	const struct peer_policy server = {.below = true, .counts = !leaf->sums},
				 spine = {.counts = true};

	write_loopback_lists(out, leaf->loopbacks, leaf->n_loopbacks);
	if (!leaf->sums || leaf->n_spines)
		fputs("! Mbit/s by number of live links: fared's bgp.bandwidth_scale is what one "
		      "carries\n"
		      "route-map BW permit 10\n"
		      " set extcommunity bandwidth num-multipaths\n"
		      "exit\n",
		      out);
	write_speaker(out, speaker);
	write_peers(out, speaker, "GPU", true, true, leaf->servers, leaf->n_servers);
	write_peers(out, speaker, "SPINE", false, true, leaf->spines, leaf->n_spines);
	for (enum family f = V4; f < FAMILIES; f++) {
		if (!any_carries(leaf->servers, leaf->n_servers, f) ||
		    !any_prefix(leaf->loopbacks, leaf->n_loopbacks, f))
			continue;
		begin_family(out, f);
		write_peer_policy(out, speaker, f, "GPU", &server, leaf->servers, leaf->n_servers);
		write_peer_policy(out, speaker, f, "SPINE", &spine, leaf->spines, leaf->n_spines);
		fputs(" exit-address-family\n", out);
	}
	fputs("exit\n", out);
}

void frr_config_spine(FILE *out, const struct frr_config_speaker *speaker,
		      const struct frr_config_spine *spine)
{
	const struct peer_policy lower = {.below = true}, upper = {0};

	write_loopback_lists(out, spine->loopbacks, spine->n_loopbacks);
	write_speaker(out, speaker);
	write_peers(out, speaker, spine->below_name, true, false, spine->below, spine->n_below);
	write_peers(out, speaker, "SUPERSPINE", false, false, spine->superspines,
		    spine->n_superspines);
	for (enum family f = V4; f < FAMILIES; f++) {
		if (!any_carries(spine->below, spine->n_below, f) ||
		    !any_prefix(spine->loopbacks, spine->n_loopbacks, f))
			continue;
		begin_family(out, f);
		write_peer_policy(out, speaker, f, spine->below_name, &lower, spine->below,
				  spine->n_below);
		write_peer_policy(out, speaker, f, "SUPERSPINE", &upper, spine->superspines,
				  spine->n_superspines);
		fputs(" exit-address-family\n", out);
	}
	fputs("exit\n", out);
}

void frr_config_leaf_mbps(FILE *out, const struct frr_config_peer *leaf, bool is_v6, unsigned mbps)
{
	char text[ADDRESS_TEXT_MAX];

	write_mbps_map(out, mbps);
	fprintf(out,
		"router bgp\n"
		"address-family %s unicast\n"
		"neighbor %s route-map MBPS-%u out\n",
		family_text[is_v6], peer_name(leaf, text), mbps);
}
