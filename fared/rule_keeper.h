/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rule_keeper.h - a process beside fared that may change the kernel's rules, which fared gave up.
 *
 * Solely owns: the rules of kernel_rule.h while fared lives, and CAP_NET_ADMIN. In: a byte from
 * fared: whether the rules are to be there. Out: the rules; they go when fared ends, however it
 * ends, and the process with them. It reads nothing else and no signal but SIGKILL ends it sooner.
 * A lock that fared took before (flock) is held until the rules have gone, so the next fared does
 * not meet this one's. Thread: a process of its own, started before any thread.
 */
#ifndef RULE_KEEPER_H
#define RULE_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

/* In the keeper: a rule was not added (on) or not removed; rc is kernel_rule_set()'s. */
typedef void rule_keeper_on_error(void *arg, bool on, int rc);

/*
 * fd_out: closing it ends the keeper; readable: the keeper has ended, and the rules stay as they
 * are. 0 or -errno.
 */
int rule_keeper_start(int *fd_out, uint32_t table, rule_keeper_on_error *on_error, void *arg);
/* Does not wait for the kernel. 0, or -errno: there is no keeper any more. */
int rule_keeper_set(int fd, bool on);

#endif
