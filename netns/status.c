/* SPDX-License-Identifier: BSD-2-Clause */
#include "status.h"

#include <errno.h>
#include <netlink/cache.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "expect.h"
#include "forwarding.h"
#include "links.h"
#include "marking.h"
#include "netns.h"
#include "routes.h"
#include "print_error.h"
#include "vty.h"

#define MBPS_BYTES_PER_S 125000.0
#define FLOAT32_SLACK	 1e-6 /* Link Bandwidth is an IEEE float32 */

/* Everything that one look at one server needs. */
struct reading {
	const struct lab *lab;
	struct status *status;
	unsigned server;
};

__attribute__((format(printf, 2, 3))) static void complain(struct status *s, const char *format,
							   ...)
{
	va_list args;

	s->converged = false;
	if (s->why[0])
		return; /* the first reason is the one to look at */
	va_start(args, format);
	vsnprintf(s->why, sizeof(s->why), format, args);
	va_end(args);
}

/* The path of a bgpd answer whose neighbour has that value of that key, NULL if none did. */
static const json_t *path_from(const json_t *paths, const char *key, const char *neighbor)
{
	const json_t *one;
	size_t i;

	json_array_foreach (paths, i, one) {
		const char *id =
			json_string_value(json_object_get(json_object_get(one, "peer"), key));

		if (id && !strcmp(id, neighbor))
			return one;
	}
	return NULL;
}

/*
 * The Link Bandwidth of a path in bytes/s, -1 without one. The 64-bit one of FRR 10.1 and later is
 * an IPv6 extended community.
 */
static double path_bandwidth(const json_t *path)
{
	static const char *const lists[] = {"extendedCommunity", "extendedIpv6Community"};
	double bytes_per_s;

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		const char *text = json_string_value(
			json_object_get(json_object_get(path, lists[i]), "string"));
		const char *lb = text ? strstr(text, "LB:") : NULL;

		if (lb && sscanf(lb, "LB:%*u:%lf", &bytes_per_s) == 1)
			return bytes_per_s;
	}
	return -1;
}

static void check_path(const struct reading *l, const json_t *paths, unsigned number,
		       struct plan_gpu peer, const char *peer_text, bool six)
{
	const struct fault_state *faults = &l->status->faults;
	struct expect_range want;
	struct plan_link link;
	const json_t *path;
	double mbps;

	plan_link_at(&l->lab->topology, number, &link);
	want = expect_announced(faults, l->server, peer, link.plane);
	path = l->lab->topology.unnumbered
		       ? path_from(paths, "interface", link.far_dev)
		       : path_from(paths, "peerId", six ? link.leaf_v6 : link.leaf_v4);
	if (!fault_state_live(faults, number) || !want.most) {
		if (path)
			complain(l->status, "s%u still has %s of s%u/g%u on plane %u via %s",
				 l->server, peer_text, peer.server, peer.gpu, link.plane,
				 link.far_dev);
		return;
	}
	if (!path) {
		if (want.least && !fault_state_gray(faults, number))
			complain(l->status, "s%u misses %s of s%u/g%u on plane %u via %s",
				 l->server, peer_text, peer.server, peer.gpu, link.plane,
				 link.far_dev);
		return;
	}
	mbps = path_bandwidth(path) / MBPS_BYTES_PER_S;
	if (mbps < want.least * (1 - FLOAT32_SLACK) || mbps > want.most * (1 + FLOAT32_SLACK))
		complain(l->status,
			 "s%u has %s of s%u/g%u on plane %u via %s with %g Mbit/s, not %u",
			 l->server, peer_text, peer.server, peer.gpu, link.plane, link.far_dev,
			 mbps, want.most);
}

static int check_peer(const struct reading *l, struct vty *vty, struct plan_gpu peer, bool six)
{
	const struct topology *t = &l->lab->topology;
	unsigned first = plan_link_number(t, (struct plan_gpu){l->server, 0}, 0, 0);
	char text[INET6_ADDRSTRLEN], command[128];
	json_t *answer;
	int rc;

	if (six)
		plan_loopback_v6(plan_global(t, peer), text);
	else
		plan_loopback_v4(plan_global(t, peer), text);
	snprintf(command, sizeof(command), "show bgp %s unicast %s/%d json", six ? "ipv6" : "ipv4",
		 text, six ? 128 : 32);
	rc = vty_ask_json(vty, command, &answer);
	if (rc)
		return rc;
	for (unsigned k = 0; k < t->gpus_per_server * t->planes * t->sub_ports; k++)
		check_path(l, json_object_get(answer, "paths"), first + k, peer, text, six);
	json_decref(answer);
	return 0;
}

