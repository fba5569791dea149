/* SPDX-License-Identifier: BSD-2-Clause */
#include "report_plot.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "utf8.h"

#define REPORT_PLOT_MS	   60000
#define REPORT_PLOT_WIDTH  860
#define REPORT_PLOT_HEIGHT 380
#define REPORT_PLOT_GROUP  0.84 /* of a category's width that its bars fill */

/* Told apart on white and on black, also by those who do not see all colours. */
static const char *const report_plot_colours[] = {"#3b82c4", "#e69f00", "#1a9e77", "#cc6fa3",
						  "#d9541e", "#8a7fd0", "#9a8a3c", "#7a7f87"};

#define REPORT_PLOT_COLOURS (sizeof(report_plot_colours) / sizeof(report_plot_colours[0]))

static bool report_plot_fits(bool logarithmic, double value)
{
	return isfinite(value) && (!logarithmic || value > 0);
}

/* Is this point on the picture? */
static bool report_plot_has(const struct report_plot *plot, const struct report_series *s, size_t i)
{
	return report_plot_fits(plot->log_y, s->y[i]) &&
	       (plot->kind == REPORT_BARS || report_plot_fits(plot->log_x, s->x[i]));
}

int report_plot_check(const struct report_plot *plot)
{
	size_t points = 0;

	if (plot->n_series == 0 || plot->n_series > REPORT_MAX_SERIES)
		return -EINVAL;
	for (size_t s = 0; s < plot->n_series; s++) {
		const struct report_series *series = &plot->series[s];

		if (!series->y || !series->y_low != !series->y_high ||
		    (plot->kind == REPORT_BARS ? !plot->categories : !series->x))
			return -EINVAL;
		for (size_t i = 0; i < series->n; i++)
			points += report_plot_has(plot, series, i);
	}
	return points ? 0 : -EINVAL;
}

/* Single quotes: gnuplot looks for nothing inside but another one, which is written twice. */
static void report_plot_quote(const char *text, FILE *file)
{
	fputc('\'', file);
	while (text && *text) {
		const char *at = text;
		uint32_t code = utf8_take(&text);

		if (code == '\'')
			fputs("''", file);
		else if (code < 0x20 || code == 0x7f)
			fputc(' ', file);
		else if (code == UTF8_INVALID)
			fputs("\xef\xbf\xbd", file);
		else
			fwrite(at, 1, (size_t)(text - at), file);
	}
	fputc('\'', file);
}

static void report_plot_data(const struct report_plot *plot, size_t index, FILE *file)
{
	const struct report_series *s = &plot->series[index];
	double width = REPORT_PLOT_GROUP / (double)plot->n_series;
	double shift = ((double)index - ((double)plot->n_series - 1) / 2) * width;

	fprintf(file, "$d%zu << EOD\n", index);
	for (size_t i = 0; i < s->n; i++) {
		double x = plot->kind == REPORT_BARS ? (double)i + shift : s->x[i];
		double low = s->y_low ? s->y_low[i] : s->y[i],
		       high = s->y_low ? s->y_high[i] : s->y[i];

		if (!report_plot_has(plot, s, i))
			continue;
		/* an end that cannot be drawn is drawn at the value itself */
		fprintf(file, "%.9g %.9g %.9g %.9g\n", x, s->y[i],
			report_plot_fits(plot->log_y, low) ? low : s->y[i],
			report_plot_fits(plot->log_y, high) ? high : s->y[i]);
	}
	fputs("EOD\n", file);
}

static void report_plot_axes(const struct report_plot *plot, FILE *file)
{
	fprintf(file,
		"set terminal svg size %d,%d dynamic noenhanced font 'sans-serif,14'\n"
		"set encoding utf8\n"
		"set border 3 lc rgb 'black'\n"
		"set tics nomirror out scale 0.6\n"
		"set grid y lc rgb '#888888' lw 0.5 dt 3\n"
		"set key outside top left horizontal Left reverse samplen 1.5 width 2\n",
		REPORT_PLOT_WIDTH, REPORT_PLOT_HEIGHT);
	if (plot->n_series == 1 && !plot->series[0].name)
		fputs("unset key\n", file);
	fputs("set xlabel ", file);
	report_plot_quote(plot->x_label, file);
	fputs("\nset ylabel ", file);
	report_plot_quote(plot->y_label, file);
	fputs(plot->log_x ? "\nset logscale x\n" : "\n", file);
	if (plot->log_y)
		fputs("set logscale y\n", file);
	else
		fputs("set yrange [0<*:*]\n", file);
}

