/* SPDX-License-Identifier: BSD-2-Clause */
#include "launch/inventory.h"

#include <ctype.h>
#include <errno.h>
#include <nettle/base16.h>
#include <nettle/sha2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/text_file.h"
#include "base/yaml/strict_yaml.h"

#define MBPS UINT64_C(1000000)

/* ---- the shape of the file: pointers, so that an absent key and a zero are two things ---- */

struct inventory_yaml_sub_port {
	char *dev;
	uint64_t *rate_mbps;
};

struct inventory_yaml_plane {
	struct inventory_yaml_sub_port *sub_ports;
	unsigned n_sub_ports;
};

struct inventory_yaml_gpu {
	char *address;
	struct inventory_yaml_plane *planes;
	unsigned n_planes;
};

struct inventory_yaml_fault {
	uint32_t *gpu, *plane, *sub_port;
	char *down, *up;
};

struct inventory_yaml_weights {
	char *equal, *bgp;
};

struct inventory_yaml_host {
	char *name, *run_dir, *store;
	struct inventory_yaml_gpu *gpus;
	unsigned n_gpus;
	struct inventory_yaml_fault *faults;
	unsigned n_faults;
	struct inventory_yaml_weights *weights;
};

struct inventory_yaml_switch {
	char *name, *counters;
};

struct inventory_yaml {
	char *name, *provider;
	uint32_t *mtu, *max_run_s, *max_total_s;
	uint64_t *max_rate_mbps;
	char **ranges;
	unsigned n_ranges;
	struct inventory_yaml_host *hosts;
	unsigned n_hosts;
	struct inventory_yaml_switch *switches;
	unsigned n_switches;
};

#define MUST CYAML_FLAG_POINTER
#define MAY  (CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL)

static const cyaml_schema_value_t text_value = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, 64)};

static const cyaml_schema_field_t sub_port_fields[] = {
	CYAML_FIELD_STRING_PTR("dev", MUST, struct inventory_yaml_sub_port, dev, 1,
			       FARE_DEV_NAME_MAX - 1),
	CYAML_FIELD_UINT_PTR("rate_mbps", MUST, struct inventory_yaml_sub_port, rate_mbps),
	CYAML_FIELD_END};
static const cyaml_schema_value_t sub_port_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct inventory_yaml_sub_port, sub_port_fields)};
static const cyaml_schema_field_t plane_fields[] = {
	CYAML_FIELD_SEQUENCE_COUNT("sub_ports", MUST, struct inventory_yaml_plane, sub_ports,
				   n_sub_ports, &sub_port_value, 1, FARE_MAX_SUB_PORTS),
	CYAML_FIELD_END};
static const cyaml_schema_value_t plane_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct inventory_yaml_plane, plane_fields)};
static const cyaml_schema_field_t gpu_fields[] = {
	CYAML_FIELD_STRING_PTR("address", MUST, struct inventory_yaml_gpu, address, 1, 45),
	CYAML_FIELD_SEQUENCE_COUNT("planes", MUST, struct inventory_yaml_gpu, planes, n_planes,
				   &plane_value, 1, FARE_MAX_PLANES),
	CYAML_FIELD_END};
static const cyaml_schema_value_t gpu_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct inventory_yaml_gpu, gpu_fields)};
static const cyaml_schema_field_t fault_fields[] = {
	CYAML_FIELD_UINT_PTR("gpu", MAY, struct inventory_yaml_fault, gpu),
	CYAML_FIELD_UINT_PTR("plane", MUST, struct inventory_yaml_fault, plane),
	CYAML_FIELD_UINT_PTR("sub_port", MAY, struct inventory_yaml_fault, sub_port),
	CYAML_FIELD_STRING_PTR("down", MUST, struct inventory_yaml_fault, down, 1,
			       INVENTORY_COMMAND - 1),
	CYAML_FIELD_STRING_PTR("up", MUST, struct inventory_yaml_fault, up, 1,
			       INVENTORY_COMMAND - 1),
	CYAML_FIELD_END};
