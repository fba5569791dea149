/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/lab.h"

#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/command.h"
#include "netns.h"
#include "fabric/optimum.h"

#define LAB_COMMAND_MS 120000
#define LAB_WAIT_MS    20000
#define LAB_PAUSE_NS   50000000 /* between two looks at a condition */

void lab_init(struct lab *lab, const char *name)
{
	const char *farelab = getenv("FARELAB");

	snprintf(lab->name, sizeof(lab->name), "%s", name);
	if (farelab)
		snprintf(lab->farelab, sizeof(lab->farelab), "%s", farelab);
	else
		command_sibling("farelab", lab->farelab, sizeof(lab->farelab));
	command_sibling("farectl", lab->farectl, sizeof(lab->farectl));
}

int lab_status(const struct lab *lab, unsigned wait_s, struct topo **out)
{
	char wait[16], reason[256], *text;
	const char *argv[] = {lab->farelab, "status", lab->name, "--json", wait_s ? "--wait" : NULL,
			      wait,	    NULL};
	int err;

	snprintf(wait, sizeof(wait), "%u", wait_s);
	err = command_check(argv, LAB_COMMAND_MS, &text);
	if (err)
		return err;
	err = topo_parse(out, text, strlen(text), reason, sizeof(reason));
	free(text);
	if (err) {
		fprintf(stderr, "farebench: farelab status: %s\n", reason);
		return err;
	}
	if (wait_s && !(*out)->converged) {
		fprintf(stderr, "farebench: the lab has not converged in %u s: %s\n", wait_s,
			(*out)->why);
		topo_destroy(*out);
		return -ETIMEDOUT;
	}
	return 0;
}

int lab_counters(const struct lab *lab, char **text)
{
	const char *argv[] = {lab->farelab, "counters", lab->name, "--json", NULL};

	return command_check(argv, LAB_COMMAND_MS, text);
}

/* A session may carry several families: the largest count of a peer is its own. */
int lab_sessions_parse(const char *text, uint64_t *n)
{
	json_t *root = json_loads(text, 0, NULL), *peers, *most = json_object(), *peer, *had;
	const char *family, *name;
	int err = json_is_object(root) && most ? 0 : -EBADMSG;

	json_object_foreach (root, family, peers)
		json_object_foreach (json_object_get(peers, "peers"), name, peer) {
			json_t *dropped = json_object_get(peer, "connectionsDropped");

			if (!json_is_integer(dropped) || json_integer_value(dropped) < 0)
				err = -EBADMSG;
			else if (json_integer_value(dropped) >=
				 json_integer_value(json_object_get(most, name)))
				json_object_set(most, name, dropped);
		}
	json_object_foreach (most, name, had)
		*n += (uint64_t)json_integer_value(had);
	json_decref(most);
	json_decref(root);
	return err;
}

int lab_sessions_dropped(const struct lab *lab, const struct topo *topo, uint64_t *n)
{
	int err = 0;

	*n = 0;
	for (unsigned i = 0; !err && i < topo->n_leaves; i++) {
		const char *argv[] = {lab->farelab,
				      "vtysh",
				      lab->name,
				      topo->leaves[i].name,
				      "--",
				      "-c",
				      "show bgp summary json",
				      NULL};
		char *text;

		err = command_check(argv, LAB_COMMAND_MS, &text);
		if (err)
			return err;
		err = lab_sessions_parse(text, n);
		free(text);
	}
	return err;
}

int lab_packets(const struct lab *lab, struct lab_packets *out)
{
	json_int_t sent, dropped;
	json_t *root;
	char *text;
	int err = lab_counters(lab, &text);

	if (err)
		return err;
	root = json_loads(text, 0, NULL);
	free(text);
	err = json_unpack(root, "{s:I, s:I}", "sent_packets", &sent, "dropped_packets", &dropped);
	json_decref(root);
	if (err)
		return -EBADMSG;
	*out = (struct lab_packets){(uint64_t)sent, (uint64_t)dropped};
	return 0;
}

static uint64_t lab_number(const json_t *object, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(object, key));

	return n > 0 ? (uint64_t)n : 0;
}

