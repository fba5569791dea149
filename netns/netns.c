/* SPDX-License-Identifier: BSD-2-Clause */
#include "netns.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "print_error.h"

#define NETNS_DIR      "/run/netns"
#define PATH_MAX_NETNS 320

int netns_prepare(void)
{
	if (mkdir(NETNS_DIR, 0755) && errno != EEXIST)
		return -errno;
	if (!mount("", NETNS_DIR, "none", MS_SHARED | MS_REC, NULL))
		return 0;
	if (errno != EINVAL)
		return -errno;
	/* Not a mount point yet: bind it onto itself, so that namespaces show up in every mount
	 * namespace. */
	if (mount(NETNS_DIR, NETNS_DIR, "none", MS_BIND | MS_REC, NULL) ||
	    mount("", NETNS_DIR, "none", MS_SHARED | MS_REC, NULL))
		return -errno;
	return 0;
}

static int sysctl_write(const char *key, const char *value)
{
	char path[160];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/sys/net/%s", key);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0) {
		/* A kernel without IPv6 has nothing to turn off. */
		if (errno == ENOENT && !strncmp(key, "ipv6/", 5) && !strcmp(value, "1"))
			return 0;
		n = -errno;
	} else {
		n = write(fd, value, strlen(value));
		n = n < 0 ? -errno : 0;
		close(fd);
	}
	if (n < 0)
		print_error("cannot set %s to %s: %s", key, value, strerror((int)-n));
	return (int)n;
}

static int settings_apply(const struct netns_settings *s)
{
	char seed[16];
	const char *const always[][2] = {
		{"ipv4/fib_multipath_hash_policy", "1"},
		{"ipv4/fib_multipath_hash_seed", seed},
		{"ipv4/conf/all/rp_filter", "0"},
		{"ipv4/conf/default/rp_filter", "0"},
		/* On servers too: a route over a port without carrier is no route, for the kernel's
		   own ECMP as well. */
		{"ipv4/conf/all/ignore_routes_with_linkdown", "1"},
		{"ipv4/conf/default/ignore_routes_with_linkdown", "1"},
		{"ipv4/ip_forward", s->forwards ? "1" : "0"},
		/* Anybody on a link can send a redirect. After ip_forward, which sets it, too. */
		{"ipv4/conf/all/accept_redirects", "0"},
		{"ipv4/conf/default/accept_redirects", "0"},
	};
	const char *const six[][2] = {
		{"ipv6/fib_multipath_hash_policy", "1"},
		{"ipv6/conf/all/forwarding", s->forwards ? "1" : "0"},
		{"ipv6/conf/default/accept_dad", "0"},
		{"ipv6/conf/default/accept_ra", "0"},
		{"ipv6/conf/default/accept_redirects", "0"},
		{"ipv6/conf/default/keep_addr_on_down", "1"},
		{"ipv6/conf/all/keep_addr_on_down", "1"},
		{"ipv6/conf/all/ignore_routes_with_linkdown", "1"},
		{"ipv6/conf/default/ignore_routes_with_linkdown", "1"},
	};
	int rc = 0;

	snprintf(seed, sizeof(seed), "%u", s->hash_seed);
	for (size_t i = 0; !rc && i < sizeof(always) / sizeof(*always); i++)
		rc = sysctl_write(always[i][0], always[i][1]);
	for (size_t i = 0; !rc && s->ipv6 && i < sizeof(six) / sizeof(*six); i++)
		rc = sysctl_write(six[i][0], six[i][1]);
	if (!rc && !s->ipv6 && !(rc = sysctl_write("ipv6/conf/all/disable_ipv6", "1")))
		rc = sysctl_write("ipv6/conf/default/disable_ipv6", "1");
	return rc;
}

