/* SPDX-License-Identifier: BSD-2-Clause */
#include "counters.h"

#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/cache.h>
#include <netlink/netlink.h>
#include <netlink/route/link.h>
#include <netlink/route/qdisc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "ecn.h"
#include "netns.h"
#include "pfc_agent.h"
#include "pfc_lab.h"

/* Sums over the lab. */
struct counters_sum {
	uint64_t sent;		      /* packets handed to the servers' ports */
	uint64_t dropped;	      /* anywhere */
	const struct pfc_slot *slots; /* NULL: no PFC */
};

struct queue {
	uint64_t drops, gray_drops, bytes, packets;
};

/* ---- a device ------------------------------------------------------------ */

/*
 * What the root's children drop, the root counts as well, unless a child cut a super-packet up and
 * dropped a part of it: so the larger of both counts.
 */
static struct queue queue_of(struct nl_cache *qdiscs, int ifindex)
{
	struct queue queue = {0};
	uint64_t children = 0;

	for (struct nl_object *o = nl_cache_get_first(qdiscs); o; o = nl_cache_get_next(o)) {
		struct rtnl_tc *tc = (struct rtnl_tc *)o;
		uint64_t drops = rtnl_tc_get_stat(tc, RTNL_TC_DROPS);

		if (rtnl_tc_get_ifindex(tc) != ifindex)
			continue;
		if (rtnl_tc_get_parent(tc) == TC_H_ROOT) {
			queue.drops += drops;
			queue.bytes = rtnl_tc_get_stat(tc, RTNL_TC_BACKLOG);
			queue.packets = rtnl_tc_get_stat(tc, RTNL_TC_QLEN);
		} else if (rtnl_tc_get_parent(tc) == TC_H_CLSACT) {
			queue.gray_drops += drops;
		} else {
			children += drops;
		}
	}
	if (children > queue.drops)
		queue.drops = children;
	return queue;
}

/* Of packets that came in there. */
static uint64_t headroom_drops(const struct topology *t, struct plan_host host, const char *dev,
			       const struct pfc_slot *slots)
{
	struct plan_link link;
	bool leaf_end;

	if (!slots)
		return 0;
	PLAN_EACH_LINK(t, host, k)
	{
		plan_link_at(t, k, &link);
		leaf_end = plan_at_leaf(&link, host);
		if (!strcmp(leaf_end ? link.leaf_dev : link.far_dev, dev))
			return slots[pfc_agent_slot(k, leaf_end)].drops;
	}
	return 0;
}

static json_t *device_json(struct rtnl_link *link, struct nl_cache *qdiscs,
			   const struct topology *t, struct plan_host host,
			   struct counters_sum *sum)
{
	struct queue queue = queue_of(qdiscs, rtnl_link_get_ifindex(link));
	uint64_t tx = rtnl_link_get_stat(link, RTNL_LINK_TX_PACKETS),
		 dropped = rtnl_link_get_stat(link, RTNL_LINK_TX_DROPPED) +
			   rtnl_link_get_stat(link, RTNL_LINK_RX_DROPPED);
	const char *dev = rtnl_link_get_name(link);
	uint64_t no_headroom = headroom_drops(t, host, dev, sum->slots);
	struct ecn_counters marks = {0};

	ecn_read(dev, &marks); /* without marks there are none */
	if (host.role == PLAN_SERVER)
		sum->sent += tx + queue.drops;
	sum->dropped += queue.drops + queue.gray_drops + dropped + no_headroom;
	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "dev", dev,
			 "tx_bytes", (json_int_t)rtnl_link_get_stat(link, RTNL_LINK_TX_BYTES),
			 "tx_packets", (json_int_t)tx, "rx_bytes",
			 (json_int_t)rtnl_link_get_stat(link, RTNL_LINK_RX_BYTES), "rx_packets",
			 (json_int_t)rtnl_link_get_stat(link, RTNL_LINK_RX_PACKETS), "queue_drops",
			 (json_int_t)queue.drops, "gray_drops", (json_int_t)queue.gray_drops,
			 "device_drops", (json_int_t)dropped, "headroom_drops",
			 (json_int_t)no_headroom, "marked", (json_int_t)marks.marked,
			 "backlog_bytes", (json_int_t)queue.bytes, "backlog_packets",
			 (json_int_t)queue.packets);
}

