/* SPDX-License-Identifier: BSD-2-Clause */
#include "config_check.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>

#include "base/address.h"
#include "config.h"
#include "frr_release.h"
#include "log.h"
#include "notice_keys.h"
#include "roce_ports.h"

static int check_keys(const struct config_health *health, const char *path, struct log *log)
{
	struct notice_keys keys;
	unsigned line;
	char why[440];
	int rc = notice_keys_read(health, &keys, &line, why, sizeof(why));

	explicit_bzero(&keys, sizeof(keys));
	if (rc)
		log_line(log, LOG_ERR, "config", "%s:%u: %s", path, line, why);
	return rc;
}

static void check_planes(const struct config *config, uint32_t g, const char *path, struct log *log)
{
	const struct config_gpu *gpu = &config->gpus[g];

	for (uint32_t p = 0; p < gpu->n_planes; p++)
		for (uint32_t s = 0; s < gpu->planes[p].n_sub_ports; s++) {
			const struct config_sub_port *port = &gpu->planes[p].sub_ports[s];

			if (if_nametoindex(port->dev) || errno != ENODEV)
				continue;
			log_line(log, LOG_WARNING, "config",
				 "%s:%u: local_gpus[%u].planes[%u].sub_ports[%u].dev: warning: "
				 "there is no interface %s now; fared uses it once it appears",
				 path, port->line, g, gpu->planes[p].entry, s, port->dev);
		}
}

static void check_class(const struct config_health *health, const char *path, struct log *log)
{
	if (health->enabled && health->dscp == FARE_DSCP)
		log_line(log, LOG_WARNING, "config",
			 "%s: health.dscp: warning: %u is the class of data: probes wait in its "
			 "queues; leave it out, or give the class that your switches send first",
			 path, health->dscp);
}

/* What BMP says of the running one counts more: so nothing of it is refused. */
static void check_frr(const struct config *config, const char *path, struct log *log)
{
	bool is_unusable;
	const char *trouble = frr_release_trouble(config->frr_version, &is_unusable);

	if (trouble)
		log_line(log, LOG_WARNING, "config", "%s: bgp.frr_version: warning: FRR %s: %s",
			 path, config->frr_version, trouble);
}

/* Peers have addresses like ours: where ours is in no prefix, theirs may be in none either. */
static void check_prefixes(const struct config *config, uint32_t g, const char *path,
			   struct log *log)
{
	char text[ADDRESS_TEXT_MAX];

	for (int family = 0; family < 2; family++) {
		const struct in6_addr *own = &config->gpus[g].address[family];
		bool found = IN6_IS_ADDR_UNSPECIFIED(own);

		for (size_t i = 0; i < config->bgp.n_peer_prefixes; i++)
			found |= address_in_prefix(own, &config->bgp.peer_prefixes[i].address,
						   config->bgp.peer_prefixes[i].length);
		if (!found)
			log_line(log, LOG_WARNING, "config",
				 "%s: local_gpus[%u].addresses: warning: %s is in no "
				 "bgp.peer_prefixes: are the peers' addresses?",
				 path, g, address_format(own, text));
	}
}

int config_check(const struct config *config, const char *path, struct log *log)
{
	check_frr(config, path, log);
	check_class(&config->health, path, log);
	for (uint32_t g = 0; g < config->n_gpus; g++) {
		check_planes(config, g, path, log);
		check_prefixes(config, g, path, log);
	}
	return check_keys(&config->health, path, log);
}
