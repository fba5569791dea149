/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rows_line.h - one row as a line of JSON, and back.
 *
 * Owns: nothing; pure. In: a line (hostile), or a row; out: a row whose histogram and texts are its
 * own, or a line. Thread: any.
 */
#ifndef ROWS_LINE_H
#define ROWS_LINE_H

#include <stddef.h>

#include "core/rows.h"

#define ROW_LINE_MAX (1u << 20) /* bytes; a full histogram has about 75,000 */

/* -EBADMSG: *reason (static) says why. -ENOMEM. On success the caller calls row_fini(). */
int row_parse(struct row *row, const char *line, size_t length, const char **reason);
/* The line with its newline; free() it. NULL: no memory. */
char *row_line(const struct row *row, size_t *length);
/* Errors as rows_add(). */
int row_copy(struct row *to, const struct row *from);
void row_fini(struct row *row);

#endif
