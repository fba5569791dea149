/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * key_file.h - the keys of the capacity notices, from the files that health.key_file and
 * health.second_key_file name.
 *
 * Owns nothing. In: a path. Out: the key, or the reason why the file cannot be used. Thread: any.
 */
#ifndef KEY_FILE_H
#define KEY_FILE_H

#include <stddef.h>

#include "config.h"
#include "notice_wire.h"

/*
 * Reads NOTICE_WIRE_KEY_MIN to NOTICE_WIRE_KEY_MAX bytes, not counting white space at the end: a
 * key that an editor has saved stays the same. The file has to be a regular one without any
 * permission for group or others. 0; -errno with the reason, path included, in why.
 */
int key_file_read(const char *path, struct notice_key *key, char *why, size_t why_size);

/*
 * Both keys of a configuration; one whose file is not named has length 0, and so have both if
 * health is off. 0; -errno with name of the key, path and reason in why, its line in *line (may be
 * NULL), and nothing in keys.
 */
int key_file_read_all(const struct config_health *health, struct notice_keys *keys, unsigned *line,
		      char *why, size_t why_size);

#endif
