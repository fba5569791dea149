/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.h - what a benchmark found, as one page: text, tables and pictures in a single HTML file.
 *
 * Owns: the page as it grows. In: text that nobody has to trust (all of it is escaped), tables,
 * series of numbers; out: a file that needs no network, no script and no other file, readable in a
 * light and a dark room, and on paper. Pictures are drawn by gnuplot, which runs once per picture.
 * At its end every page says by itself which machine, command, version and time it comes from.
 * Thread: one per report; gnuplot is a child of the process (command.h).
 *
 * Adding never fails half-way: a table or a picture is on the page whole or not at all. What could
 * not be added for want of memory is told by report_write().
 */
#ifndef REPORT_H
#define REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "table.h"

#define REPORT_MAX_SERIES 16

struct report;

/* One line, or one bar of every category. y that is not finite is left out. */
struct report_series {
	const char *name;
	const double *x; /* REPORT_BARS: not looked at, the place is the index */
	const double *y;
	const double *y_low, *y_high; /* the ends of the error bars; NULL: none */
	size_t n;
};

enum report_plot_kind { REPORT_LINES, REPORT_STEPS, REPORT_POINTS, REPORT_BARS };

struct report_plot {
	const char *title, *x_label, *y_label; /* NULL: none; labels hold the unit */
	enum report_plot_kind kind;
	bool log_x, log_y;
	const char *const *categories; /* REPORT_BARS: a name for each index */
	size_t n_series;
	const struct report_series *series;
	double y_mark; /* a dashed line across at this height; 0: none */
};

/*
 * -ENOENT, after saying so on stderr: there is no gnuplot; found out now, not after an hour of
 * measuring. -ENOMEM.
 */
int report_create(struct report **out, const char *title);
void report_destroy(struct report *report); /* NULL is fine */

void report_heading(struct report *report, const char *text);
/* A paragraph. */
void report_text(struct report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Lines as they are, of equal width. */
void report_verbatim(struct report *report, const char *text);
/* -ENOMEM. */
int report_table(struct report *report, const struct table *table);
/*
 * -EINVAL: nothing to draw, too many series, or a number of them that no logarithm has. -ENOENT:
 * gnuplot has gone. -EREMOTEIO, after saying why: gnuplot refused. -ENOMEM.
 */
int report_plot(struct report *report, const struct report_plot *plot);
/* A picture of the caller's own: draw() writes one <svg> element, using report_escape(). -ENOMEM.
 */
int report_drawing(struct report *report, const char *title,
		   void (*draw)(FILE *file, const void *context), const void *context);

/* path "-": stdout; else says on stderr where the page is. -ENOMEM: something is missing from it.
 * -errno, after saying what failed.
 */
int report_write(struct report *report, const char *path);

/* text as HTML text or attribute value: markup is escaped, bytes that no page may hold become
 * U+FFFD. */
void report_escape(FILE *file, const char *text);

#endif
