/* SPDX-License-Identifier: BSD-2-Clause */
/* privileges.c - see privileges.h */
#include "privileges.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

int privileges_resolve(struct privileges *out, const char *user, const char *group, char *why,
		       size_t why_size)
{
	*out = (struct privileges){.uid = geteuid(), .gid = getegid(), .socket_gid = (gid_t)-1};
	if (*user) {
		const struct passwd *pw = getpwnam(user);

		if (!pw) {
			snprintf(why, why_size,
				 "user: no user '%s' here; create it (adduser --system) or leave "
				 "it out",
				 user);
			return -ENOENT;
		}
		out->uid = pw->pw_uid;
		out->gid = pw->pw_gid;
		snprintf(out->user, sizeof(out->user), "%s", user);
	}
	if (*group) {
		const struct group *gr = getgrnam(group);

		if (!gr) {
			snprintf(why, why_size,
				 "group: no group '%s' here; create it (addgroup --system) or "
				 "leave it out",
				 group);
			return -ENOENT;
		}
		out->socket_gid = gr->gr_gid;
	}
	return 0;
}

static int failed(const char *what, char *why, size_t why_size)
{
	int rc = -errno;

	snprintf(why, why_size, "%s: %s", what, strerror(-rc));
	return rc;
}

/* Leaving uid 0 clears permitted and effective sets; the bounding set is emptied so that nothing
 * brings them back. */
static int empty_bounding_set(void)
{
	for (cap_value_t c = 0; cap_get_bound(c) >= 0; c++)
		if (cap_get_bound(c) == 1 && cap_drop_bound(c))
			return -1;
	return 0;
}

static bool has_any_capability(void)
{
	cap_t now = cap_get_proc(), none = cap_init();
	bool any = !now || !none || cap_compare(now, none) != 0;

	cap_free(now);
	cap_free(none);
	return any;
}

#define REALTIME_PRIORITY 10 /* above nothing else that is real-time, as a rule */

int privileges_realtime(void)
{
	const struct sched_param p = {.sched_priority = REALTIME_PRIORITY};

	return sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &p) ? -errno : 0;
}

int privileges_give(const char *path, uid_t uid, gid_t gid)
{
	return lchown(path, geteuid() == 0 ? uid : (uid_t)-1, gid) ? -errno : 0;
}

int privileges_drop(const struct privileges *p, char *why, size_t why_size)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return failed("no_new_privs", why, why_size);
	if (!p->user[0] || p->uid == geteuid())
		return 0;
	if (empty_bounding_set())
		return failed("capability bounding set", why, why_size);
	if (initgroups(p->user, p->gid))
		return failed("initgroups", why, why_size);
	if (setresgid(p->gid, p->gid, p->gid))
		return failed("setresgid", why, why_size);
	if (setresuid(p->uid, p->uid, p->uid))
		return failed("setresuid", why, why_size);
	if (has_any_capability()) {
		errno = EPERM;
		return failed("a capability survived leaving root", why, why_size);
	}
	return 0;
}
