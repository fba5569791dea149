/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sandbox.h - the system calls that the running daemon may make (seccomp).
 *
 * Solely owns: the list of them. In: nothing. Out: the process's filter, for good. Thread: the main
 * one, after start-up; threads that there are, and later ones, are bound by it as well.
 *
 * The daemon reads what peers, FRR and applications send. An attacker who takes it over by that
 * cannot start a program, make a process, map memory that is executable, open a socket but UNIX, IP
 * and netlink ones, or change credentials, mounts or namespaces.
 *
 * What the filter does not prevent: files are opened and sockets connected as the daemon's user
 * may. So code of the process itself can be changed by way of /proc/self/mem (write() goes past
 * page protection); and a daemon that stays root can write root's files, and ask other daemons
 * (systemd, D-Bus) by their sockets to run something. Set `user`; the unit's own restrictions (a
 * read-only system, other daemons' sockets out of reach) are what holds a root daemon.
 */
#ifndef SANDBOX_H
#define SANDBOX_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANDBOX_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANDBOX_IS_SANITIZED 1
#endif
#endif
#ifndef SANDBOX_IS_SANITIZED
#define SANDBOX_IS_SANITIZED 0
#endif

enum sandbox_mode {
	SANDBOX_KILL, /* a call that is not on the list ends the process (SIGSYS) */
	SANDBOX_LOG,  /* the kernel logs it, and it is made */
	SANDBOX_OFF,
};

/* "kill", "log", "off". 0 or -EINVAL. */
int sandbox_mode_parse(const char *name, enum sandbox_mode *out);
/*
 * Needs no_new_privs, which privileges_drop() sets. 0 or -errno with why in words. In a build with
 * a sanitizer, which makes calls of its own, it does nothing.
 */
int sandbox_enter(enum sandbox_mode mode, char *why, size_t why_size);

#endif
