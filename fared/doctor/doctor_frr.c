/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor_frr.c - see doctor_check.h: what FRR is configured to do, and whether fared can use it */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "doctor_check.h"
#include "frr_release.h"

static enum doctor_state doctor_frr_unread(const json_t *facts, struct doctor_line *line,
					   const char *daemon)
{
	char key[32];
	const char *why;

	snprintf(key, sizeof(key), "%s_why", daemon);
	why = json_string_value(json_object_get(facts, key));
	return doctor_found(line, DOCTOR_UNKNOWN, "%s's configuration is not read: %s", daemon,
			    why ? why : "no such daemon");
}

static const char *doctor_frr_text(const json_t *facts, const char *daemon)
{
	return json_string_value(json_object_get(facts, daemon));
}

/* ---- processes ----------------------------------------------------------- */

/* In a container its process may not be seen: what fared is connected to runs all the same. */
static enum doctor_state is_running(const json_t *facts, struct doctor_line *line, const char *name,
				    const char *source)
{
	const json_t *row = doctor_process(facts, name);

	if (row)
		return doctor_found(line, DOCTOR_OK, "%s runs, pid %.0f", name,
				    json_number_value(json_object_get(row, "pid")));
	if (doctor_source_is_up(facts, source))
		return doctor_found(line, DOCTOR_OK, "fared is connected to %s", name);
	if (!json_is_array(json_object_get(facts, "processes")))
		return doctor_found(line, DOCTOR_UNKNOWN, "processes are not known");
	return doctor_found(line, DOCTOR_WRONG, "%s does not run in this network namespace", name);
}

enum doctor_state doctor_bgpd(const json_t *facts, struct doctor_line *line)
{
	return is_running(facts, line, "bgpd", "bmp");
}

enum doctor_state doctor_zebra(const json_t *facts, struct doctor_line *line)
{
	return is_running(facts, line, "zebra", "zserv");
}

/* "-M bmp", "-Mbmp", "--module bmp", "--module=bmp"; a module may be followed by its options. */
enum doctor_state doctor_bgpd_bmp(const json_t *facts, struct doctor_line *line)
{
	const json_t *args = json_object_get(doctor_process(facts, "bgpd"), "args"), *arg;
	bool is_module = false;
	size_t i;

	if (!args)
		return doctor_found(line, DOCTOR_UNKNOWN, "how bgpd was started is not known");
	json_array_foreach (args, i, arg) {
		const char *text = doctor_text(arg);
		const char *module = is_module			      ? text
				     : !strncmp(text, "-M", 2)	      ? text + 2
				     : !strncmp(text, "--module=", 9) ? text + 9
								      : "";

		if (!strncmp(module, "bmp", 3) || strstr(module, "bgpd_bmp"))
			return doctor_found(line, DOCTOR_OK, "bgpd was started with -M bmp");
		is_module = !strcmp(text, "-M") || !strcmp(text, "--module");
	}
	return doctor_found(line, DOCTOR_WRONG, "bgpd was started without -M bmp");
}

enum doctor_state doctor_bmp_user(const json_t *facts, struct doctor_line *line)
{
	const char *user = json_string_value(
			   json_object_get(doctor_process(facts, "bgpd"), "user")),
		   *wanted = doctor_value(facts, "bgp.bmp_user");

	if (!user)
		return doctor_found(line, DOCTOR_UNKNOWN, "bgpd's user is not known");
	wanted = *wanted ? wanted : "frr";
	if (strcmp(user, wanted) && strcmp(user, "root"))
		return doctor_found(line, DOCTOR_WRONG,
				    "bgpd runs as %s, and fared accepts BMP from root and %s only",
				    user, wanted);
	return doctor_found(line, DOCTOR_OK, "bgpd runs as %s", user);
}

/* ---- lines of a configuration -------------------------------------------- */

/* The next line without the blanks before it; *at begins as the text. false: there is no more. */
static bool next_line(const char **at, char line[256])
{
	size_t n, kept;

	if (!**at)
		return false;
	*at += strspn(*at, " \t\r");
	n = strcspn(*at, "\n");
	kept = n < 255 ? n : 255;
	memcpy(line, *at, kept);
	while (kept && strchr(" \t\r", line[kept - 1]))
		kept--;
	line[kept] = '\0';
	*at += n + ((*at)[n] == '\n');
	return true;
}

static bool has_line(const char *text, const char *wanted)
{
	char line[256];

	while (next_line(&text, line))
		if (!strcmp(line, wanted))
			return true;
	return false;
}

/* What follows `before` in the first line that begins so; false: there is none. */
static bool line_after(const char *text, const char *before, char rest[256])
{
	size_t n = strlen(before);
	char line[256];

	while (next_line(&text, line))
		if (!strncmp(line, before, n)) {
			memmove(rest, line + n, strlen(line + n) + 1);
			return true;
		}
	return false;
}

