/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/fabric.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/rng.h"
#include "fabric/optimum.h"
#include "suite/test.h"

#define FABRIC_CONVERGE_S 60
#define FABRIC_GONE_NS	  5000000000 /* what ended is withdrawn within that */

#define FABRIC_SETTING                                                                             \
	"a setting of the lab's topology: run these tests again in a lab that has it, as one of "

/* Why it is missing from a lab, and from hosts; what to do about it in a lab. */
static const struct {
	unsigned need;
	const char *lab, *hosts, *remedy;
} fabric_missing[] = {
	{NEED_TWO_SERVERS, "the fabric has one server", "the fabric has one server",
	 "not possible in this fabric: it takes two servers"},
	{NEED_FAULTS, "no command that cuts links is known for this fabric",
	 "the inventory has no command that cuts links", NULL},
	{NEED_SPINES, "the fabric has one tier: a leaf for each plane, no spines",
	 "the inventory names no spines",
	 "not possible in this fabric: it takes one of two tiers, as one of two-tier-lb.yaml or, "
	 "where leaves pause, pfc-ring.yaml"},
	{NEED_ECN, "the leaves mark nothing: the lab's topology has no ecn_threshold_kb",
	 "how hosts' switches mark is neither set nor read by port from here",
	 FABRIC_SETTING "ecn.yaml or training-bench.yaml"},
	{NEED_PFC, "the lab's topology has no pfc",
	 "how hosts' switches pause is neither set nor read by port from here",
	 FABRIC_SETTING "pfc.yaml, training-bench.yaml or, of two tiers, pfc-ring.yaml"},
	{NEED_SWITCH_COUNTERS, "the leaves' counters cannot be read",
	 "no switch is in the inventory", NULL},
	{NEED_ONE_MACHINE, "the workers run on other hosts", "the workers run on other hosts",
	 NULL},
};

/* Of a lab, of hosts over sockets, of hosts over devices. */
static const char *const fabric_parts[FABRIC_PARTS][3] = {
	[FABRIC_GPU_MEMORY] = {"a process stands for a GPU: the source is its memory",
			       "the workers' blocks are in the hosts' memory",
			       "the workers' blocks are in the hosts' memory"},
	[FABRIC_NIC_ENGINES] = {"virtual Ethernet has no engines: libfare's soft provider sends",
				"libfare's soft provider sends: the NIC's RDMA engines are idle",
				"no counter of the devices tells how busy their engines are"},
	[FABRIC_FEC] = {"virtual Ethernet has no FEC",
			"no NIC or switch counts it by a name that is known",
			"no NIC or switch counts it by a name that is known"},
	[FABRIC_CRC] = {"virtual Ethernet has no frame check sequence",
			"no NIC or switch counts it by a name that is known",
			"no NIC or switch counts it by a name that is known"},
	[FABRIC_PCIE] = {"a process stands for a GPU, virtual Ethernet for a NIC: no PCIe",
			 "no GPU takes part", "no GPU takes part"},
	[FABRIC_BUFFERS] = {"no counter tells how full the leaves' queues were at most",
			    "no counter by a name that is known tells how full switches were",
			    "no counter by a name that is known tells how full switches were"},
};

const char *fabric_lacks(const struct fabric *fabric, enum fabric_part part)
{
	bool verbs = fabric->hosts && hosts_inventory(fabric->hosts)->verbs;

	return fabric_parts[part][verbs ? 2 : fabric->hosts != NULL];
}

int fabric_open(struct fabric *fabric, const char *lab)
{
	int err;

	memset(fabric, 0, sizeof(*fabric));
	fabric->weights = -1;
	lab_init(&fabric->lab, lab);
	err = lab_status(&fabric->lab, FABRIC_CONVERGE_S, &fabric->topo);
	if (err)
		return err;
	fabric->can = NEED_FAULTS | NEED_SWITCH_COUNTERS | NEED_ONE_MACHINE;
	if (fabric->topo->n_servers > 1)
		fabric->can |= NEED_TWO_SERVERS;
	if (fabric->topo->n_spines)
		fabric->can |= NEED_SPINES;
	if (fabric->topo->ecn_threshold_bytes)
		fabric->can |= NEED_ECN;
	if (fabric->topo->pfc.xoff_bytes)
		fabric->can |= NEED_PFC;
	fabric->ecn_kb = fabric->ecn_lab_kb = fabric->topo->ecn_threshold_bytes / 1024;
	return 0;
}

