/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor_system.c - see doctor_check.h: devices, addresses, and the kernel's settings */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "doctor_check.h"
#include "roce_ports.h"
#include "sbfd_wire.h"

static const json_t *device(const json_t *facts, const char *dev)
{
	return json_object_get(json_object_get(facts, "devices"), dev);
}

static enum doctor_state no_devices(const json_t *facts, struct doctor_line *line)
{
	return doctor_found(line, DOCTOR_UNKNOWN, "%s",
			    json_object_size(json_object_get(facts, "config"))
				    ? "no device is seen from here"
				    : "the configuration is not known");
}

static bool sees_devices(const json_t *facts)
{
	struct doctor_port port;
	const char *key = NULL;

	while (doctor_next_port(facts, &key, &port))
		if (device(facts, port.dev))
			return true;
	return false;
}

/* What fared says of a sub-port; NULL: nothing. */
static const json_t *daemon_port(const json_t *facts, const char *dev)
{
	const json_t *plane, *port;
	size_t p, s;

	json_array_foreach (json_object_get(json_object_get(facts, "planes"), "planes"), p, plane)
		json_array_foreach (json_object_get(plane, "sub_ports"), s, port)
			if (!strcmp(doctor_text(json_object_get(port, "dev")), dev))
				return port;
	return NULL;
}

static const char *state_of(const json_t *port)
{
	const char *state = json_string_value(json_object_get(port, "state"));

	return state ? state : "absent";
}

/* Everything else that is looked at here would be of other devices. */
enum doctor_state doctor_namespace(const json_t *facts, struct doctor_line *line)
{
	struct doctor_items items = {line, 0};
	struct doctor_port port;
	const char *key = NULL;

	if (!json_object_get(facts, "planes"))
		return doctor_found(line, DOCTOR_UNKNOWN, "fared does not answer");
	while (doctor_next_port(facts, &key, &port))
		if (!device(facts, port.dev) &&
		    strcmp(state_of(daemon_port(facts, port.dev)), "absent"))
			doctor_item(&items, "fared has %s, which is not seen from here", port.dev);
	return doctor_items_end(&items, DOCTOR_WRONG, "fared's devices are seen from here");
}

enum doctor_state doctor_devices(const json_t *facts, struct doctor_line *line)
{
	struct doctor_items items = {line, 0};
	struct doctor_port port;
	const char *key = NULL;

	if (!json_object_size(json_object_get(facts, "config")))
		return no_devices(facts, line);
	while (doctor_next_port(facts, &key, &port))
		if (!device(facts, port.dev))
			doctor_item(&items, "there is no %s (plane %u)", port.dev, port.plane);
	return doctor_items_end(&items, DOCTOR_WRONG, "each sub-port has its device");
}

enum doctor_state doctor_carrier(const json_t *facts, struct doctor_line *line)
{
	struct doctor_items items = {line, 0};
	struct doctor_port port;
	const char *key = NULL;

	if (!sees_devices(facts))
		return no_devices(facts, line);
	while (doctor_next_port(facts, &key, &port)) {
		const json_t *d = device(facts, port.dev);

		if (d && !json_is_true(json_object_get(d, "carrier")))
			doctor_item(&items, "%s (plane %u) has no carrier", port.dev, port.plane);
	}
	return doctor_items_end(&items, DOCTOR_WRONG, "each sub-port has carrier");
}

enum doctor_state doctor_speed(const json_t *facts, struct doctor_line *line)
{
	struct doctor_port port, before = {.dev = ""};
	struct doctor_items items = {line, 0};
	double mbps, mbps_before = 0;
	const char *key = NULL;
	bool is_unknown = false;

	if (!json_object_get(facts, "planes"))
		return doctor_found(line, DOCTOR_UNKNOWN, "fared does not answer");
	while (doctor_next_port(facts, &key, &port)) {
		const json_t *known = daemon_port(facts, port.dev);

		if (strcmp(state_of(known), "up"))
			continue;
		mbps = json_number_value(json_object_get(known, "speed_bps")) / 1e6;
		if (mbps <= 0)
			doctor_item(&items, "%s is up and has no speed", port.dev);
		else if (*before.dev && before.gpu == port.gpu && before.plane == port.plane &&
			 mbps != mbps_before)
			doctor_item(&items, "%s has %.0f Mb/s, %s of the same plane %.0f", port.dev,
				    mbps, before.dev, mbps_before);
		is_unknown |= mbps <= 0;
		before = port;
		mbps_before = mbps;
	}
	return doctor_items_end(&items, is_unknown ? DOCTOR_WRONG : DOCTOR_ADVICE,
				"each plane's sub-ports have one speed");
}

