/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frr_install.h - the FRR that is installed here: where its daemons are, and which release.
 *
 * Owns nothing after it returns. In: a directory, or none. Out: paths and what bgpd --version says.
 * Single-threaded programs only (it starts a process and waits for it).
 */
#ifndef FRR_INSTALL_H
#define FRR_INSTALL_H

#include <limits.h>
#include <stdbool.h>

#define FRR_INSTALL_ERROR_MAX	512
#define FRR_INSTALL_VERSION_MAX 32

struct frr_install {
	char dir[PATH_MAX];		       /* of zebra and bgpd, without a slash at the end */
	char version[FRR_INSTALL_VERSION_MAX]; /* such as 8.4.4 */
	unsigned multipath; /* next hops of a route that it was built for; 0: it does not say */
};

/*
 * dir: where the daemons are, in any form that a shell would take; NULL: the first of the usual
 * places that has both. 0; -ENOENT without zebra or bgpd there, -EIO if bgpd does not say its
 * version: error says then what is where missing, and what to do.
 */
int frr_install_find(const char *dir, struct frr_install *out, char error[FRR_INSTALL_ERROR_MAX]);

/* dir/program. False if nobody can run it. */
bool frr_install_path(const struct frr_install *frr, const char *program, char path[PATH_MAX]);
/* mgmtd is there, and zebra of that release asks it. */
bool frr_install_needs_mgmtd(const struct frr_install *frr);

#endif
