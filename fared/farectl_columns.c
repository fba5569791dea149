/* SPDX-License-Identifier: BSD-2-Clause */
#include "farectl_columns.h"

#include <stdio.h>
#include <string.h>

/* ---- cells ------------------------------------------------------------------ */

const char *columns_member(const json_t *row, const char *key)
{
	const char *value = json_string_value(json_object_get(row, key));

	return value && *value ? value : "-";
}

const char *columns_text(const json_t *row, const char *key, char cell[COLUMNS_CELL])
{
	(void)cell;
	return columns_member(row, key);
}

const char *columns_number(const json_t *row, const char *key, char cell[COLUMNS_CELL])
{
	const json_t *value = json_object_get(row, key);

	if (json_is_integer(value))
		snprintf(cell, COLUMNS_CELL, "%lld", (long long)json_integer_value(value));
	else
		snprintf(cell, COLUMNS_CELL, "-");
	return cell;
}

/* A member divided by unit. */
static const char *decimal(const json_t *row, const char *key, double unit, int places,
			   char cell[COLUMNS_CELL])
{
	const json_t *value = json_object_get(row, key);

	if (json_is_number(value))
		snprintf(cell, COLUMNS_CELL, "%.*f", places, json_number_value(value) / unit);
	else
		snprintf(cell, COLUMNS_CELL, "-");
	return cell;
}

const char *columns_gbps(const json_t *row, const char *key, char cell[COLUMNS_CELL])
{
	return decimal(row, key, 1e9, 3, cell);
}

const char *columns_seconds(const json_t *row, const char *key, char cell[COLUMNS_CELL])
{
	return decimal(row, key, 1, 1, cell);
}

/* ---- lines ------------------------------------------------------------------ */

#define WIDTH 80

void columns_wrap(const char *first, const char *prose)
{
	size_t indent = strlen(first), at = indent;

	fputs(first, stdout);
	while (*prose) {
		size_t length = strcspn(prose, " ");

		if (at > indent && at + 1 + length > WIDTH) {
			printf("\n%*s", (int)indent, "");
			at = indent;
		} else if (at > indent) {
			putchar(' ');
			at++;
		}
		fwrite(prose, 1, length, stdout);
		at += length;
		prose += length;
		prose += strspn(prose, " ");
	}
	putchar('\n');
}

#define COLUMNS_MAX 16
#define INDENT	    4 /* of a row's further lines */

static void print_row(const struct column *columns, size_t n, const int *widths, const json_t *row)
{
	int at = 0, spaces = 0;
	char cell[COLUMNS_CELL];

	for (size_t c = 0; c < n; c++) {
		const char *text =
			row ? columns[c].cell(row, columns[c].key, cell) : columns[c].heading;
		int rest = widths[c] - (int)strlen(text);

		if (c && at + 1 + widths[c] > WIDTH) {
			putchar('\n');
			at = spaces = INDENT;
		} else if (c) {
			spaces++;
			at++;
		}
		printf("%*s%s", spaces + (columns[c].is_text ? 0 : rest), "", text);
		spaces = columns[c].is_text ? rest : 0;
		at += widths[c];
	}
	putchar('\n');
}

void columns_print(const json_t *rows, const struct column *columns, size_t n,
		   void (*more)(const json_t *row))
{
	int widths[COLUMNS_MAX];
	char cell[COLUMNS_CELL];
	const json_t *row;
	size_t i;

	for (size_t c = 0; c < n; c++) {
		widths[c] = (int)strlen(columns[c].heading);
		json_array_foreach (rows, i, row) {
			int length = (int)strlen(columns[c].cell(row, columns[c].key, cell));

			widths[c] = length > widths[c] ? length : widths[c];
		}
	}
	print_row(columns, n, widths, NULL);
	json_array_foreach (rows, i, row) {
		print_row(columns, n, widths, row);
		if (more)
			more(row);
	}
}
