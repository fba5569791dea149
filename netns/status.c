/* SPDX-License-Identifier: BSD-2-Clause */
#include "status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "forwarding.h"
#include "links.h"
#include "netns.h"
#include "routes.h"
#include "say.h"
#include "vty.h"

#define UNIT_BYTES_PER_S 125000.0 /* what a leaf advertises for each live sub-link: 1 Mbit/s */

/* Everything that one look at one server needs. */
struct look {
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

/* How many of a GPU's sub-links on a plane must, and how many may, be counted by its leaf. */
static void live_range(const struct look *l, struct plan_gpu gpu, unsigned plane, unsigned *least,
		       unsigned *most)
{
	const struct topology *t = &l->lab->topology;

	*least = *most = 0;
	for (unsigned sub = 0; sub < t->sub_ports; sub++) {
		unsigned k = plan_link_number(t, gpu, plane, sub);

		if (!fault_state_live(&l->status->faults, k, plane))
			continue;
		*most += 1;
		*least += !fault_state_gray(&l->status->faults, k);
	}
}

/* The path of a bgpd answer that came from this neighbour, NULL if none did. */
static const json_t *path_from(const json_t *paths, const char *neighbor)
{
	const json_t *one;
	size_t i;

	json_array_foreach (paths, i, one) {
		const char *id =
			json_string_value(json_object_get(json_object_get(one, "peer"), "peerId"));

		if (id && !strcmp(id, neighbor))
			return one;
	}
	return NULL;
}

/* The Link Bandwidth of a path in bytes/s, -1 without one. */
static double path_bandwidth(const json_t *path)
{
	const char *text = json_string_value(
		json_object_get(json_object_get(path, "extendedCommunity"), "string"));
	const char *lb = text ? strstr(text, "LB:") : NULL;
	double bytes_per_s;

	return lb && sscanf(lb, "LB:%*u:%lf", &bytes_per_s) == 1 ? bytes_per_s : -1;
}

static void check_path(const struct look *l, const json_t *paths, struct plan_gpu local,
		       struct plan_gpu peer, const char *peer_text, unsigned plane, unsigned sub,
		       bool six)
{
	const struct topology *t = &l->lab->topology;
	unsigned k = plan_link_number(t, local, plane, sub), least, most;
	const struct fault_state *faults = &l->status->faults;
	struct plan_link link;
	const json_t *path;
	double units;

	live_range(l, peer, plane, &least, &most);
	plan_link_at(t, local, plane, sub, &link);
	path = path_from(paths, six ? link.leaf_v6 : link.leaf_v4);
	if (!fault_state_live(faults, k, plane) || !most) {
		if (path)
			complain(l->status, "s%u still has %s of s%u/g%u on plane %u via %s",
				 l->server, peer_text, peer.server, peer.gpu, plane,
				 link.server_dev);
		return;
	}
	if (!path) {
		if (least && !fault_state_gray(faults, k))
			complain(l->status, "s%u misses %s of s%u/g%u on plane %u via %s",
				 l->server, peer_text, peer.server, peer.gpu, plane,
				 link.server_dev);
		return;
	}
	units = path_bandwidth(path) / UNIT_BYTES_PER_S;
	if (units < least || units > most)
		complain(l->status,
			 "s%u has %s of s%u/g%u on plane %u via %s with %g Mbit/s, not %u",
			 l->server, peer_text, peer.server, peer.gpu, plane, link.server_dev, units,
			 most);
}

static int check_peer(const struct look *l, struct vty *vty, struct plan_gpu peer, bool six)
{
	const struct topology *t = &l->lab->topology;
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
	for (unsigned j = 0; j < t->gpus_per_server; j++)
		for (unsigned plane = 0; plane < t->planes; plane++)
			for (unsigned sub = 0; sub < t->sub_ports; sub++)
				check_path(l, json_object_get(answer, "paths"),
					   (struct plan_gpu){l->server, j}, peer, text, plane, sub,
					   six);
	json_decref(answer);
	return 0;
}

static void check_bgp(const struct look *l)
{
	const struct topology *t = &l->lab->topology;
	char path[LAB_PATH_MAX];
	struct vty vty;
	int rc;

	lab_path(l->lab, (struct plan_host){false, l->server}, "frr/bgpd.vty", path);
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
		for (unsigned six = 0; !rc && six <= t->ipv6; six++)
			rc = check_peer(l, &vty, peer, six);
	}
	vty_close(&vty);
	if (rc)
		complain(l->status, "s%u: bgpd does not answer: %s", l->server, strerror(-rc));
}

