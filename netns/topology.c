/* SPDX-License-Identifier: BSD-2-Clause */
#include "topology.h"

#include <errno.h>
#include <linux/if_ether.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/yaml/strict_yaml.h"
#include "base/text_file.h"
#include "pfc.h"

/* What FRR 8.4 to 10.3 put into a Link Bandwidth of 32 bits, and add up to. */
#define FRR_LINK_MBPS 25600u
#define FRR_SUM_MBPS  34000u

/* The file as libcyaml fills it: pointers, so that an absent key and a zero are two things. */
struct timers_yaml {
	uint32_t *keepalive_s;
	uint32_t *hold_s;
};

struct rate_yaml {
	uint32_t *server, *gpu, *plane, *sub_port;
	uint32_t rate_mbps;
};

struct pfc_yaml {
	uint32_t *class, *xon_bytes, *headroom_bytes, *watchdog_ms;
	uint32_t xoff_bytes;
};

struct topology_yaml {
	char *name, *lb;
	uint32_t *servers, *gpus_per_server, *planes, *sub_ports;
	uint32_t *leaves_per_plane, *spines_per_plane, *spine_rate_mbps;
	uint32_t *pods, *superspine_rate_mbps;
	uint32_t *rate_mbps, *ecn_threshold_kb, *queue_bytes, *bucket_frames, *mtu;
	uint32_t *graceful_restart_s, *lb_seed, *lb_gap_us;
	uint32_t *ecn_max_kb, *ecn_max_percent;
	uint32_t *probe_interval_ms, *probe_multiplier;
	struct rate_yaml *rates;
	unsigned n_rates;
	bool *announce_rates, *priority_band, *ipv4, *ipv6, *unnumbered, *ibgp;
	struct timers_yaml *bgp_timers;
	struct pfc_yaml *pfc;
};

