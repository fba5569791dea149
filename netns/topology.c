/* SPDX-License-Identifier: BSD-2-Clause */
#include "topology.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strict_yaml.h"
#include "text_file.h"

/* The file as libcyaml fills it: pointers, so that an absent key and a zero are two things. */
struct timers_yaml {
	uint32_t *keepalive_s;
	uint32_t *hold_s;
};

struct topology_yaml {
	char *name;
	uint32_t *servers, *gpus_per_server, *planes, *sub_ports;
	uint32_t *rate_mbps, *queue_bytes, *mtu, *graceful_restart_s;
	uint32_t *probe_interval_ms, *probe_multiplier;
	bool *ipv6;
	struct timers_yaml *bgp_timers;
};

#define OPTIONAL_PTR  (CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL)
#define UINT_KEY(key) CYAML_FIELD_UINT_PTR(#key, OPTIONAL_PTR, struct topology_yaml, key)
#define REQUIRED_UINT_KEY(key)                                                                     \
	CYAML_FIELD_UINT_PTR(#key, CYAML_FLAG_POINTER, struct topology_yaml, key)

static const cyaml_schema_field_t timers_fields[] = {
	CYAML_FIELD_UINT_PTR("keepalive_s", OPTIONAL_PTR, struct timers_yaml, keepalive_s),
	CYAML_FIELD_UINT_PTR("hold_s", OPTIONAL_PTR, struct timers_yaml, hold_s),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t topology_fields[] = {
	CYAML_FIELD_STRING_PTR("name", OPTIONAL_PTR, struct topology_yaml, name, 0,
			       CYAML_UNLIMITED),
	REQUIRED_UINT_KEY(servers),
	UINT_KEY(gpus_per_server),
	REQUIRED_UINT_KEY(planes),
	REQUIRED_UINT_KEY(sub_ports),
	UINT_KEY(rate_mbps),
	UINT_KEY(queue_bytes),
	UINT_KEY(mtu),
	UINT_KEY(graceful_restart_s),
	UINT_KEY(probe_interval_ms),
	UINT_KEY(probe_multiplier),
	CYAML_FIELD_BOOL_PTR("ipv6", OPTIONAL_PTR, struct topology_yaml, ipv6),
	CYAML_FIELD_MAPPING_PTR("bgp_timers", OPTIONAL_PTR, struct topology_yaml, bgp_timers,
				timers_fields),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t topology_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct topology_yaml, topology_fields),
};

static const struct strict_yaml_range ranges[] = {
	{"servers", .min = 1, .max = 1024},
	{"gpus_per_server", .min = 1, .max = 16},
	{"planes", .min = 1, .max = 16},
	{"sub_ports", .min = 1, .max = 8},
	{"rate_mbps", .max = 100000},
	{"queue_bytes", .min = 1 << 16, .max = 1 << 28},
	{"mtu", .min = 576, .max = 9216},
	{"keepalive_s", .min = 1, .max = 3600},
	{"hold_s", .min = 3, .max = 65535}, /* RFC 4271 4.2 */
	{"graceful_restart_s", .max = 3600},
	{"probe_interval_ms", .min = 1, .max = 10000},
	{"probe_multiplier", .min = 2, .max = 50},
	{.key = NULL},
};

static const struct strict_yaml_schema topology_schema = {&topology_value, ranges};

/* Limits that no single key breaks: the address plan's, FRR's multipath, BGP's hold time. */
static int check_whole(const struct strict_yaml *y, const struct topology *t)
{
	unsigned gpus = t->servers * t->gpus_per_server;

	if (gpus > 1024)
		return strict_yaml_wrong(y, "servers", "%u GPUs in all; 1024 at most", gpus);
	if (gpus * t->planes * t->sub_ports > 32768)
		return strict_yaml_wrong(y, "servers",
					 "%u sub-links in all; 198.18.0.0/16 numbers 32768",
					 gpus * t->planes * t->sub_ports);
	if (t->gpus_per_server * t->planes * t->sub_ports > 256)
		return strict_yaml_wrong(
			y, "sub_ports", "a server would have %u BGP paths to a peer; FRR takes 256",
			t->gpus_per_server * t->planes * t->sub_ports);
	if (t->hold_s < t->keepalive_s)
		return strict_yaml_wrong(y, "bgp_timers.hold_s", "%u is shorter than keepalive_s",
					 t->hold_s);
	if (t->ipv6 && t->mtu < 1280)
		return strict_yaml_wrong(y, "mtu", "%u is below the 1280 that IPv6 needs", t->mtu);
	return 0;
}

static unsigned given_or(const uint32_t *given, unsigned otherwise)
{
	return given ? *given : otherwise;
}

static int translate(const struct strict_yaml *file, struct topology *out)
{
	const struct topology_yaml *y = strict_yaml_values(file);
	const struct timers_yaml none = {0}, *timers = y->bgp_timers ? y->bgp_timers : &none;
	struct topology t = {
		.servers = *y->servers,
		.gpus_per_server = given_or(y->gpus_per_server, 1),
		.planes = *y->planes,
		.sub_ports = *y->sub_ports,
		.rate_mbps = given_or(y->rate_mbps, 200),
		.queue_bytes = given_or(y->queue_bytes, 1 << 20),
		.mtu = given_or(y->mtu, 4200),
		.keepalive_s = given_or(timers->keepalive_s, 1),
		.hold_s = given_or(timers->hold_s, 3),
		.graceful_restart_s = given_or(y->graceful_restart_s, 20),
		.probe_interval_ms = given_or(y->probe_interval_ms, 0),
		.probe_multiplier = given_or(y->probe_multiplier, 0),
		.ipv6 = y->ipv6 && *y->ipv6,
	};
	int rc;

	if (y->name && !topology_name_valid(y->name))
		return strict_yaml_wrong(file, "name",
					 "use 1 to %d of a-z, 0-9 and '-', no '-' at either end",
					 TOPOLOGY_NAME_MAX);
	if (y->name)
		snprintf(t.name, sizeof(t.name), "%s", y->name);
	rc = check_whole(file, &t);
	if (!rc)
		*out = t;
	return rc;
}

int topology_parse(const char *file, const char *text, size_t size, struct topology *out,
		   char *error)
{
	struct strict_yaml *yaml;
	int rc = strict_yaml_load(&yaml, file, text, size, &topology_schema, error,
				  TOPOLOGY_ERROR_MAX);

	if (rc)
		return rc;
	rc = translate(yaml, out);
	strict_yaml_destroy(yaml);
	return rc;
}

int topology_load(const char *path, struct topology *out, char *error)
{
	size_t size;
	char *text;
	int rc = text_file_read(path, TOPOLOGY_FILE_MAX, &text, &size);

	if (rc) {
		snprintf(error, TOPOLOGY_ERROR_MAX, "%.200s: %s", path, strerror(-rc));
		return rc;
	}
	rc = topology_parse(path, text, size, out, error);
	free(text);
	return rc;
}

bool topology_name_valid(const char *name)
{
	size_t n = strlen(name);

	return n >= 1 && n <= TOPOLOGY_NAME_MAX && name[0] != '-' && name[n - 1] != '-' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}