int lab_drops_parse(const char *text, struct lab_drops *out)
{
	json_t *root = json_loads(text, 0, NULL), *hosts = json_object_get(root, "hosts"), *host,
	       *device;
	int err = json_is_array(hosts) ? 0 : -EBADMSG;
	size_t i, k;

	*out = (struct lab_drops){0};
	json_array_foreach (hosts, i, host) {
		out->route += lab_number(host, "route_drops");
		json_array_foreach (json_object_get(host, "devices"), k, device) {
			out->queue += lab_number(device, "queue_drops") +
				      lab_number(device, "gray_drops") +
				      lab_number(device, "headroom_drops");
			out->device += lab_number(device, "device_drops");
		}
	}
	json_decref(root);
	return err;
}

int lab_drops(const struct lab *lab, struct lab_drops *out)
{
	char *text;
	int err = lab_counters(lab, &text);

	if (err)
		return err;
	err = lab_drops_parse(text, out);
	free(text);
	return err;
}

/* Adds those of a leaf; more than n in all: one too many is counted. */
static void lab_leaf_uplinks(const json_t *devices, unsigned leaf, struct lab_uplink *out,
			     unsigned n, unsigned *found)
{
	const json_t *device;
	size_t i;

	json_array_foreach (devices, i, device) {
		const char *dev = json_string_value(json_object_get(device, "dev"));
		json_int_t bytes = json_integer_value(json_object_get(device, "tx_bytes"));

		if (!dev || strncmp(dev, "up", 2) != 0 || bytes < 0 || *found > n)
			continue;
		if (*found < n)
			out[*found] = (struct lab_uplink){leaf, (uint64_t)bytes};
		++*found;
	}
}

int lab_uplinks_parse(const struct topo *topo, const char *text, struct lab_uplink *out,
		      uint64_t *at_ns)
{
	json_t *root = json_loads(text, 0, NULL), *host;
	unsigned found = 0;
	size_t i;

	*at_ns = (uint64_t)json_integer_value(json_object_get(root, "monotonic_ns"));
	json_array_foreach (json_object_get(root, "hosts"), i, host) {
		const char *name = json_string_value(json_object_get(host, "name"));
		int leaf = name ? topo_find_leaf(topo, name) : -1;

		if (leaf >= 0)
			lab_leaf_uplinks(json_object_get(host, "devices"), (unsigned)leaf, out,
					 topo->n_uplinks, &found);
	}
	json_decref(root);
	return found == topo->n_uplinks && *at_ns ? 0 : -EBADMSG;
}

int lab_uplinks(const struct lab *lab, const struct topo *topo, struct lab_uplink *out,
		uint64_t *at_ns)
{
	char *text;
	int err = lab_counters(lab, &text);

	if (err)
		return err;
	err = lab_uplinks_parse(topo, text, out, at_ns);
	free(text);
	if (err)
		fprintf(stderr, "farebench: farelab counters: not the %u links to spines\n",
			topo->n_uplinks);
	return err;
}

static int lab_argv(const struct lab *lab, const char *verb, const char *const *args,
		    const char *argv[LAB_MAX_ARGS + 4])
{
	unsigned n = 0;

	argv[n++] = lab->farelab;
	argv[n++] = verb;
	argv[n++] = lab->name;
	for (; *args; args++) {
		if (n == LAB_MAX_ARGS + 3)
			return -E2BIG;
		argv[n++] = *args;
	}
	argv[n] = NULL;
	return 0;
}

int lab_do(const struct lab *lab, const char *verb, const char *const *args)
{
	const char *argv[LAB_MAX_ARGS + 4];
	int err = lab_argv(lab, verb, args, argv);

	return err ? err : command_check(argv, LAB_COMMAND_MS, NULL);
}

int lab_try(const struct lab *lab, const char *verb, const char *const *args, char *why,
	    size_t size)
{
	const char *argv[LAB_MAX_ARGS + 4];
	struct command_result result;
	int err = lab_argv(lab, verb, args, argv);

	if (!err)
		err = command_run(argv, LAB_COMMAND_MS, &result);
	if (err)
		return err;
	free(result.out);
	if (!result.status)
		return 0;
	snprintf(why, size, "farelab %s: %s", verb, result.err);
	return result.status < 128 ? -EOPNOTSUPP : -EREMOTEIO;
}