int fabric_open_hosts(struct fabric *fabric, const struct launch_options *options)
{
	const struct inventory *inventory;
	int err;

	memset(fabric, 0, sizeof(*fabric));
	fabric->weights = -1;
	err = hosts_open(&fabric->hosts, options);
	if (err)
		return err;
	inventory = hosts_inventory(fabric->hosts);
	fabric->topo = inventory->topo;
	fabric->can = (inventory_has_faults(inventory) ? NEED_FAULTS : 0) |
		      (fabric->topo->n_servers > 1 ? NEED_TWO_SERVERS : 0);
	return 0;
}

/* The kernels' weights: set, and known to be in force. */
static int fabric_weights(struct fabric *fabric, bool equal)
{
	/* routes may come later than paths; once for all, as each try takes its time */
	bool patient = fabric->weights == equal || !fabric->refused;
	int err = fabric->hosts ? hosts_weights(fabric->hosts, equal, patient, fabric->why,
						sizeof(fabric->why))
				: lab_weights(&fabric->lab, fabric->topo, equal);

	fabric->refused |= err == -EOPNOTSUPP;
	fabric->weights = err ? -1 : equal;
	return err;
}

void fabric_close(struct fabric *fabric)
{
	uint64_t at_ns;

	if (!fabric->topo)
		return;
	fabric_heal(fabric, &at_ns);
	free(fabric->fault);
	if (fabric->ecn_kb != fabric->ecn_lab_kb)
		fabric_mark_at(fabric, fabric->ecn_lab_kb);
	fabric_balance_back(fabric);
	cluster_destroy(fabric->cluster);
	if (fabric->weights == 1)
		fabric_weights(fabric, false);
	if (fabric->hosts) {
		hosts_heal(fabric->hosts, &at_ns); /* also what could not be healed before */
		hosts_close(fabric->hosts);
	} else {
		topo_destroy(fabric->topo);
	}
	memset(fabric, 0, sizeof(*fabric));
}

const char *fabric_cannot(const struct fabric *fabric, unsigned need)
{
	for (unsigned i = 0; i < sizeof(fabric_missing) / sizeof(fabric_missing[0]); i++)
		if (need & fabric_missing[i].need & ~fabric->can)
			return fabric->hosts ? fabric_missing[i].hosts : fabric_missing[i].lab;
	return NULL;
}

const char *fabric_remedy(const char *reason)
{
	for (unsigned i = 0; i < sizeof(fabric_missing) / sizeof(fabric_missing[0]); i++)
		if (strcmp(reason, fabric_missing[i].lab) == 0)
			return fabric_missing[i].remedy;
	return NULL;
}

const char *fabric_cannot_spread(struct fabric *fabric, enum strategy strategy)
{
	bool kernel = strategy_mode(strategy) == FARE_MODE_KERNEL;

	if (fabric->hosts && hosts_inventory(fabric->hosts)->verbs && kernel)
		return "a QP of a device leaves by that device: the kernel's routes choose nothing";
	if (fabric->hosts && hosts_inventory(fabric->hosts)->verbs &&
	    strategy_mode(strategy) == FARE_MODE_PACKET)
		return "a device's responder takes packets in their order alone";
	/* a lab's weights can be set; hosts' may have no commands for that */
	if (!fabric->hosts || !kernel || fabric->weights == strategy_equal_weights(strategy))
		return NULL;
	return fabric_weights(fabric, strategy_equal_weights(strategy)) == -EOPNOTSUPP ? fabric->why
										       : NULL;
}

/* The next of several faults; false: there is none. */
static bool fabric_next_fault(const char **specs, struct fabric_fault *out)
{
	size_t length = strcspn(*specs, ",");

	if (!length)
		return false;
	snprintf(out->spec, sizeof(out->spec), "%.*s", (int)length, *specs);
	*specs += length + ((*specs)[length] == ',');
	return true;
}

const char *fabric_cannot_fail(const struct fabric *fabric, const char *spec)
{
	struct fabric_fault one;
	unsigned host, fault;

	while (fabric->hosts && fabric_next_fault(&spec, &one))
		if (inventory_find_fault(hosts_inventory(fabric->hosts), one.spec, &host, &fault))
			return "the inventory has no command for that fault";
	return NULL;
}

double fabric_max_run_s(const struct fabric *fabric)
{
	return fabric->hosts ? hosts_inventory(fabric->hosts)->max_run_s : INFINITY;
}