static const cyaml_schema_value_t fault_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct inventory_yaml_fault, fault_fields)};
static const cyaml_schema_field_t weights_fields[] = {
	CYAML_FIELD_STRING_PTR("equal", MUST, struct inventory_yaml_weights, equal, 1,
			       INVENTORY_COMMAND - 1),
	CYAML_FIELD_STRING_PTR("bgp", MUST, struct inventory_yaml_weights, bgp, 1,
			       INVENTORY_COMMAND - 1),
	CYAML_FIELD_END};
static const cyaml_schema_field_t host_fields[] = {
	CYAML_FIELD_STRING_PTR("name", MUST, struct inventory_yaml_host, name, 1,
			       INVENTORY_HOST_MAX - 1),
	CYAML_FIELD_STRING_PTR("run_dir", MUST, struct inventory_yaml_host, run_dir, 1,
			       TOPO_PATH_MAX - 1),
	CYAML_FIELD_STRING_PTR("store", MAY, struct inventory_yaml_host, store, 1,
			       TOPO_PATH_MAX - 1),
	CYAML_FIELD_SEQUENCE_COUNT("gpus", MUST, struct inventory_yaml_host, gpus, n_gpus,
				   &gpu_value, 1, FARE_MAX_LOCAL_GPUS),
	CYAML_FIELD_SEQUENCE_COUNT("faults", MAY, struct inventory_yaml_host, faults, n_faults,
				   &fault_value, 0, INVENTORY_MAX_FAULTS),
	CYAML_FIELD_MAPPING_PTR("weights", MAY, struct inventory_yaml_host, weights,
				weights_fields),
	CYAML_FIELD_END};
static const cyaml_schema_value_t host_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct inventory_yaml_host, host_fields)};
static const cyaml_schema_field_t switch_fields[] = {
	CYAML_FIELD_STRING_PTR("name", MUST, struct inventory_yaml_switch, name, 1,
			       INVENTORY_HOST_MAX - 1),
	CYAML_FIELD_STRING_PTR("counters", MUST, struct inventory_yaml_switch, counters, 1,
			       INVENTORY_COMMAND - 1),
	CYAML_FIELD_END};
static const cyaml_schema_value_t switch_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct inventory_yaml_switch, switch_fields)};
static const cyaml_schema_field_t top_fields[] = {
	CYAML_FIELD_STRING_PTR("name", MUST, struct inventory_yaml, name, 1, TOPO_NAME_MAX - 1),
	CYAML_FIELD_STRING_PTR("provider", MAY, struct inventory_yaml, provider, 1, 15),
	CYAML_FIELD_UINT_PTR("mtu", MUST, struct inventory_yaml, mtu),
	CYAML_FIELD_SEQUENCE_COUNT("ranges", MAY, struct inventory_yaml, ranges, n_ranges,
				   &text_value, 0, LIMITS_MAX_RANGES),
	CYAML_FIELD_UINT_PTR("max_rate_mbps", MUST, struct inventory_yaml, max_rate_mbps),
	CYAML_FIELD_UINT_PTR("max_run_s", MUST, struct inventory_yaml, max_run_s),
	CYAML_FIELD_UINT_PTR("max_total_s", MUST, struct inventory_yaml, max_total_s),
	CYAML_FIELD_SEQUENCE_COUNT("hosts", MUST, struct inventory_yaml, hosts, n_hosts,
				   &host_value, 1, TOPO_MAX_GPUS),
	CYAML_FIELD_SEQUENCE_COUNT("switches", MAY, struct inventory_yaml, switches, n_switches,
				   &switch_value, 0, INVENTORY_MAX_SWITCHES),
	CYAML_FIELD_END};
static const cyaml_schema_value_t top_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct inventory_yaml, top_fields)};