int lab_do_text(const struct lab *lab, const char *verb, const char *text)
{
	const char *args[LAB_MAX_ARGS] = {NULL};
	char copy[256], *save = NULL;
	unsigned n = 0;

	if ((size_t)snprintf(copy, sizeof(copy), "%s", text) >= sizeof(copy))
		return -E2BIG;
	for (char *arg = strtok_r(copy, " ", &save); arg; arg = strtok_r(NULL, " ", &save)) {
		if (n == LAB_MAX_ARGS - 1)
			return -E2BIG;
		args[n++] = arg;
	}
	return lab_do(lab, verb, args);
}

/* ---- weights in the kernel ---- */

/* Any GPU of that server: they have the same leaves. */
static unsigned lab_gpu_of(const struct topo *topo, unsigned server)
{
	unsigned gpu = 0;

	while (gpu + 1 < topo->n_gpus && topo->gpus[gpu].server != server)
		gpu++;
	return gpu;
}

static json_int_t lab_weight(json_t *nexthop)
{
	json_t *weight = json_object_get(nexthop, "weight");

	return json_is_integer(weight) ? json_integer_value(weight) : 1;
}

/*
 * FRR advertises, per sub-link session, what the plane still has toward the destination; so next
 * hops' weights must stand to each other as those capacities do. FRR truncates weights to 100
 * parts: within 15% is "as".
 */
static bool lab_weight_fits(const struct topo *topo, unsigned server, unsigned dst, json_t *a,
			    json_t *b, bool equal)
{
	unsigned src = lab_gpu_of(topo, server), plane_a, plane_b, sub_port;
	const char *dev_a = json_string_value(json_object_get(a, "dev"));
	const char *dev_b = json_string_value(json_object_get(b, "dev"));
	double want = 1, have = (double)lab_weight(a) / (double)lab_weight(b);

	if (!dev_a || topo_find_sub_port(topo, server, dev_a, &plane_a, &sub_port) < 0 || !dev_b ||
	    topo_find_sub_port(topo, server, dev_b, &plane_b, &sub_port) < 0)
		return false;
	if (!equal)
		want = (double)optimum_announced_bps(topo, src, dst, plane_a) /
		       (double)optimum_announced_bps(topo, src, dst, plane_b);
	return have > want * 0.85 && have < want * 1.15;
}

/* How many next hops lead from server toward dst when all is well: live local sub-ports of planes
 * that reach it. */
static size_t lab_expected_nexthops(const struct topo *topo, unsigned server, unsigned dst)
{
	size_t n = 0;

	for (unsigned i = 0; i < topo->n_gpus; i++)
		for (unsigned plane = 0; topo->gpus[i].server == server && plane < topo->n_planes;
		     plane++)
			if (optimum_path_bps(topo, i, dst, plane))
				n += (size_t)__builtin_popcount(
					topo_live_sub_ports(topo, i, plane));
	return n;
}

int lab_check_routes(const struct topo *topo, unsigned server, const char *text, bool equal,
		     char *reason, size_t reason_size)
{
	json_t *routes = json_loads(text, 0, NULL), *route;
	size_t i, found = 0, wanted = 0;
	int err = 0;

	snprintf(reason, reason_size, "%s", "");
	for (unsigned gpu = 0; gpu < topo->n_gpus; gpu++)
		wanted += topo->gpus[gpu].server != server;
	json_array_foreach (routes, i, route) {
		const char *to = json_string_value(json_object_get(route, "dst"));
		json_t *hops = json_object_get(route, "nexthops"), *hop;
		size_t j;
		int dst = -1;

		for (unsigned gpu = 0; to && gpu < topo->n_gpus; gpu++)
			if (strcmp(topo_gpu_address(topo, gpu), to) == 0)
				dst = (int)gpu;
		if (dst < 0 || topo->gpus[dst].server == server)
			continue;
		found++;
		if (json_array_size(hops) != lab_expected_nexthops(topo, server, (unsigned)dst) &&
		    lab_expected_nexthops(topo, server, (unsigned)dst) > 1) {
			snprintf(reason, reason_size, "%s: %s has %zu next hops, not %zu",
				 topo->servers[server].name, to, json_array_size(hops),
				 lab_expected_nexthops(topo, server, (unsigned)dst));
			err = -EAGAIN;
		}
		json_array_foreach (hops, j, hop) {
			if (lab_weight_fits(topo, server, (unsigned)dst, hop,
					    json_array_get(hops, 0), equal))
				continue;
			snprintf(reason, reason_size, "%s: %s: the weights are not %s",
				 topo->servers[server].name, to,
				 equal ? "equal" : "as the planes' capacities");
			err = -EAGAIN;
		}
	}
	if (!json_is_array(routes) || found < wanted) {
		snprintf(reason, reason_size, "%s: %zu of %zu routes are there",
			 topo->servers[server].name, found, wanted);
		err = -EAGAIN;
	}
	json_decref(routes);
	return err;
}