void fabric_no_cluster(struct fabric *fabric)
{
	cluster_destroy(fabric->cluster);
	fabric->cluster = NULL;
}

static int fabric_workers(struct fabric *fabric, uint64_t arena_bytes)
{
	int err;

	if (fabric->cluster && fabric->arena_bytes >= arena_bytes)
		return 0;
	fabric_no_cluster(fabric);
	fabric->arena_bytes = arena_bytes;
	fabric->memory = (struct memory_pair){0};
	strcpy(fabric->memory_text, FABRIC_HOST_MEMORY);
	err = fabric->hosts
		      ? hosts_cluster(fabric->hosts, &fabric->cluster, arena_bytes)
		      : cluster_create(&fabric->cluster, fabric->topo, arena_bytes, fabric->store);
	return err ? err : fabric_await_members(fabric, NULL, FABRIC_PATHS_MS);
}

int fabric_cluster_of(struct fabric *fabric, uint64_t arena_bytes, const struct memory_pair *kinds)
{
	int err = fabric_workers(fabric, arena_bytes);

	if (err ||
	    (kinds->source == fabric->memory.source && kinds->target == fabric->memory.target))
		return err;
	err = cluster_memory(fabric->cluster, fabric->arena_bytes, kinds, fabric->memory_text);
	fabric->memory = err ? (struct memory_pair){0} : *kinds;
	if (err) { /* all have host memory again, and so has the next run */
		snprintf(fabric->memory_lacks, sizeof(fabric->memory_lacks), "%s",
			 fabric->memory_text);
		strcpy(fabric->memory_text, FABRIC_HOST_MEMORY);
	}
	return err;
}

int fabric_cluster(struct fabric *fabric, uint64_t arena_bytes)
{
	const struct memory_pair host = {0};

	return fabric_cluster_of(fabric, arena_bytes, &host);
}

int fabric_prepare(struct fabric *fabric, enum strategy strategy)
{
	bool kernel = strategy_mode(strategy) == FARE_MODE_KERNEL,
	     equal = strategy_equal_weights(strategy);
	int err;

	if (!kernel || fabric->weights == equal)
		return 0;
	err = fabric_weights(fabric, equal);
	return err ? err : fabric_await_members(fabric, NULL, FABRIC_PATHS_MS);
}

int fabric_clocks_begin(struct fabric *fabric)
{
	return fabric->hosts ? hosts_clocks_begin(fabric->hosts, fabric->cluster) : 0;
}

int fabric_clocks_end(struct fabric *fabric, double *error_ns)
{
	*error_ns = 0;
	return fabric->hosts ? hosts_clocks_end(fabric->hosts, error_ns) : 0;
}

int64_t fabric_clock_ahead_ns(const struct fabric *fabric, unsigned server)
{
	return fabric->hosts ? hosts_clock_ahead_ns(fabric->hosts, server) : 0;
}

/* Of an agent's counters (host_counters.h). */
static uint64_t fabric_counted(const json_t *counters, const char *dev, const char *name)
{
	char key[FARE_DEV_NAME_MAX + 16];

	snprintf(key, sizeof(key), "%s.%s", dev, name);
	return (uint64_t)json_integer_value(json_object_get(counters, key));
}

static void fabric_add_packets(const struct topo_gpu *gpu, unsigned n_planes,
			       const json_t *counters, struct lab_packets *out)
{
	for (unsigned p = 0; p < n_planes; p++)
		for (unsigned s = 0; s < gpu->plane[p].n_sub_ports; s++) {
			const char *dev = gpu->plane[p].sub_port[s].dev;

			out->sent += fabric_counted(counters, dev, "tx_packets");
			out->dropped += fabric_counted(counters, dev, "tx_dropped") +
					fabric_counted(counters, dev, "rx_dropped");
		}
}

int fabric_packets(struct fabric *fabric, struct lab_packets *out)
{
	const struct topo *topo = fabric->topo;
	json_t *counters;
	int err = 0;

	if (!fabric->hosts)
		return lab_packets(&fabric->lab, out);
	*out = (struct lab_packets){0};
	for (unsigned i = 0; !err && i < topo->n_servers; i++) {
		err = hosts_counters_read(fabric->hosts, i, &counters);
		if (err)
			break;
		for (unsigned gpu = 0; gpu < topo->n_gpus; gpu++)
			if (topo->gpus[gpu].server == i)
				fabric_add_packets(&topo->gpus[gpu], topo->n_planes, counters, out);
		json_decref(counters);
	}
	return err;
}