static void report_plot_categories(const struct report_plot *plot, FILE *file)
{
	size_t n = 0;

	for (size_t s = 0; s < plot->n_series; s++)
		n = plot->series[s].n > n ? plot->series[s].n : n;
	fprintf(file,
		"set boxwidth %.9g absolute\nset style fill solid 0.9 border lc rgb 'black'\n"
		"set xrange [-0.5:%zu.5]\nset xtics scale 0 (",
		REPORT_PLOT_GROUP / (double)plot->n_series * 0.92, n - 1);
	for (size_t i = 0; i < n; i++) {
		fputs(i ? ", " : "", file);
		report_plot_quote(plot->categories[i], file);
		fprintf(file, " %zu", i);
	}
	fputs(")\n", file);
	if (!plot->log_y)
		fputs("set yrange [0:*]\n", file);
}

static void report_plot_one(const struct report_plot *plot, size_t index, FILE *file)
{
	static const char *const styles[] = {
		[REPORT_LINES] = "lines lw 2",
		[REPORT_STEPS] = "steps lw 2",
		[REPORT_POINTS] = "points pt 7 ps 0.6",
		[REPORT_BARS] = "boxes",
	};
	const char *colour = report_plot_colours[index % REPORT_PLOT_COLOURS];

	fprintf(file, "$d%zu using 1:2 with %s lc rgb '%s' title ", index, styles[plot->kind],
		colour);
	report_plot_quote(plot->series[index].name, file);
	/* arrows with heads at right angles: gnuplot's own error bars blot out the value beneath */
	if (plot->series[index].y_low)
		fprintf(file,
			", $d%zu using 1:3:(0):($4-$3) with vectors heads size graph 0.007,90 "
			"nofilled lw 1.4 "
			"lc rgb '%s' notitle",
			index, plot->kind == REPORT_BARS ? "black" : colour);
}

void report_plot_script(const struct report_plot *plot, FILE *file)
{
	report_plot_axes(plot, file);
	if (plot->kind == REPORT_BARS)
		report_plot_categories(plot, file);
	for (size_t s = 0; s < plot->n_series; s++)
		report_plot_data(plot, s, file);
	fputs("plot ", file);
	for (size_t s = 0; s < plot->n_series; s++) {
		fputs(s ? ", " : "", file);
		report_plot_one(plot, s, file);
	}
	if (plot->y_mark != 0)
		fprintf(file, ", %.9g with lines lw 1.2 dt 2 lc rgb 'black' notitle", plot->y_mark);
	fputc('\n', file);
}

/* The lines of gnuplot's SVG that a page has no use for begin so; text in a picture never begins a
 * line. */
static bool report_plot_unwanted(const char *line)
{
	static const char *const begins[] = {"<?xml", "<title>", "<desc>"};

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (strncmp(line, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

void report_plot_inline(const char *svg, bool with_symbols, FILE *file)
{
	bool symbols = false;

	while (*svg) {
		size_t length = strcspn(svg, "\n");

		symbols |= strncmp(svg, "<defs>", 6) == 0;
		if (strncmp(svg, "<g id=", 6) == 0 || strncmp(svg, "\t<g id=", 7) == 0)
			fputs("<g>\n", file); /* named, and with a tooltip that tells nothing */
		else if (!report_plot_unwanted(svg) && (with_symbols || !symbols))
			fprintf(file, "%.*s\n", (int)length, svg);
		symbols &= strncmp(svg, "</defs>", 7) != 0;
		svg += length + (svg[length] == '\n');
	}
}

int report_plot_draw(const struct report_plot *plot, char **svg)
{
	static const char *const argv[] = {"gnuplot", "-", NULL};
	struct command_result result;
	char *script = NULL;
	size_t size = 0;
	FILE *file;
	int err = report_plot_check(plot);

	if (err)
		return err;
	file = open_memstream(&script, &size);
	if (!file)
		return -ENOMEM;
	report_plot_script(plot, file);
	err = ferror(file) ? -ENOMEM : 0;
	err = fclose(file) ? -ENOMEM : err;
	if (!err)
		err = command_feed(argv, script, size, REPORT_PLOT_MS, &result);
	free(script);
	if (err)
		return err;
	if (result.status == 0 && strstr(result.out, "</svg>")) {
		*svg = result.out;
		return 0;
	}
	fprintf(stderr, "farebench: gnuplot: exit status %d: %s\n", result.status, result.err);
	free(result.out);
	return result.status == 127 ? -ENOENT : -EREMOTEIO;
}