/* Does the kernel forward over as many sub-links as it should? */
static void check_kernel(const struct look *l, const struct routes *routes, struct plan_gpu peer,
			 bool six)
{
	const struct topology *t = &l->lab->topology;
	unsigned least = 0, most = 0, have;
	char text[INET6_ADDRSTRLEN];

	for (unsigned j = 0; j < t->gpus_per_server; j++)
		for (unsigned plane = 0; plane < t->planes; plane++) {
			unsigned here_least, here_most, there_least, there_most;

			live_range(l, (struct plan_gpu){l->server, j}, plane, &here_least,
				   &here_most);
			live_range(l, peer, plane, &there_least, &there_most);
			least += there_least ? here_least : 0;
			most += there_most ? here_most : 0;
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

static void check_devices(const struct look *l, int fd)
{
	const struct topology *t = &l->lab->topology;
	struct plan_link link;

	for (unsigned k = 0; k < t->gpus_per_server * t->planes * t->sub_ports; k++) {
		unsigned sub = k % t->sub_ports, plane = k / t->sub_ports % t->planes;
		struct plan_gpu gpu = {l->server, k / t->sub_ports / t->planes};
		unsigned number = plan_link_number(t, gpu, plane, sub);
		bool live = fault_state_live(&l->status->faults, number, plane);

		plan_link_at(t, gpu, plane, sub, &link);
		l->status->up[number] = links_carrier(fd, link.server_dev);
		if (l->status->up[number] != live)
			complain(l->status, "s%u: %s has %s carrier", l->server, link.server_dev,
				 live ? "no" : "still");
	}
}

/* What has to be looked at from inside the namespace. */
static int look_inside(const struct look *l)
{
	const struct topology *t = &l->lab->topology;
	char netns[PLAN_NETNS_NAME_MAX];
	struct routes *routes;
	int home, fd, rc;

	lab_netns(l->lab, (struct plan_host){false, l->server}, netns);
	rc = netns_enter(netns, &home);
	if (rc)
		return rc;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	rc = fd < 0 ? -errno : 0;
	if (!rc)
		check_devices(l, fd);
	if (fd >= 0)
		close(fd);
	if (!rc && l->status->converged && !(rc = routes_read(&routes))) {
		for (unsigned k = 0; k < t->servers * t->gpus_per_server; k++)
			for (unsigned six = 0;
			     k / t->gpus_per_server != l->server && six <= t->ipv6; six++)
				check_kernel(l, routes,
					     (struct plan_gpu){k / t->gpus_per_server,
							       k % t->gpus_per_server},
					     six);
		routes_free(routes);
	}
	netns_leave(home);
	return rc;
}

static void check_daemons(const struct lab *lab, struct status *s)
{
	for (unsigned k = 0; k < plan_hosts(&lab->topology); k++) {
		struct plan_host host = plan_host_at(&lab->topology, k);
		char name[PLAN_HOST_NAME_MAX], log[LAB_PATH_MAX];

		plan_host_name(host, name);
		if (host.leaf && s->faults.leaf_failed[host.index])
			continue;
		if (!lab_daemon_pid(lab, host, LAB_ZEBRA))
			complain(s, "%s: zebra is not running; `farelab heal %s zebra %s`", name,
				 lab->name, name);
		if (!lab_daemon_pid(lab, host, LAB_BGPD))
			complain(s, "%s: bgpd is not running; `farelab heal %s bgpd %s`", name,
				 lab->name, name);
		if (host.leaf || !lab->fared[0] || lab_daemon_pid(lab, host, LAB_FARED))
			continue;
		lab_path(lab, host, "fared.log", log);
		complain(s,
			 "%s: fared is not running; its last words are in %s, `farelab heal %s "
			 "fared %s` starts it",
			 name, log, lab->name, name);
	}
}

/* What faults.json does not know of, and bgpd and the servers' kernels do not see. */
static void check_forwarding(const struct lab *lab, struct status *s)
{
	for (unsigned plane = 0; s->converged && plane < lab->topology.planes; plane++) {
		char what[IFNAMSIZ];
		int rc;

		if (s->faults.leaf_failed[plane])
			continue;
		rc = forwarding_look(lab, plane, what);
		if (rc < 0)
			complain(s, "l%u: cannot see whether it forwards: %s", plane,
				 strerror(-rc));
		if (rc > 0)
			complain(s, "l%u: forwards nothing%s%s; `farelab heal %s leaf l%u`", plane,
				 strcmp(what, "all") ? " from " : "",
				 strcmp(what, "all") ? what : "", lab->name, plane);
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
	if (!s.up) {
		fault_state_fini(&s.faults);
		return -ENOMEM;
	}
	check_daemons(lab, &s);
	check_forwarding(lab, &s);
	for (unsigned server = 0; !rc && server < t->servers; server++) {
		const struct look look = {lab, &s, server};

		rc = look_inside(&look);
		if (s.converged)
			check_bgp(&look);
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
	status->up = NULL;
	fault_state_fini(&status->faults);
}

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

int status_wait(const struct lab *lab, double seconds, struct status *out)
{
	const struct timespec pause = {.tv_nsec = 100000000};
	double start = now_s(), said = 0;

	for (;;) {
		int rc = status_take(lab, out);
		double elapsed = now_s() - start;

		if (rc)
			return rc;
		if (out->converged) {
			say("%s converged after %.1f s", lab->name, elapsed);
			return 0;
		}
		if (elapsed >= seconds)
			return -ETIMEDOUT;
		if (elapsed - said >= 2) {
			said = elapsed;
			say("%s, %.0f s: %s", lab->name, elapsed, out->why);
		}
		status_fini(out);
		nanosleep(&pause, NULL);
	}
}