int netns_create(const char *name, const struct netns_settings *settings)
{
	char path[PATH_MAX_NETNS];
	int home, fd, rc;

	snprintf(path, sizeof(path), NETNS_DIR "/%.255s", name);
	fd = open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	close(fd);
	home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (home < 0 || unshare(CLONE_NEWNET)) {
		rc = -errno;
		goto undo;
	}
	rc = mount("/proc/thread-self/ns/net", path, "none", MS_BIND, NULL) ? -errno : 0;
	if (!rc)
		rc = settings_apply(settings);
	netns_leave(home);
	home = -1;
	if (!rc)
		return 0;
undo:
	if (home >= 0)
		close(home);
	netns_delete(name);
	return rc;
}

int netns_delete(const char *name)
{
	char path[PATH_MAX_NETNS];

	snprintf(path, sizeof(path), NETNS_DIR "/%.255s", name);
	if (umount2(path, MNT_DETACH) && errno != EINVAL && errno != ENOENT)
		return -errno;
	return unlink(path) && errno != ENOENT ? -errno : 0;
}

int netns_enter(const char *name, int *home)
{
	char path[PATH_MAX_NETNS];
	int fd, rc = 0;

	snprintf(path, sizeof(path), NETNS_DIR "/%.255s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (*home < 0 || setns(fd, CLONE_NEWNET)) {
		rc = -errno;
		if (*home >= 0)
			close(*home);
	}
	close(fd);
	return rc;
}

void netns_leave(int home)
{
	/* To go on in the wrong namespace would set up the wrong host: there is no way to recover
	 * from here. */
	if (setns(home, CLONE_NEWNET)) {
		print_error("cannot return to the host's network namespace: %s", strerror(errno));
		_exit(1);
	}
	close(home);
}

int netns_join(const char *name)
{
	int home, rc = netns_enter(name, &home);

	if (rc)
		return rc;
	close(home);
	if (unshare(CLONE_NEWNS) || mount("", "/", "none", MS_SLAVE | MS_REC, NULL) ||
	    umount2("/sys", MNT_DETACH) || mount("sysfs", "/sys", "sysfs", 0, NULL))
		return -errno;
	return 0;
}

int netns_inode(const char *name, ino_t *inode)
{
	char path[PATH_MAX_NETNS];
	struct stat st, dir;

	snprintf(path, sizeof(path), NETNS_DIR "/%.255s", name);
	if (stat(path, &st) || stat(NETNS_DIR, &dir))
		return -errno;
	if (st.st_dev == dir.st_dev)
		return -ENOENT; /* a plain file: its namespace was never mounted, or is gone */
	*inode = st.st_ino;
	return 0;
}

static int compare_inodes(const void *a, const void *b)
{
	const ino_t x = *(const ino_t *)a, y = *(const ino_t *)b;

	return (x > y) - (x < y);
}

static int kill_round(const ino_t *sorted, size_t n)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	int found = 0;

	if (!proc)
		return -errno;
	while ((e = readdir(proc))) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
		char path[48];
		struct stat st;

		if (pid <= 0 || pid == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
		if (stat(path, &st) ||
		    !bsearch(&st.st_ino, sorted, n, sizeof(*sorted), compare_inodes))
			continue;
		found++;
		kill(pid, SIGKILL);
	}
	closedir(proc);
	return found;
}

int netns_kill_all(const ino_t *inodes, size_t n)
{
	const struct timespec pause = {.tv_nsec = 5000000};
	ino_t *sorted = malloc((n ? n : 1) * sizeof(*sorted));
	int found = -ENOMEM;

	if (!sorted)
		return found;
	if (n)
		memcpy(sorted, inodes, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare_inodes);
	for (unsigned i = 0; i < 2000; i++) {
		found = kill_round(sorted, n);
		if (found <= 0)
			break;
		nanosleep(&pause, NULL);
	}
	free(sorted);
	return found > 0 ? -ETIMEDOUT : found;
}

int netns_each(const char *prefix, void (*visit)(const char *name, void *arg), void *arg)
{
	DIR *dir = opendir(NETNS_DIR);
	struct dirent *e;

	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	while ((e = readdir(dir)))
		if (e->d_name[0] != '.' && !strncmp(e->d_name, prefix, strlen(prefix)))
			visit(e->d_name, arg);
	closedir(dir);
	return 0;
}
