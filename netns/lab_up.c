/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "frr_config.h"
#include "lab_record.h"
#include "links.h"
#include "netns.h"
#include "say.h"

#define KEY_FILE  "health.key"
#define KEY_BYTES 24 /* written as twice as many hexadecimal digits */

/* FRR wants to own what it writes; -ENOENT without FRR. */
static int frr_ids(uid_t *uid, gid_t *gid)
{
	const struct passwd *user = getpwnam("frr");

	if (!user || access("/usr/lib/frr/bgpd", X_OK) || access("/usr/lib/frr/zebra", X_OK)) {
		say("FRR is not installed; run: apt-get install frr");
		return -ENOENT;
	}
	*uid = user->pw_uid;
	*gid = user->pw_gid;
	return 0;
}

static void frr_version(char version[32])
{
	FILE *f = popen("/usr/lib/frr/bgpd --version", "re");

	strcpy(version, "");
	if (!f)
		return;
	if (fscanf(f, "bgpd version %31[0-9.]", version) != 1)
		strcpy(version, "");
	pclose(f);
}

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
			say("raised %s from %lu to %lu (host-wide, until the next boot)", path, now,
			    least);
	}
	fclose(f);
}

static void raise_limits(const struct topology *t)
{
	unsigned long ends = 2ul * t->servers * t->gpus_per_server * t->planes * t->sub_ports;

	raise_limit("/proc/sys/net/core/rmem_max", 4ul << 20);
	raise_limit("/proc/sys/net/core/wmem_max", 4ul << 20);
	/* The neighbour table is one for all namespaces. */
	raise_limit("/proc/sys/net/ipv4/neigh/default/gc_thresh3", 4 * ends);
	raise_limit("/proc/sys/net/ipv4/neigh/default/gc_thresh2", 2 * ends);
	if (t->ipv6) {
		raise_limit("/proc/sys/net/ipv6/neigh/default/gc_thresh3", 8 * ends);
		raise_limit("/proc/sys/net/ipv6/neigh/default/gc_thresh2", 4 * ends);
	}
}

static FILE *create_file(const struct lab *lab, struct plan_host host, const char *file)
{
	char path[LAB_PATH_MAX];

	lab_path(lab, host, file, path);
	return fopen(path, "wxe");
}

static int close_file(FILE *f)
{
	bool failed = ferror(f);

	return fclose(f) || failed ? -EIO : 0;
}

static int write_fared_config(const struct lab *lab, struct plan_host host, const char *version)
{
	char run_dir[LAB_PATH_MAX], zserv[LAB_PATH_MAX], key[LAB_PATH_MAX];
	char next[LAB_PATH_MAX], path[LAB_PATH_MAX];
	FILE *f;
	int rc;

	lab_path(lab, host, "fared.yaml", path);
	lab_path(lab, host, "fared.yaml.next", next);
	f = fopen(next, "we");
	if (!f)
		return -errno;
	lab_path(lab, host, "fared", run_dir);
	lab_path(lab, host, "frr/zserv.api", zserv);
	lab_record_path(lab->name, KEY_FILE, key);
	config_fared(f, &lab->topology, host.index, run_dir, zserv, version, key);
	rc = close_file(f);
	return !rc && rename(next, path) ? -errno : rc;
}

int lab_fared_reconfigure(const struct lab *lab)
{
	char version[32];
	int rc = 0;

	frr_version(version);
	for (unsigned k = 0; !rc && k < lab->topology.servers; k++) {
		struct plan_host host = {false, k};
		pid_t pid = lab_daemon_pid(lab, host, LAB_FARED);

		rc = write_fared_config(lab, host, version);
		if (!rc && pid && kill(pid, SIGHUP))
			rc = -errno;
	}
	return rc;
}

static int write_frr_configs(const struct lab *lab, struct plan_host host)
{
	FILE *f = create_file(lab, host, "frr/zebra.conf");
	int rc, closed;

	if (!f)
		return -errno;
	frr_config_zebra(f);
	rc = close_file(f);
	f = rc ? NULL : create_file(lab, host, "frr/bgpd.conf");
	if (!f)
		return rc ? rc : -errno;
	if (host.leaf)
		rc = config_leaf_bgpd(f, &lab->topology, host.index);
	else
		rc = config_server_bgpd(f, &lab->topology, host.index);
	closed = close_file(f);
	return rc ? rc : closed;
}