static const struct strict_yaml_range ranges[] = {
	{"mtu", .min = 576, .max = 9216},
	{"rate_mbps", .min = 1, .max = 10000000},
	{"max_rate_mbps", .min = 1, .max = 10000000},
	{"max_run_s", .min = 1, .max = 86400},
	{"max_total_s", .min = 1, .max = 7 * 86400},
	{"gpu", .max = FARE_MAX_LOCAL_GPUS - 1},
	{"plane", .max = FARE_MAX_PLANES - 1},
	{"sub_port", .max = FARE_MAX_SUB_PORTS - 1},
	{.key = NULL},
};

static const struct strict_yaml_schema inventory_yaml_schema = {&top_value, ranges};

/* ---- its meaning ---- */

struct inventory_reader {
	const struct strict_yaml *file;
	const struct inventory_yaml *yaml;
	struct inventory *inventory;
};

/* Names go into shell commands, labels and files: nothing that any of these gives a meaning. */
static bool inventory_is_name(const char *text)
{
	for (const char *c = text; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("-._", *c))
			return false;
	return *text && *text != '-';
}

static int inventory_read_limits(struct inventory_reader *r)
{
	const struct inventory_yaml *y = r->yaml;
	struct inventory *inventory = r->inventory;

	for (unsigned i = 0; i < y->n_ranges; i++) {
		const char *text = y->ranges[i] ? y->ranges[i] : "";
		char key[32];

		snprintf(key, sizeof(key), "ranges[%u]", i);
		if (limits_add_range(&inventory->limits, text))
			return strict_yaml_wrong(r->file, key,
						 "'%.60s' is no prefix; give ADDRESS/LENGTH with "
						 "no bit set behind LENGTH",
						 text);
	}
	inventory->limits.max_bps = *y->max_rate_mbps * MBPS;
	inventory->limits.max_run_ns = *y->max_run_s * UINT64_C(1000000000);
	inventory->max_run_s = *y->max_run_s;
	inventory->max_total_s = *y->max_total_s;
	return 0;
}

static int inventory_read_address(struct inventory_reader *r, struct topo_gpu *gpu,
				  const char *text, const char *key)
{
	struct in6_addr address;
	bool ipv4;

	if (address_parse(text, &address))
		return strict_yaml_wrong(r->file, key, "'%.60s' is no address", text);
	if (!limits_allow(&r->inventory->limits, &address))
		return strict_yaml_wrong(r->file, key,
					 "%s is outside of 198.18.0.0/15, 2001:db8::/32 and "
					 "'ranges': benchmark traffic is not for production "
					 "networks; an isolated network's range belongs there",
					 text);
	for (unsigned i = 0; i < r->inventory->topo->n_gpus; i++)
		if (strcmp(topo_gpu_address(r->inventory->topo, i), text) == 0)
			return strict_yaml_wrong(r->file, key, "%s is another GPU's, too", text);
	ipv4 = IN6_IS_ADDR_V4MAPPED(&address);
	if (r->inventory->topo->n_gpus && ipv4 != (r->inventory->topo->gpus[0].ipv4[0] != '\0'))
		return strict_yaml_wrong(r->file, key, "all GPUs have IPv4 addresses, or all IPv6");
	address_format(&address, gpu->ipv6);
	if (ipv4) {
		snprintf(gpu->ipv4, sizeof(gpu->ipv4), "%.15s", gpu->ipv6);
		gpu->ipv6[0] = '\0';
	}
	return 0;
}