static void check_bgp(const struct reading *l)
{
	const struct topology *t = &l->lab->topology;
	char path[LAB_PATH_MAX];
	struct vty vty;
	int rc;

	lab_path(l->lab, (struct plan_host){PLAN_SERVER, l->server}, "frr/bgpd.vty", path);
	rc = vty_open(&vty, path);
	if (rc) {
		complain(l->status, "s%u: bgpd does not answer: %s", l->server, strerror(-rc));
		return;
	}
	for (unsigned k = 0; !rc && l->status->converged && k < t->servers * t->gpus_per_server;
	     k++) {
		struct plan_gpu peer = {k / t->gpus_per_server, k % t->gpus_per_server};

		if (peer.server == l->server)
			continue;
		for (unsigned six = !t->ipv4; !rc && six <= t->ipv6; six++)
			rc = check_peer(l, &vty, peer, six);
	}
	vty_close(&vty);
	if (rc)
		complain(l->status, "s%u: bgpd does not answer: %s", l->server, strerror(-rc));
}

/* Does the kernel forward over as many sub-links as it should? */
static void check_kernel(const struct reading *l, struct nl_cache *routes, struct plan_gpu peer,
			 bool six)
{
	const struct topology *t = &l->lab->topology;
	unsigned least = 0, most = 0, have;
	char text[INET6_ADDRSTRLEN];

	for (unsigned j = 0; j < t->gpus_per_server; j++)
		for (unsigned plane = 0; plane < t->planes; plane++) {
			struct expect_range here = expect_sub_links(
				&l->status->faults, (struct plan_gpu){l->server, j}, plane);
			struct expect_range there =
				expect_announced(&l->status->faults, l->server, peer, plane);

			least += there.least ? here.least : 0;
			most += there.most ? here.most : 0;
		}
	if (six)
		plan_loopback_v6(plan_global(t, peer), text);
	else
		plan_loopback_v4(plan_global(t, peer), text);
	have = routes_nexthops(routes, text);
	if (have < least || have > most)
		complain(l->status, "s%u: the kernel reaches %s over %u sub-links, not %u",
			 l->server, text, have, most);
}

/* One end of each link: the far one, and of links between switches the lower one's. */
static void check_carrier(const struct lab *lab, struct status *s, struct plan_host host, int fd)
{
	char name[PLAN_HOST_NAME_MAX];
	struct plan_link link;

	plan_host_name(host, name);
	PLAN_EACH_LINK(&lab->topology, host, k)
	{
		bool live = fault_state_live(&s->faults, k);
		const char *dev;

		plan_link_at(&lab->topology, k, &link);
		if (plan_at_leaf(&link, host) == (link.far.role == PLAN_SERVER))
			continue;
		dev = plan_at_leaf(&link, host) ? link.leaf_dev : link.far_dev;
		s->up[k] = links_carrier(fd, dev);
		if (s->up[k] != live)
			complain(s, "%s: %s has %s carrier", name, dev, live ? "no" : "still");
	}
}

/* Moves into the namespace of host; *fd is any socket of it. */
static int enter(const struct lab *lab, struct plan_host host, int *home, int *fd)
{
	int rc = lab_enter(lab, host, home);

	if (rc)
		return rc;
	*fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (*fd >= 0)
		return 0;
	rc = -errno;
	netns_leave(*home);
	return rc;
}

static int read_uplinks(const struct lab *lab, struct status *s, struct plan_host host)
{
	int home, fd, rc = enter(lab, host, &home, &fd);

	if (rc)
		return rc;
	check_carrier(lab, s, host, fd);
	close(fd);
	netns_leave(home);
	return 0;
}

/* What has to be looked at from inside the namespace. */
static int read_inside(const struct reading *l)
{
	const struct topology *t = &l->lab->topology;
	const struct plan_host host = {PLAN_SERVER, l->server};
	struct nl_cache *routes;
	int home, fd, rc = enter(l->lab, host, &home, &fd);

	if (rc)
		return rc;
	check_carrier(l->lab, l->status, host, fd);
	close(fd);
	if (l->status->converged && !(rc = routes_read(&routes))) {
		for (unsigned k = 0; k < t->servers * t->gpus_per_server; k++)
			for (unsigned six = !t->ipv4;
			     k / t->gpus_per_server != l->server && six <= t->ipv6; six++)
				check_kernel(l, routes,
					     (struct plan_gpu){k / t->gpus_per_server,
							       k % t->gpus_per_server},
					     six);
		nl_cache_free(routes);
	}
	netns_leave(home);
	return rc;
}

/* fared runs on servers alone, and mgmtd where FRR has it. */
static bool is_to_run(const struct lab *lab, struct plan_host host, enum lab_daemon daemon)
{
	if (daemon == LAB_FARED)
		return host.role == PLAN_SERVER && lab->fared[0];
	return daemon != LAB_MGMTD || frr_install_needs_mgmtd(&lab->frr);
}

