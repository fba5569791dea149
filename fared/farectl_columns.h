/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * farectl_columns.h - rows of JSON as a table that fits a terminal.
 *
 * Owns nothing. In: rows (borrowed), and for each column how its text is made. Out: text on stdout,
 * 80 columns wide as far as its words are. Thread: any. A member that is missing is "-".
 */
#ifndef FARECTL_COLUMNS_H
#define FARECTL_COLUMNS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define COLUMNS_CELL 160

/* The text of a member, which may be in cell. */
typedef const char *columns_fn(const json_t *row, const char *key, char cell[COLUMNS_CELL]);
columns_fn columns_text, columns_number, columns_seconds;
columns_fn columns_gbps; /* of a member in bit/s */
const char *columns_member(const json_t *row, const char *key);

struct column {
	const char *heading, *key;
	columns_fn *cell;
	bool is_text; /* begins at the left */
};

/*
 * Columns are as wide as what they hold; those that do not fit go on in lines of their own. more,
 * if any, prints what else there is of a row.
 */
void columns_print(const json_t *rows, const struct column *columns, size_t n,
		   void (*more)(const json_t *row));
#define COLUMNS_PRINT(rows, columns, more)                                                         \
	columns_print(rows, columns, sizeof(columns) / sizeof((columns)[0]), more)

/* prose at spaces, the first line after `first`, the others indented as far. */
void columns_wrap(const char *first, const char *prose);

#endif