static int inventory_read_gpu(struct inventory_reader *r, unsigned host, unsigned index)
{
	const struct inventory_yaml_gpu *y = &r->yaml->hosts[host].gpus[index];
	struct topo *topo = r->inventory->topo;
	struct topo_gpu *gpu = &topo->gpus[topo->n_gpus];
	char key[64];
	int err;

	gpu->server = host;
	gpu->index = index;
	snprintf(gpu->name, sizeof(gpu->name), "g%u", index);
	snprintf(key, sizeof(key), "hosts[%u].gpus[%u].address", host, index);
	err = inventory_read_address(r, gpu, y->address, key);
	if (err)
		return err;
	snprintf(key, sizeof(key), "hosts[%u].gpus[%u].planes", host, index);
	if (topo->n_gpus == 0)
		topo->n_planes = y->n_planes;
	if (y->n_planes != topo->n_planes)
		return strict_yaml_wrong(r->file, key, "%u planes; the first GPU has %u",
					 y->n_planes, topo->n_planes);
	for (unsigned p = 0; p < y->n_planes; p++) {
		gpu->plane[p].leaf = p;
		gpu->plane[p].n_sub_ports = y->planes[p].n_sub_ports;
		for (unsigned s = 0; s < y->planes[p].n_sub_ports; s++) {
			struct topo_sub_port *port = &gpu->plane[p].sub_port[s];

			snprintf(port->dev, sizeof(port->dev), "%s", y->planes[p].sub_ports[s].dev);
			port->rate_bps = *y->planes[p].sub_ports[s].rate_mbps * MBPS;
			port->up = true;
		}
	}
	topo->n_gpus++;
	return 0;
}

static int inventory_read_fault(struct inventory_reader *r, unsigned host, unsigned index)
{
	const struct inventory_yaml_host *y = &r->yaml->hosts[host];
	const struct inventory_yaml_fault *from = &y->faults[index];
	struct inventory_host *out = &r->inventory->host[host];
	struct inventory_fault *fault = &out->fault[out->n_faults++];
	char key[64];

	snprintf(key, sizeof(key), "hosts[%u].faults[%u]", host, index);
	fault->gpu = from->gpu ? *from->gpu : 0;
	fault->plane = *from->plane;
	fault->sub_port = from->sub_port ? (int)*from->sub_port : -1;
	if (fault->gpu >= y->n_gpus || fault->plane >= y->gpus[fault->gpu].n_planes ||
	    fault->sub_port >= (int)y->gpus[fault->gpu].planes[fault->plane].n_sub_ports)
		return strict_yaml_wrong(r->file, key,
					 "the host has no such GPU, plane or sub-port");
	snprintf(fault->down, sizeof(fault->down), "%s", from->down);
	snprintf(fault->up, sizeof(fault->up), "%s", from->up);
	return 0;
}

static int inventory_read_host(struct inventory_reader *r, unsigned host)
{
	const struct inventory_yaml_host *y = &r->yaml->hosts[host];
	struct topo_server *server = &r->inventory->topo->servers[host];
	char key[64];
	int err = 0;

	snprintf(key, sizeof(key), "hosts[%u].name", host);
	if (!inventory_is_name(y->name))
		return strict_yaml_wrong(r->file, key,
					 "letters, digits, '-', '.' and '_' are expected");
	if (inventory_find_host(r->inventory, y->name) >= 0)
		return strict_yaml_wrong(r->file, key, "%s is another host's, too", y->name);
	snprintf(key, sizeof(key), "hosts[%u].run_dir", host);
	if (y->run_dir[0] != '/')
		return strict_yaml_wrong(r->file, key, "an absolute path is expected");
	snprintf(key, sizeof(key), "hosts[%u].store", host);
	if (y->store && y->store[0] != '/')
		return strict_yaml_wrong(r->file, key, "an absolute path is expected");
	if (y->store)
		snprintf(r->inventory->host[host].store, sizeof(r->inventory->host[host].store),
			 "%s", y->store);
	snprintf(server->name, sizeof(server->name), "%s", y->name);
	snprintf(server->fared_run_dir, sizeof(server->fared_run_dir), "%s", y->run_dir);
	r->inventory->topo->n_servers++;
	for (unsigned i = 0; !err && i < y->n_gpus; i++)
		err = inventory_read_gpu(r, host, i);
	for (unsigned i = 0; !err && i < y->n_faults; i++)
		err = inventory_read_fault(r, host, i);
	if (!err && y->weights) {
		struct inventory_host *out = &r->inventory->host[host];

		snprintf(out->equal, sizeof(out->equal), "%s", y->weights->equal);
		snprintf(out->bgp, sizeof(out->bgp), "%s", y->weights->bgp);
	}
	return err;
}