/* "neighbor ADDRESS WHAT", of that neighbour or of its peer-group. */
static bool neighbor_has(const char *text, const char *address, const char *what)
{
	char line[256], group[256];

	snprintf(line, sizeof(line), "neighbor %s %s", address, what);
	if (has_line(text, line))
		return true;
	snprintf(line, sizeof(line), "neighbor %s peer-group ", address);
	if (!line_after(text, line, group)) {
		snprintf(line, sizeof(line), "neighbor %s interface peer-group ", address);
		if (!line_after(text, line, group))
			return false;
	}
	snprintf(line, sizeof(line), "neighbor %.100s %s", group, what);
	return has_line(text, line);
}

/* What bgpd calls that neighbour of the port: a link-local one by its device. */
static const char *neighbor_name(const struct doctor_port *port, const char *neighbor)
{
	struct in6_addr address;
	bool is_numbered = !address_parse(neighbor, &address) && !IN6_IS_ADDR_LINKLOCAL(&address);

	return is_numbered ? neighbor : port->dev;
}

/* ---- bgpd ---------------------------------------------------------------- */

enum doctor_state doctor_release(const json_t *facts, struct doctor_line *line)
{
	const char *text = doctor_frr_text(facts, "bgpd"), *trouble;
	char version[256];
	bool is_unusable;

	if (!text || !line_after(text, "frr version ", version))
		return doctor_frr_unread(facts, line, "bgpd");
	trouble = frr_release_trouble(version, &is_unusable);
	if (trouble)
		return doctor_found(line, is_unusable ? DOCTOR_WRONG : DOCTOR_ADVICE,
				    "FRR %.40s: %s", version, trouble);
	return doctor_found(line, DOCTOR_OK, "FRR %.40s", version);
}

enum doctor_state doctor_multipath_relax(const json_t *facts, struct doctor_line *line)
{
	const char *text = doctor_frr_text(facts, "bgpd");

	if (!text)
		return doctor_frr_unread(facts, line, "bgpd");
	if (has_line(text, "bgp bestpath as-path multipath-relax"))
		return doctor_found(line, DOCTOR_OK, "multipath-relax is set");
	return doctor_found(line, DOCTOR_WRONG, "multipath-relax is not set");
}

enum doctor_state doctor_maximum_paths(const json_t *facts, struct doctor_line *line)
{
	const char *text = doctor_frr_text(facts, "bgpd"), *key = NULL;
	struct doctor_port port;
	unsigned n = 0;
	char limit[256];

	if (!text)
		return doctor_frr_unread(facts, line, "bgpd");
	while (doctor_next_port(facts, &key, &port))
		n += port.gpu == 0;
	if (line_after(text, "maximum-paths ", limit) && (unsigned)atoi(limit) < n)
		return doctor_found(line, DOCTOR_WRONG,
				    "maximum-paths %.10s is less than the %u sub-ports of a GPU",
				    limit, n);
	return doctor_found(line, DOCTOR_OK, "as many paths as a GPU has sub-ports");
}

enum doctor_state doctor_neighbors(const json_t *facts, struct doctor_line *line)
{
	const char *text = doctor_frr_text(facts, "bgpd"), *key = NULL;
	struct doctor_items items = {line, 0};
	struct doctor_port port;
	char address[64], before[128], rest[256];

	if (!text)
		return doctor_frr_unread(facts, line, "bgpd");
	while (doctor_next_port(facts, &key, &port))
		for (const char *at = port.neighbors; doctor_next(&at, address);) {
			snprintf(before, sizeof(before), "neighbor %s ",
				 neighbor_name(&port, address));
			if (!line_after(text, before, rest))
				doctor_item(&items, "bgpd has no neighbour %s (%s, plane %u)",
					    address, port.dev, port.plane);
		}
	return doctor_items_end(&items, DOCTOR_WRONG, "bgpd has each sub-port's neighbours");
}

enum doctor_state doctor_soft_reconfiguration(const json_t *facts, struct doctor_line *line)
{
	const char *text = doctor_frr_text(facts, "bgpd"), *key = NULL;
	struct doctor_items items = {line, 0};
	struct doctor_port port;
	char address[64];

	if (!text)
		return doctor_frr_unread(facts, line, "bgpd");
	while (doctor_next_port(facts, &key, &port))
		for (const char *at = port.neighbors; doctor_next(&at, address);)
			if (!neighbor_has(text, neighbor_name(&port, address),
					  "soft-reconfiguration inbound"))
				doctor_item(&items, "neighbour %s (%s) has none", address,
					    port.dev);
	return doctor_items_end(&items, DOCTOR_WRONG, "soft-reconfiguration inbound everywhere");
}

enum doctor_state doctor_network(const json_t *facts, struct doctor_line *line)
{
	const char *text = doctor_frr_text(facts, "bgpd"), *at = NULL;
	struct doctor_items items = {line, 0};
	char address[64], wanted[128];
	unsigned gpu = 0;