/* Of hosts the inventory's links, but for those that this run has cut. */
static void fabric_refresh_hosts(struct fabric *fabric)
{
	const struct inventory *inventory = hosts_inventory(fabric->hosts);
	struct topo *topo = fabric->topo;
	unsigned host, fault;

	for (unsigned gpu = 0; gpu < topo->n_gpus; gpu++)
		for (unsigned p = 0; p < topo->n_planes; p++)
			for (unsigned s = 0; s < topo->gpus[gpu].plane[p].n_sub_ports; s++)
				topo->gpus[gpu].plane[p].sub_port[s].up = true;
	for (unsigned i = 0; i < fabric->n_faults; i++) {
		const struct inventory_fault *f;

		if (inventory_find_fault(inventory, fabric->fault[i].spec, &host, &fault))
			continue;
		f = &inventory->host[host].fault[fault];
		for (unsigned gpu = 0; gpu < topo->n_gpus; gpu++) {
			struct topo_plane *plane = &topo->gpus[gpu].plane[f->plane];

			if (topo->gpus[gpu].server != host || topo->gpus[gpu].index != f->gpu)
				continue;
			for (unsigned s = 0; s < plane->n_sub_ports; s++)
				if (f->sub_port < 0 || f->sub_port == (int)s)
					plane->sub_port[s].up = false;
		}
	}
}

static int fabric_refresh(struct fabric *fabric, unsigned wait_s)
{
	struct topo *topo;
	int err;

	if (fabric->hosts) { /* paths are waited for */
		fabric_refresh_hosts(fabric);
		return 0;
	}
	err = lab_status(&fabric->lab, wait_s, &topo);
	if (err)
		return err;
	topo_destroy(fabric->topo);
	fabric->topo = topo;
	return 0;
}

