/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor_host.c - see doctor_host.h: devices, addresses, routes, the kernel's settings */
#include "doctor_host.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/netlink.h>
#include <netlink/route/route.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/timex.h>
#include <unistd.h>

#include "doctor_check.h"
#include "sbfd_wire.h"

/* The first line of a file; false: it cannot be read. */
static bool read_line(const char *path, char *out, size_t size)
{
	FILE *f = fopen(path, "re");
	bool got = f && fgets(out, (int)size, f);

	if (f)
		fclose(f);
	if (got)
		out[strcspn(out, "\n")] = '\0';
	return got;
}

/* ---- devices ------------------------------------------------------------- */

/* The VRF that a device is of; false: of none. */
static bool vrf_of(const char *dev, char name[IF_NAMESIZE])
{
	char path[128], target[128] = "", line[128];
	bool is_vrf = false;
	const char *base;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/net/%.15s/master", dev);
	if (readlink(path, target, sizeof(target) - 1) < 0)
		return false;
	base = strrchr(target, '/');
	snprintf(name, IF_NAMESIZE, "%.15s", base ? base + 1 : target);
	snprintf(path, sizeof(path), "/sys/class/net/%.15s/uevent", name);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		is_vrf |= !strcmp(line, "DEVTYPE=vrf\n");
	if (f)
		fclose(f);
	return is_vrf;
}

static void add_device(json_t *devices, const char *dev, int fd)
{
	char vrf[IF_NAMESIZE], path[128], text[32] = "0";
	struct ifreq flags = {0}, mtu = {0};
	json_t *row;

	if (json_object_get(devices, dev))
		return;
	snprintf(flags.ifr_name, sizeof(flags.ifr_name), "%s", dev);
	snprintf(mtu.ifr_name, sizeof(mtu.ifr_name), "%s", dev);
	if (ioctl(fd, SIOCGIFFLAGS, &flags) || ioctl(fd, SIOCGIFMTU, &mtu))
		return;
	snprintf(path, sizeof(path), "/proc/sys/net/ipv4/conf/%.15s/rp_filter", dev);
	read_line(path, text, sizeof(text));
	row = json_pack("{s:i, s:b, s:i, s:[]}", "mtu", mtu.ifr_mtu, "carrier",
			(flags.ifr_flags & IFF_UP) && (flags.ifr_flags & IFF_RUNNING), "rp_filter",
			atoi(text), "addresses");
	if (vrf_of(dev, vrf))
		json_object_set_new(row, "vrf", json_string(vrf));
	json_object_set_new(devices, dev, row);
}

static unsigned prefix_length(const struct sockaddr *mask)
{
	const uint8_t *octets =
		mask->sa_family == AF_INET
			? (const void *)&((const struct sockaddr_in *)(const void *)mask)->sin_addr
			: (const void *)&((const struct sockaddr_in6 *)(const void *)mask)
				  ->sin6_addr;
	unsigned n = 0;

	for (unsigned i = 0; i < (mask->sa_family == AF_INET ? 4u : 16u); i++)
		n += (unsigned)__builtin_popcount(octets[i]);
	return n;
}

static void add_addresses(json_t *facts, json_t *devices)
{
	json_t *all = json_array();
	struct ifaddrs *list = NULL;
	char text[INET6_ADDRSTRLEN], with_length[64];

	if (getifaddrs(&list))
		list = NULL;
	for (const struct ifaddrs *a = list; a; a = a->ifa_next) {
		int family = a->ifa_addr ? a->ifa_addr->sa_family : AF_UNSPEC;
		const void *octets =
			family == AF_INET
				? (const void *)&((struct sockaddr_in *)(void *)a->ifa_addr)
					  ->sin_addr
				: &((struct sockaddr_in6 *)(void *)a->ifa_addr)->sin6_addr;

		if ((family != AF_INET && family != AF_INET6) || !a->ifa_netmask)
			continue;
		inet_ntop(family, octets, text, sizeof(text));
		snprintf(with_length, sizeof(with_length), "%s/%u", text,
			 prefix_length(a->ifa_netmask));
		json_array_append_new(all, json_string(text));
		json_array_append_new(
			json_object_get(json_object_get(devices, a->ifa_name), "addresses"),
			json_string(with_length));
	}
	freeifaddrs(list);
	json_object_set_new(facts, "addresses", all);
}

