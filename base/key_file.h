/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * key_file.h - a shared key from a file: the one reader of such files.
 *
 * Owns nothing. In: a path. Out: the key, or the reason why the file cannot be used. Thread: any.
 */
#ifndef KEY_FILE_H
#define KEY_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* bytes of a key */
#define KEY_FILE_MIN 16u
#define KEY_FILE_MAX 64u

/*
 * Reads KEY_FILE_MIN to KEY_FILE_MAX bytes, not counting white space at the end: a key that an
 * editor has saved stays the same. It never blocks. forbidden: permission bits that the file must
 * not have. 0; -errno with the reason, path included, in why (key and length are not set):
 * -EKEYREJECTED: another length, or a forbidden permission. -EINVAL: no regular file. Else what
 * open() and read() said.
 */
int key_file_read(const char *path, mode_t forbidden, uint8_t key[KEY_FILE_MAX], size_t *length,
		  char *why, size_t why_size);

#endif
