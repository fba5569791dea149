/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "lab_record.h"
#include "netns.h"
#include "print_error.h"

int lab_lock(struct lab *lab)
{
	int fd = lab_record_lock(lab->name, LOCK_EX);

	if (fd < 0)
		return fd;
	lab->lock_fd = fd;
	return 0;
}

void lab_unlock(struct lab *lab)
{
	if (lab->lock_fd >= 0)
		lab_record_unlock(lab->name, lab->lock_fd, false);
	lab->lock_fd = -1;
}

struct leftovers {
	const char *lab;
	char (*names)[PLAN_NETNS_NAME_MAX];
	size_t n;
};

/* fl-NAME-HOST, where HOST has no '-': another lab's name may start like this one's. */
static void collect_netns(const char *name, void *arg)
{
	struct leftovers *l = arg;
	const char *dash = strrchr(name, '-');
	void *more;

	if (strlen(name) >= PLAN_NETNS_NAME_MAX || !dash ||
	    (size_t)(dash - name) != 3 + strlen(l->lab))
		return;
	more = realloc(l->names, (l->n + 1) * sizeof(*l->names));
	if (!more)
		return;
	l->names = more;
	strcpy(l->names[l->n++], name);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path) && errno != ENOENT ? -1 : 0;
}

/* 0 if there is nothing of that name. */
static int remove_tree(const char *path)
{
	return nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) && errno != ENOENT ? -errno : 0;
}

/* What FRR's daemons make where they are started with -N (lab_paths.c). */
static int remove_frr_dir(const char *netns)
{
	char path[sizeof(LAB_FRR_RUN_DIR "/") + PLAN_NETNS_NAME_MAX];

	snprintf(path, sizeof(path), LAB_FRR_RUN_DIR "/%s", netns);
	return remove_tree(path);
}

static int kill_everything(const struct leftovers *l)
{
	ino_t *inodes = calloc(l->n + 1, sizeof(*inodes));
	size_t n = 0;
	int rc;

	if (!inodes)
		return -ENOMEM;
	for (size_t i = 0; i < l->n; i++)
		if (!netns_inode(l->names[i], &inodes[n]))
			n++;
	rc = netns_kill_all(inodes, n);
	for (size_t i = 0; i < l->n; i++) {
		int deleted = netns_delete(l->names[i]), removed = remove_frr_dir(l->names[i]);

		rc = rc ? rc : deleted ? deleted : removed;
	}
	/* A process between opening the name and entering it is found now. */
	if (!rc)
		rc = netns_kill_all(inodes, n);
	free(inodes);
	return rc;
}

int lab_tear_down(const char *name, bool *found)
{
	struct leftovers l = {.lab = name};
	char prefix[TOPOLOGY_NAME_MAX + 8], dir[LAB_PATH_MAX];
	int rc;

	snprintf(prefix, sizeof(prefix), "fl-%s-", name);
	rc = netns_each(prefix, collect_netns, &l);
	lab_record_path(name, "", dir);
	*found = l.n || !access(dir, F_OK);
	if (!rc && l.n)
		rc = kill_everything(&l);
	free(l.names);
	return rc ? rc : remove_tree(dir);
}

int lab_down(const char *name, enum lab_down_which which, pid_t owner, bool *found)
{
	int fd, rc = 0;

	*found = false;
	if (!topology_name_valid(name)) {
		print_error("%s is no lab's name; see `farelab list`", name);
		return -EINVAL;
	}
	fd = lab_record_lock(name, LOCK_EX);
	if (fd < 0) {
		print_error("cannot lock lab %s: %s (are you root?)", name, strerror(-fd));
		return fd;
	}
	if ((which == LAB_DOWN_DEAD && lab_record_up(name, NULL)) ||
	    (which == LAB_DOWN_OWNED && !lab_record_owned(name, owner))) {
		lab_record_unlock(name, fd, false);
		return 0;
	}
	rc = lab_tear_down(name, found);
	lab_record_unlock(name, fd, !rc);
	if (rc)
		print_error("lab %s is not wholly removed: %s; run `farelab sweep`", name,
			    strerror(-rc));
	return rc;
}

int lab_open(const char *name, struct lab *out)
{
	struct lab lab = {.lock_fd = -1};
	char path[LAB_PATH_MAX], error[TOPOLOGY_ERROR_MAX];
	int rc;

	if (!topology_name_valid(name) ||
	    (lab_record_path(name, "topology.yaml", path), access(path, R_OK)) ||
	    !lab_record_up(name, &lab)) {
		print_error("no lab %s is up; `farelab list` says which are", name);
		return -ENOENT;
	}
	rc = topology_load(path, &lab.topology, error);
	if (rc) {
		fprintf(stderr, "%s\n", error);
		return rc;
	}
	lab_record_get(name, "rate_mbps", &lab.topology.rate_mbps);
	lab_record_get(name, "ecn_threshold_kb", &lab.topology.ecn_threshold_kb);
	snprintf(lab.name, sizeof(lab.name), "%s", name);
	*out = lab;
	return 0;
}

struct lab_names {
	char (*names)[TOPOLOGY_NAME_MAX + 1];
	size_t n;
};

static void add_name(struct lab_names *all, const char *name, size_t n)
{
	char text[TOPOLOGY_NAME_MAX + 1];
	void *more;

	if (n == 0 || n > TOPOLOGY_NAME_MAX)
		return;
	memcpy(text, name, n);
	text[n] = '\0';
	for (size_t i = 0; i < all->n; i++)
		if (!strcmp(all->names[i], text))
			return;
	more = topology_name_valid(text) ? realloc(all->names, (all->n + 1) * sizeof(*all->names))
					 : NULL;
	if (!more)
		return;
	all->names = more;
	strcpy(all->names[all->n++], text);
}

static void add_netns(const char *name, void *arg)
{
	const char *dash = strrchr(name, '-');

	if (dash > name + 3)
		add_name(arg, name + 3, (size_t)(dash - name - 3));
}

int lab_each(void (*visit)(const char *name, const char *phase, void *arg), void *arg)
{
	struct lab_names all = {0};
	DIR *dir = opendir(LAB_RUN_DIR);
	struct dirent *e;
	int rc;

	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			add_name(&all, e->d_name, strlen(e->d_name));
	if (dir)
		closedir(dir);
	rc = netns_each("fl-", add_netns, &all);
	for (size_t i = 0; i < all.n; i++)
		visit(all.names[i], lab_record_phase(all.names[i]), arg);
	free(all.names);
	return rc;
}
