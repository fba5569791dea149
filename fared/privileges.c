/* SPDX-License-Identifier: BSD-2-Clause */
#include "privileges.h"

#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static int no_such(const char *key, const char *kind, const char *name, const char *remedy,
		   char *why, size_t why_size)
{
	snprintf(why, why_size, "%s: no %s '%s' here; %s", key, kind, name, remedy);
	return -ENOENT;
}

/* -1: text is no number of a user or group. */
static uint32_t id_of(const char *text)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	return isdigit((unsigned char)*text) && !*end && number < UINT32_MAX ? (uint32_t)number
									     : UINT32_MAX;
}

/* A name, or a number: a container may have no name for a user outside of it. */
static uid_t uid_of(const char *user)
{
	const struct passwd *pw = getpwnam(user);

	return pw ? pw->pw_uid : (uid_t)id_of(user);
}

static int gid_of(const char *key, const char *name, gid_t *out, char *why, size_t why_size)
{
	const struct group *gr;

	*out = (gid_t)-1;
	if (!*name)
		return 0;
	gr = getgrnam(name);
	*out = gr ? gr->gr_gid : (gid_t)id_of(name);
	if (*out == (gid_t)-1)
		return no_such(key, "group", name, "create it (addgroup --system) or leave it out",
			       why, why_size);
	return 0;
}

int privileges_resolve(struct privileges *out, const struct privileges_names *names, char *why,
		       size_t why_size)
{
	int rc;

	*out = (struct privileges){.uid = geteuid(), .gid = getegid()};
	if (*names->user) {
		const struct passwd *pw = getpwnam(names->user);

		if (!pw)
			return no_such("user", "user", names->user,
				       "create it (adduser --system) or leave it out", why,
				       why_size);
		out->uid = pw->pw_uid;
		out->gid = pw->pw_gid;
		snprintf(out->user, sizeof(out->user), "%s", names->user);
	}
	rc = gid_of("group", names->group, &out->socket_gid, why, why_size);
	if (!rc)
		rc = gid_of("attach_group", names->attach_group, &out->attach_gid, why, why_size);
	if (!rc)
		rc = gid_of("operator_group", names->operator_group, &out->operator_gid, why,
			    why_size);
	if (rc)
		return rc;
	out->bmp_uid = uid_of(*names->bmp_user ? names->bmp_user : "frr");
	if (*names->bmp_user && out->bmp_uid == (uid_t)-1)
		return no_such("bgp.bmp_user", "user", names->bmp_user,
			       "name the one that bgpd runs as, or leave it out", why, why_size);
	return 0;
}

static int privileges_failed(const char *what, char *why, size_t why_size)
{
	int rc = -errno;

	snprintf(why, why_size, "%s: %s", what, strerror(-rc));
	return rc;
}

/* Without CAP_SETPCAP it stays as it is, and no_new_privs alone keeps exec() from giving more. */
static int empty_bounding_set(void)
{
	for (cap_value_t c = 0; cap_get_bound(c) >= 0; c++)
		if (cap_get_bound(c) == 1 && cap_drop_bound(c) && errno != EPERM)
			return -1;
	return 0;
}

/* All, or all but one. Ambient ones too: what leaves the inheritable set leaves the ambient set
 * (capabilities(7)). */
static int drop_capabilities(bool is_kept, cap_value_t kept)
{
	cap_t now = cap_get_proc(), next = cap_init();
	cap_flag_value_t has = CAP_CLEAR;
	int rc = now && next ? 0 : -1;

	if (!rc && is_kept)
		rc = cap_get_flag(now, kept, CAP_PERMITTED, &has);
	if (!rc)
		rc = cap_set_flag(next, CAP_PERMITTED, 1, &kept, has);
	if (!rc)
		rc = cap_set_flag(next, CAP_EFFECTIVE, 1, &kept, has);
	if (!rc)
		rc = cap_set_proc(next);
	cap_free(now);
	cap_free(next);
	return rc;
}

/* Files made later are to be of `group`, which takes a member once CAP_CHOWN is gone. */
static int join_socket_group(const struct privileges *p)
{
	gid_t groups[256];
	int n;

	if (geteuid() != 0 || p->socket_gid == (gid_t)-1)
		return 0;
	n = getgroups(255, groups);
	if (n < 0)
		return -1;
	groups[n++] = p->socket_gid;
	return setgroups((size_t)n, groups);
}

static int become(const struct privileges *p, char *why, size_t why_size)
{
	if (initgroups(p->user, p->gid))
		return privileges_failed("initgroups", why, why_size);
	if (join_socket_group(p))
		return privileges_failed("setgroups", why, why_size);
	if (setresgid(p->gid, p->gid, p->gid))
		return privileges_failed("setresgid", why, why_size);
	if (setresuid(p->uid, p->uid, p->uid))
		return privileges_failed("setresuid", why, why_size);
	return 0;
}

#define REALTIME_PRIORITY 10 /* above nothing else that is real-time, as a rule */

int privileges_realtime(void)
{
	const struct sched_param p = {.sched_priority = REALTIME_PRIORITY};

	return sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &p) ? -errno : 0;
}

/* ONFAULT: what clients pass and never fill takes no memory. */
int privileges_lock_memory(void)
{
	const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};

	if (setrlimit(RLIMIT_MEMLOCK, &none))
		return -errno;
	return mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) ? -errno : 0;
}

int privileges_give(const char *path, uid_t uid, gid_t gid)
{
	return lchown(path, geteuid() == 0 ? uid : (uid_t)-1, gid) ? -errno : 0;
}

int privileges_drop(const struct privileges *p, char *why, size_t why_size)
{
	int rc = 0;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return privileges_failed("no_new_privs", why, why_size);
	if (empty_bounding_set())
		return privileges_failed("capability bounding set", why, why_size);
	if (p->user[0] && p->uid != geteuid())
		rc = become(p, why, why_size);
	else if (join_socket_group(p))
		rc = privileges_failed("setgroups", why, why_size);
	/* for zebra's socket, which is open to its own user only (mode 0700) */
	if (!rc && drop_capabilities(geteuid() == 0, CAP_DAC_OVERRIDE))
		rc = privileges_failed("capabilities", why, why_size);
	return rc;
}

int privileges_keep_net_admin(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || empty_bounding_set() ||
	    drop_capabilities(true, CAP_NET_ADMIN))
		return -errno;
	return 0;
}