/* Of the namespace that the thread is in. */
static int devices_json(json_t *devices, const struct topology *t, struct plan_host host,
			struct counters_sum *sum)
{
	struct nl_sock *socket = nl_socket_alloc();
	struct nl_cache *links = NULL, *qdiscs = NULL;
	int rc = socket ? nl_connect(socket, NETLINK_ROUTE) : -NLE_NOMEM;

	if (!rc)
		rc = rtnl_link_alloc_cache(socket, AF_UNSPEC, &links);
	if (!rc)
		rc = rtnl_qdisc_alloc_cache(socket, &qdiscs);
	for (struct nl_object *o = rc ? NULL : nl_cache_get_first(links); o;
	     o = nl_cache_get_next(o)) {
		struct rtnl_link *link = (struct rtnl_link *)o;

		if (strcmp(rtnl_link_get_name(link), "lo"))
			json_array_append_new(devices, device_json(link, qdiscs, t, host, sum));
	}
	nl_cache_free(qdiscs);
	nl_cache_free(links);
	nl_socket_free(socket);
	return rc ? -EIO : 0;
}

/* ---- a switch's routes --------------------------------------------------- */

/* Of a file of /proc/net with a line of names ("Ip: a b") and one of values; 0: it has no such. */
static uint64_t counter_of_pair(const char *path, const char *group, const char *name)
{
	char names[4096], values[4096], *in_names, *in_values;
	size_t length = strlen(group);
	uint64_t found = 0;
	FILE *file = fopen(path, "re");

	while (file && fgets(names, sizeof(names), file) && fgets(values, sizeof(values), file)) {
		char *key = strtok_r(names, " \n", &in_names),
		     *value = strtok_r(values, " \n", &in_values);

		if (!key || strncmp(key, group, length) != 0 || strcmp(key + length, ":") != 0)
			continue;
		for (; key && value && strcmp(key, name) != 0;
		     key = strtok_r(NULL, " \n", &in_names))
			value = strtok_r(NULL, " \n", &in_values);
		found = key && value ? strtoull(value, NULL, 10) : 0;
		break;
	}
	if (file)
		fclose(file);
	return found;
}

/* Of one with a name and a value on each line. */
static uint64_t counter_of_line(const char *path, const char *name)
{
	unsigned long long value, found = 0;
	FILE *file = fopen(path, "re");
	char key[64];

	while (file && fscanf(file, "%63s %llu", key, &value) == 2)
		if (strcmp(key, name) == 0)
			found = value;
	if (file)
		fclose(file);
	return found;
}

/* Packets that the namespace was to forward and had no route for, or did not forward at all: no
 * queue and no device counts them. */
static uint64_t route_drops(void)
{
	return counter_of_pair("/proc/thread-self/net/netstat", "IpExt", "InNoRoutes") +
	       counter_of_pair("/proc/thread-self/net/snmp", "Ip", "InAddrErrors") +
	       counter_of_line("/proc/thread-self/net/snmp6", "Ip6InNoRoutes") +
	       counter_of_line("/proc/thread-self/net/snmp6", "Ip6InAddrErrors");
}

/* ---- a daemon ------------------------------------------------------------ */

/* Seconds of CPU and bytes of memory that a process has used; false: it has ended. */
static bool process_use(pid_t pid, double *cpu_s, uint64_t *rss_bytes)
{
	unsigned long long user, system, pages = 0;
	char path[48], line[512];
	bool ok = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	/* the name in parentheses may hold anything: count from its end */
	if (fgets(line, sizeof(line), file) && strrchr(line, ')'))
		ok = sscanf(strrchr(line, ')') + 1,
			    " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d "
			    "%*d %*d %*d %*u %*u %llu",
			    &user, &system, &pages) == 3;
	fclose(file);
	*cpu_s = ok ? (double)(user + system) / (double)sysconf(_SC_CLK_TCK) : 0;
	*rss_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return ok;
}

static json_t *daemons_json(const struct lab *lab, struct plan_host host)
{
	static const enum lab_daemon all[] = {LAB_MGMTD, LAB_ZEBRA, LAB_BGPD, LAB_FARED};
	json_t *daemons = json_array();

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		pid_t pid = lab_daemon_pid(lab, host, all[i]);
		uint64_t rss_bytes;
		double cpu_s;

		if (pid && process_use(pid, &cpu_s, &rss_bytes))
			json_array_append_new(daemons,
					      json_pack("{s:s, s:i, s:f, s:I}", "name",
							lab_daemon_name(all[i]), "pid", (int)pid,
							"cpu_s", cpu_s, "rss_bytes",
							(json_int_t)rss_bytes));
	}
	return daemons;
}