#define OPTIONAL_PTR  (CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL)
#define UINT_KEY(key) CYAML_FIELD_UINT_PTR(#key, OPTIONAL_PTR, struct topology_yaml, key)
#define BOOL_KEY(key) CYAML_FIELD_BOOL_PTR(#key, OPTIONAL_PTR, struct topology_yaml, key)
#define RATE_KEY(key) CYAML_FIELD_UINT_PTR(#key, OPTIONAL_PTR, struct rate_yaml, key)
#define PFC_KEY(key)  CYAML_FIELD_UINT_PTR(#key, OPTIONAL_PTR, struct pfc_yaml, key)
#define REQUIRED_UINT_KEY(key)                                                                     \
	CYAML_FIELD_UINT_PTR(#key, CYAML_FLAG_POINTER, struct topology_yaml, key)

static const cyaml_schema_field_t timers_fields[] = {
	CYAML_FIELD_UINT_PTR("keepalive_s", OPTIONAL_PTR, struct timers_yaml, keepalive_s),
	CYAML_FIELD_UINT_PTR("hold_s", OPTIONAL_PTR, struct timers_yaml, hold_s),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t rate_fields[] = {
	RATE_KEY(server),
	RATE_KEY(gpu),
	RATE_KEY(plane),
	RATE_KEY(sub_port),
	CYAML_FIELD_UINT("rate_mbps", CYAML_FLAG_DEFAULT, struct rate_yaml, rate_mbps),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t pfc_fields[] = {
	PFC_KEY(class),
	CYAML_FIELD_UINT("xoff_bytes", CYAML_FLAG_DEFAULT, struct pfc_yaml, xoff_bytes),
	PFC_KEY(xon_bytes),
	PFC_KEY(headroom_bytes),
	PFC_KEY(watchdog_ms),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t rate_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct rate_yaml, rate_fields),
};

static const cyaml_schema_field_t topology_fields[] = {
	CYAML_FIELD_STRING_PTR("name", OPTIONAL_PTR, struct topology_yaml, name, 0,
			       CYAML_UNLIMITED),
	REQUIRED_UINT_KEY(servers),
	UINT_KEY(gpus_per_server),
	REQUIRED_UINT_KEY(planes),
	REQUIRED_UINT_KEY(sub_ports),
	UINT_KEY(leaves_per_plane),
	UINT_KEY(spines_per_plane),
	UINT_KEY(spine_rate_mbps),
	UINT_KEY(pods),
	UINT_KEY(superspine_rate_mbps),
	UINT_KEY(rate_mbps),
	CYAML_FIELD_SEQUENCE_COUNT("rates", OPTIONAL_PTR, struct topology_yaml, rates, n_rates,
				   &rate_value, 1, TOPOLOGY_RATES_MAX),
	BOOL_KEY(announce_rates),
	UINT_KEY(ecn_threshold_kb),
	UINT_KEY(ecn_max_kb),
	UINT_KEY(ecn_max_percent),
	CYAML_FIELD_STRING_PTR("lb", OPTIONAL_PTR, struct topology_yaml, lb, 0, CYAML_UNLIMITED),
	UINT_KEY(lb_seed),
	UINT_KEY(lb_gap_us),
	CYAML_FIELD_MAPPING_PTR("pfc", OPTIONAL_PTR, struct topology_yaml, pfc, pfc_fields),
	UINT_KEY(queue_bytes),
	UINT_KEY(bucket_frames),
	BOOL_KEY(priority_band),
	UINT_KEY(mtu),
	UINT_KEY(graceful_restart_s),
	UINT_KEY(probe_interval_ms),
	UINT_KEY(probe_multiplier),
	BOOL_KEY(ipv4),
	BOOL_KEY(ipv6),
	BOOL_KEY(unnumbered),
	BOOL_KEY(ibgp),
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
	{"leaves_per_plane", .min = 1, .max = 16},
	{"spines_per_plane", .max = 16},
	{"spine_rate_mbps", .max = 100000},
	{"pods", .min = 1, .max = 8},
	{"superspine_rate_mbps", .max = 100000},
	{"server", .max = 1023},
	{"gpu", .max = 15},
	{"plane", .max = 15},
	{"sub_port", .max = 7},
	{"rate_mbps", .max = 100000},
	{"ecn_threshold_kb", .max = 262144},
	{"ecn_max_kb", .max = 262144},
	{"ecn_max_percent", .min = 1, .max = 100},
	{"lb_seed", .max = 65535},
	{"lb_gap_us", .min = 1, .max = TOPOLOGY_LB_GAP_MAX_US},
	{"class", .max = PFC_CLASSES - 1},
	{"xoff_bytes", .min = 1, .max = 1 << 26},
	{"xon_bytes", .max = 1 << 26},
	{"headroom_bytes", .max = 1 << 28},
	{"watchdog_ms", .max = 60000},
	{"queue_bytes", .min = 1 << 16, .max = 1 << 28},
	{"bucket_frames", .max = 64},
	{"mtu", .min = 576, .max = 9216},
	{"keepalive_s", .min = 1, .max = 3600},
	{"hold_s", .min = 3, .max = 65535}, /* RFC 4271 4.2 */
	{"graceful_restart_s", .max = 3600},
	{"probe_interval_ms", .min = 1, .max = 10000},
	{"probe_multiplier", .min = 2, .max = 50},
	{.key = NULL},
};

static const struct strict_yaml_schema topology_schema = {&topology_value, ranges};

static unsigned given_or(const uint32_t *given, unsigned otherwise)
{
	return given ? *given : otherwise;
}

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
	if (t->ecn_threshold_kb && (!t->rate_mbps || (t->spines_per_plane && !t->spine_rate_mbps) ||
				    (t->pods > 1 && !t->superspine_rate_mbps)))
		return strict_yaml_wrong(y, "ecn_threshold_kb",
					 "a link without a rate has no queue to mark by");
	if (t->ecn_max_kb && t->ecn_max_kb <= t->ecn_threshold_kb)
		return strict_yaml_wrong(y, "ecn_max_kb", "%u is not above ecn_threshold_kb",
					 t->ecn_max_kb);
	if (!t->ipv4 && !t->ipv6)
		return strict_yaml_wrong(y, "ipv4", "false leaves no addresses; add ipv6: true");
	/* bgpd puts the link's IPv4 address there, mapped, once the link has been down (18318) */
	if (t->ibgp && t->ipv4 && t->ipv6 && !t->unnumbered)
		return strict_yaml_wrong(y, "ibgp",
					 "with IPv4 and IPv6 only unnumbered: FRR loses its own "
					 "IPv6 next hops on links that have IPv4 addresses, too");
	if ((t->ipv6 || t->unnumbered) && t->mtu < 1280)
		return strict_yaml_wrong(y, "mtu", "%u is below the 1280 that IPv6 needs", t->mtu);
	return 0;
}

static int check_rate(const struct strict_yaml *y, const struct topology *t, unsigned i)
{
	const struct topology_rate *r = &t->rates[i];
	const struct {
		const char *key;
		unsigned value, limit;
	} parts[] = {{"server", r->server, t->servers},
		     {"gpu", r->gpu, t->gpus_per_server},
		     {"plane", r->plane, t->planes},
		     {"sub_port", r->sub_port, t->sub_ports}};
	char key[48];

	for (size_t k = 0; k < sizeof(parts) / sizeof(*parts); k++) {
		if (parts[k].value == TOPOLOGY_EVERY || parts[k].value < parts[k].limit)
			continue;
		snprintf(key, sizeof(key), "rates[%u].%s", i, parts[k].key);
		return strict_yaml_wrong(y, key, "%u: they end at %u here", parts[k].value,
					 parts[k].limit - 1);
	}
	if (r->rate_mbps)
		return 0;
	snprintf(key, sizeof(key), "rates[%u].rate_mbps", i);
	return strict_yaml_wrong(y, key, "0 (unshaped) is for all sub-links or for none");
}

/* Rates that differ, or change, are known to BGP only as numbers of Mbit/s. */
static int check_rates(const struct strict_yaml *y, const struct topology *t)
{
	unsigned most = t->rate_mbps;
	int rc = 0;

	for (unsigned i = 0; !rc && i < t->n_rates; i++) {
		rc = check_rate(y, t, i);
		most = t->rates[i].rate_mbps > most ? t->rates[i].rate_mbps : most;
	}
	if (rc || !t->announce_rates)
		return rc;
	if (!t->rate_mbps)
		return strict_yaml_wrong(y, "rate_mbps", "0 (unshaped) is no rate to announce");
	if (most > topology_most_announced(t))
		return strict_yaml_wrong(y, t->n_rates ? "rates" : "announce_rates",
					 "FRR announces %u Mbit/s at most for one of %u sub-links",
					 topology_most_announced(t), t->sub_ports);
	return 0;
}

static int check_pfc_rate(const struct strict_yaml *y, const struct topology *t, const char *key,
			  unsigned rate_mbps)
{
	unsigned least = topology_pfc_headroom(t, rate_mbps);

	if (!rate_mbps || rate_mbps > PFC_MOST_MBPS)
		return strict_yaml_wrong(y, key, "%u: PFC is emulated in time at 1 to %u Mbit/s",
					 rate_mbps, PFC_MOST_MBPS);
	if (t->pfc.headroom_bytes && t->pfc.headroom_bytes < least)
		return strict_yaml_wrong(
			y, "pfc.headroom_bytes",
			"%u; %u Mbit/s for the %u us in which a queue is paused, a bucket of %u "
			"frames and 2 of mtu %u are %u bytes (0: none on purpose)",
			t->pfc.headroom_bytes, rate_mbps, PFC_REACTION_US, t->bucket_frames, t->mtu,
			least);
	return 0;
}

/* Headroom holds on the fastest link. */
static int check_pfc(const struct strict_yaml *y, struct topology *t, const struct pfc_yaml *given)
{
	unsigned most = t->rate_mbps > t->spine_rate_mbps ? t->rate_mbps : t->spine_rate_mbps;
	int rc;

	if (!given)
		return 0;
	most = t->superspine_rate_mbps > most ? t->superspine_rate_mbps : most;
	for (unsigned i = 0; i < t->n_rates; i++)
		most = t->rates[i].rate_mbps > most ? t->rates[i].rate_mbps : most;
	if (!t->bucket_frames)
		return strict_yaml_wrong(y, "bucket_frames",
					 "0: no headroom holds with pfc after a bucket of 128 KiB");
	t->pfc = (struct topology_pfc){
		.class = given_or(given->class, 3),
		.xoff_bytes = given->xoff_bytes,
		.xon_bytes = given_or(given->xon_bytes, given->xoff_bytes / 2),
		.headroom_bytes = given_or(given->headroom_bytes, topology_pfc_headroom(t, most)),
		.watchdog_ms = given_or(given->watchdog_ms, 0)};
	if (t->pfc.xon_bytes >= t->pfc.xoff_bytes)
		return strict_yaml_wrong(y, "pfc.xon_bytes", "%u is not below xoff_bytes",
					 t->pfc.xon_bytes);
	if ((rc = check_pfc_rate(y, t, "rate_mbps", t->rate_mbps)) ||
	    (t->spines_per_plane &&
	     (rc = check_pfc_rate(y, t, "spine_rate_mbps", t->spine_rate_mbps))) ||
	    (t->pods > 1 &&
	     (rc = check_pfc_rate(y, t, "superspine_rate_mbps", t->superspine_rate_mbps))))
		return rc;
	return check_pfc_rate(y, t, "rates", most);
}

static int check_tiers(const struct strict_yaml *y, const struct topology *t)
{
	if ((t->leaves_per_plane > 1) != (t->spines_per_plane > 0))
		return strict_yaml_wrong(
			y, t->spines_per_plane ? "spines_per_plane" : "leaves_per_plane",
			"a plane has one leaf and no spine, or more leaves and a spine or more");
	if (t->leaves_per_plane > t->servers)
		return strict_yaml_wrong(y, "leaves_per_plane", "%u leaves for %u servers",
					 t->leaves_per_plane, t->servers);
	if (t->spines_per_plane && t->announce_rates)
		return strict_yaml_wrong(
			y, t->n_rates ? "rates" : "announce_rates",
			"not with spines: FRR cannot split a rate over them (see farelab(8))");
	if (t->leaves_per_plane % t->pods || t->spines_per_plane % t->pods || !t->spines_per_plane)
		return t->pods == 1 ? 0
				    : strict_yaml_wrong(
					      y, "pods",
					      "%u pods of a plane do not have equal numbers of its "
					      "%u leaves, and of its %u spines, 1 at least",
					      t->pods, t->leaves_per_plane, t->spines_per_plane);
	return 0;
}

/* What lets all servers of a leaf send to other leaves at once. */
static unsigned spine_rate(const struct topology *t)
{
	unsigned servers = (t->servers + t->leaves_per_plane - 1) / t->leaves_per_plane,
		 links = servers * t->gpus_per_server * t->sub_ports,
		 spines = topology_pod_spines(t);

	return (links * t->rate_mbps + spines - 1) / spines;
}

static void take_rates(const struct topology_yaml *y, struct topology *t)
{
	t->n_rates = y->n_rates;
	for (unsigned i = 0; i < y->n_rates; i++)
		t->rates[i] = (struct topology_rate){
			.server = given_or(y->rates[i].server, TOPOLOGY_EVERY),
			.gpu = given_or(y->rates[i].gpu, TOPOLOGY_EVERY),
			.plane = given_or(y->rates[i].plane, TOPOLOGY_EVERY),
			.sub_port = given_or(y->rates[i].sub_port, TOPOLOGY_EVERY),
			.rate_mbps = y->rates[i].rate_mbps};
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
		.ecn_threshold_kb = given_or(y->ecn_threshold_kb, 0),
		.ecn_max_kb = given_or(y->ecn_max_kb, 0),
		.ecn_max_percent = given_or(y->ecn_max_percent, 100),
		.lb = {.seed = given_or(y->lb_seed, TOPOLOGY_EVERY),
		       .gap_us = given_or(y->lb_gap_us, 500)},
		.queue_bytes = given_or(y->queue_bytes, 1 << 20),
		.bucket_frames = given_or(y->bucket_frames, y->pfc ? 2 : 0),
		.priority_band = !y->priority_band || *y->priority_band,
		.mtu = given_or(y->mtu, 4200),
		.keepalive_s = given_or(timers->keepalive_s, 1),
		.hold_s = given_or(timers->hold_s, 3),
		.graceful_restart_s = given_or(y->graceful_restart_s, 20),
		.probe_interval_ms = given_or(y->probe_interval_ms, 0),
		.probe_multiplier = given_or(y->probe_multiplier, 0),
		.leaves_per_plane = given_or(y->leaves_per_plane, 1),
		.spines_per_plane = given_or(y->spines_per_plane, 0),
		.pods = given_or(y->pods, 1),
		.announce_rates = y->n_rates || (y->announce_rates && *y->announce_rates),
		.ipv4 = !y->ipv4 || *y->ipv4,
		.ipv6 = y->ipv6 && *y->ipv6,
		.unnumbered = y->unnumbered && *y->unnumbered,
		.ibgp = y->ibgp && *y->ibgp,
	};
	int rc;

	if (y->name && !topology_name_valid(y->name))
		return strict_yaml_wrong(file, "name",
					 "use 1 to %d of a-z, 0-9 and '-', no '-' at either end",
					 TOPOLOGY_NAME_MAX);
	if (y->lb && topology_lb_parse(y->lb, &t.lb.mode))
		return strict_yaml_wrong(file, "lb",
					 "give kernel, ecmp, bth, flowlet, spray or adaptive");
	if (y->name)
		snprintf(t.name, sizeof(t.name), "%s", y->name);
	if (y->n_rates && y->announce_rates && !*y->announce_rates)
		return strict_yaml_wrong(file, "announce_rates", "false, but rates differ");
	take_rates(y, &t);
	if (!t.spines_per_plane && y->spine_rate_mbps)
		return strict_yaml_wrong(file, "spine_rate_mbps", "there are no spines");
	if (t.pods == 1 && y->superspine_rate_mbps)
		return strict_yaml_wrong(file, "superspine_rate_mbps",
					 "there are no superspines without pods");
	if ((rc = check_tiers(file, &t)))
		return rc;
	if (t.spines_per_plane)
		t.spine_rate_mbps = given_or(y->spine_rate_mbps, spine_rate(&t));
	/* what lets all leaves of a pod send to other pods at once */
	if (t.pods > 1)
		t.superspine_rate_mbps = given_or(y->superspine_rate_mbps,
						  t.leaves_per_plane / t.pods * t.spine_rate_mbps);
	if (!(rc = check_whole(file, &t)) && !(rc = check_rates(file, &t)) &&
	    !(rc = check_pfc(file, &t, y->pfc)))
		*out = t;
	return rc;
}

