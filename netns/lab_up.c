/* SPDX-License-Identifier: BSD-2-Clause */
/* lab_up.c - sets a lab up, or leaves nothing of it (lab.h) */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text_file.h"
#include "lab_files.h"
#include "lab_record.h"
#include "lb.h"
#include "links.h"
#include "marking.h"
#include "netns.h"
#include "pfc_lab.h"
#include "print_error.h"

#define KEY_BYTES 24 /* written as twice as many hexadecimal digits */

/* Host-wide limits that a lab of this size runs into; raised, never lowered, and said aloud. */
static void raise_limit(const char *path, unsigned long least)
{
	unsigned long now = 0;
	FILE *f = fopen(path, "r+e");

	if (!f)
		return;
	if (fscanf(f, "%lu", &now) == 1 && now < least) {
		rewind(f);
		fprintf(f, "%lu", least);
		if (!fflush(f))
			print_error("raised %s from %lu to %lu (host-wide, until the next boot)",
				    path, now, least);
	}
	fclose(f);
}

static void raise_limits(const struct topology *t)
{
	unsigned long ends = 2ul * plan_links(t);

	raise_limit("/proc/sys/net/core/rmem_max", 4ul << 20);
	raise_limit("/proc/sys/net/core/wmem_max", 4ul << 20);
	/* The neighbour table is one for all namespaces. */
	raise_limit("/proc/sys/net/ipv4/neigh/default/gc_thresh3", 4 * ends);
	raise_limit("/proc/sys/net/ipv4/neigh/default/gc_thresh2", 2 * ends);
	if (t->ipv6 || t->unnumbered) {
		raise_limit("/proc/sys/net/ipv6/neigh/default/gc_thresh3", 8 * ends);
		raise_limit("/proc/sys/net/ipv6/neigh/default/gc_thresh2", 4 * ends);
	}
}

/* Spread over 32 bits, never 0, different for every host of a lab and the same in every run of it.
 */
static uint32_t hash_seed(unsigned k)
{
	uint32_t x = (k + 1) * 2654435761u;

	x ^= x >> 15;
	return x ? x : 1;
}

static int make_host(const struct lab *lab, unsigned k, const unsigned *announced_mbps)
{
	struct plan_host host = plan_host_at(&lab->topology, k);
	const struct netns_settings settings = {.forwards = host.role != PLAN_SERVER,
						.ipv6 = lab->topology.ipv6 ||
							lab->topology.unnumbered,
						.hash_seed = hash_seed(k)};
	char netns[PLAN_NETNS_NAME_MAX];
	int rc;

	lab_netns(lab, host, netns);
	rc = netns_create(netns, &settings);
	if (rc)
		print_error("cannot make namespace %s: %s", netns, strerror(-rc));
	return rc ? rc : lab_files_make(lab, host, announced_mbps);
}

/* announced_mbps: the topology's rates. */
static int make_hosts(const struct lab *lab, const unsigned *announced_mbps)
{
	int rc = netns_prepare();

	for (unsigned k = 0; !rc && k < plan_hosts(&lab->topology); k++)
		rc = make_host(lab, k, announced_mbps);
	return rc;
}

static int lb_begin(const struct lab *lab)
{
	struct fault_state state;
	int rc = lab->topology.lb.mode ? fault_state_load(lab, &state) : 0;

	if (rc || !lab->topology.lb.mode)
		return rc;
	rc = lb_apply(lab, &state);
	fault_state_fini(&state);
	return rc;
}

static int make_network(const struct lab *lab)
{
	const struct topology *t = &lab->topology;
	unsigned *rate_mbps = calloc(plan_links(t), sizeof(*rate_mbps));
	int rc = rate_mbps ? 0 : -ENOMEM;

	for (unsigned k = 0; !rc && k < plan_links(t); k++)
		rate_mbps[k] = plan_link_mbps(t, k);
	if (!rc && !(rc = make_hosts(lab, rate_mbps)) && !(rc = links_make(lab)) &&
	    t->ecn_threshold_kb)
		rc = marking_apply(lab, rate_mbps);
	if (!rc && t->pfc.xoff_bytes)
		rc = pfc_lab_attach(lab); /* before what places packets itself */
	free(rate_mbps);
	return rc ? rc : lb_begin(lab);
}

static int start_daemons(const struct lab *lab)
{
	unsigned n = plan_hosts(&lab->topology);
	int rc = 0;

	for (unsigned k = 0; !rc && k < n; k++)
		rc = lab_zebra_start(lab, plan_host_at(&lab->topology, k));
	for (unsigned k = 0; !rc && k < n; k++) {
		rc = lab_zebra_wait(lab, plan_host_at(&lab->topology, k));
		if (!rc)
			rc = lab_daemon_start(lab, plan_host_at(&lab->topology, k), LAB_BGPD);
	}
	for (unsigned k = 0; !rc && lab->fared[0] && k < lab->topology.servers; k++)
		rc = lab_daemon_start(lab, plan_host_at(&lab->topology, k), LAB_FARED);
	return rc;
}

