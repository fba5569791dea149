/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text_file.h - a small file, read or written whole.
 *
 * Owns nothing. In: a path; to be read, perhaps a pipe. Out: bytes that the caller frees. Thread:
 * any.
 */
#ifndef TEXT_FILE_H
#define TEXT_FILE_H

#include <stddef.h>
#include <sys/types.h>

/* 0, with *text the caller's; -errno, with *text NULL: -EFBIG if there are more than max bytes. */
int text_file_read(const char *path, size_t max, char **text, size_t *size);
/* The same, but -EINVAL at once for what is no regular file: a pipe would be waited for. */
int text_file_read_regular(const char *path, size_t max, char **text, size_t *size);
/* The same of a file that a process keeps for the next one: -ELOOP for a link. */
int text_file_read_kept(const char *path, size_t max, char **text, size_t *size);
/*
 * Writes path.new, no link, and puts it in the place of path: a reader sees the old file or the new
 * one. 0; -errno, and path is as it was.
 */
int text_file_replace(const char *path, mode_t mode, const char *text, size_t size);

/* Removes what could be written in part alone. A device or a pipe stays. */
void text_file_discard(const char *path);

#endif
