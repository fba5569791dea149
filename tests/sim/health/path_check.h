/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path_check.h - what a server publishes of a path, held against what its sources, probes, links
 * and peers said.
 *
 * Owns nothing. In: a server whose table has just been evaluated. Out: what is wrong, in words.
 * Checked: a path is usable only if every source that speaks says so; a source that has said
 * nothing takes no path away; the bandwidth is the smallest of what each says.
 */
#ifndef SIM_HEALTH_PATH_CHECK_H
#define SIM_HEALTH_PATH_CHECK_H

#include "server.h"

/* NULL: nothing is wrong. Static text. */
const char *path_check(const struct server *s, unsigned to, unsigned plane);

#endif
