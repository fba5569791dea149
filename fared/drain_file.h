/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * drain_file.h - drains, kept across restarts of the daemon: RUN_DIR/drains.json.
 *
 * Solely owns: that file. In: the drains in force. Out: those that a former daemon left. Thread:
 * the loop's. The run directory is on tmpfs as a rule: drains last as long as the published segment
 * does.
 */
#ifndef DRAIN_FILE_H
#define DRAIN_FILE_H

#include <jansson.h>
#include <stddef.h>
#include <sys/types.h>

#include "drain_set.h"

#define DRAIN_FILE_NAME "drains.json"

struct config;

/* {"gpu": ..., "peer": ..., "plane": ..., "sub_port": ...}, each null for any; NULL: no memory. */
json_t *drain_file_rule(const struct config *config, const struct drain_rule *rule);
/* The same in words: "peer 198.19.0.2 plane 2", "all". out is returned. */
const char *drain_file_text(const struct config *config, const struct drain_rule *rule, char *out,
			    size_t size);

/* Replaces the file as a whole. 0 or -errno. */
int drain_file_save(const struct config *config, const struct drain_set *set);
/*
 * 0, also if there is no file (*out is empty then), or -errno with *out empty and why in words.
 * Rules of local GPUs that the configuration does not name are left out: why tells of the last
 * one, and is "" if there is none.
 */
int drain_file_load(const struct config *config, struct drain_set *out, char *why, size_t why_size);
/* The same of its text. */
int drain_file_parse(const struct config *config, const char *text, size_t length,
		     struct drain_set *out, char *why, size_t why_size);

#endif
