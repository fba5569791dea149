/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor_process.c - see doctor_host.h: processes, and what FRR's are configured to do */
#include <dirent.h>
#include <pwd.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor_check.h"
#include "doctor_host.h"
#include "vty.h"

#define FRR_DIR	     "/var/run/frr"
#define FIRST_PERSON 1000 /* user ids below are those of the system (login.defs) */

/* A file of /proc/PID, "\0" at the end; its length, or -1. */
static ssize_t read_of(const char *pid, const char *name, char *out, size_t size)
{
	char path[64];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.16s/%.16s", pid, name);
	f = fopen(path, "re");
	if (!f)
		return -1;
	n = fread(out, 1, size - 1, f);
	fclose(f);
	out[n] = '\0';
	return (ssize_t)n;
}

/* One that cannot be looked into is taken for one of this namespace. */
static bool is_here(const char *pid)
{
	char path[64], own[64] = "", other[64] = "";

	snprintf(path, sizeof(path), "/proc/%.16s/ns/net", pid);
	if (readlink("/proc/self/ns/net", own, sizeof(own) - 1) < 0 ||
	    readlink(path, other, sizeof(other) - 1) < 0)
		return true;
	return !strcmp(own, other);
}

static json_t *args_of(const char *pid)
{
	json_t *args = json_array();
	char text[4096];
	ssize_t n = read_of(pid, "cmdline", text, sizeof(text));

	for (ssize_t at = 0; at < n; at += (ssize_t)strlen(text + at) + 1)
		json_array_append_new(args, json_string(text + at));
	return args;
}

static json_t *process_row(const char *pid, const char *name)
{
	char path[32], status[4096];
	const struct passwd *user = NULL;
	const char *locked;
	struct stat st;
	int policy;
	json_t *args, *row;

	snprintf(path, sizeof(path), "/proc/%.16s", pid);
	if (!stat(path, &st))
		user = getpwuid(st.st_uid);
	/* FRR's daemons are a system user's: any other chose that name itself */
	if (!user || (strcmp(name, "fared") && st.st_uid >= FIRST_PERSON))
		return NULL;
	args = args_of(pid);
	if (!json_array_size(args)) { /* it has ended, and is not waited for yet */
		json_decref(args);
		return NULL;
	}
	row = json_pack("{s:s, s:i, s:s*, s:o}", "name", name, "pid", atoi(pid), "user",
			user ? user->pw_name : NULL, "args", args);
	if (strcmp(name, "fared") || read_of(pid, "status", status, sizeof(status)) < 0)
		return row;
	locked = strstr(status, "VmLck:");
	policy = sched_getscheduler(atoi(pid)) & ~SCHED_RESET_ON_FORK;
	json_object_set_new(row, "locked", json_boolean(locked && atoi(locked + 6) > 0));
	json_object_set_new(row, "realtime",
			    json_boolean(policy == SCHED_RR || policy == SCHED_FIFO));
	return row;
}

void doctor_host_processes(json_t *facts)
{
	static const char *const wanted[] = {"fared", "bgpd", "zebra"};
	json_t *rows = json_array();
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	char name[32];

	while (proc && (entry = readdir(proc))) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
		    read_of(entry->d_name, "comm", name, sizeof(name)) <= 0)
			continue;
		name[strcspn(name, "\n")] = '\0';
		for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
			if (!strcmp(name, wanted[i]) && is_here(entry->d_name))
				json_array_append_new(rows, process_row(entry->d_name, name));
	}
	if (proc)
		closedir(proc);
	json_object_set_new(facts, "processes", rows);
}

/* ---- FRR ----------------------------------------------------------------- */

/* Where its vty socket is: --vty_socket DIR, or -N PATHSPACE below the usual place. */
static void vty_path(const json_t *process, const char *daemon, char *out, size_t size)
{
	const char *before = "", *dir = NULL, *space = NULL;
	const json_t *arg;
	size_t i;

	json_array_foreach (json_object_get(process, "args"), i, arg) {
		const char *text = json_string_value(arg);

		if (!strcmp(before, "--vty_socket"))
			dir = text;
		else if (!strncmp(text, "--vty_socket=", 13))
			dir = text + 13;
		else if (!strcmp(before, "-N") || !strcmp(before, "--pathspace"))
			space = text;
		before = text;
	}
	if (dir || !space)
		snprintf(out, size, "%s/%s.vty", dir ? dir : FRR_DIR, daemon);
	else
		snprintf(out, size, FRR_DIR "/%s/%s.vty", space, daemon);
}

static void read_config(json_t *facts, const json_t *process, const char *daemon)
{
	char path[512], key[32], why[600];
	struct vty vty;
	int rc;

	vty_path(process, daemon, path, sizeof(path));
	rc = vty_open(&vty, path);
	if (!rc) {
		rc = vty_ask(&vty, "enable");
		if (!rc)
			rc = vty_ask(&vty, "show running-config");
		if (!rc)
			json_object_set_new(facts, daemon, json_string(vty.text));
		vty_close(&vty);
	}
	if (!rc)
		return;
	snprintf(key, sizeof(key), "%s_why", daemon);
	snprintf(why, sizeof(why), "%s: %s", path, strerror(-rc));
	json_object_set_new(facts, key, json_string(why));
}

/* One whose process is not seen may have its socket in the usual place. */
void doctor_host_frr(json_t *facts)
{
	static const char *const daemons[] = {"bgpd", "zebra"};

	for (size_t d = 0; d < sizeof(daemons) / sizeof(daemons[0]); d++)
		read_config(facts, doctor_process(facts, daemons[d]), daemons[d]);
}
