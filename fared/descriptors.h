/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * descriptors.h - how many file descriptors the daemon may open, and how many it will need.
 *
 * Solely owns: RLIMIT_NOFILE. In: a configuration. Out: the limit, the need. Thread: the main one.
 *
 * A probe is sent by a descriptor of its own for each source port and, in IPv6, each device; the
 * usual soft limit of 1,024 is for programs that call select(), and too small for eight GPUs of
 * eight sub-ports.
 */
#ifndef DESCRIPTORS_H
#define DESCRIPTORS_H

#include <stdint.h>

#include "config.h"

/*
 * What is open when every sub-port is in use and every client that may connect has: rather too many
 * than too few.
 */
uint32_t descriptors_needed(const struct config *config);
/*
 * Raises the soft limit to the hard one, which takes no privilege. *limit: how many may then be
 * open. 0 or -errno.
 */
int descriptors_raise(uint64_t *limit);

#endif
