/* SPDX-License-Identifier: BSD-2-Clause */
#include "pfc_lab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "netns.h"
#include "pfc.h"
#include "pfc_agent.h"
#include "print_error.h"
#include "process.h"
#include "tcx.h"

#define NS_PER_MS 1000000ull

/* The agent lives in the first leaf's namespace, and ends with it. */
static const struct plan_host home_of_agent = {PLAN_LEAF, 0};

static int attach_host(const struct topology *t, struct plan_host host, const struct pfc_maps *maps)
{
	int rc = 0;

	PLAN_EACH_LINK(t, host, k)
	{
		struct plan_link link;
		bool leaf_end;

		plan_link_at(t, k, &link);
		leaf_end = plan_at_leaf(&link, host);
		if (!rc)
			rc = pfc_program_attach(leaf_end ? link.leaf_dev : link.far_dev,
						pfc_agent_slot(k, leaf_end),
						host.role != PLAN_SERVER, t, maps);
	}
	return rc;
}

int pfc_lab_attach(const struct lab *lab)
{
	const struct topology *t = &lab->topology;
	const struct pfc_slot empty = {.xoff_bytes = t->pfc.xoff_bytes,
				       .xon_bytes = t->pfc.xon_bytes,
				       .limit_bytes = t->pfc.xoff_bytes + t->pfc.headroom_bytes,
				       .watchdog_ns = t->pfc.watchdog_ms * NS_PER_MS};
	struct pfc_maps maps;
	int home, rc = pfc_maps_create(2 * plan_links(t), &maps);

	if (rc)
		return rc;
	for (unsigned i = 0; !rc && i < 2 * plan_links(t); i++)
		rc = tcx_map_write(maps.slots, i, &empty);
	for (unsigned k = 0; !rc && k < plan_hosts(t); k++) {
		rc = lab_enter(lab, plan_host_at(t, k), &home);
		if (rc)
			break;
		rc = attach_host(t, plan_host_at(t, k), &maps);
		netns_leave(home);
	}
	pfc_maps_close(&maps); /* the programs hold them */
	if (rc == -EOPNOTSUPP)
		print_error(
			"this kernel cannot do pfc: BPF programs at a device (tcx) need Linux 6.6");
	return rc;
}

int pfc_lab_start(const struct lab *lab)
{
	char netns[PLAN_NETNS_NAME_MAX], log[LAB_PATH_MAX], pid[LAB_PATH_MAX], self[PATH_MAX];
	const char *const argv[] = {self, "pfc-agent", lab->name, NULL};

	if (!realpath("/proc/self/exe", self))
		return -errno;
	lab_netns(lab, home_of_agent, netns);
	lab_path(lab, home_of_agent, "pfc.log", log);
	lab_path(lab, home_of_agent, "pfc.pid", pid);
	return process_daemon_start(netns, log, pid, argv);
}

int pfc_lab_check(const struct lab *lab, unsigned rate_mbps)
{
	const struct topology *t = &lab->topology;
	unsigned least = topology_pfc_headroom(t, rate_mbps);

	if (!t->pfc.xoff_bytes)
		return 0;
	if (!rate_mbps || rate_mbps > PFC_MOST_MBPS) {
		print_error("%u Mbit/s: PFC is emulated in time at 1 to %u", rate_mbps,
			    PFC_MOST_MBPS);
		return -EINVAL;
	}
	if (!t->pfc.headroom_bytes || least <= t->pfc.headroom_bytes)
		return 0;
	print_error("PFC needs a headroom of %u bytes at %u Mbit/s (%u us until a queue is "
		    "paused), and lab %s has %u",
		    least, rate_mbps, PFC_REACTION_US, lab->name, t->pfc.headroom_bytes);
	return -EINVAL;
}

/* ---- counters ----------------------------------------------------------------- */

/* The maps of all ports, by one of them. -EINVAL after saying so: there are none. */
static int open_maps(const struct lab *lab, struct pfc_maps *out)
{
	struct plan_link link;
	int home, rc;

	if (!lab->topology.pfc.xoff_bytes) {
		print_error("lab %s has no PFC: give its topology pfc", lab->name);
		return -EINVAL;
	}
	plan_link_at(&lab->topology, 0, &link);
	rc = lab_enter(lab, link.leaf, &home);
	if (rc)
		return rc;
	rc = pfc_maps_open(link.leaf_dev, out);
	netns_leave(home);
	return rc;
}