enum doctor_state doctor_mtu(const json_t *facts, struct doctor_line *line)
{
	const char *key = NULL, *largest_dev = "";
	struct doctor_items items = {line, 0};
	struct doctor_port port;
	int largest = 0, mtu;

	if (!sees_devices(facts))
		return no_devices(facts, line);
	while (doctor_next_port(facts, &key, &port)) {
		mtu = (int)json_integer_value(json_object_get(device(facts, port.dev), "mtu"));
		if (mtu > largest)
			largest = mtu, largest_dev = port.dev;
	}
	for (key = NULL; doctor_next_port(facts, &key, &port);) {
		mtu = (int)json_integer_value(json_object_get(device(facts, port.dev), "mtu"));
		if (mtu && mtu < largest)
			doctor_item(&items, "%s has MTU %d, %s has %d", port.dev, mtu, largest_dev,
				    largest);
	}
	return doctor_items_end(&items, DOCTOR_WRONG, "sub-ports have one MTU");
}

/* ---- addresses ----------------------------------------------------------- */

static bool is_on_link(const json_t *dev, const struct in6_addr *neighbor)
{
	struct in6_addr address;
	const json_t *row;
	unsigned length;
	size_t i;

	if (IN6_IS_ADDR_LINKLOCAL(neighbor))
		return true;
	json_array_foreach (json_object_get(dev, "addresses"), i, row)
		if (doctor_parse_prefix(doctor_text(row), &address, &length) &&
		    address_in_prefix(neighbor, &address, length))
			return true;
	return false;
}

enum doctor_state doctor_subnets(const json_t *facts, struct doctor_line *line)
{
	struct doctor_items items = {line, 0};
	struct in6_addr neighbor;
	struct doctor_port port;
	const char *key = NULL;
	char text[64];

	if (!sees_devices(facts))
		return no_devices(facts, line);
	while (doctor_next_port(facts, &key, &port))
		for (const char *at = port.neighbors; doctor_next(&at, text);)
			if (device(facts, port.dev) && !address_parse(text, &neighbor) &&
			    !is_on_link(device(facts, port.dev), &neighbor))
				doctor_item(&items, "neighbour %s is in no subnet of %s", text,
					    port.dev);
	return doctor_items_end(&items, DOCTOR_WRONG, "neighbours are on their sub-ports' links");
}

enum doctor_state doctor_addresses(const json_t *facts, struct doctor_line *line)
{
	const json_t *all = json_object_get(facts, "addresses"), *row;
	struct doctor_items items = {line, 0};
	struct in6_addr own, there;
	const char *at = NULL;
	unsigned gpu = 0;
	char text[64];
	size_t i;

	if (!all || !sees_devices(facts))
		return no_devices(facts, line);
	while (doctor_next_own(facts, &gpu, &at, text)) {
		bool found = false;

		if (address_parse(text, &own))
			continue;
		json_array_foreach (all, i, row)
			found |= !address_parse(doctor_text(row), &there) &&
				 IN6_ARE_ADDR_EQUAL(&own, &there);
		if (!found)
			doctor_item(&items, "no device has GPU %u's address %s", gpu, text);
	}
	return doctor_items_end(&items, DOCTOR_WRONG, "each GPU's address is on this server");
}

/* ---- the kernel's settings ----------------------------------------------- */

static const char *setting(const json_t *facts, const char *name)
{
	return json_string_value(json_object_get(json_object_get(facts, "sysctl"), name));
}

enum doctor_state doctor_vrf(const json_t *facts, struct doctor_line *line)
{
	const char *accept = setting(facts, "net.ipv4.udp_l3mdev_accept"), *key = NULL;
	struct doctor_items items = {line, 0};
	struct doctor_port port;

