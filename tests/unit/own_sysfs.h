/* SPDX-License-Identifier: BSD-2-Clause */
/* own_sysfs.h - /sys as the network namespace that a test has made for itself has it */
#ifndef OWN_SYSFS_H
#define OWN_SYSFS_H

#include <check.h>
#include <sched.h>
#include <sys/mount.h>

static inline void own_sysfs(void)
{
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount("", "/", "none", MS_SLAVE | MS_REC, NULL), 0);
	ck_assert_int_eq(mount("sysfs", "/sys", "sysfs", 0, NULL), 0);
}

#endif
