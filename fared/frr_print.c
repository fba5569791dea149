/* SPDX-License-Identifier: BSD-2-Clause */
#include "frr_print.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "frr_config.h"

#define GRACEFUL_RESTART_S 20
#define ADDRESSES_MAX	   4096u

static int parse_as(const char *text, uint32_t *out)
{
	unsigned long long number;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return -EINVAL;
	number = strtoull(text, &end, 10);
	*out = (uint32_t)number;
	return *end || !number || number > UINT32_MAX ? -EINVAL : 0;
}

static int speaker_of(const struct config *config, const struct frr_print_options *o,
		      struct frr_config_speaker *out, char *why, size_t why_size)
{
	const struct in6_addr *own = &config->gpus[0].address[0];
	struct in_addr id;

	*out = (struct frr_config_speaker){
		.keepalive_s = FRR_CONFIG_KEEPALIVE_S,
		.hold_s = FRR_CONFIG_HOLD_S,
		.graceful_restart_s = GRACEFUL_RESTART_S,
		.extended_bandwidth = *config->frr_version &&
				      frr_release_of(config->frr_version)->has_extended_bandwidth};
	if (parse_as(o->as, &out->as)) {
		snprintf(why, why_size, "--as: give this router's AS, 1 to 4294967295");
		return -EINVAL;
	}
	if (!o->router_id && (o->leaf || !IN6_IS_ADDR_V4MAPPED(own))) {
		snprintf(why, why_size, "--router-id: %s, so give one as an IPv4 address",
			 o->leaf ? "this configuration has no address of the leaf"
				 : "the first local GPU has no IPv4 address");
		return -EINVAL;
	}
	if (o->router_id && inet_pton(AF_INET, o->router_id, &id) != 1) {
		snprintf(why, why_size, "--router-id: '%s' is no IPv4 address", o->router_id);
		return -EINVAL;
	}
	inet_ntop(AF_INET, o->router_id ? (const void *)&id : own->s6_addr + 12, out->router_id,
		  sizeof(out->router_id));
	return 0;
}

/* Sessions carry the routes of their own family alone, unless they are unnumbered. */
static int check_neighbors(const struct config *config, char *why, size_t why_size)
{
	for (uint32_t g = 0; g < config->n_gpus; g++)
		for (int v6 = 0; v6 < 2; v6++) {
			bool has = IN6_IS_ADDR_UNSPECIFIED(&config->gpus[g].address[v6]);

			for (size_t i = 0; !has && i < config->bgp.n_neighbors; i++) {
				const struct bgp_neighbor *n = &config->bgp.neighbors[i];

				has = n->local_gpu == g &&
				      (IN6_IS_ADDR_LINKLOCAL(&n->address) ||
				       !!IN6_IS_ADDR_V4MAPPED(&n->address) != v6);
			}
			if (has)
				continue;
			snprintf(why, why_size,
				 "local_gpus[%u] has an %s address, and no neighbor that is %s or "
				 "link-local: sessions over other IPv6 addresses that carry IPv4 "
				 "routes (RFC 8950), or the reverse, are yours to write",
				 g, v6 ? "IPv6" : "IPv4", v6 ? "IPv6" : "IPv4");
			return -EINVAL;
		}
	return 0;
}

static struct frr_config_peer peer_of(const struct bgp_neighbor *n)
{
	struct frr_config_peer peer = {.address = n->address};

	snprintf(peer.dev, sizeof(peer.dev), "%s", n->dev);
	return peer;
}

static void print_server(FILE *out, const struct config *config,
			 const struct frr_config_speaker *speaker, struct frr_config_gpu *gpus,
			 struct frr_config_peer *leaves)
{
	struct in6_addr bmp_address;
	char bmp[ADDRESS_TEXT_MAX];
	uint16_t port;
	size_t n = 0;

	for (uint32_t g = 0; g < config->n_gpus; g++) {
		const struct in6_addr *own = config->gpus[g].address;
		bool has_v4 = !IN6_IS_ADDR_UNSPECIFIED(&own[0]),
		     has_v6 = !IN6_IS_ADDR_UNSPECIFIED(&own[1]);

		gpus[g] = (struct frr_config_gpu){.loopbacks = has_v4 ? own : own + 1,
						  .n_loopbacks = (size_t)has_v4 + has_v6,
						  .leaves = leaves + n};
		for (size_t i = 0; i < config->bgp.n_neighbors; i++)
			if (config->bgp.neighbors[i].local_gpu == g) {
				leaves[n++] = peer_of(&config->bgp.neighbors[i]);
				gpus[g].n_leaves++;
			}
	}
	address_of_socket(&config->bmp_address, &bmp_address, &port);
	address_format(&bmp_address, bmp);
	frr_config_server(out, speaker, gpus, config->n_gpus, bmp, port);
}

/* How many, or -EINVAL. */
static int parse_servers(const char *list, struct frr_config_peer *out, char *why, size_t why_size)
{
	char address[INET6_ADDRSTRLEN];
	unsigned n = 0;

	for (const char *at = list;; at++) {
		size_t length = strcspn(at, ",");

		snprintf(address, sizeof(address), "%.*s",
			 (int)(length < sizeof(address) ? length : sizeof(address) - 1), at);
		if (n == ADDRESSES_MAX || length >= sizeof(address) ||
		    address_parse(address, &out[n].address) ||
		    IN6_IS_ADDR_LINKLOCAL(&out[n].address)) {
			snprintf(why, why_size,
				 "--leaf: '%s' is no address; give the servers' addresses on their "
				 "ports toward the leaf, %u at most, with commas",
				 address, ADDRESSES_MAX);
			return -EINVAL;
		}
		n++;
		at += length;
		if (!*at)
			return (int)n;
	}
}

static int print_leaf(FILE *out, const struct config *config,
		      const struct frr_config_speaker *speaker, const char *list, char *why,
		      size_t why_size)
{
	struct frr_config_peer *servers = calloc(ADDRESSES_MAX, sizeof(*servers));
	int n = servers ? parse_servers(list, servers, why, why_size) : -ENOMEM;
	struct frr_config_leaf leaf = {
		.servers = servers,
		.n_servers = n > 0 ? (size_t)n : 0,
		.loopbacks = config->bgp.peer_prefixes,
		.n_loopbacks = config->bgp.n_peer_prefixes,
	};

	if (n == -ENOMEM)
		snprintf(why, why_size, "out of memory");
	if (n > 0)
		frr_config_leaf(out, speaker, &leaf);
	free(servers);
	return n > 0 ? 0 : n;
}

int frr_print(FILE *out, const struct config *config, const struct frr_print_options *options,
	      char *why, size_t why_size)
{
	struct frr_config_speaker speaker;
	struct frr_config_gpu *gpus;
	struct frr_config_peer *leaves;
	int rc;

	if (options->zebra) {
		frr_config_zebra(out, frr_release_of(config->frr_version));
		return 0;
	}
	rc = speaker_of(config, options, &speaker, why, why_size);
	if (rc)
		return rc;
	if (options->leaf)
		return print_leaf(out, config, &speaker, options->leaf, why, why_size);
	rc = check_neighbors(config, why, why_size);
	if (rc)
		return rc;
	gpus = calloc(config->n_gpus, sizeof(*gpus));
	leaves = calloc(config->bgp.n_neighbors + 1, sizeof(*leaves));
	rc = gpus && leaves ? 0 : -ENOMEM;
	if (rc)
		snprintf(why, why_size, "out of memory");
	else
		print_server(out, config, &speaker, gpus, leaves);
	free(gpus);
	free(leaves);
	return rc;
}