/* The slots of all ports, as the programs and the agent see them; munmap() unmaps them. */
static int map_slots(const struct lab *lab, unsigned n, struct pfc_slot **out)
{
	struct pfc_maps maps;
	int rc = open_maps(lab, &maps);

	if (rc)
		return rc;
	*out = mmap(NULL, n * sizeof(**out), PROT_READ | PROT_WRITE, MAP_SHARED, maps.slots, 0);
	rc = *out == MAP_FAILED ? -errno : 0;
	pfc_maps_close(&maps);
	return rc;
}

/* Of all ports. */
static int change_slots(const struct lab *lab, unsigned n,
			void (*change)(struct pfc_slot *s, const struct topology_pfc *pfc,
				       unsigned n))
{
	const unsigned n_slots = 2 * plan_links(&lab->topology);
	struct pfc_slot *slots;
	int rc = map_slots(lab, n_slots, &slots);

	if (rc)
		return rc;
	for (unsigned i = 0; i < n_slots; i++)
		change(&slots[i], &lab->topology.pfc, n);
	munmap(slots, n_slots * sizeof(*slots));
	return 0;
}

static void set_headroom(struct pfc_slot *s, const struct topology_pfc *pfc, unsigned bytes)
{
	(void)pfc;
	s->limit_bytes = s->xoff_bytes + bytes;
}

int pfc_lab_set_headroom(const struct lab *lab, unsigned bytes)
{
	struct lab with = *lab;
	int rc = 0;

	with.topology.pfc.headroom_bytes = bytes;
	for (unsigned k = 0; !rc && k < plan_links(&lab->topology); k++)
		rc = pfc_lab_check(&with, plan_link_mbps(&lab->topology, k));
	return rc ? rc : change_slots(lab, bytes, set_headroom);
}

static void set_watchdog(struct pfc_slot *s, const struct topology_pfc *pfc, unsigned ms)
{
	(void)pfc;
	s->watchdog_ns = ms * NS_PER_MS;
}

int pfc_lab_set_watchdog(const struct lab *lab, unsigned ms)
{
	return change_slots(lab, ms, set_watchdog);
}

static void set_xoff(struct pfc_slot *s, const struct topology_pfc *pfc, unsigned bytes)
{
	int64_t headroom = s->limit_bytes - s->xoff_bytes;

	s->xoff_bytes = bytes;
	s->xon_bytes = (int64_t)bytes * pfc->xon_bytes / pfc->xoff_bytes;
	s->limit_bytes = bytes + headroom;
	s->peak = s->bytes;
}

int pfc_lab_set_xoff(const struct lab *lab, unsigned bytes)
{
	if (bytes)
		return change_slots(lab, bytes, set_xoff);
	print_error("xoff is 1 byte or more");
	return -EINVAL;
}

int pfc_lab_slots(const struct lab *lab, struct pfc_slot **out)
{
	const unsigned n = 2 * plan_links(&lab->topology);
	struct pfc_slot *slots;
	int rc = map_slots(lab, n, &slots);

	if (rc)
		return rc;
	*out = malloc(n * sizeof(**out));
	if (*out)
		memcpy(*out, slots, n * sizeof(**out));
	munmap(slots, n * sizeof(*slots));
	return *out ? 0 : -ENOMEM;
}

static json_t *port_json(const struct plan_link *link, bool leaf_end, const struct pfc_slot *s,
			 uint64_t now_ns)
{
	uint64_t now_paused_ns =
		s->paused_since_ns && now_ns > s->paused_since_ns ? now_ns - s->paused_since_ns : 0;
	char host[PLAN_HOST_NAME_MAX];

	plan_host_name(leaf_end ? link->leaf : link->far, host);
	return json_pack(
		"{s:s, s:s, s:I, s:I, s:f, s:b, s:I, s:I, s:I, s:I, s:I, s:f, s:f}", "host", host,
		"dev", leaf_end ? link->leaf_dev : link->far_dev, "tx_pauses",
		(json_int_t)s->tx_pauses, "rx_pauses", (json_int_t)s->rx_pauses, "paused_ms",
		(double)(s->paused_ns + now_paused_ns) / 1e6, "paused", s->paused_since_ns != 0,
		"storms", (json_int_t)s->storms, "headroom_drops", (json_int_t)s->drops,
		"buffered_bytes", (json_int_t)s->bytes, "buffered_peak_bytes", (json_int_t)s->peak,
		"reactions", (json_int_t)s->reactions, "reaction_mean_us",
		s->reactions ? (double)s->reaction_ns / 1e3 / (double)s->reactions : 0.0,
		"reaction_max_us", (double)s->reaction_max_ns / 1e3);
}

