/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doc.h - one text, three forms: a page with pictures (report.h), Markdown, plain text.
 *
 * Owns: the three as they grow. In: headings, paragraphs, tables, pictures, in order; out: files.
 * Markdown and plain text name pictures instead of showing them. The first error is kept and
 * returned at the end: what adds need not look. Thread: one.
 */
#ifndef DOC_H
#define DOC_H

#include <stdio.h>

#include "report/report.h"

struct doc;

int doc_create(struct doc **out, const char *title); /* errors as report_create() */
void doc_destroy(struct doc *doc);		     /* NULL is fine */

void doc_measured(struct doc *doc, const char *began); /* as report_measured() */

/* level 2 to 4; id: what links name, or "". */
void doc_heading(struct doc *doc, unsigned level, const char *id, const char *text);
void doc_text(struct doc *doc, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same in bold. */
void doc_strong(struct doc *doc, const char *text);
/* An empty table with these headers; NULL: no memory, and the document knows. */
struct table *doc_table_of(struct doc *doc, size_t n, const char *const *headers);
/* A table that was made, or NULL for the want of memory; takes it. After an error nothing of the
 * document is written, and any table will do. */
void doc_table(struct doc *doc, struct table *table);
void doc_pairs(struct doc *doc, struct table *table); /* names and their values */
/* Chapters to jump to; only on the page. */
void doc_links(struct doc *doc, size_t n, const char *const *ids, const char *const *texts);

/* Pictures side by side, between begin and end; single ones need neither. A picture that cannot be
 * drawn (nothing that its axes can show) says so. */
void doc_grid_begin(struct doc *doc);
void doc_grid_end(struct doc *doc);
void doc_plot(struct doc *doc, const struct report_plot *plot);
void doc_drawing(struct doc *doc, const char *title, void (*draw)(FILE *file, const void *context),
		 const void *context);

/* An error of what the caller did between: kept like the document's own. */
void doc_fail(struct doc *doc, int err);
int doc_error(const struct doc *doc);

/* Writes the page and the Markdown; NULL: not that one. -errno, after saying what failed. */
int doc_write(struct doc *doc, const char *html_path, const char *md_path);
void doc_print(struct doc *doc, FILE *file); /* the plain text */

#endif
