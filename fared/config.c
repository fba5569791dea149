/* SPDX-License-Identifier: BSD-2-Clause */
/* config.c - see config.h: what the values mean, and whether they make sense together */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/address.h"
#include "config_yaml.h"
#include "log.h"
#include "prober.h"
#include "roce_ports.h"
#include "base/text_file.h"

#define HEALTH_INTERVAL_MS	3
#define HEALTH_SLOW_INTERVAL_MS 1000

/* the control socket's path has to fit a socket address */
#define RUN_DIR_MAX (sizeof(((struct sockaddr_un *)0)->sun_path) - sizeof("/control.sock"))

struct check {
	const struct strict_yaml *yaml;
	const struct config_raw *raw;
};

#define wrong(c, key, ...) strict_yaml_wrong((c)->yaml, key, __VA_ARGS__)

static int config_take_text(const struct check *c, const char *key, const char *value,
			    const char *otherwise, char *out, size_t size)
{
	if (!value || !*value)
		value = otherwise;
	if (strlen(value) >= size)
		return wrong(c, key, "longer than %zu characters; shorten it", size - 1);
	for (const char *p = value; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return wrong(c, key, "holds a control character; write plain text");
	snprintf(out, size, "%s", value);
	return 0;
}

static uint64_t number_or(const int64_t *value, uint64_t otherwise)
{
	return value ? (uint64_t)*value : otherwise;
}

static double fraction_or(const double *value, double otherwise)
{
	return value ? *value : otherwise;
}

static bool run_dir_fits(const char *run_dir)
{
	return run_dir[0] == '/' && strlen(run_dir) <= RUN_DIR_MAX;
}

int config_override_run_dir(struct config *config, const char *run_dir, struct config_error *error)
{
	if (!run_dir_fits(run_dir)) {
		snprintf(error->text, sizeof(error->text),
			 "--run-dir: give an absolute path of at most %zu characters", RUN_DIR_MAX);
		return -EINVAL;
	}
	snprintf(config->run_dir, sizeof(config->run_dir), "%s", run_dir);
	return 0;
}

static int take_top(const struct check *c, struct config *config)
{
	const struct config_raw *raw = c->raw;
	char level[16];
	int rc;

	if ((rc = config_take_text(c, "node", raw->node, "", config->node, sizeof(config->node))) ||
	    (rc = config_take_text(c, "run_dir", raw->run_dir, "/run/fared", config->run_dir,
				   sizeof(config->run_dir))) ||
	    (rc = config_take_text(c, "user", raw->user, "", config->user, sizeof(config->user))) ||
	    (rc = config_take_text(c, "group", raw->group, "", config->group,
				   sizeof(config->group))) ||
	    (rc = config_take_text(c, "attach_group", raw->attach_group, "", config->attach_group,
				   sizeof(config->attach_group))) ||
	    (rc = config_take_text(c, "operator_group", raw->operator_group, "",
				   config->operator_group, sizeof(config->operator_group))) ||
	    (rc = config_take_text(c, "log_level", raw->log_level, "info", level, sizeof(level))))
		return rc;
	config->log_level = log_level_parse(level);
	if (config->log_level < 0)
		return wrong(c, "log_level",
			     "'%s' is no level; give debug, info, notice, warning or err", level);
	if (!config->group[0] && (config->attach_group[0] || config->operator_group[0]))
		return wrong(c, config->attach_group[0] ? "attach_group" : "operator_group",
			     "without group, whose members alone may use the socket; give both");
	if (!run_dir_fits(config->run_dir))
		return wrong(c, "run_dir",
			     "'%.100s' must begin with / and have at most %zu characters",
			     config->run_dir, RUN_DIR_MAX);
	return 0;
}

/* ---- bgp ----------------------------------------------------------------- */

static int take_bmp(const struct check *c, struct config *config)
{
	const struct config_raw_bgp *raw = c->raw->bgp;
	const char *text = raw->bmp_address && *raw->bmp_address ? raw->bmp_address : "127.0.0.1";
	uint64_t port = number_or(raw->bmp_port, 5001);
	char own[ADDRESS_TEXT_MAX];
	struct in6_addr address;

	if (address_parse(text, &address))
		return wrong(c, "bgp.bmp_address",
			     "'%.60s' is no IP address; give the one of bgpd's 'bmp listener'",
			     text);
	address_to_socket(&address, (uint16_t)port, &config->bmp_address);
	snprintf(config->bmp_text, sizeof(config->bmp_text),
		 IN6_IS_ADDR_V4MAPPED(&address) ? "%s:%u" : "[%s]:%u",
		 address_format(&address, own), (unsigned)port);
	return 0;
}

static int take_prefixes(const struct check *c, struct config *config)
{
	const struct config_raw_bgp *raw = c->raw->bgp;
	struct bgp_prefix *prefixes = calloc(raw->n_peer_prefixes, sizeof(*prefixes));

	config->bgp.peer_prefixes = prefixes;
	if (!prefixes)
		return -ENOMEM;
	for (unsigned i = 0; i < raw->n_peer_prefixes; i++) {
		const char *text = raw->peer_prefixes[i] ? raw->peer_prefixes[i] : "";
		char key[64];

		snprintf(key, sizeof(key), "bgp.peer_prefixes[%u]", i);
		if (address_prefix_parse(text, &prefixes[i].address, &prefixes[i].length))
			return wrong(c, key,
				     "'%.60s' is no prefix; give ADDRESS/LENGTH with no bit set "
				     "after the length",
				     text);
	}
	config->bgp.n_peer_prefixes = raw->n_peer_prefixes;
	return 0;
}

static int take_bgp(const struct check *c, struct config *config)
{
	const struct config_raw_bgp *raw = c->raw->bgp;
	int rc;

	if ((rc = take_bmp(c, config)) ||
	    (rc = config_take_text(c, "bgp.bmp_user", raw->bmp_user, "", config->bmp_user,
				   sizeof(config->bmp_user))) ||
	    (rc = config_take_text(c, "bgp.zserv_path", raw->zserv_path, "", config->zserv_path,
				   sizeof(config->zserv_path))) ||
	    (rc = config_take_text(c, "bgp.frr_version", raw->frr_version, "", config->frr_version,
				   sizeof(config->frr_version))))
		return rc;
	config->stale_ns = number_or(raw->stale_s, 120) * UINT64_C(1000000000);
	config->bgp.max_as_path = (unsigned)number_or(raw->max_as_path, 2);
	config->bgp.bandwidth_scale = fraction_or(raw->bandwidth_scale, 1);
	if (config->zserv_path[0] && config->zserv_path[0] != '/')
		return wrong(c, "bgp.zserv_path",
			     "not an absolute path; FRR's is usually /var/run/frr/zserv.api");
	return take_prefixes(c, config);
}

/* ---- health -------------------------------------------------------------- */

static uint64_t ms_to_ns(uint64_t ms)
{
	return ms * UINT64_C(1000000);
}

/* Into key_file or second_key_file: a path. */
static int take_key_file(const struct check *c, const char *key, const char *value, char *out,
			 size_t size)
{
	int rc = config_take_text(c, key, value, "", out, size);

	if (!rc && out[0] && out[0] != '/')
		return wrong(c, key, "not an absolute path");
	return rc;
}

static int take_key_files(const struct check *c, const struct config_raw_health *raw,
			  struct config_health *h)
{
	int rc = take_key_file(c, "health.key_file", raw->key_file, h->key_file,
			       sizeof(h->key_file));

	if (!rc)
		rc = take_key_file(c, "health.second_key_file", raw->second_key_file,
				   h->second_key_file, sizeof(h->second_key_file));
	if (rc)
		return rc;
	if (h->second_key_file[0] && !h->key_file[0])
		return wrong(c, "health.second_key_file",
			     "there is no health.key_file beside it; name the key in use there");
	h->key_file_line = strict_yaml_line(c->yaml, "health.key_file");
	h->second_key_file_line = strict_yaml_line(c->yaml, "health.second_key_file");
	return 0;
}

static int take_health(const struct check *c, struct config *config)
{
	static const struct config_raw_health none;
	const struct config_raw_health *raw = c->raw->health ? c->raw->health : &none;
	struct config_health *h = &config->health;
	int rc = take_key_files(c, raw, h);

	if (rc)
		return rc;
	h->enabled = !raw->enabled || *raw->enabled;
	h->realtime = !raw->realtime || *raw->realtime;
	h->interval_ns = (uint64_t)llround(fraction_or(raw->interval_ms, HEALTH_INTERVAL_MS) * 1e6);
	h->slow_interval_ns = (uint64_t)llround(
		fraction_or(raw->slow_interval_ms, HEALTH_SLOW_INTERVAL_MS) * 1e6);
	h->max_probes_per_s = (uint32_t)number_or(raw->max_probes_per_s, PROBER_MAX_PROBES_PER_S);
	h->multiplier = (uint32_t)number_or(raw->multiplier, 3);
	h->max_routers = (uint32_t)number_or(raw->max_routers, 1);
	h->dscp = (uint8_t)number_or(raw->dscp, FARE_PROBE_DSCP);
	h->queue_ns = ms_to_ns(number_or(raw->queue_ms, 100));
	h->recover_probes = (uint32_t)number_or(raw->recover_probes, 10);
	h->max_loss_ppm = (uint32_t)lround(fraction_or(raw->max_loss_percent, 2) * 1e4);
	h->hold_ns = ms_to_ns(number_or(raw->hold_ms, 50));
	h->hold_max_ns = ms_to_ns(number_or(raw->hold_max_ms, 10000));
	h->ramp_ns = ms_to_ns(number_or(raw->ramp_ms, 200));
	if (h->hold_max_ns < h->hold_ns)
		return wrong(c, "health.hold_max_ms",
			     "less than health.hold_ms; give at least that");
	return 0;
}

/* Last of what it needs. */
static int take_kernel_routes(const struct check *c, struct config *config)
{
	const char *text = c->raw->kernel_routes;

	if (!text || !*text || !strcmp(text, "off"))
		return 0;
	if (strcmp(text, "on") != 0)
		return wrong(c, "kernel_routes", "'%.20s' is neither on nor off", text);
	if (!config->health.enabled)
		return wrong(c, "kernel_routes",
			     "needs probes, and health.enabled is false: turn one of them over");
	if (!config->zserv_path[0])
		return wrong(c, "kernel_routes",
			     "zebra is to be given routes, and there is no bgp.zserv_path");
	config->kernel_routes = true;
	return 0;
}

/* ---- local GPUs ---------------------------------------------------------- */

static int take_addresses(const struct check *c, const struct config *config, unsigned g,
			  struct config_gpu *gpu)
{
	const struct config_raw_gpu *raw = &c->raw->gpus[g];

	for (unsigned i = 0; i < raw->n_addresses; i++) {
		const char *text = raw->addresses[i] ? raw->addresses[i] : "";
		struct in6_addr address;
		char key[64];
		int family;

		snprintf(key, sizeof(key), "local_gpus[%u].addresses[%u]", g, i);
		if (address_parse(text, &address))
			return wrong(c, key,
				     "'%.60s' is no IP address; give the GPU's loopback, without a "
				     "length",
				     text);
		family = IN6_IS_ADDR_V4MAPPED(&address) ? 0 : 1;
		if (!IN6_IS_ADDR_UNSPECIFIED(&gpu->address[family]))
			return wrong(c, key,
				     "a second address of one family; a GPU has one IPv4 and one "
				     "IPv6 at most");
		for (unsigned o = 0; o < g; o++)
			if (IN6_ARE_ADDR_EQUAL(&config->gpus[o].address[family], &address))
				return wrong(c, key,
					     "%s is already GPU %s's; every GPU needs its own",
					     text, config->gpus[o].name);
		if (IN6_IS_ADDR_UNSPECIFIED(&address))
			return wrong(c, key, "the unspecified address; give the GPU's loopback");
		gpu->address[family] = address;
	}
	return 0;
}

static bool dev_is_taken(const struct config *config, const char *dev)
{
	for (unsigned g = 0; g < config->n_gpus; g++)
		for (unsigned p = 0; p < config->gpus[g].n_planes; p++)
			for (unsigned s = 0; s < config->gpus[g].planes[p].n_sub_ports; s++)
				if (!strcmp(config->gpus[g].planes[p].sub_ports[s].dev, dev))
					return true;
	return false;
}

static int take_sub_port(const struct check *c, const struct config *config, const char *base,
			 const struct config_raw_sub_port *raw, struct config_sub_port *out)
{
	char key[96], *dev = out->dev;
	int rc;

	snprintf(key, sizeof(key), "%s.dev", base);
	rc = config_take_text(c, key, raw->dev, "", dev, sizeof(out->dev));
	if (rc)
		return rc;
	if (!dev[0] || strpbrk(dev, "/ "))
		return wrong(c, key, "'%s' cannot be a network device; see ip -br link", dev);
	if (dev_is_taken(config, dev))
		return wrong(c, key, "%s is already another sub-port; a device belongs to one",
			     dev);
	out->line = strict_yaml_line(c->yaml, key);
	out->speed_bps = number_or(raw->speed_mbps, 0) * 1000000;
	return 0;
}

static int take_sub_ports(const struct check *c, struct config *config, unsigned g, unsigned entry,
			  struct config_plane *plane)
{
	const struct config_raw_plane *raw = &c->raw->gpus[g].planes[entry];
	char base[64];

	for (unsigned s = 0; s < raw->n_sub_ports; s++) {
		int rc;

		snprintf(base, sizeof(base), "local_gpus[%u].planes[%u].sub_ports[%u]", g, entry,
			 s);
		rc = take_sub_port(c, config, base, &raw->sub_ports[s], &plane->sub_ports[s]);
		if (rc)
			return rc;
		plane->n_sub_ports = s + 1;
	}
	return 0;
}

/* Planes are numbered on from the entry before, unless an entry says which one it is. */
static int take_planes(const struct check *c, struct config *config, unsigned g)
{
	const struct config_raw_gpu *raw = &c->raw->gpus[g];
	struct config_gpu *gpu = &config->gpus[g];
	uint64_t next = 0;

	for (unsigned entry = 0; entry < raw->n_planes; entry++, next++) {
		uint64_t number = number_or(raw->planes[entry].plane, next);
		char key[64];
		int rc;

		snprintf(key, sizeof(key), "local_gpus[%u].planes[%u].plane", g, entry);
		if (number < next)
			return wrong(c, key,
				     number + 1 == next ? "plane %u is given twice"
							: "plane %u comes after a larger number; "
							  "list planes in the order of theirs",
				     (unsigned)number);
		if (number >= FARE_MAX_PLANES)
			return wrong(c, key, "plane %u; the largest number is %d", (unsigned)number,
				     FARE_MAX_PLANES - 1);
		next = number;
		gpu->n_planes = (uint32_t)number + 1;
		gpu->planes[number].entry = entry;
		rc = take_sub_ports(c, config, g, entry, &gpu->planes[number]);
		if (rc)
			return rc;
	}
	return 0;
}

static int take_gpus(const struct check *c, struct config *config)
{
	config->gpus = calloc(c->raw->n_gpus, sizeof(*config->gpus));
	if (!config->gpus)
		return -ENOMEM;
	for (unsigned g = 0; g < c->raw->n_gpus; g++) {
		struct config_gpu *gpu = &config->gpus[g];
		char key[64];
		int rc;

		snprintf(key, sizeof(key), "local_gpus[%u].name", g);
		rc = config_take_text(c, key, c->raw->gpus[g].name, "", gpu->name,
				      sizeof(gpu->name));
		if (rc)
			return rc;
		for (unsigned o = 0; o < g; o++)
			if (!strcmp(config->gpus[o].name, gpu->name))
				return wrong(c, key, "'%s' names two GPUs; give each its own name",
					     gpu->name);
		config->n_gpus = g + 1;
		if ((rc = take_addresses(c, config, g, gpu)) || (rc = take_planes(c, config, g)))
			return rc;
	}
	return 0;
}

/* ---- neighbours: flattened for the sources ------------------------------- */

static int take_neighbor(const struct check *c, struct config *config, struct bgp_neighbor *all,
			 const char *key, const char *text, struct bgp_neighbor next)
{
	if (!strcmp(text, CONFIG_UNNUMBERED))
		next.address = BGP_NEIGHBOR_UNNUMBERED;
	else if (address_parse(text, &next.address))
		return wrong(c, key,
			     "'%.60s' is no IP address; give the leaf's address on that sub-port, "
			     "or '" CONFIG_UNNUMBERED "'",
			     text);
	else if (IN6_ARE_ADDR_EQUAL(&next.address, &BGP_NEIGHBOR_UNNUMBERED))
		return wrong(c, key, "'%.60s' is no host's; give '" CONFIG_UNNUMBERED "'", text);
	/* zebra wants a gateway */
	if (config->kernel_routes && IN6_ARE_ADDR_EQUAL(&next.address, &BGP_NEIGHBOR_UNNUMBERED))
		return wrong(c, key,
			     "kernel_routes: on needs the leaf's link-local address here, "
			     "such as fe80::1");
	for (size_t i = 0; i < config->bgp.n_neighbors; i++)
		if (IN6_ARE_ADDR_EQUAL(&all[i].address, &next.address) &&
		    (!IN6_IS_ADDR_LINKLOCAL(&next.address) || all[i].dev == next.dev))
			return wrong(c, key,
				     "%s is already another sub-port's neighbour; sessions are per "
				     "sub-port",
				     text);
	all[config->bgp.n_neighbors++] = next;
	return 0;
}

static size_t count_neighbors(const struct config_raw *raw)
{
	size_t n = 0;

	for (unsigned g = 0; g < raw->n_gpus; g++)
		for (unsigned p = 0; p < raw->gpus[g].n_planes; p++)
			for (unsigned s = 0; s < raw->gpus[g].planes[p].n_sub_ports; s++)
				n += raw->gpus[g].planes[p].sub_ports[s].n_neighbors;
	return n;
}

static int take_plane_neighbors(const struct check *c, struct config *config,
				struct bgp_neighbor *all, unsigned g, unsigned p)
{
	unsigned entry = config->gpus[g].planes[p].entry;
	const struct config_raw_plane *plane = &c->raw->gpus[g].planes[entry];

	for (unsigned s = 0; s < config->gpus[g].planes[p].n_sub_ports; s++)
		for (unsigned i = 0; i < plane->sub_ports[s].n_neighbors; i++) {
			const char *text = plane->sub_ports[s].neighbors[i];
			const char *dev = config->gpus[g].planes[p].sub_ports[s].dev;
			char key[96];
			int rc;

			snprintf(key, sizeof(key),
				 "local_gpus[%u].planes[%u].sub_ports[%u].neighbors[%u]", g, entry,
				 s, i);
			rc = take_neighbor(c, config, all, key, text ? text : "",
					   (struct bgp_neighbor){.local_gpu = (uint16_t)g,
								 .plane = (uint16_t)p,
								 .sub_port = (uint16_t)s,
								 .dev = dev});
			if (rc)
				return rc;
		}
	return 0;
}

static int take_neighbors(const struct check *c, struct config *config)
{
	struct bgp_neighbor *all = calloc(count_neighbors(c->raw) + 1, sizeof(*all));
	struct in6_addr *own = calloc(2 * c->raw->n_gpus, sizeof(*own));
	int rc;

	config->bgp.neighbors = all;
	config->bgp.own_addresses = own;
	if (!all || !own)
		return -ENOMEM;
	for (unsigned g = 0; g < c->raw->n_gpus; g++) {
		for (unsigned p = 0; p < config->gpus[g].n_planes; p++) {
			rc = take_plane_neighbors(c, config, all, g, p);
			if (rc)
				return rc;
		}
		for (int f = 0; f < 2; f++)
			if (!IN6_IS_ADDR_UNSPECIFIED(&config->gpus[g].address[f]))
				own[config->bgp.n_own_addresses++] = config->gpus[g].address[f];
	}
	return 0;
}

/* ---- whole --------------------------------------------------------------- */

static int keep_text(struct config *config, const char *text, size_t length)
{
	config->text = malloc(length + 1);
	if (!config->text)
		return -ENOMEM;
	memcpy(config->text, text, length);
	config->text[length] = '\0';
	config->text_bytes = length;
	return 0;
}

int config_parse(struct config **out, const char *text, size_t length, const char *name,
		 struct config_error *error)
{
	struct config *config;
	struct strict_yaml *yaml;
	struct check c;
	int rc;

	*out = NULL;
	rc = strict_yaml_load(&yaml, name, text, length, &config_yaml_schema, error->text,
			      sizeof(error->text));
	if (rc)
		return rc;
	c = (struct check){yaml, strict_yaml_values(yaml)};
	config = calloc(1, sizeof(*config));
	rc = config ? keep_text(config, text, length) : -ENOMEM;
	if (!rc)
		rc = take_top(&c, config);
	if (!rc)
		rc = take_bgp(&c, config);
	if (!rc)
		rc = take_health(&c, config);
	if (!rc)
		rc = take_kernel_routes(&c, config);
	if (!rc)
		rc = take_gpus(&c, config);
	if (!rc)
		rc = take_neighbors(&c, config);
	strict_yaml_destroy(yaml);
	if (rc) {
		config_destroy(config);
		return rc;
	}
	config->n_owners = 1;
	*out = config;
	return 0;
}

static int config_load_from(struct config **out, const char *path, bool is_regular,
			    struct config_error *error)
{
	size_t length;
	char *text;
	int rc = is_regular ? text_file_read_regular(path, CONFIG_MAX_BYTES, &text, &length)
			    : text_file_read(path, CONFIG_MAX_BYTES, &text, &length);

	*out = NULL;
	if (rc) {
		snprintf(error->text, sizeof(error->text), "%s: %s; %s", path, strerror(-rc),
			 rc == -EACCES ? "the user that fared runs as has to be able to read it"
				       : "name the file with --config");
		return rc;
	}
	rc = config_parse(out, text, length, path, error);
	free(text);
	return rc;
}

int config_load(struct config **out, const char *path, struct config_error *error)
{
	return config_load_from(out, path, false, error);
}

int config_load_again(struct config **out, const char *path, struct config_error *error)
{
	return config_load_from(out, path, true, error);
}

void config_override_keys(struct config *config, const struct config *from)
{
	struct config_health *h = &config->health;

	memcpy(h->key_file, from->health.key_file, sizeof(h->key_file));
	memcpy(h->second_key_file, from->health.second_key_file, sizeof(h->second_key_file));
	h->key_file_line = from->health.key_file_line;
	h->second_key_file_line = from->health.second_key_file_line;
}

struct config *config_take(struct config *config)
{
	config->n_owners++;
	return config;
}

bool config_find_gpu(const struct config *config, const char *name, uint32_t *out)
{
	for (*out = 0; *out < config->n_gpus; (*out)++)
		if (!strcmp(config->gpus[*out].name, name))
			return true;
	return false;
}

void config_destroy(struct config *config)
{
	if (!config || (config->n_owners && --config->n_owners))
		return;
	free((void *)config->bgp.neighbors);
	free((void *)config->bgp.peer_prefixes);
	free((void *)config->bgp.own_addresses);
	free(config->gpus);
	free(config->text);
	free(config);
}
