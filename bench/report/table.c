/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/table.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

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

static void table_cell(const char *text, size_t width, bool right, int last, FILE *file)
{
	size_t pad = width - table_width(text);

	if (right)
		fprintf(file, "%*s%s", (int)pad, "", text);
	else
		fprintf(file, "%s%*s", text, last ? 0 : (int)pad, "");
	fputs(last ? "\n" : "  ", file);
}

void table_print(const struct table *table, FILE *file)
{
	size_t n = table->n_columns;
	size_t *width = calloc(n, sizeof(*width));

	if (!width)
		return;
	for (size_t i = 0; i < table->n_rows * n; i++) {
		size_t w = table_width(table->cells[i]);

		if (w > width[i % n])
			width[i % n] = w;
	}
	for (size_t row = 0; row < table->n_rows; row++) {
		for (size_t i = 0; i < n; i++)
			table_cell(table->cells[row * n + i], width[i],
				   !table->left && table_is_right(table->cells[row * n + i]),
				   i + 1 == n, file);
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
