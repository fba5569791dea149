/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table.h - tables for a terminal: columns as wide as their widest cell, counted in characters.
 *
 * Owns: copies of the cells. In: UTF-8 text (an invalid byte counts as one column); out: lines on a
 * FILE, 100 columns at most: wider tables have their widest columns broken between words. Line
 * breaks in a cell, behind which stands how sure a number is, begin a line.
 * A cell that starts with a digit, a sign or '<' '>' is set to the right, others to the left.
 * Thread: one per table.
 */
#ifndef TABLE_H
#define TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct table;

/* Columns that text takes on a terminal: combining marks none, East Asian wide characters two. */
size_t table_width(const char *text);

/* headers: n_columns strings, copied. -EINVAL: no columns. -ENOMEM. */
int table_create(struct table **out, size_t n_columns, const char *const *headers);
/* n_columns strings, copied; NULL is an empty cell. -ENOMEM: the table stays as it was. */
int table_row(struct table *table, const char *const *cells);

size_t table_columns(const struct table *table);
size_t table_rows(const struct table *table); /* with the headers, which are row 0 */
const char *table_text(const struct table *table, size_t row, size_t column); /* the table's */
bool table_is_right(const char *text); /* does a cell with this text go to the right? */

void table_left(struct table *table); /* all cells go to the left: names and what they are */

void table_print(const struct table *table, FILE *file);
void table_destroy(struct table *table); /* NULL is fine */

#endif