unsigned topology_rate(const struct topology *t, unsigned server, unsigned gpu, unsigned plane,
		       unsigned sub_port)
{
	for (unsigned i = t->n_rates; i-- > 0;) {
		const struct topology_rate *r = &t->rates[i];

		if ((r->server == TOPOLOGY_EVERY || r->server == server) &&
		    (r->gpu == TOPOLOGY_EVERY || r->gpu == gpu) &&
		    (r->plane == TOPOLOGY_EVERY || r->plane == plane) &&
		    (r->sub_port == TOPOLOGY_EVERY || r->sub_port == sub_port))
			return r->rate_mbps;
	}
	return t->rate_mbps;
}

unsigned topology_bucket_bytes(const struct topology *t)
{
	return t->bucket_frames ? t->bucket_frames * (t->mtu + ETH_HLEN) : TOPOLOGY_BUCKET_BYTES;
}

unsigned topology_pfc_headroom(const struct topology *t, unsigned rate_mbps)
{
	return pfc_least_headroom(rate_mbps, topology_bucket_bytes(t), t->mtu + ETH_HLEN);
}

static const char *const lb_names[] = {
	[TOPOLOGY_LB_KERNEL] = "kernel", [TOPOLOGY_LB_ECMP] = "ecmp",
	[TOPOLOGY_LB_BTH] = "bth",	 [TOPOLOGY_LB_FLOWLET] = "flowlet",
	[TOPOLOGY_LB_SPRAY] = "spray",	 [TOPOLOGY_LB_ADAPTIVE] = "adaptive",
};

const char *topology_lb_name(enum topology_lb_mode mode)
{
	return lb_names[mode];
}

int topology_lb_parse(const char *text, enum topology_lb_mode *out)
{
	for (unsigned i = 0; i < sizeof(lb_names) / sizeof(*lb_names); i++)
		if (!strcmp(text, lb_names[i])) {
			*out = (enum topology_lb_mode)i;
			return 0;
		}
	return -EINVAL;
}

unsigned topology_most_announced(const struct topology *t)
{
	unsigned most = FRR_SUM_MBPS / t->sub_ports;

	return most < FRR_LINK_MBPS ? most : FRR_LINK_MBPS;
}

unsigned topology_pod_spines(const struct topology *t)
{
	return t->pods > 1 ? t->spines_per_plane / t->pods : t->spines_per_plane;
}

unsigned topology_leaf(const struct topology *t, unsigned server)
{
	return server * t->leaves_per_plane / t->servers;
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