static int inventory_read_switch(struct inventory_reader *r, unsigned i)
{
	const struct inventory_yaml_switch *y = &r->yaml->switches[i];
	struct inventory_switch *sw = &r->inventory->sw[i];
	char key[64];

	snprintf(key, sizeof(key), "switches[%u].name", i);
	if (!inventory_is_name(y->name) || strchr(y->name, '.'))
		return strict_yaml_wrong(r->file, key, "letters, digits, '-' and '_' are expected");
	for (unsigned k = 0; k < i; k++)
		if (strcmp(r->inventory->sw[k].name, y->name) == 0)
			return strict_yaml_wrong(r->file, key, "%s is another switch's, too",
						 y->name);
	snprintf(sw->name, sizeof(sw->name), "%s", y->name);
	snprintf(sw->counters, sizeof(sw->counters), "%s", y->counters);
	r->inventory->n_switches++;
	return 0;
}

/* A leaf for each plane: what is behind the cables the inventory does not say. */
static int inventory_read_leaves(struct topo *topo)
{
	topo->leaves = calloc(topo->n_planes, sizeof(*topo->leaves));
	if (!topo->leaves)
		return -ENOMEM;
	topo->n_leaves = topo->n_planes;
	for (unsigned p = 0; p < topo->n_planes; p++) {
		snprintf(topo->leaves[p].name, sizeof(topo->leaves[p].name), "plane%u", p);
		topo->leaves[p].plane = p;
		topo->leaves[p].up = true;
	}
	return 0;
}

static int inventory_alloc(struct inventory_reader *r)
{
	struct inventory *inventory = calloc(1, sizeof(*inventory));
	size_t gpus = 0;

	for (unsigned i = 0; i < r->yaml->n_hosts; i++)
		gpus += r->yaml->hosts[i].n_gpus;
	if (gpus > TOPO_MAX_GPUS) {
		free(inventory);
		return strict_yaml_wrong(r->file, "hosts", "%zu GPUs; %d at most", gpus,
					 TOPO_MAX_GPUS);
	}
	r->inventory = inventory;
	if (!inventory)
		return -ENOMEM;
	inventory->topo = calloc(1, sizeof(*inventory->topo));
	inventory->host = calloc(r->yaml->n_hosts, sizeof(*inventory->host));
	inventory->sw = calloc(r->yaml->n_switches + 1, sizeof(*inventory->sw));
	if (!inventory->topo || !inventory->host || !inventory->sw)
		return -ENOMEM;
	inventory->topo->servers = calloc(r->yaml->n_hosts, sizeof(*inventory->topo->servers));
	inventory->topo->gpus = calloc(gpus, sizeof(*inventory->topo->gpus));
	return inventory->topo->servers && inventory->topo->gpus ? 0 : -ENOMEM;
}

static int inventory_read(struct inventory_reader *r)
{
	const struct inventory_yaml *y = r->yaml;
	int err = inventory_alloc(r);

	if (err)
		return err;
	if (!inventory_is_name(y->name))
		return strict_yaml_wrong(r->file, "name",
					 "letters, digits, '-', '.' and '_' are expected");
	snprintf(r->inventory->topo->lab, sizeof(r->inventory->topo->lab), "%s", y->name);
	if (y->provider && strcmp(y->provider, "soft") != 0 && strcmp(y->provider, "verbs") != 0)
		return strict_yaml_wrong(r->file, "provider", "soft or verbs is expected");
	r->inventory->verbs = y->provider && strcmp(y->provider, "verbs") == 0;
	r->inventory->topo->mtu_bytes = *y->mtu;
	r->inventory->topo->converged = true;
	err = inventory_read_limits(r);
	for (unsigned i = 0; !err && i < y->n_hosts; i++)
		err = inventory_read_host(r, i);
	for (unsigned i = 0; !err && i < y->n_switches; i++)
		err = inventory_read_switch(r, i);
	return err ? err : inventory_read_leaves(r->inventory->topo);
}