	if (!text)
		return doctor_frr_unread(facts, line, "bgpd");
	if (has_line(text, "redistribute connected"))
		return doctor_found(line, DOCTOR_OK, "connected addresses are advertised");
	while (doctor_next_own(facts, &gpu, &at, address)) {
		snprintf(wanted, sizeof(wanted), "network %s/%d", address,
			 strchr(address, ':') ? 128 : 32);
		if (!has_line(text, wanted))
			doctor_item(&items, "bgpd does not advertise %s", address);
	}
	return doctor_items_end(&items, DOCTOR_WRONG, "bgpd advertises each GPU's address");
}

enum doctor_state doctor_bmp_targets(const json_t *facts, struct doctor_line *line)
{
	const char *text = doctor_frr_text(facts, "bgpd"),
		   *address = doctor_value(facts, "bgp.bmp_address"),
		   *port = doctor_value(facts, "bgp.bmp_port");
	char wanted[160], other[256];

	if (!text)
		return doctor_frr_unread(facts, line, "bgpd");
	snprintf(wanted, sizeof(wanted), "bmp listener %.64s port %.16s", address, port);
	if (has_line(text, wanted))
		return doctor_found(line, DOCTOR_OK, "bgpd listens where fared connects: %s",
				    wanted);
	if (line_after(text, "bmp listener ", other))
		return doctor_found(line, DOCTOR_WRONG,
				    "bgpd listens at %.80s, fared connects to %s port %s", other,
				    address, port);
	return doctor_found(line, DOCTOR_WRONG, "bgpd has no `bmp listener`");
}

enum doctor_state doctor_bmp_monitor(const json_t *facts, struct doctor_line *line)
{
	const char *text = doctor_frr_text(facts, "bgpd"), *at = NULL;
	struct doctor_items items = {line, 0};
	bool is_wanted[2] = {false, false};
	char address[64], wanted[64];
	unsigned gpu = 0;

	if (!text)
		return doctor_frr_unread(facts, line, "bgpd");
	while (doctor_next_own(facts, &gpu, &at, address))
		is_wanted[strchr(address, ':') != NULL] = true;
	for (unsigned v6 = 0; v6 < 2; v6++) {
		snprintf(wanted, sizeof(wanted), "bmp monitor %s unicast pre-policy",
			 v6 ? "ipv6" : "ipv4");
		if (is_wanted[v6] && !has_line(text, wanted))
			doctor_item(&items, "`%s` is missing", wanted);
	}
	return doctor_items_end(&items, DOCTOR_WRONG, "BMP monitors before policy");
}

enum doctor_state doctor_nexthop_groups(const json_t *facts, struct doctor_line *line)
{
	const char *text = doctor_frr_text(facts, "zebra");

	if (!text)
		return doctor_frr_unread(facts, line, "zebra");
	if (has_line(text, "no zebra nexthop kernel enable"))
		return doctor_found(line, DOCTOR_OK, "zebra makes no kernel next-hop groups");
	return doctor_found(line, DOCTOR_ADVICE, "zebra makes kernel next-hop groups");
}

/* ---- routes -------------------------------------------------------------- */

static bool is_in_prefixes(const json_t *facts, const struct in6_addr *address)
{
	const char *at = doctor_value(facts, "bgp.peer_prefixes");
	struct in6_addr prefix;
	unsigned length;
	char item[64];

	while (doctor_next(&at, item))
		if (doctor_parse_prefix(item, &prefix, &length) &&
		    address_in_prefix(address, &prefix, length))
			return true;
	return false;
}

static bool is_own(const json_t *facts, const struct in6_addr *address)
{
	const char *at = NULL;
	struct in6_addr own;
	unsigned gpu = 0;
	char item[64];

	while (doctor_next_own(facts, &gpu, &at, item))
		if (!address_parse(item, &own) && IN6_ARE_ADDR_EQUAL(&own, address))
			return true;
	return false;
}

enum doctor_state doctor_peer_prefixes(const json_t *facts, struct doctor_line *line)
{
	const json_t *routes = json_object_get(facts, "routes"), *row;
	struct doctor_items items = {line, 0};
	struct in6_addr address;
	unsigned length;
	size_t i;

	if (!routes)
		return doctor_found(line, DOCTOR_UNKNOWN, "the kernel's routes are not known");
	json_array_foreach (routes, i, row) {
		const char *text = doctor_text(row);

		if (doctor_parse_prefix(text, &address, &length) && length == 128 &&
		    !is_in_prefixes(facts, &address) && !is_own(facts, &address))
			doctor_item(&items, "%s is a route of BGP in no bgp.peer_prefixes", text);
	}
	return doctor_items_end(&items, DOCTOR_ADVICE,
				"BGP's host routes are in bgp.peer_prefixes");
}
