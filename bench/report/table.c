/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/table.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define TABLE_LINE_MAX 1024
#define TABLE_COLUMNS  100 /* of a terminal */
#define TABLE_GAP      2   /* between two columns */
#define TABLE_WORD     40

struct table {
	bool left;
	size_t n_columns;
	size_t n_rows; /* the header is row 0 */
	char **cells;  /* n_rows x n_columns */
};

static size_t table_code_width(uint32_t code)
{
	if ((code >= 0x300 && code <= 0x36f) || code == 0x200b || code == 0x200d)
		return 0;
	return (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
			       (code >= 0xac00 && code <= 0xd7a3) ||
			       (code >= 0xf900 && code <= 0xfaff) ||
			       (code >= 0xff00 && code <= 0xff60) ||
			       (code >= 0x1f300 && code <= 0x1faff)
		       ? 2
		       : 1;
}

size_t table_width(const char *text)
{
	size_t width = 0;

	while (*text)
		width += table_code_width(utf8_take(&text));
	return width;
}

int table_create(struct table **out, size_t n_columns, const char *const *headers)
{
	struct table *table;
	int err;

	if (n_columns == 0 || n_columns > TABLE_COLUMNS)
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

/*
 * The bytes of the first line of text that is width columns wide at most: to the end of a line, of
 * a word, or of what fits, if a word does not. *next: where the second begins.
 */
static size_t table_line(const char *text, size_t width, const char **next)
{
	const char *at = text, *space = NULL;
	size_t used = 0;

	while (*at && *at != '\n') {
		const char *before = at;

		used += table_code_width(utf8_take(&at));
		if (used > width && before > text) {
			at = space ? space : before;
			break;
		}
		if (*before == ' ')
			space = before;
	}
	*next = at + (*at == '\n' || *at == ' ');
	return (size_t)(at - text);
}

static size_t table_lines(const char *text, size_t width)
{
	size_t n = 0;

	do {
		table_line(text, width, &text);
		n++;
	} while (*text);
	return n;
}

/* Of the widest line. */
static size_t table_cell_width(const char *text)
{
	char line[TABLE_LINE_MAX];
	size_t width = 0;

	do {
		const char *from = text;
		size_t n = table_line(text, SIZE_MAX, &text), w;

		snprintf(line, sizeof(line), "%.*s", (int)n, from);
		w = table_width(line);
		width = w > width ? w : width;
	} while (*text);
	return width;
}

/* Of the widest word, which is broken as well if it is longer than TABLE_WORD. */
static size_t table_word_width(const char *text)
{
	char word[TABLE_LINE_MAX];
	size_t width = 0;

	while (*text) {
		size_t n = strcspn(text, " \n"), w;

		snprintf(word, sizeof(word), "%.*s", (int)n, text);
		w = table_width(word);
		width = w > width ? w : width;
		text += n + (text[n] != '\0');
	}
	return width < TABLE_WORD ? width : TABLE_WORD;
}

/*
 * Narrows the column that is widest beyond its least width until all columns fit, or none is wider
 * than that. false: they do not fit.
 */
static bool table_narrow(size_t *width, const size_t *least, size_t n)
{
	for (;;) {
		size_t sum = TABLE_GAP * (n - 1), widest = n;

		for (size_t i = 0; i < n; i++) {
			sum += width[i];
			if (width[i] > least[i] && (widest == n || width[i] > width[widest]))
				widest = i;
		}
		if (sum <= TABLE_COLUMNS)
			return true;
		if (widest == n)
			return false;
		width[widest]--;
	}
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
	const char *rest[TABLE_COLUMNS];

	for (size_t i = 0; i < n; i++) {
		size_t its = table_lines(cell[i], width[i]);

		lines = its > lines ? its : lines;
		rest[i] = cell[i];
	}
	for (size_t k = 0; k < lines; k++)
		for (size_t i = 0; i < n; i++) {
			const char *from = rest[i];
			size_t bytes = table_line(from, width[i], &rest[i]);
			char line[TABLE_LINE_MAX];

			snprintf(line, sizeof(line), "%.*s", (int)bytes, from);
			table_cell(line, width[i], !table->left && table_is_right(cell[i]),
				   i + 1 == n, file);
		}
}

void table_print(const struct table *table, FILE *file)
{
	static const size_t any[TABLE_COLUMNS] = {0}; /* words are broken as well */
	size_t width[TABLE_COLUMNS] = {0}, word[TABLE_COLUMNS] = {0}, n = table->n_columns;

	for (size_t i = 0; i < table->n_rows * n; i++) {
		size_t w = table_cell_width(table->cells[i]);

		width[i % n] = w > width[i % n] ? w : width[i % n];
		w = table_word_width(table->cells[i]);
		word[i % n] = w > word[i % n] ? w : word[i % n];
	}
	if (!table_narrow(width, word, n))
		table_narrow(width, any, n);
	for (size_t row = 0; row < table->n_rows; row++) {
		table_print_row(table, row, width, file);
		for (size_t i = 0; row == 0 && i < n; i++) {
			for (size_t j = 0; j < width[i]; j++)
				fputs("\u2500", file);
			fputs(i + 1 == n ? "\n" : "  ", file);
		}
	}
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