/* ---- routes -------------------------------------------------------------- */

/* Host routes that BGP has installed. */
static void add_route(struct nl_object *object, void *arg)
{
	struct rtnl_route *route = (struct rtnl_route *)object;
	struct nl_addr *host = rtnl_route_get_dst(route);
	unsigned octets = nl_addr_get_len(host);
	char text[INET6_ADDRSTRLEN], with_length[64];

	if (rtnl_route_get_protocol(route) != RTPROT_BGP || !octets ||
	    nl_addr_get_prefixlen(host) != 8 * octets ||
	    !inet_ntop(nl_addr_get_family(host), nl_addr_get_binary_addr(host), text, sizeof(text)))
		return;
	snprintf(with_length, sizeof(with_length), "%s/%u", text, 8 * octets);
	json_array_append_new(arg, json_string(with_length));
}

static void add_routes(json_t *facts)
{
	struct nl_sock *sock = nl_socket_alloc();
	json_t *rows = json_array();
	struct nl_cache *routes;

	if (sock && !nl_connect(sock, NETLINK_ROUTE) &&
	    !rtnl_route_alloc_cache(sock, AF_UNSPEC, 0, &routes)) {
		nl_cache_foreach(routes, add_route, rows);
		nl_cache_free(routes);
	}
	nl_socket_free(sock);
	json_object_set_new(facts, "routes", rows);
}

/* ---- settings ------------------------------------------------------------ */

static void add_settings(json_t *facts)
{
	static const char *const names[] = {
		"net.ipv4.udp_l3mdev_accept",	      "net.ipv4.conf.all.rp_filter",
		"net.ipv4.ip_local_port_range",	      "net.ipv4.ip_local_reserved_ports",
		"net.ipv4.fib_multipath_hash_policy", "net.ipv6.fib_multipath_hash_policy"};
	json_t *settings = json_object();
	char path[128], text[4096];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "/proc/sys/%s", names[i]);
		for (char *c = path; *c; c++)
			*c = *c == '.' ? '/' : *c;
		if (read_line(path, text, sizeof(text)))
			json_object_set_new(settings, names[i], json_string(text));
		else if (!access(path, R_OK)) /* an empty list of ports */
			json_object_set_new(settings, names[i], json_string(""));
	}
	json_object_set_new(facts, "sysctl", settings);
}

/* Who holds a UDP port, of any address; -1: nobody. */
static int port_holder(unsigned port)
{
	static const char *const tables[] = {"/proc/net/udp", "/proc/net/udp6"};
	char line[512];
	int uid = -1;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		FILE *f = fopen(tables[i], "re");
		unsigned local, owner;

		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, " %*u: %*[0-9A-F]:%4x %*s %*s %*s %*s %*s %8u", &local,
				   &owner) == 2 &&
			    local == port)
				uid = (int)owner;
		if (f)
			fclose(f);
	}
	return uid;
}

void doctor_host_network(json_t *facts)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct timex clock = {0};
	json_t *devices = json_object();
	struct doctor_port port;
	const char *key = NULL;
	int state = adjtimex(&clock);

	while (fd >= 0 && doctor_next_port(facts, &key, &port))
		add_device(devices, port.dev, fd);
	if (fd >= 0)
		close(fd);
	add_addresses(facts, devices);
	json_object_set_new(facts, "devices", devices);
	add_routes(facts);
	add_settings(facts);
	json_object_set_new(facts, "udp_7784", json_integer(port_holder(SBFD_WIRE_PORT)));
	if (state >= 0)
		json_object_set_new(
			facts, "clock_synchronized",
			json_boolean(state != TIME_ERROR && !(clock.status & STA_UNSYNC)));
}
