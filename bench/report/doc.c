/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/doc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_file.h"

struct doc_stream {
	char *text; /* valid after fflush() */
	size_t bytes;
	FILE *file;
};

struct doc {
	struct report *page;
	struct doc_stream md, plain;
	int err;
};

static int doc_stream_init(struct doc_stream *stream)
{
	stream->file = open_memstream(&stream->text, &stream->bytes);
	return stream->file ? 0 : -ENOMEM;
}

static void doc_stream_fini(struct doc_stream *stream)
{
	if (stream->file)
		fclose(stream->file);
	free(stream->text);
}

/* Characters that Markdown would take for markup are escaped; a line break is a space. */
static void doc_md(struct doc *doc, const char *text)
{
	for (; *text; text++) {
		if (strchr("\\`*_{}[]<>#|~&", *text))
			fputc('\\', doc->md.file);
		fputc(*text == '\n' || *text == '\r' ? ' ' : *text, doc->md.file);
	}
}

int doc_create(struct doc **out, const char *title)
{
	struct doc *doc = calloc(1, sizeof(*doc));
	int err = doc ? 0 : -ENOMEM;

	if (!err)
		err = report_create(&doc->page, title);
	if (!err)
		err = doc_stream_init(&doc->md);
	if (!err)
		err = doc_stream_init(&doc->plain);
	if (err) {
		doc_destroy(doc);
		return err;
	}
	fputs("# ", doc->md.file);
	doc_md(doc, title);
	fputs("\n\n", doc->md.file);
	fprintf(doc->plain.file, "%s\n\n", title);
	*out = doc;
	return 0;
}

void doc_destroy(struct doc *doc)
{
	if (!doc)
		return;
	report_destroy(doc->page);
	doc_stream_fini(&doc->md);
	doc_stream_fini(&doc->plain);
	free(doc);
}

void doc_fail(struct doc *doc, int err)
{
	if (!doc->err)
		doc->err = err;
}

int doc_error(const struct doc *doc)
{
	return doc->err;
}

void doc_measured(struct doc *doc, const char *began)
{
	report_measured(doc->page, began);
}

void doc_heading(struct doc *doc, unsigned level, const char *id, const char *text)
{
	report_heading_at(doc->page, level, id, text);
	for (unsigned i = 0; i < level; i++)
		fputc('#', doc->md.file);
	fputc(' ', doc->md.file);
	doc_md(doc, text);
	fputs("\n\n", doc->md.file);
	fprintf(doc->plain.file, level == 2 ? "== %s ==\n\n" : "-- %s --\n\n", text);
}

void doc_text(struct doc *doc, const char *format, ...)
{
	char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, format);
	n = vasprintf(&text, format, ap);
	va_end(ap);
	if (n < 0) {
		doc_fail(doc, -ENOMEM);
		return;
	}
	report_text(doc->page, "%s", text);
	doc_md(doc, text);
	fputs("\n\n", doc->md.file);
	fprintf(doc->plain.file, "%s\n\n", text);
	free(text);
}

void doc_strong(struct doc *doc, const char *text)
{
	report_strong(doc->page, text);
	fputs("**", doc->md.file);
	doc_md(doc, text);
	fputs("**\n\n", doc->md.file);
	fprintf(doc->plain.file, "%s\n\n", text);
}

static void doc_md_table(struct doc *doc, const struct table *table)
{
	for (size_t row = 0; row < table_rows(table); row++) {
		for (size_t i = 0; i < table_columns(table); i++) {
			fputs(i ? " | " : "| ", doc->md.file);
			doc_md(doc, table_text(table, row, i));
		}
		fputs(" |\n", doc->md.file);
		for (size_t i = 0; row == 0 && i < table_columns(table); i++)
			fputs(i ? "---|" : "|---|", doc->md.file);
		if (row == 0)
			fputc('\n', doc->md.file);
	}
	fputc('\n', doc->md.file);
}

static void doc_any_table(struct doc *doc, struct table *table,
			  int (*add)(struct report *page, const struct table *table))
{
	if (!table) {
		doc_fail(doc, -ENOMEM);
		return;
	}
	doc_fail(doc, add(doc->page, table));
	doc_md_table(doc, table);
	table_print(table, doc->plain.file);
	fputc('\n', doc->plain.file);
	table_destroy(table);
}

struct table *doc_table_of(struct doc *doc, size_t n, const char *const *headers)
{
	struct table *table;

	if (!table_create(&table, n, headers))
		return table;
	doc_fail(doc, -ENOMEM);
	return NULL;
}

void doc_table(struct doc *doc, struct table *table)
{
	doc_any_table(doc, table, report_table);
}

void doc_pairs(struct doc *doc, struct table *table)
{
	if (table)
		table_left(table);
	doc_any_table(doc, table, report_pairs);
}

void doc_links(struct doc *doc, size_t n, const char *const *ids, const char *const *texts)
{
	report_links_begin(doc->page);
	for (size_t i = 0; i < n; i++)
		report_link(doc->page, ids[i], texts[i]);
	report_links_end(doc->page);
}

void doc_grid_begin(struct doc *doc)
{
	report_grid_begin(doc->page);
}

void doc_grid_end(struct doc *doc)
{
	report_grid_end(doc->page);
}

static void doc_name_picture(struct doc *doc, const char *title)
{
	fputs("(Picture on the page", doc->md.file);
	if (title) {
		fputs(": ", doc->md.file);
		doc_md(doc, title);
	}
	fputs(")\n\n", doc->md.file);
}

void doc_plot(struct doc *doc, const struct report_plot *plot)
{
	int err = report_plot(doc->page, plot);

	if (err == -EINVAL)
		doc_text(doc, "%s: nothing that its axes can show.",
			 plot->title ? plot->title : "");
	else if (err)
		doc_fail(doc, err);
	else
		doc_name_picture(doc, plot->title);
}

void doc_drawing(struct doc *doc, const char *title, void (*draw)(FILE *file, const void *context),
		 const void *context)
{
	doc_fail(doc, report_drawing(doc->page, title, draw, context));
	doc_name_picture(doc, title);
}

static int doc_write_stream(struct doc_stream *stream, const char *path)
{
	FILE *file;
	int err = 0;

	if (fflush(stream->file))
		return -ENOMEM;
	file = fopen(path, "we");
	if (!file)
		return -errno;
	errno = 0;
	if (fwrite(stream->text, 1, stream->bytes, file) != stream->bytes)
		err = errno ? -errno : -EIO;
	if (fclose(file) && !err)
		err = -errno;
	if (err)
		text_file_discard(path);
	return err;
}

int doc_write(struct doc *doc, const char *html_path, const char *md_path)
{
	int err = doc->err;

	if (!err && html_path)
		err = report_write(doc->page, html_path);
	if (!err && md_path) {
		err = doc_write_stream(&doc->md, md_path);
		if (err)
			fprintf(stderr, "farebench: %s: %s\n", md_path, strerror(-err));
	}
	return err;
}

void doc_print(struct doc *doc, FILE *file)
{
	if (!fflush(doc->plain.file))
		fwrite(doc->plain.text, 1, doc->plain.bytes, file);
}
