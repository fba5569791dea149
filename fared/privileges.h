/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * privileges.h - giving up what the daemon does not need.
 *
 * Owns nothing. In: names of users and groups in the configuration. Out: the process's credentials,
 * changed for good. Thread: the main one, before any other exists.
 *
 * No capability is kept, though its scheduling class and open raw sockets are: rtnetlink may be
 * read, ethtool's speed asked and BMP received without any. Root that stays root keeps
 * CAP_DAC_OVERRIDE, for zebra's socket; another user has to be one that may open it.
 */
#ifndef PRIVILEGES_H
#define PRIVILEGES_H

#include <stddef.h>
#include <sys/types.h>

struct privileges {
	uid_t uid;
	gid_t gid; /* the user's own group */
	/* (gid_t)-1: nobody */
	gid_t socket_gid;   /* of `group`: who may read and ask */
	gid_t attach_gid;   /* of `attach_group` */
	gid_t operator_gid; /* of `operator_group` */
	uid_t bmp_uid;	    /* of `bgp.bmp_user`; (uid_t)-1: no such user */
	char user[64];	    /* "" : stay who we are */
};

/* As configured; "": none. */
struct privileges_names {
	const char *user, *group, *attach_group, *operator_group, *bmp_user;
};

/* Looks the names up (no bmp_user: frr, if there is one). 0, or -ENOENT with why in words. */
int privileges_resolve(struct privileges *out, const struct privileges_names *names, char *why,
		       size_t why_size);
/*
 * Runs before whatever is not real-time, so that a busy machine is not taken for a dead plane.
 * Before privileges_drop(): it takes CAP_SYS_NICE (or RLIMIT_RTPRIO), and lasts. 0 or -errno.
 */
int privileges_realtime(void);
/*
 * Keeps in memory what has been touched, now and later, so that no probe waits for the disk. Before
 * privileges_drop(): afterwards each mapping counts against RLIMIT_MEMLOCK, which is lifted first.
 * 0 or -errno; -EPERM: the limit cannot be lifted, and nothing is locked.
 */
int privileges_lock_memory(void);
/*
 * Gives a file of ours to group gid, which a process without privileges may do where it is a
 * member, and as root to uid as well. (gid_t)-1: its group stays. 0 or -errno; -EPERM: neither root
 * (CAP_CHOWN) nor a member.
 */
int privileges_give(const char *path, uid_t uid, gid_t gid);
/*
 * Becomes that user if one is set, drops the capabilities (see above) in every case, and sets
 * no_new_privs. 0 or -errno with why in words.
 */
int privileges_drop(const struct privileges *p, char *why, size_t why_size);
/* For a process that changes rules and does nothing else: drops all capabilities but CAP_NET_ADMIN,
 * and sets no_new_privs. 0 or -errno. */
int privileges_keep_net_admin(void);

#endif
