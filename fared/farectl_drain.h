/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * farectl_drain.h - `farectl drain --wait`: returns when nothing goes there any more.
 *
 * Owns nothing. In: a run directory, what was drained. Out: progress on stderr. Thread: the main
 * one.
 */
#ifndef FARECTL_DRAIN_H
#define FARECTL_DRAIN_H

#include "quiet.h"

/* The exit status: 1 if it is not quiet after so many seconds, or the daemon does not answer. */
int farectl_drain_wait(const char *run_dir, const struct quiet_scope *scope, double limit_s);

#endif