/* It is in force from before its command on, so that it is healed if that fails half-way. */
static int fabric_keep_fault(struct fabric *fabric, const char *spec)
{
	struct fabric_fault *grown;

	for (unsigned i = 0; i < fabric->n_faults; i++)
		if (strcmp(fabric->fault[i].spec, spec) == 0)
			return -EBUSY;
	grown = realloc(fabric->fault, (fabric->n_faults + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	fabric->fault = grown;
	snprintf(grown[fabric->n_faults++].spec, sizeof(grown->spec), "%s", spec);
	return 0;
}

int fabric_fail(struct fabric *fabric, const char *spec, uint64_t *at_ns)
{
	struct fabric_fault one;
	uint64_t later_ns;
	int err = 0;

	*at_ns = clock_now_ns();
	if (!fabric->n_faults)
		fabric->fault_ns = *at_ns;
	for (unsigned n = 0; !err && fabric_next_fault(&spec, &one); n++) {
		err = fabric_keep_fault(fabric, one.spec);
		if (!err)
			err = fabric->hosts
				      ? hosts_fail(fabric->hosts, one.spec, n ? &later_ns : at_ns)
				      : lab_do_text(&fabric->lab, "fail", one.spec);
	}
	return err;
}

int fabric_heal(struct fabric *fabric, uint64_t *at_ns)
{
	int err = 0;

	*at_ns = clock_now_ns();
	if (fabric->hosts && fabric->n_faults) {
		fabric->n_faults = 0;
		return hosts_heal(fabric->hosts, at_ns);
	}
	for (; fabric->n_faults && !err; fabric->n_faults -= !err)
		err = lab_do_text(&fabric->lab, "heal", fabric->fault[fabric->n_faults - 1].spec);
	return err;
}

int fabric_await_members(struct fabric *fabric, const bool *absent, int timeout_ms)
{
	return cluster_await_paths(fabric->cluster, fabric->topo, absent, timeout_ms);
}

/* Hashes of leaves that have the seeds drawn from this one. */
static int fabric_seed(struct fabric *fabric, const char *mode, uint64_t seed)
{
	int err = 0;

	for (unsigned i = 0; !err && i < fabric->topo->n_leaves; i++) {
		char number[12];
		const char *args[] = {fabric->topo->leaves[i].name, mode, number, NULL};

		snprintf(number, sizeof(number), "%u", (unsigned)(rng_next(&seed) & UINT16_MAX));
		err = lab_try(&fabric->lab, "lb", args, fabric->why, sizeof(fabric->why));
	}
	return err;
}

int fabric_balance(struct fabric *fabric, const char *mode, unsigned gap_us, uint64_t seed)
{
	char number[12];
	const char *args[] = {"all", mode, gap_us ? number : NULL, NULL};
	int err;

	snprintf(number, sizeof(number), "%u", gap_us);
	err = lab_try(&fabric->lab, "lb", args, fabric->why, sizeof(fabric->why));
	if (!err && !fabric->lb_lab[0])
		snprintf(fabric->lb_lab, sizeof(fabric->lb_lab), "%s", fabric->topo->leaves[0].lb);
	if (!err && seed && (strcmp(mode, "ecmp") == 0 || strcmp(mode, "bth") == 0))
		err = fabric_seed(fabric, mode, seed);
	return err;
}

int fabric_balance_back(struct fabric *fabric)
{
	struct topo *topo = fabric->topo;
	int err = fabric->lb_lab[0] ? fabric_balance(fabric, fabric->lb_lab, 0, 0) : 0;

	if (err)
		fprintf(stderr, "farebench: %s\n", fabric->why);
	if (err || !fabric->lb_lab[0])
		return err;
	for (unsigned i = 0; i < topo->n_leaves; i++) /* it may have been read meanwhile */
		snprintf(topo->leaves[i].lb, sizeof(topo->leaves[i].lb), "%s", fabric->lb_lab);
	fabric->lb_lab[0] = '\0';
	return 0;
}

int fabric_mark_at(struct fabric *fabric, uint64_t kb)
{
	char number[24];
	const char *args[] = {number, NULL};

	snprintf(number, sizeof(number), "%llu", (unsigned long long)kb);
	fabric->ecn_kb = kb;
	return lab_do(&fabric->lab, "ecn", args);
}

int fabric_check(struct fabric *fabric)
{
	return fabric_refresh(fabric, 0);
}

int fabric_settle(struct fabric *fabric)
{
	int err = fabric_refresh(fabric, FABRIC_CONVERGE_S);

	if (!err && fabric->weights >= 0)
		err = fabric_weights(fabric, fabric->weights == 1);
	if (err == -EOPNOTSUPP)
		fprintf(stderr, "farebench: %s\n", fabric->why);
	if (!err && fabric->cluster)
		err = fabric_await_members(fabric, NULL, FABRIC_PATHS_MS);
	return err;
}

int fabric_restore(struct fabric *fabric)
{
	uint64_t at_ns;
	int err = fabric_heal(fabric, &at_ns);

	return err ? err : fabric_settle(fabric);
}

/* Until a server's routes, or sessions, are seen to be away. */
static int fabric_await_gone(struct fabric *fabric)
{
	uint64_t deadline = clock_now_ns() + FABRIC_GONE_NS;
	int err;

	do {
		err = fabric_check(fabric);
		if (err || !fabric->topo->converged)
			return err;
	} while (clock_now_ns() < deadline);
	fputs("farebench: no session of BGP was seen to end\n", stderr);
	return -ETIMEDOUT;
}

int fabric_clear_sessions(struct fabric *fabric, double *seconds)
{
	uint64_t from = clock_now_ns();
	int err = lab_clear_sessions(&fabric->lab, fabric->topo);

	if (!err)
		err = fabric_await_gone(fabric);
	if (!err)
		err = fabric_refresh(fabric, FABRIC_CONVERGE_S);
	*seconds = (double)(clock_now_ns() - from) / 1e9;
	return err ? err : fabric_settle(fabric);
}

int fabric_daemons(struct fabric *fabric)
{
	struct topo *topo;
	int err = lab_status(&fabric->lab, FABRIC_CONVERGE_S, &topo);

	if (err)
		return err;
	for (unsigned i = 0; i < topo->n_servers; i++) {
		fabric->topo->servers[i].bgpd_pid = topo->servers[i].bgpd_pid;
		fabric->topo->servers[i].fared_pid = topo->servers[i].fared_pid;
	}
	topo_destroy(topo);
	return 0;
}

double fabric_line_bps(const struct fabric *fabric, unsigned gpu)
{
	double sum = 0;

	for (unsigned plane = 0; plane < fabric->topo->n_planes; plane++)
		sum += (double)topo_capacity_bps(fabric->topo, gpu, plane);
	return sum * optimum_goodput_factor(fabric->topo);
}

double fabric_pair_bps(const struct fabric *fabric, unsigned src, unsigned dst)
{
	return (double)optimum_pair_bps(fabric->topo, src, dst) *
	       optimum_goodput_factor(fabric->topo);
}