static int make_host_files(const struct lab *lab, struct plan_host host, const char *version)
{
	char path[LAB_PATH_MAX];
	uid_t uid;
	gid_t gid;
	int rc = frr_ids(&uid, &gid);

	if (rc)
		return rc;
	lab_path(lab, host, "", path);
	if (mkdir(path, 0755))
		return -errno;
	lab_path(lab, host, "frr", path);
	if (mkdir(path, 0750) || chown(path, uid, gid))
		return -errno;
	rc = write_frr_configs(lab, host);
	if (rc || host.leaf)
		return rc;
	lab_path(lab, host, "fared", path);
	if (mkdir(path, 0755))
		return -errno;
	return write_fared_config(lab, host, version);
}

/* Spread over 32 bits, never 0, different for every host of a lab and the same in every run of it.
 */
static uint32_t hash_seed(unsigned k)
{
	uint32_t x = (k + 1) * 2654435761u;

	x ^= x >> 15;
	return x ? x : 1;
}

static int make_hosts(const struct lab *lab)
{
	const struct topology *t = &lab->topology;
	char netns[PLAN_NETNS_NAME_MAX], version[32];
	int rc = netns_prepare();

	frr_version(version);
	for (unsigned k = 0; !rc && k < plan_hosts(t); k++) {
		struct plan_host host = plan_host_at(t, k);
		const struct netns_settings settings = {
			.forwards = host.leaf, .ipv6 = t->ipv6, .hash_seed = hash_seed(k)};

		lab_netns(lab, host, netns);
		rc = netns_create(netns, &settings);
		if (rc)
			say("cannot make namespace %s: %s", netns, strerror(-rc));
		else
			rc = make_host_files(lab, host, version);
	}
	return rc;
}

static int start_daemons(const struct lab *lab)
{
	unsigned n = plan_hosts(&lab->topology);
	int rc = 0;

	for (unsigned k = 0; !rc && k < n; k++)
		rc = lab_daemon_start(lab, plan_host_at(&lab->topology, k), LAB_ZEBRA);
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
	char path[LAB_PATH_MAX], block[4096];
	FILE *in = fopen(from, "re"), *out;
	size_t n;
	int rc;

	lab_record_path(lab->name, "topology.yaml", path);
	out = fopen(path, "we");
	if (!in || !out) {
		rc = -errno;
		if (in)
			fclose(in);
		if (out)
			fclose(out);
		return rc;
	}
	while ((n = fread(block, 1, sizeof(block), in)) > 0)
		fwrite(block, 1, n, out);
	rc = ferror(in) ? -EIO : 0;
	fclose(in);
	return close_file(out) || rc ? -EIO : 0;
}

/* What the lab's servers sign their capacity notices with: new for every lab. */
static int make_key(const struct lab *lab)
{
	char path[LAB_PATH_MAX];
	uint8_t bytes[KEY_BYTES];
	FILE *out;
	int fd;

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	lab_record_path(lab->name, KEY_FILE, path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out)
		return -errno;
	for (size_t i = 0; i < sizeof(bytes); i++)
		fprintf(out, "%02x", bytes[i]);
	fputc('\n', out);
	return close_file(out);
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
	    (rc = make_hosts(lab)) || (rc = links_make(lab)) || (rc = start_daemons(lab)))
		return rc;
	return lab_record_write(lab, "up", options->owners);
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

static int options_check(const struct lab_up_options *options, struct lab *lab)
{
	char error[TOPOLOGY_ERROR_MAX];
	const char *name = options->name;
	uid_t uid;
	gid_t gid;
	int rc = topology_load(options->topology_path, &lab->topology, error);

	if (rc) {
		fprintf(stderr, "%s\n", error);
		return rc;
	}
	name = name ? name : lab->topology.name;
	if (!topology_name_valid(name)) {
		say("%s: a lab's name is 1 to %d of a-z, 0-9 and '-'; give one with --name",
		    *name ? name : "the topology names no lab", TOPOLOGY_NAME_MAX);
		return -EINVAL;
	}
	snprintf(lab->name, sizeof(lab->name), "%s", name);
	if (geteuid()) {
		say("a lab is made of network namespaces: run as root");
		return -EPERM;
	}
	if (options->fared && (!realpath(options->fared, lab->fared) || access(lab->fared, X_OK))) {
		say("%s: %s; give --fared the path of the fared program", options->fared,
		    strerror(errno));
		return -errno;
	}
	return frr_ids(&uid, &gid);
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
		say("there is a lab %s already; `farelab down %s` first, or give another --name",
		    lab.name, lab.name);
		lab_unlock(&lab);
		return -EEXIST;
	}
	raise_limits(&lab.topology);
	rc = build_uninterrupted(&lab, options, &mask);
	if (rc) {
		say("lab %s is not up (%s); removing what was made", lab.name, strerror(-rc));
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
