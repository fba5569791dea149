/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * forest.h - a drawing of names, one below the other, with marks and intervals on one axis.
 *
 * Owns: nothing. In: places on the axis as shares, -1 at its left end and 1 at its right; out: SVG.
 * Thread: any.
 */
#ifndef FOREST_H
#define FOREST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define FOREST_WIDTH 860
#define FOREST_RIGHT 790
#define FOREST_TICKS 5

struct forest {
	unsigned left, top, line; /* where the axis begins; where rows begin, and how high one is */
	size_t n;		  /* rows */
};

double forest_x(const struct forest *forest, double share);
double forest_y(const struct forest *forest, size_t row); /* its middle */
/* The head of the picture and the axis; tick[] from left to right, the middle one is no change. The
 * caller ends it with "</svg>". */
void forest_begin(FILE *file, const struct forest *forest, const char *const tick[FOREST_TICKS]);
/* The name at the left of a row and the number at its right; NULL: none. */
void forest_name(FILE *file, const struct forest *forest, size_t row, const char *name,
		 const char *number);
/* The shape of a style (report.h) in that colour; open: its outline. */
void forest_mark(FILE *file, unsigned style, const char *colour, bool open, double x, double y);
void forest_interval(FILE *file, const struct forest *forest, double low, double high, double y);

#endif