static int copy_topology(const struct lab *lab, const char *from)
{
	char path[LAB_PATH_MAX], *text;
	size_t size;
	int rc = text_file_read(from, TOPOLOGY_FILE_MAX, &text, &size);

	lab_record_path(lab->name, "topology.yaml", path);
	if (!rc)
		rc = text_file_replace(path, 0644, text, size);
	free(text);
	return rc;
}

/* What the lab's servers sign their capacity notices with: new for every lab. */
static int make_key(const struct lab *lab)
{
	char path[LAB_PATH_MAX], text[2 * KEY_BYTES + 2];
	uint8_t bytes[KEY_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	strcat(text, "\n");
	lab_record_path(lab->name, LAB_FILES_KEY, path);
	return text_file_replace(path, 0600, text, strlen(text));
}

static int build(const struct lab *lab, const struct lab_up_options *options)
{
	char dir[LAB_PATH_MAX];
	int rc;

	lab_record_path(lab->name, "", dir);
	if (mkdir(dir, 0755))
		return -errno;
	if ((rc = lab_record_write(lab, "building", options->owners)) ||
	    (rc = copy_topology(lab, options->topology_path)) || (rc = make_key(lab)) ||
	    (rc = make_network(lab)) || (rc = start_daemons(lab)) ||
	    (rc = lab_record_write(lab, "up", options->owners)))
		return rc;
	return lab->topology.pfc.xoff_bytes ? pfc_lab_start(lab) : 0;
}

/* Ctrl-C in the middle must not leave half a lab: such signals wait until it is whole, and then
 * undo it. */
static int build_uninterrupted(const struct lab *lab, const struct lab_up_options *options,
			       sigset_t *old)
{
	static const int stops[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t held, pending;
	int rc;

	sigemptyset(&held);
	for (size_t i = 0; i < sizeof(stops) / sizeof(*stops); i++)
		sigaddset(&held, stops[i]);
	sigprocmask(SIG_BLOCK, &held, old);
	rc = build(lab, options);
	sigpending(&pending);
	for (size_t i = 0; !rc && i < sizeof(stops) / sizeof(*stops); i++)
		if (sigismember(&pending, stops[i]))
			rc = -EINTR;
	return rc;
}

/* Which FRR runs the lab; it has to take as many paths to a GPU as the topology has. */
static int find_frr(const char *dir, struct lab *lab)
{
	unsigned n_paths = lab->topology.planes * lab->topology.sub_ports;
	char error[FRR_INSTALL_ERROR_MAX];
	int rc = frr_install_find(dir, &lab->frr, error);

	if (rc) {
		print_error("%s", error);
		return rc;
	}
	if (!lab->frr.multipath || lab->frr.multipath >= n_paths)
		return 0;
	print_error("%s/bgpd was built for %u paths to a destination (--enable-multipath), and the "
		    "topology has %u; give --frr another FRR, or a topology of fewer planes or "
		    "sub-ports",
		    lab->frr.dir, lab->frr.multipath, n_paths);
	return -EINVAL;
}

static int options_check(const struct lab_up_options *options, struct lab *lab)
{
	char error[TOPOLOGY_ERROR_MAX];
	const char *name = options->name;
	int rc = topology_load(options->topology_path, &lab->topology, error);

	if (rc) {
		fprintf(stderr, "%s\n", error);
		return rc;
	}
	name = name ? name : lab->topology.name;
	if (!topology_name_valid(name)) {
		print_error("%s: a lab's name is 1 to %d of a-z, 0-9 and '-'; give one with --name",
			    *name ? name : "the topology names no lab", TOPOLOGY_NAME_MAX);
		return -EINVAL;
	}
	snprintf(lab->name, sizeof(lab->name), "%s", name);
	if (geteuid()) {
		print_error("a lab is made of network namespaces: run as root");
		return -EPERM;
	}
	if (options->fared && (!realpath(options->fared, lab->fared) || access(lab->fared, X_OK))) {
		print_error("%s: %s; give --fared the path of the fared program", options->fared,
			    strerror(errno));
		return -errno;
	}
	return find_frr(options->frr, lab);
}

int lab_up(const struct lab_up_options *options, struct lab *out)
{
	struct lab lab = {.lock_fd = -1};
	char dir[LAB_PATH_MAX];
	sigset_t mask;
	bool found;
	int rc = options_check(options, &lab);

	if (rc || (rc = lab_lock(&lab)))
		return rc;
	lab_record_path(lab.name, "", dir);
	if (!access(dir, F_OK)) {
		print_error("there is a lab %s already; `farelab down %s` first, or give another "
			    "--name",
			    lab.name, lab.name);
		lab_unlock(&lab);
		return -EEXIST;
	}
	raise_limits(&lab.topology);
	rc = build_uninterrupted(&lab, options, &mask);
	if (rc) {
		print_error("lab %s is not up (%s); removing what was made", lab.name,
			    strerror(-rc));
		lab_tear_down(lab.name, &found);
		lab_record_unlock(lab.name, lab.lock_fd, true);
		sigprocmask(SIG_SETMASK, &mask, NULL);
		return rc;
	}
	lab_unlock(&lab);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	*out = lab;
	return 0;
}
