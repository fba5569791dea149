/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/table.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define TABLE_LINE_MAX 1024

struct table {
	bool left;
	size_t n_columns;
	size_t n_rows; /* the header is row 0 */
	char **cells;  /* n_rows x n_columns */
};

size_t table_width(const char *text)
{
	size_t width = 0;

	while (*text) {
		uint32_t code = utf8_take(&text);

		if ((code >= 0x300 && code <= 0x36f) || code == 0x200b || code == 0x200d)
			continue;
		width += (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
					 (code >= 0xac00 && code <= 0xd7a3) ||
					 (code >= 0xf900 && code <= 0xfaff) ||
					 (code >= 0xff00 && code <= 0xff60) ||
					 (code >= 0x1f300 && code <= 0x1faff)
				 ? 2
				 : 1;
	}
	return width;
}

int table_create(struct table **out, size_t n_columns, const char *const *headers)
{
	struct table *table;
	int err;

	if (n_columns == 0)
		return -EINVAL;
	table = calloc(1, sizeof(*table));
	if (!table)
		return -ENOMEM;
	table->n_columns = n_columns;
	err = table_row(table, headers);
	if (err) {
		table_destroy(table);
		return err;
	}
	*out = table;
	return 0;
}

int table_row(struct table *table, const char *const *cells)
{
	size_t n = table->n_columns, at = table->n_rows * n, i;
	char **grown = realloc(table->cells, (at + n) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	table->cells = grown;
	for (i = 0; i < n; i++) {
		grown[at + i] = strdup(cells[i] ? cells[i] : "");
		if (!grown[at + i])
			break;
	}
	if (i < n) {
		while (i > 0)
			free(grown[at + --i]);
		return -ENOMEM;
	}
	table->n_rows++;
	return 0;
}

size_t table_columns(const struct table *table)
{
	return table->n_columns;
}

size_t table_rows(const struct table *table)
{
	return table->n_rows;
}

const char *table_text(const struct table *table, size_t row, size_t column)
{
	return table->cells[row * table->n_columns + column];
}

bool table_is_right(const char *text)
{
	return *text && strchr("0123456789+-<>", *text);
}

void table_left(struct table *table)
{
	table->left = true;
}

/* The text of line i of a cell; "": it has fewer. */
static void table_line(const char *text, size_t i, char *out, size_t size)
{
	for (; i > 0 && *text; i--) {
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	snprintf(out, size, "%.*s", (int)strcspn(text, "\n"), text);
}

static size_t table_lines(const char *text)
{
	size_t n = 1;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* Of the widest line. */
static size_t table_cell_width(const char *text)
{
	char line[TABLE_LINE_MAX];
	size_t width = 0;

	for (size_t i = 0; i < table_lines(text); i++) {
		size_t w;

		table_line(text, i, line, sizeof(line));
		w = table_width(line);
		width = w > width ? w : width;
	}
	return width;
}

static void table_cell(const char *text, size_t width, bool right, bool last, FILE *file)
{
	int pad = (int)(width - table_width(text));

	fprintf(file, "%*s%s%*s%s", right ? pad : 0, "", text, right || last ? 0 : pad, "",
		last ? "\n" : "  ");
}

static void table_print_row(const struct table *table, size_t row, const size_t *width, FILE *file)
{
	size_t n = table->n_columns, lines = 1;
	char *const *cell = &table->cells[row * n];

	for (size_t i = 0; i < n; i++)
		lines = table_lines(cell[i]) > lines ? table_lines(cell[i]) : lines;
	for (size_t k = 0; k < lines; k++)
		for (size_t i = 0; i < n; i++) {
			char line[TABLE_LINE_MAX];

			table_line(cell[i], k, line, sizeof(line));
			table_cell(line, width[i], !table->left && table_is_right(cell[i]),
				   i + 1 == n, file);
		}
}

void table_print(const struct table *table, FILE *file)
{
	size_t n = table->n_columns;
	size_t *width = calloc(n, sizeof(*width));

	if (!width)
		return;
	for (size_t i = 0; i < table->n_rows * n; i++) {
		size_t w = table_cell_width(table->cells[i]);

		if (w > width[i % n])
			width[i % n] = w;
	}
	for (size_t row = 0; row < table->n_rows; row++) {
		table_print_row(table, row, width, file);
		for (size_t i = 0; row == 0 && i < n; i++) {
			for (size_t j = 0; j < width[i]; j++)
				fputs("\u2500", file);
			fputs(i + 1 == n ? "\n" : "  ", file);
		}
	}
	free(width);
}

void table_destroy(struct table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->n_rows * table->n_columns; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table);
}
