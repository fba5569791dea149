/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * netns.h - network namespaces: made, entered, emptied of processes, removed.
 *
 * Owns the mounts under /run/netns that it makes (the layout of iproute2, so `ip -n` sees them).
 * In: names and what a host of the lab is. Out: namespaces with their sysctls set before any device
 * exists, so that every device inherits them. Moves the calling thread between namespaces:
 * single-threaded programs only.
 */
#ifndef NETNS_H
#define NETNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct netns_settings {
	bool forwards; /* a leaf */
	bool ipv6;
	uint32_t hash_seed; /* of multipath routing; not 0 (0 means the kernel's own, the same
			       everywhere) */
};

/* Makes /run/netns a shared mount if it is none yet. 0 or -errno. */
int netns_prepare(void);

/* -EEXIST if there is one of that name. On error nothing is left. */
int netns_create(const char *name, const struct netns_settings *settings);

/* Also removes a name that is no longer a namespace; 0 if there is nothing of that name. */
int netns_delete(const char *name);

/* Moves this thread into a namespace; *home is what netns_leave() needs to come back (it closes
 * it). */
int netns_enter(const char *name, int *home);
void netns_leave(int home);

/*
 * Moves this process for good. /sys, which shows the devices of the mounter's namespace, is then a
 * mount of its own. 0 or -errno.
 */
int netns_join(const char *name);

/* The namespace's identity, as /proc/PID/ns/net has it; -ENOENT without one. */
int netns_inode(const char *name, ino_t *inode);

/* Kills (SIGKILL) every process in the n namespaces and waits until none is left; -ETIMEDOUT after
 * 10 s. */
int netns_kill_all(const ino_t *inodes, size_t n);

/* Calls visit for each name under /run/netns that starts with prefix. */
int netns_each(const char *prefix, void (*visit)(const char *name, void *arg), void *arg);

#endif
