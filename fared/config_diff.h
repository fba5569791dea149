/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * config_diff.h - what differs between two configurations, and who must act on it (pure).
 *
 * Owns: nothing. In: the configuration in force and the one just read; out: what of it a reload
 * cannot apply, and whether the sources have to begin anew. What is in neither (log_level,
 * speed_mbps) is simply taken over.
 */
#ifndef CONFIG_DIFF_H
#define CONFIG_DIFF_H

#include "config.h"

/* Keys in which a and b differ and that only a restart can apply, as "node, health"; "" if none. */
void config_restart_keys(const struct config *a, const struct config *b, char *out, size_t size);
/* true if the sources (BMP, zserv) must be started anew to go from a to b. */
bool config_sources_differ(const struct config *a, const struct config *b);

#endif