/* ---- the lab ------------------------------------------------------------- */

static int host_json(const struct lab *lab, struct plan_host host, json_t *hosts,
		     struct counters_sum *sum)
{
	json_t *devices = json_array();
	char name[PLAN_HOST_NAME_MAX];
	int home, rc = lab_enter(lab, host, &home);
	uint64_t no_route = 0;

	if (!rc) {
		rc = devices_json(devices, &lab->topology, host, sum);
		no_route = host.role == PLAN_SERVER ? 0 : route_drops();
		sum->dropped += no_route;
		netns_leave(home);
	}
	plan_host_name(host, name);
	json_array_append_new(hosts, json_pack("{s:s, s:I, s:o, s:o}", "name", name, "route_drops",
					       (json_int_t)no_route, "devices", devices, "daemons",
					       daemons_json(lab, host)));
	return rc;
}

int counters_read(const struct lab *lab, json_t **out)
{
	struct counters_sum sum = {0};
	json_t *hosts = json_array();
	uint64_t now = clock_now_ns();
	struct pfc_slot *slots = NULL;
	int rc = lab->topology.pfc.xoff_bytes ? pfc_lab_slots(lab, &slots) : 0;

	sum.slots = slots;
	for (unsigned k = 0; !rc && k < plan_hosts(&lab->topology); k++)
		rc = host_json(lab, plan_host_at(&lab->topology, k), hosts, &sum);
	free(slots);
	*out = json_pack("{s:s, s:I, s:I, s:I, s:o}", "lab", lab->name, "monotonic_ns",
			 (json_int_t)now, "sent_packets", (json_int_t)sum.sent, "dropped_packets",
			 (json_int_t)sum.dropped, "hosts", hosts);
	if (!rc && !*out)
		rc = -ENOMEM;
	if (rc) {
		json_decref(*out);
		*out = NULL;
	}
	return rc;
}

static long long counters_number(const json_t *object, const char *key)
{
	return (long long)json_integer_value(json_object_get(object, key));
}

static const char *counters_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

void counters_print(const json_t *counters, FILE *out)
{
	const json_t *host, *item;
	size_t i, k;

	fprintf(out, "%-6s %-10s %14s %12s %10s %10s %10s %10s %10s %10s\n", "HOST", "DEVICE",
		"SENT (bytes)", "(packets)", "QUEUE DROP", "GRAY DROP", "DEV DROP", "HEADROOM",
		"MARKED", "QUEUED (B)");
	json_array_foreach (json_object_get(counters, "hosts"), i, host)
		json_array_foreach (json_object_get(host, "devices"), k, item)
			fprintf(out,
				"%-6s %-10s %14lld %12lld %10lld %10lld %10lld %10lld %10lld "
				"%10lld\n",
				counters_text(host, "name"), counters_text(item, "dev"),
				counters_number(item, "tx_bytes"),
				counters_number(item, "tx_packets"),
				counters_number(item, "queue_drops"),
				counters_number(item, "gray_drops"),
				counters_number(item, "device_drops"),
				counters_number(item, "headroom_drops"),
				counters_number(item, "marked"),
				counters_number(item, "backlog_bytes"));
	fprintf(out, "%-6s %-10s %14s %12s\n", "HOST", "DAEMON", "CPU (s)", "RSS (KiB)");
	json_array_foreach (json_object_get(counters, "hosts"), i, host)
		json_array_foreach (json_object_get(host, "daemons"), k, item)
			fprintf(out, "%-6s %-10s %14.2f %12lld\n", counters_text(host, "name"),
				counters_text(item, "name"),
				json_real_value(json_object_get(item, "cpu_s")),
				counters_number(item, "rss_bytes") / 1024);
	json_array_foreach (json_object_get(counters, "hosts"), i, host)
		if (counters_number(host, "route_drops"))
			fprintf(out, "%s dropped %lld packets that it had no route for\n",
				counters_text(host, "name"), counters_number(host, "route_drops"));
	fprintf(out, "%lld packets sent by servers, %lld dropped\n",
		counters_number(counters, "sent_packets"),
		counters_number(counters, "dropped_packets"));
}
