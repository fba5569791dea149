/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_plot.h - from series of numbers to a picture: a script for gnuplot, and what becomes of
 * its answer.
 *
 * Owns: nothing. In: struct report_plot; out: a script, an <svg> element. The two ends are pure;
 * what runs gnuplot stands between them. Names go into the script between single quotes, where
 * gnuplot substitutes nothing; numbers go in as numbers. Thread: any.
 */
#ifndef REPORT_PLOT_H
#define REPORT_PLOT_H

#include <stdio.h>

#include "report/report.h"

/* Of a series with that style (report.h), from 1. */
const char *report_plot_colour_of(unsigned style);

/* -EINVAL: there is nothing to draw, or no way to (report.h says what). */
int report_plot_check(const struct report_plot *plot);
void report_plot_script(const struct report_plot *plot, FILE *file);
/*
 * Only what draws: no prolog, no tooltips, and gnuplot's point symbols (the same in every picture)
 * only in picture 0 of a page, so that their names are on it once; patterns are named after the
 * picture.
 */
void report_plot_inline(const char *svg, unsigned picture, FILE *file);

/* All of it; *svg is the caller's to free. Errors as report_plot(). */
int report_plot_draw(const struct report_plot *plot, char **svg);

#endif
