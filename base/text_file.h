/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text_file.h - a small file, read whole.
 *
 * Owns nothing. In: a path, which may be a pipe. Out: bytes that the caller frees. Thread: any.
 */
#ifndef TEXT_FILE_H
#define TEXT_FILE_H

#include <stddef.h>

/* 0, with *text the caller's; -errno, with *text NULL: -EFBIG if there are more than max bytes. */
int text_file_read(const char *path, size_t max, char **text, size_t *size);
/* The same, but -EINVAL at once for what is no regular file: a pipe would be waited for. */
int text_file_read_regular(const char *path, size_t max, char **text, size_t *size);

/* Removes what could be written in part alone. A device or a pipe stays. */
void text_file_discard(const char *path);

#endif
