/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of a lab's parts, and its daemons one by one: what lab.c, faults and status share. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lab.h"
#include "netns.h"
#include "process.h"
#include "print_error.h"

#define SOCKET_LISTENS 0x10000 /* __SO_ACCEPTCON, as /proc/net/unix shows it */

void lab_path(const struct lab *lab, struct plan_host host, const char *file,
	      char path[LAB_PATH_MAX])
{
	char name[PLAN_HOST_NAME_MAX];

	plan_host_name(host, name);
	snprintf(path, LAB_PATH_MAX, LAB_RUN_DIR "/%.32s/%s%s%.64s", lab->name, name,
		 *file ? "/" : "", file);
}

void lab_netns(const struct lab *lab, struct plan_host host, char name[PLAN_NETNS_NAME_MAX])
{
	plan_netns_name(lab->name, host, name);
}

int lab_enter(const struct lab *lab, struct plan_host host, int *home)
{
	char netns[PLAN_NETNS_NAME_MAX];

	lab_netns(lab, host, netns);
	return netns_enter(netns, home);
}

static const char *const names[] = {"mgmtd", "zebra", "bgpd", "fared"};

/* A file of that daemon: frr/zebra.conf and the like. */
static void daemon_path(const struct lab *lab, struct plan_host host, enum lab_daemon daemon,
			const char *dir, const char *ending, char path[LAB_PATH_MAX])
{
	char file[32];

	snprintf(file, sizeof(file), "%s%s%s", dir, names[daemon], ending);
	lab_path(lab, host, file, path);
}

const char *lab_daemon_name(enum lab_daemon daemon)
{
	return names[daemon];
}

void lab_daemon_log(const struct lab *lab, struct plan_host host, enum lab_daemon daemon,
		    char path[LAB_PATH_MAX])
{
	daemon_path(lab, host, daemon, "", ".log", path);
}

#define ARGV_MAX 24

/* Room for what FRR's daemons are given; argv points into it. */
struct frr_args {
	char program[PATH_MAX], dir[LAB_PATH_MAX], zserv[LAB_PATH_MAX], pid[LAB_PATH_MAX],
		config[LAB_PATH_MAX], netns[PLAN_NETNS_NAME_MAX];
	const char *argv[ARGV_MAX];
	unsigned n;
};

static void lab_paths_add(struct frr_args *a, const char *option, const char *value)
{
	a->argv[a->n++] = option;
	a->argv[a->n++] = value;
}

/* Where zebra, bgpd and mgmtd of one host meet, and nobody else's. */
static void add_common(struct frr_args *a, const struct lab *lab, struct plan_host host,
		       enum lab_daemon daemon)
{
	frr_install_path(&lab->frr, names[daemon], a->program);
	lab_netns(lab, host, a->netns);
	lab_path(lab, host, "frr", a->dir);
	lab_path(lab, host, "frr/zserv.api", a->zserv);
	daemon_path(lab, host, daemon, "frr/", ".pid", a->pid);
	a->argv[a->n++] = a->program;
	lab_paths_add(a, "-i", a->pid);
	lab_paths_add(a, "--vty_socket", a->dir);
	lab_paths_add(a, "-P", "0");
	lab_paths_add(a, "--log", "stdout");
	/* mgmtd's own sockets have no option but this one, which names a directory */
	if (frr_install_needs_mgmtd(&lab->frr))
		lab_paths_add(a, "-N", a->netns);
}

static void frr_args(struct frr_args *a, const struct lab *lab, struct plan_host host,
		     enum lab_daemon daemon)
{
	*a = (struct frr_args){0};
	add_common(a, lab, host, daemon);
	if (daemon == LAB_MGMTD)
		return;
	daemon_path(lab, host, daemon, "frr/", ".conf", a->config);
	lab_paths_add(a, "-f", a->config);
	lab_paths_add(a, "-z", a->zserv);
	if (daemon == LAB_BGPD)
		lab_paths_add(a, "-M", "bmp");
	/*
	 * A server's zebra that is started anew keeps the routes that it finds in the kernel: bgpd
	 * has that time to install its own. A leaf that comes back is to know nothing.
	 */
	else if (host.role == PLAN_SERVER)
		a->argv[a->n++] = "--graceful_restart=60"; /* zebra 10 ignores a separate 60 */
}