static void inventory_digest(struct inventory *inventory, const char *text, size_t length)
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	sha256_update(&ctx, length, (const uint8_t *)text);
	sha256_digest(&ctx, sizeof(digest), digest);
	base16_encode_update(inventory->digest, sizeof(digest), digest);
}

int inventory_parse(struct inventory **out, const char *file, const char *text, size_t length,
		    char *error)
{
	struct inventory_reader r = {0};
	struct strict_yaml *yaml;
	int err = strict_yaml_load(&yaml, file, text, length, &inventory_yaml_schema, error,
				   INVENTORY_ERROR_MAX);

	*out = NULL;
	if (err)
		return err;
	r.file = yaml;
	r.yaml = strict_yaml_values(yaml);
	err = inventory_read(&r);
	if (err == -ENOMEM)
		snprintf(error, INVENTORY_ERROR_MAX, "%s: out of memory", file);
	strict_yaml_destroy(yaml);
	if (err) {
		inventory_destroy(r.inventory);
		return err;
	}
	inventory_digest(r.inventory, text, length);
	*out = r.inventory;
	return 0;
}

int inventory_load(struct inventory **out, const char *path, char *error)
{
	char *text;
	size_t length;
	int err = text_file_read(path, INVENTORY_MAX_BYTES, &text, &length);

	*out = NULL;
	if (err) {
		snprintf(error, INVENTORY_ERROR_MAX, "%.200s: %s", path, strerror(-err));
		return err;
	}
	err = inventory_parse(out, path, text, length, error);
	free(text);
	return err;
}

void inventory_destroy(struct inventory *inventory)
{
	if (!inventory)
		return;
	topo_destroy(inventory->topo);
	free(inventory->host);
	free(inventory->sw);
	free(inventory);
}

/* ---- look-ups ---- */

int inventory_find_host(const struct inventory *inventory, const char *name)
{
	for (unsigned i = 0; i < inventory->topo->n_servers; i++)
		if (strcmp(inventory->topo->servers[i].name, name) == 0)
			return (int)i;
	return -ENOENT;
}

int inventory_find_fault(const struct inventory *inventory, const char *spec, unsigned *host,
			 unsigned *fault)
{
	char kind[16] = "", label[2 * TOPO_NAME_MAX];
	unsigned plane, sub_port;
	int n = sscanf(spec, "%15s %127s %u %u", kind, label, &plane, &sub_port), gpu;
	bool whole = strcmp(kind, "plane") == 0;

	if (n < 3 || (!whole && (n < 4 || strcmp(kind, "subport") != 0)))
		return -EINVAL;
	gpu = topo_find_gpu(inventory->topo, label);
	if (gpu < 0)
		return -EINVAL;
	*host = inventory->topo->gpus[gpu].server;
	for (*fault = 0; *fault < inventory->host[*host].n_faults; (*fault)++) {
		const struct inventory_fault *f = &inventory->host[*host].fault[*fault];

		if (f->gpu == inventory->topo->gpus[gpu].index && f->plane == plane &&
		    f->sub_port == (whole ? -1 : (int)sub_port))
			return 0;
	}
	return -ENOENT;
}

bool inventory_has_faults(const struct inventory *inventory)
{
	for (unsigned i = 0; i < inventory->topo->n_servers; i++)
		if (inventory->host[i].n_faults)
			return true;
	return false;
}
