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
 * not be added for want of memory is reported by report_write().
 */
#ifndef REPORT_H
#define REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "report/table.h"

#define REPORT_MAX_SERIES 32

struct report;

/* One line, or one bar of every category. y that is not finite is left out. */
struct report_series {
	const char *name;
	const double *x; /* REPORT_BARS, REPORT_STACK: not looked at, the place is the index */
	const double *y;
	const double *y_low, *y_high; /* the ends of the error bars; NULL: none */
	size_t n;
	unsigned style;	    /* colour, dashes and points of the series at style - 1; 0: its own */
	unsigned line;	    /* of several of one style: 1, 2, ...: its line or fill; 0: none */
	const bool *open;   /* points drawn open; NULL: none */
	const bool *ringed; /* points with a ring around them; NULL: none */
	const char *const *label; /* text beside each point (NULL: none); NULL: none */
	bool pointed;		  /* a line with points */
	bool right;		  /* on the right axis; dashed */
	bool filled;		  /* the area between it and 0 */
	bool reference;		  /* dashed in the colour of text: what others are compared with */
};

enum report_plot_kind {
	REPORT_LINES,
	REPORT_STEPS,
	REPORT_POINTS,
	REPORT_BARS,
	REPORT_STACK,
	REPORT_HEAT /* one series: a field at each x and y, its colour y_low, its text label */
};

struct report_plot {
	const char *title, *x_label, *y_label; /* NULL: none; labels hold the unit */
	const char *y2_label; /* of the right axis, or of colours; NULL: there is none */
	enum report_plot_kind kind;
	bool log_x, log_y;
	bool compact;	/* one of several side by side */
	bool from_zero; /* y axes hold 0 */
	/* REPORT_BARS, REPORT_STACK: a name for each index. Others: names of tics at tic_x; NULL:
	 * numbers */
	const char *const *categories;
	const double *tic_x;
	size_t n_tics;
	const char *const *rows; /* REPORT_HEAT: a name for each y */
	size_t n_rows;
	size_t n_series;
	const struct report_series *series;
	double y_mark;	      /* a dashed line across at this height; 0: none */
	double y_max, y2_max; /* the axis ends here at least; 0: where the values do */
};

/*
 * -ENOENT, after saying so on stderr: there is no gnuplot; found out now, not after an hour of
 * measuring. -ENOMEM.
 */
int report_create(struct report **out, const char *title);
void report_destroy(struct report *report); /* NULL is fine */

/* The page is of a run that began then (a time in words), and not of this process's. */
void report_measured(struct report *report, const char *began);
void report_heading(struct report *report, const char *text);
/* A heading of level 2 to 4 that can be linked to: id is "" or a word. */
void report_heading_at(struct report *report, unsigned level, const char *id, const char *text);
/* "text" as a link to the heading with that id; several make a list of chapters. */
void report_links_begin(struct report *report);
void report_link(struct report *report, const char *id, const char *text);
void report_links_end(struct report *report);
/* What is added between the two stands side by side where the window is wide enough. */
void report_grid_begin(struct report *report);
void report_grid_end(struct report *report);
/* A paragraph. */
void report_text(struct report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void report_strong(struct report *report, const char *text); /* in bold */
/* Lines as they are, of equal width. */
void report_verbatim(struct report *report, const char *text);
/* -ENOMEM. */
int report_table(struct report *report, const struct table *table);
/* The same for names and their values: all to the left. */
int report_pairs(struct report *report, const struct table *table);
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

/* Text of an <svg> of 860 units' width; anchor: start, middle, end. */
void report_svg_text(FILE *file, double x, double y, const char *anchor, const char *text);

#endif