int lab_daemon_start(const struct lab *lab, struct plan_host host, enum lab_daemon daemon)
{
	char netns[PLAN_NETNS_NAME_MAX], pid_path[LAB_PATH_MAX], log[LAB_PATH_MAX],
		config[LAB_PATH_MAX];
	const char *const fared[] = {lab->fared, "-c", config, NULL};
	const char *const *argv = fared;
	struct frr_args frr;
	int rc;

	if (lab_daemon_pid(lab, host, daemon))
		return -EALREADY;
	if (daemon != LAB_FARED) {
		frr_args(&frr, lab, host, daemon);
		argv = frr.argv;
	}
	lab_netns(lab, host, netns);
	daemon_path(lab, host, daemon, "", ".pid", pid_path);
	lab_daemon_log(lab, host, daemon, log);
	lab_path(lab, host, "fared.yaml", config);
	rc = process_daemon_start(netns, log, pid_path, argv);
	if (rc)
		print_error("cannot start %s in %s: %s", names[daemon], netns, strerror(-rc));
	return rc;
}

int lab_daemon_kill(const struct lab *lab, struct plan_host host, enum lab_daemon daemon)
{
	char path[LAB_PATH_MAX];

	daemon_path(lab, host, daemon, "", ".pid", path);
	return process_daemon_kill(path);
}

pid_t lab_daemon_pid(const struct lab *lab, struct plan_host host, enum lab_daemon daemon)
{
	char path[LAB_PATH_MAX];

	daemon_path(lab, host, daemon, "", ".pid", path);
	return process_daemon_pid(path);
}

int lab_zebra_start(const struct lab *lab, struct plan_host host)
{
	int rc = 0;

	if (frr_install_needs_mgmtd(&lab->frr) && !lab_daemon_pid(lab, host, LAB_MGMTD))
		rc = lab_daemon_start(lab, host, LAB_MGMTD);
	if (!rc && !lab_daemon_pid(lab, host, LAB_ZEBRA))
		rc = lab_daemon_start(lab, host, LAB_ZEBRA);
	return rc;
}

int lab_zebra_kill(const struct lab *lab, struct plan_host host)
{
	int rc = lab_daemon_kill(lab, host, LAB_ZEBRA);

	return rc ? rc : lab_daemon_kill(lab, host, LAB_MGMTD);
}

/*
 * Whether a socket of that name listens in the namespace of the process. The kernel is asked: zebra
 * 10.3 may lose its connected routes for good if a client connects and goes away while it starts.
 */
static bool socket_listens(pid_t pid, const char *path)
{
	char table[32], line[LAB_PATH_MAX + 128];
	bool listens = false;
	FILE *f;

	snprintf(table, sizeof(table), "/proc/%d/net/unix", (int)pid);
	f = fopen(table, "re");
	while (f && !listens && fgets(line, sizeof(line), f)) {
		const char *name = strrchr(line, ' ');
		unsigned flags;

		line[strcspn(line, "\n")] = 0;
		listens = name && !strcmp(name + 1, path) &&
			  sscanf(line, "%*s %*s %*s %x", &flags) == 1 && flags & SOCKET_LISTENS;
	}
	if (f)
		fclose(f);
	return listens;
}

/* Of a log; "" if it has none. */
static void last_line(const char *path, char *out, size_t size)
{
	FILE *f = fopen(path, "re");

	*out = '\0';
	while (f && fgets(out, (int)size, f))
		out[strcspn(out, "\n")] = '\0';
	if (f)
		fclose(f);
}

int lab_zebra_wait(const struct lab *lab, struct plan_host host)
{
	const struct timespec pause = {.tv_nsec = 5000000};
	bool has_mgmtd = frr_install_needs_mgmtd(&lab->frr);
	char zserv[LAB_PATH_MAX], log[LAB_PATH_MAX], line[256];
	enum lab_daemon dead = LAB_ZEBRA;

	lab_path(lab, host, "frr/zserv.api", zserv);
	for (unsigned i = 0; i < 4000; i++) {
		pid_t pid = lab_daemon_pid(lab, host, LAB_ZEBRA);

		if (has_mgmtd && !lab_daemon_pid(lab, host, LAB_MGMTD))
			dead = LAB_MGMTD;
		if (!pid || dead == LAB_MGMTD)
			break;
		if (socket_listens(pid, zserv))
			return 0;
		nanosleep(&pause, NULL);
	}
	lab_daemon_log(lab, host, dead, log);
	last_line(log, line, sizeof(line)); /* the log may be removed with the lab */
	print_error("%s did not start: %s (%s)", names[dead], line, log);
	return -EIO;
}
