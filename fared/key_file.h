/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * key_file.h - the key of the capacity notices, from the file that health.key_file names.
 *
 * Owns nothing. In: a path. Out: the key, or the reason why the file cannot be used. Thread: any.
 */
#ifndef KEY_FILE_H
#define KEY_FILE_H

#include <stddef.h>

#include "notice_wire.h"

/*
 * Reads NOTICE_WIRE_KEY_MIN to NOTICE_WIRE_KEY_MAX bytes, not counting white space at the end: a
 * key that an editor has saved stays the same. The file has to be a regular one without any
 * permission for group or others. 0; -errno with the reason, path included, in why.
 */
int key_file_read(const char *path, struct notice_key *key, char *why, size_t why_size);

#endif