int pfc_lab_read(const struct lab *lab, json_t **out)
{
	const struct topology *t = &lab->topology;
	uint64_t now_ns = clock_now_ns();
	char path[LAB_PATH_MAX];
	struct pfc_slot *slots;
	json_t *ports;
	int rc = pfc_lab_slots(lab, &slots);

	if (rc)
		return rc;
	ports = json_array();
	for (unsigned i = 0; i < 2 * plan_links(t); i++) {
		struct plan_link link;

		plan_link_at(t, i / 2, &link);
		json_array_append_new(ports, port_json(&link, i % 2, &slots[i], now_ns));
	}
	lab_path(lab, home_of_agent, "pfc.pid", path);
	*out = json_pack("{s:s, s:b, s:b, s:i, s:I, s:I, s:I, s:I, s:i, s:I, s:o}", "lab",
			 lab->name, "emulated", 1, "agent_runs", process_daemon_pid(path) != 0,
			 "class", (int)t->pfc.class, "xoff_bytes", (json_int_t)slots[0].xoff_bytes,
			 "xon_bytes", (json_int_t)slots[0].xon_bytes, "headroom_bytes",
			 (json_int_t)(slots[0].limit_bytes - slots[0].xoff_bytes), "watchdog_ms",
			 (json_int_t)(slots[0].watchdog_ns / NS_PER_MS), "reaction_limit_us",
			 PFC_REACTION_US, "monotonic_ns", (json_int_t)now_ns, "ports", ports);
	free(slots);
	return *out ? 0 : -ENOMEM;
}

static long long pfc_number(const json_t *object, const char *key)
{
	return (long long)json_integer_value(json_object_get(object, key));
}

static double pfc_real(const json_t *object, const char *key)
{
	return json_real_value(json_object_get(object, key));
}

void pfc_lab_print(const json_t *pfc, FILE *out)
{
	const json_t *p;
	size_t i;

	fprintf(out,
		"PFC of class %lld, emulated%s: XOFF %lld, XON %lld, headroom %lld bytes; watchdog "
		"%lld ms\n",
		pfc_number(pfc, "class"),
		json_is_true(json_object_get(pfc, "agent_runs")) ? "" : "; ITS AGENT DOES NOT RUN",
		pfc_number(pfc, "xoff_bytes"), pfc_number(pfc, "xon_bytes"),
		pfc_number(pfc, "headroom_bytes"), pfc_number(pfc, "watchdog_ms"));
	fprintf(out, "%-6s %-10s %9s %9s %12s %7s %9s %10s %10s %18s\n", "HOST", "DEVICE",
		"TX PAUSE", "RX PAUSE", "PAUSED (ms)", "STORMS", "DROPPED", "HELD (B)", "PEAK (B)",
		"REACTION mean/max");
	json_array_foreach (json_object_get(pfc, "ports"), i, p)
		fprintf(out,
			"%-6s %-10s %9lld %9lld %12.1f %7lld %9lld %10lld %10lld %8.0f/%.0f us\n",
			json_string_value(json_object_get(p, "host")),
			json_string_value(json_object_get(p, "dev")), pfc_number(p, "tx_pauses"),
			pfc_number(p, "rx_pauses"), pfc_real(p, "paused_ms"),
			pfc_number(p, "storms"), pfc_number(p, "headroom_drops"),
			pfc_number(p, "buffered_bytes"), pfc_number(p, "buffered_peak_bytes"),
			pfc_real(p, "reaction_mean_us"), pfc_real(p, "reaction_max_us"));
}