static void check_daemons(const struct lab *lab, struct status *s)
{
	for (unsigned k = 0; k < plan_hosts(&lab->topology); k++) {
		struct plan_host host = plan_host_at(&lab->topology, k);
		char name[PLAN_HOST_NAME_MAX], log[LAB_PATH_MAX];

		plan_host_name(host, name);
		if (fault_state_host_failed(&s->faults, host))
			continue;
		for (enum lab_daemon d = LAB_MGMTD; d <= LAB_FARED; d++) {
			if (!is_to_run(lab, host, d) || lab_daemon_pid(lab, host, d))
				continue;
			lab_daemon_log(lab, host, d, log);
			complain(s,
				 "%s: %s is not running; its last output is in %s, `farelab heal "
				 "%s %s %s` starts it",
				 name, lab_daemon_name(d), log, lab->name,
				 lab_daemon_name(d == LAB_MGMTD ? LAB_ZEBRA : d), name);
		}
	}
}

/* What faults.json does not know of, and bgpd and the servers' kernels do not see. */
static void check_forwarding(const struct lab *lab, struct status *s)
{
	for (unsigned k = lab->topology.servers; s->converged && k < plan_hosts(&lab->topology);
	     k++) {
		struct plan_host host = plan_host_at(&lab->topology, k);
		char what[IFNAMSIZ], name[PLAN_HOST_NAME_MAX];
		int rc;

		if (fault_state_host_failed(&s->faults, host))
			continue;
		plan_host_name(host, name);
		rc = forwarding_read(lab, host, what);
		if (rc < 0)
			complain(s, "%s: cannot see whether it forwards: %s", name, strerror(-rc));
		if (rc > 0)
			complain(s, "%s: forwards nothing%s%s; `farelab heal %s %s %s`", name,
				 strcmp(what, "all") ? " from " : "",
				 strcmp(what, "all") ? what : "", lab->name,
				 plan_role_name(host.role), name);
	}
}

void status_faults(const struct lab *lab, const struct status *s,
		   void (*visit)(const char *text, void *arg), void *arg)
{
	static const struct {
		enum lab_daemon daemon;
		const char *name;
	} daemons[] = {{LAB_BGPD, "bgpd"}, {LAB_FARED, "fared"}};
	char name[PLAN_HOST_NAME_MAX], text[PLAN_TEXT_MAX];

	fault_state_each(&s->faults, visit, arg);
	for (unsigned k = 0; k < plan_hosts(&lab->topology); k++) {
		struct plan_host host = plan_host_at(&lab->topology, k);

		plan_host_name(host, name);
		for (unsigned i = 0; i < 2 && !fault_state_host_failed(&s->faults, host); i++) {
			if ((daemons[i].daemon == LAB_FARED &&
			     (host.role != PLAN_SERVER || !lab->fared[0])) ||
			    lab_daemon_pid(lab, host, daemons[i].daemon))
				continue;
			snprintf(text, sizeof(text), "fail %s %s", daemons[i].name, name);
			visit(text, arg);
		}
	}
}

int status_take(const struct lab *lab, struct status *out)
{
	const struct topology *t = &lab->topology;
	struct status s = {.converged = true};
	int rc = fault_state_load(lab, &s.faults);

	if (rc)
		return rc;
	s.up = calloc(s.faults.n_links, sizeof(*s.up));
	if (t->ecn_threshold_kb)
		s.marks = calloc(s.faults.n_links, sizeof(*s.marks));
	if (!s.up || (t->ecn_threshold_kb && !s.marks)) {
		status_fini(&s);
		return -ENOMEM;
	}
	check_daemons(lab, &s);
	check_forwarding(lab, &s);
	for (unsigned k = t->servers; !rc && t->spines_per_plane && k < plan_hosts(t); k++)
		rc = read_uplinks(lab, &s, plan_host_at(t, k));
	for (unsigned leaf = 0; !rc && s.marks && leaf < plan_leaves(t); leaf++)
		rc = marking_read(lab, (struct plan_host){PLAN_LEAF, leaf}, s.marks);
	for (unsigned server = 0; !rc && server < t->servers; server++) {
		const struct reading reading = {lab, &s, server};

		rc = read_inside(&reading);
		if (s.converged)
			check_bgp(&reading);
	}
	if (rc)
		status_fini(&s);
	else
		*out = s;
	return rc;
}

void status_fini(struct status *status)
{
	free(status->up);
	free(status->marks);
	status->up = NULL;
	status->marks = NULL;
	fault_state_fini(&status->faults);
}

int status_wait(const struct lab *lab, double seconds, struct status *out)
{
	const struct timespec pause = {.tv_nsec = 100000000};
	double start = clock_now_s(), said = 0;

	for (;;) {
		int rc = status_take(lab, out);
		double elapsed = clock_now_s() - start;

		if (rc)
			return rc;
		if (out->converged) {
			print_error("%s converged after %.1f s", lab->name, elapsed);
			return 0;
		}
		if (elapsed >= seconds)
			return -ETIMEDOUT;
		if (elapsed - said >= 2) {
			said = elapsed;
			print_error("%s, %.0f s: %s", lab->name, elapsed, out->why);
		}
		status_fini(out);
		nanosleep(&pause, NULL);
	}
}