	if (!sees_devices(facts))
		return no_devices(facts, line);
	while (doctor_next_port(facts, &key, &port)) {
		const char *vrf =
			json_string_value(json_object_get(device(facts, port.dev), "vrf"));

		if (vrf && (!accept || strcmp(accept, "1")))
			doctor_item(&items, "%s is of VRF %s: no probe is received by it", port.dev,
				    vrf);
	}
	return doctor_items_end(&items, DOCTOR_WRONG, "probes are received by every sub-port");
}

/* The stricter of "all" and the device's counts; 2 takes what any route leads back to. */
enum doctor_state doctor_rp_filter(const json_t *facts, struct doctor_line *line)
{
	const char *all = setting(facts, "net.ipv4.conf.all.rp_filter"), *key = NULL;
	struct doctor_items items = {line, 0};
	struct doctor_port port;

	if (!sees_devices(facts))
		return no_devices(facts, line);
	while (doctor_next_port(facts, &key, &port)) {
		json_int_t own =
			json_integer_value(json_object_get(device(facts, port.dev), "rp_filter"));
		json_int_t both = all && atoi(all) > own ? atoi(all) : own;

		if (both == 1)
			doctor_item(&items, "%s drops what its route does not lead back to",
				    port.dev);
	}
	return doctor_items_end(&items, DOCTOR_WRONG, "rp_filter is not strict");
}

/* By ports (1), or as an operator has chosen (3). */
enum doctor_state doctor_hash_policy(const json_t *facts, struct doctor_line *line)
{
	static const char *const names[] = {"net.ipv4.fib_multipath_hash_policy",
					    "net.ipv6.fib_multipath_hash_policy"};
	struct doctor_items items = {line, 0};

	if (strcmp(doctor_value(facts, "kernel_routes"), "on"))
		return doctor_found(line, DOCTOR_OK, "no matter: kernel_routes is off");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *policy = setting(facts, names[i]);

		if (policy && strcmp(policy, "1") && strcmp(policy, "3"))
			doctor_item(&items, "%s is %.20s", names[i], policy);
	}
	return doctor_items_end(&items, DOCTOR_WRONG,
				"connections to a peer take different planes");
}

/* false: text is no list of "a" and "a-b", or port is in none of them. */
static bool is_reserved(const char *text, unsigned first, unsigned last)
{
	unsigned from, to;
	int used;

	while (*text) {
		used = 0;
		if (sscanf(text, "%5u-%5u%n", &from, &to, &used) < 2) {
			if (sscanf(text, "%5u%n", &from, &used) < 1)
				return false;
			to = from;
		}
		if (from <= first && last <= to)
			return true;
		text += used;
		text += *text == ',';
	}
	return false;
}

/* Ports that the kernel gives to any program which does not ask for one in particular. */
enum doctor_state doctor_reserved_ports(const json_t *facts, struct doctor_line *line)
{
	static const struct {
		unsigned first, last;
	} ours[] = {{SBFD_WIRE_PORT, SBFD_WIRE_PORT},
		    {FARE_SOURCE_PORT_FIRST, FARE_PROBE_PORT_LAST}};
	const char *range = setting(facts, "net.ipv4.ip_local_port_range"),
		   *reserved = setting(facts, "net.ipv4.ip_local_reserved_ports");
	struct doctor_items items = {line, 0};
	unsigned from, to;

	if (!range || !reserved || sscanf(range, "%5u %5u", &from, &to) != 2)
		return doctor_found(line, DOCTOR_UNKNOWN,
				    "the kernel's range of ports is not known");
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (from <= ours[i].last && ours[i].first <= to &&
		    !is_reserved(reserved, ours[i].first, ours[i].last))
			doctor_item(&items, "%u to %u are not reserved", ours[i].first,
				    ours[i].last);
	return doctor_items_end(&items, DOCTOR_ADVICE, "no program is given a port of fared's");
}

enum doctor_state doctor_clock(const json_t *facts, struct doctor_line *line)
{
	const json_t *clock = json_object_get(facts, "clock_synchronized");

	if (!clock)
		return doctor_found(line, DOCTOR_UNKNOWN, "the clock's state is not known");
	if (json_is_true(clock))
		return doctor_found(line, DOCTOR_OK, "the clock is synchronized");
	return doctor_found(line, DOCTOR_ADVICE, "the clock is not synchronized (NTP, PTP)");
}
