/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/forest.h"

#include <math.h>
#include <stdbool.h>

#include "report/report.h"

double forest_x(const struct forest *forest, double share)
{
	double middle = (forest->left + FOREST_RIGHT) / 2.0;

	return middle + fmin(fmax(share, -1), 1) * (FOREST_RIGHT - middle);
}

double forest_y(const struct forest *forest, size_t row)
{
	return forest->top + forest->line * ((double)row + 0.5);
}

void forest_begin(FILE *file, const struct forest *forest, const char *const tick[FOREST_TICKS])
{
	double bottom = forest->top + forest->line * (double)forest->n;

	fprintf(file, "<svg viewBox=\"0 0 %d %.0f\" role=\"img\">\n", FOREST_WIDTH, bottom + 10);
	for (int i = 0; i < FOREST_TICKS; i++) {
		bool middle = i == FOREST_TICKS / 2;
		double x = forest_x(forest, 2.0 * i / (FOREST_TICKS - 1) - 1);

		fprintf(file,
			"<path d=\"M%.1f %u V%.1f\" stroke=\"currentColor\" stroke-width=\"%s\" "
			"stroke-dasharray=\"%s\" fill=\"none\"/>\n",
			x, forest->top - 6, bottom, middle ? "1.4" : "0.4",
			middle ? "none" : "2 3");
		report_svg_text(file, x, forest->top - 12, "middle", tick[i]);
	}
}

void forest_name(FILE *file, const struct forest *forest, size_t row, const char *name,
		 const char *number)
{
	double y = forest_y(forest, row) + 4;

	report_svg_text(file, forest->left - 10, y, "end", name);
	if (number)
		report_svg_text(file, FOREST_WIDTH - 4, y, "end", number);
}

void forest_interval(FILE *file, const struct forest *forest, double low, double high, double y)
{
	fprintf(file,
		"<path d=\"M%.1f %.1f H%.1f\" stroke=\"currentColor\" stroke-width=\"1.2\"/>\n",
		forest_x(forest, low), y, forest_x(forest, high));
}

void forest_mark(FILE *file, unsigned style, const char *colour, bool open, double x, double y)
{
	/* those of gnuplot's points in report_plot.c, in their order */
	static const char *const shapes[] = {
		"m-5 0 a5 5 0 1 0 10 0 a5 5 0 1 0 -10 0 z",
		"m-4.5 -4.5 h9 v9 h-9 z",
		"m0 -6 l6 11 h-12 z",
		"m0 -6 l6 6 l-6 6 l-6 -6 z",
		"m0 6 l6 -11 h-12 z",
		"m0 -6 l5.7 4.1 -2.2 6.8 h-7 l-2.2 -6.8 z",
	};

	fprintf(file,
		"<path d=\"M%.1f %.1f %s\" fill=\"%s\" stroke=\"%s\" stroke-width=\"1.6\"/>\n", x,
		y, shapes[(style ? style - 1 : 0) % (sizeof(shapes) / sizeof(shapes[0]))],
		open ? "var(--back)" : colour, colour);
}
