/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of a lab's parts, and its daemons one by one: what lab.c, faults and status share. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "lab.h"
#include "process.h"
#include "say.h"

#define FRR_DIR	      "/usr/lib/frr/"
#define KEEP_ROUTES_S "60"

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

static const char *const pid_files[] = {"zebra.pid", "bgpd.pid", "fared.pid"};
static const char *const log_files[] = {"zebra.log", "bgpd.log", "fared.log"};

int lab_daemon_start(const struct lab *lab, struct plan_host host, enum lab_daemon daemon)
{
	char netns[PLAN_NETNS_NAME_MAX], pid_path[LAB_PATH_MAX], log[LAB_PATH_MAX],
		config[LAB_PATH_MAX];
	char frr[LAB_PATH_MAX], zserv[LAB_PATH_MAX], frr_pid[LAB_PATH_MAX];
	/*
	 * A server's zebra that is started anew keeps the routes that it finds in the kernel: bgpd
	 * has that time to install its own. A leaf that comes back is to know nothing.
	 */
	const char *const zebra[] = {FRR_DIR "zebra",
				     "-f",
				     config,
				     "-i",
				     frr_pid,
				     "-z",
				     zserv,
				     "--vty_socket",
				     frr,
				     "-P",
				     "0",
				     "--log",
				     "stdout",
				     host.role == PLAN_SERVER ? "--graceful_restart" : NULL,
				     KEEP_ROUTES_S,
				     NULL};
	const char *const bgpd[] = {
		FRR_DIR "bgpd", "-M",		"bmp", "-f", config, "-i",    frr_pid,	"-z",
		zserv,		"--vty_socket", frr,   "-P", "0",    "--log", "stdout", NULL};
	const char *const fared[] = {lab->fared, "-c", config, NULL};
	const char *const *const argvs[] = {zebra, bgpd, fared};
	int rc;

	if (lab_daemon_pid(lab, host, daemon))
		return -EALREADY;
	lab_netns(lab, host, netns);
	lab_path(lab, host, "frr", frr);
	lab_path(lab, host, "frr/zserv.api", zserv);
	lab_path(lab, host, pid_files[daemon], pid_path);
	lab_path(lab, host, log_files[daemon], log);
	lab_path(lab, host, daemon == LAB_ZEBRA ? "frr/zebra.pid" : "frr/bgpd.pid", frr_pid);
	lab_path(lab, host,
		 daemon == LAB_ZEBRA  ? "frr/zebra.conf"
		 : daemon == LAB_BGPD ? "frr/bgpd.conf"
				      : "fared.yaml",
		 config);
	rc = process_daemon_start(netns, log, pid_path, argvs[daemon]);
	if (rc)
		say("cannot start %s in %s: %s", argvs[daemon][0], netns, strerror(-rc));
	return rc;
}

int lab_daemon_kill(const struct lab *lab, struct plan_host host, enum lab_daemon daemon)
{
	char path[LAB_PATH_MAX];

	lab_path(lab, host, pid_files[daemon], path);
	return process_daemon_kill(path);
}

pid_t lab_daemon_pid(const struct lab *lab, struct plan_host host, enum lab_daemon daemon)
{
	char path[LAB_PATH_MAX];

	lab_path(lab, host, pid_files[daemon], path);
	return process_daemon_pid(path);
}

static bool socket_listens(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool listens;

	if (strlen(path) < sizeof(address.sun_path))
		strcpy(address.sun_path, path);
	listens = fd >= 0 && !connect(fd, (struct sockaddr *)&address, sizeof(address));
	if (fd >= 0)
		close(fd);
	return listens;
}

int lab_zebra_wait(const struct lab *lab, struct plan_host host)
{
	const struct timespec pause = {.tv_nsec = 5000000};
	char zserv[LAB_PATH_MAX], log[LAB_PATH_MAX];

	lab_path(lab, host, "frr/zserv.api", zserv);
	lab_path(lab, host, "zebra.log", log);
	for (unsigned i = 0; i < 4000; i++) {
		if (socket_listens(zserv))
			return 0;
		if (!lab_daemon_pid(lab, host, LAB_ZEBRA))
			break;
		nanosleep(&pause, NULL);
	}
	say("zebra did not start; its last words are in %s", log);
	return -EIO;
}