static int lab_set_weights(const struct lab *lab, const struct topo *topo, unsigned server,
			   bool equal)
{
	const char *args[] = {topo->servers[server].name,
			      "--",
			      "-c",
			      "configure terminal",
			      "-c",
			      "router bgp",
			      "-c",
			      equal ? "bgp bestpath bandwidth ignore"
				    : "no bgp bestpath bandwidth ignore",
			      NULL};

	return lab_do(lab, "vtysh", args);
}

int lab_clear_sessions(const struct lab *lab, const struct topo *topo)
{
	int err = 0;

	for (unsigned leaf = 0; !err && leaf < topo->n_leaves; leaf++)
		err = lab_do(lab, "vtysh",
			     (const char *const[]){topo->leaves[leaf].name, "--", "-c",
						   "clear bgp *", NULL});
	return err;
}

static int lab_await_weights(const struct topo *topo, unsigned server, bool equal)
{
	const char *argv[] = {"ip", "-j", "-n", topo->servers[server].netns, "route", "show", NULL};
	const char *argv6[] = {"ip",	"-6",	"-j", "-n", topo->servers[server].netns,
			       "route", "show", NULL};
	int64_t deadline = clock_now_ms() + LAB_WAIT_MS;
	char reason[256], *text;
	int err;

	for (;;) {
		err = command_check(topo->gpus[0].ipv4[0] ? argv : argv6, LAB_COMMAND_MS, &text);
		if (err)
			return err;
		err = lab_check_routes(topo, server, text, equal, reason, sizeof(reason));
		free(text);
		if (!err)
			return 0;
		if (clock_now_ms() > deadline) {
			fprintf(stderr, "farebench: %s, after %d s\n", reason, LAB_WAIT_MS / 1000);
			return -ETIMEDOUT;
		}
		clock_pause_ns(LAB_PAUSE_NS);
	}
}

int lab_weights(const struct lab *lab, const struct topo *topo, bool equal)
{
	int err = 0;

	for (unsigned i = 0; !err && i < topo->n_servers; i++)
		err = lab_set_weights(lab, topo, i, equal);
	for (unsigned i = 0; !err && i < topo->n_servers; i++)
		err = lab_await_weights(topo, i, equal);
	return err;
}

/* ---- why ---- */

/* The first string member named key, anywhere. */
static const char *lab_find_string(json_t *value, const char *key, unsigned depth)
{
	const char *found = json_string_value(json_object_get(value, key)), *name;
	json_t *member;
	size_t i;

	if (found || depth > 8)
		return found;
	json_object_foreach (value, name, member) {
		found = lab_find_string(member, key, depth + 1);
		if (found)
			return found;
	}
	json_array_foreach (value, i, member) {
		found = lab_find_string(member, key, depth + 1);
		if (found)
			return found;
	}
	return NULL;
}

int lab_why(const struct lab *lab, const struct topo *topo, unsigned src, unsigned dst,
	    unsigned plane, char *verdict, size_t verdict_size, char **text)
{
	const struct topo_server *server = &topo->servers[topo->gpus[src].server];
	char number[16];
	const char *json_argv[] = {lab->farectl, "-s",	server->fared_run_dir,
				   "-j",	 "why", topo_gpu_address(topo, dst),
				   number,	 NULL};
	const char *argv[] = {
		lab->farectl, "-s", server->fared_run_dir, "why", topo_gpu_address(topo, dst),
		number,	      NULL};
	const char *found;
	json_t *root;
	int err;

	snprintf(number, sizeof(number), "%u", plane);
	err = command_check(json_argv, LAB_COMMAND_MS, text);
	if (err)
		return err;
	root = json_loads(*text, 0, NULL);
	found = lab_find_string(root, "verdict", 0);
	snprintf(verdict, verdict_size, "%s", found ? found : "");
	json_decref(root);
	free(*text);
	return command_check(argv, LAB_COMMAND_MS, text);
}

int lab_enter(const char *netns)
{
	int home, err = netns_enter(netns, &home);

	if (!err)
		close(home);
	return err;
}
