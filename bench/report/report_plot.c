/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/report_plot.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/command.h"
#include "report/table.h"
#include "base/utf8.h"

#define REPORT_PLOT_MS		 60000
#define REPORT_PLOT_WIDTH	 860
#define REPORT_PLOT_HEIGHT	 380
#define REPORT_PLOT_SMALL_WIDTH	 460 /* one of several side by side */
#define REPORT_PLOT_SMALL_HEIGHT 320
#define REPORT_PLOT_FINE	 1.5  /* decades of an axis: fewer have names between them */
#define REPORT_PLOT_DECADES	 7    /* that have names beside each other */
#define REPORT_PLOT_GROUP	 0.84 /* of a category's width that its bars fill */

/* Distinct on white and on black, also by those who do not see all colours. */
static const char *const report_plot_colours[] = {"#3b82c4", "#e69f00", "#1a9e77", "#cc6fa3",
						  "#d9541e", "#8a7fd0", "#9a8a3c", "#7a7f87"};

#define REPORT_PLOT_COLOURS (sizeof(report_plot_colours) / sizeof(report_plot_colours[0]))

/* Distinct without colour: gnuplot's numbers of filled points, of dashes, and fills of bars. */
static const int report_plot_points[] = {7, 5, 9, 13, 11, 15, 7, 5};
static const int report_plot_dashes[] = {1, 2, 4, 5, 3, 2, 4, 5};
static const int report_plot_lines[] = {1, 3, 2, 4}; /* of series of one style */
static const char *const report_plot_fills[] = {"solid 0.9", "pattern 4", "solid 0.35",
						"pattern 1", "pattern 5", "pattern 6",
						"solid 0.6", "pattern 2"};

const char *report_plot_colour_of(unsigned style)
{
	return report_plot_colours[(style ? style - 1 : 0) % REPORT_PLOT_COLOURS];
}

static bool report_plot_is_bars(const struct report_plot *plot)
{
	return plot->kind == REPORT_BARS || plot->kind == REPORT_STACK || plot->kind == REPORT_HEAT;
}

static size_t report_plot_style(const struct report_plot *plot, size_t index)
{
	unsigned style = plot->series[index].style;

	return (style ? style - 1 : index) % REPORT_PLOT_COLOURS;
}

static const char *report_plot_colour(const struct report_plot *plot, size_t index)
{
	return plot->series[index].reference ? "black"
					     : report_plot_colours[report_plot_style(plot, index)];
}

static bool report_plot_fits(bool logarithmic, double value)
{
	return isfinite(value) && (!logarithmic || value > 0);
}

/* Is this point on the picture? */
static bool report_plot_has(const struct report_plot *plot, const struct report_series *s, size_t i)
{
	return report_plot_fits(plot->log_y, s->y[i]) &&
	       (report_plot_is_bars(plot) || report_plot_fits(plot->log_x, s->x[i]));
}

int report_plot_check(const struct report_plot *plot)
{
	size_t points = 0;

	if (plot->n_series == 0 || plot->n_series > REPORT_MAX_SERIES)
		return -EINVAL;
	for (size_t s = 0; s < plot->n_series; s++) {
		const struct report_series *series = &plot->series[s];

		if (!series->y || !series->y_low != !series->y_high ||
		    (report_plot_is_bars(plot) ? !plot->categories : !series->x))
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

/* Text of a point, in double quotes on a line of data: what could end it there is left out. */
static void report_plot_label(const char *text, FILE *file)
{
	fputc('"', file);
	for (; *text; text++)
		if ((unsigned char)*text >= 0x20 && *text != '"' && *text != '\\')
			fputc(*text, file);
	fputs("\"\n", file);
}

/* Where the point is: bars of a category stand side by side, those of a stack on each other. */
static double report_plot_x(const struct report_plot *plot, size_t index, size_t i)
{
	double width = REPORT_PLOT_GROUP / (double)plot->n_series;

	if (plot->kind == REPORT_STACK)
		return (double)i;
	if (plot->kind == REPORT_HEAT)
		return plot->series[index].x[i];
	if (plot->kind == REPORT_BARS)
		return (double)i + ((double)index - ((double)plot->n_series - 1) / 2) * width;
	return plot->series[index].x[i];
}

/* What the series before it in a stack add up to. */
static double report_plot_below(const struct report_plot *plot, size_t index, size_t i)
{
	double sum = 0;

	for (size_t s = 0; plot->kind == REPORT_STACK && s < index; s++)
		if (i < plot->series[s].n && isfinite(plot->series[s].y[i]))
			sum += plot->series[s].y[i];
	return sum;
}

/* Columns: x, y, low, high, open, ringed, what is below, label. */
static void report_plot_data(const struct report_plot *plot, size_t index, FILE *file)
{
	const struct report_series *s = &plot->series[index];

	fprintf(file, "$d%zu << EOD\n", index);
	for (size_t i = 0; i < s->n; i++) {
		double low = s->y_low ? s->y_low[i] : s->y[i],
		       high = s->y_low ? s->y_high[i] : s->y[i];
		double below = report_plot_below(plot, index, i);

		if (!report_plot_has(plot, s, i))
			continue;
		/* an end that cannot be drawn is drawn at the value itself */
		fprintf(file, "%.9g %.9g %.9g %.9g %d %d %.9g ", report_plot_x(plot, index, i),
			below + s->y[i], report_plot_fits(plot->log_y, low) ? low : s->y[i],
			report_plot_fits(plot->log_y, high) ? high : s->y[i], s->open && s->open[i],
			s->ringed && s->ringed[i], below);
		report_plot_label(s->label && s->label[i] ? s->label[i] : "", file);
	}
	fputs("EOD\n", file);
}

static void report_plot_y_axis(const struct report_plot *plot, const char *axis, const char *label,
			       bool logarithmic, double max, FILE *file)
{
	fprintf(file, "set %slabel ", axis);
	report_plot_quote(label, file);
	if (logarithmic)
		fprintf(file, "\nset logscale %s\n", axis);
	else if (max > 0)
		fprintf(file, "\nset %srange [%s:%.9g<*]\n", axis, plot->from_zero ? "*<0" : "0<*",
			max);
	else
		fprintf(file, "\nset %srange [%s:*]\n", axis, plot->from_zero ? "*<0" : "0<*");
}

/* Names on a logarithmic axis of any numbers: powers of ten, or 1, 2 and 5 times these where there
 * are few. gnuplot names each of 4 to 9 times of a part of a power, over one another. */
static void report_plot_log_tics(double min, double max, FILE *file)
{
	static const double steps[] = {1, 2, 5};
	double decades = log10(max / min);
	size_t per_decade = decades < REPORT_PLOT_FINE ? sizeof(steps) / sizeof(steps[0]) : 1,
	       n = 0;
	int first = (int)floor(log10(min)), each = 1 + (int)(decades / REPORT_PLOT_DECADES);

	fputs("set xtics (", file);
	for (int power = first; power <= (int)floor(log10(max)); power += each)
		for (size_t i = 0; i < per_decade; i++) {
			double at = steps[i] * pow(10, power);

			if (at >= min && at <= max)
				fprintf(file, "%s%.9g", n++ ? ", " : "", at);
		}
	if (!n)
		fprintf(file, "%.4g, %.4g", min, max);
	fputs(")\n", file);
}

/* From the first point to the last, and a little more: gnuplot would go on to the next power of
 * ten. */
static void report_plot_log_x(const struct report_plot *plot, FILE *file)
{
	double min = INFINITY, max = 0;

	for (size_t s = 0; s < plot->n_series; s++)
		for (size_t i = 0; i < plot->series[s].n; i++)
			if (report_plot_has(plot, &plot->series[s], i)) {
				min = fmin(min, plot->series[s].x[i]);
				max = fmax(max, plot->series[s].x[i]);
			}
	fputs("set logscale x\n", file);
	if (plot->tic_x && min < max)
		fprintf(file, "set xrange [%.9g:%.9g]\n", min / pow(max / min, 0.04),
			max * pow(max / min, 0.04));
	else if (plot->tic_x && max > 0)
		fprintf(file, "set xrange [%.9g:%.9g]\n", min / 2, max * 2);
	else if (max > min)
		report_plot_log_tics(min, max, file);
}

/* How many names stand beside each other in the legend, and how many rows that makes. */
static size_t report_plot_key_columns(const struct report_plot *plot)
{
	size_t longest = 0, room = plot->compact ? 44 : 92;

	for (size_t s = 0; s < plot->n_series; s++)
		if (plot->series[s].name)
			longest = table_width(plot->series[s].name) > longest
					  ? table_width(plot->series[s].name)
					  : longest;
	room /= longest + 9; /* 9: the sample of the line, and space */
	return room ? room : 1;
}

static void report_plot_size(const struct report_plot *plot, FILE *file)
{
	size_t columns = report_plot_key_columns(plot);
	size_t rows = (plot->n_series + columns - 1) / columns;

	fprintf(file, "set terminal svg size %d,%zu dynamic noenhanced font 'sans-serif,%d'\n",
		plot->compact ? REPORT_PLOT_SMALL_WIDTH : REPORT_PLOT_WIDTH,
		(plot->compact ? REPORT_PLOT_SMALL_HEIGHT : REPORT_PLOT_HEIGHT) +
			(rows > 2 ? (rows - 2) * 20 : 0),
		plot->compact ? 13 : 14);
	fprintf(file,
		"set key outside top left horizontal Left reverse samplen %s width 2 maxcols %zu\n",
		plot->kind == REPORT_LINES ? "3" : "1.5", columns);
	if (plot->n_series == 1 && !plot->series[0].name)
		fputs("unset key\n", file);
}

static void report_plot_axes(const struct report_plot *plot, FILE *file)
{
	report_plot_size(plot, file);
	fprintf(file,
		"set encoding utf8\n"
		"set format '%%.10g'\n"
		"set border %d lc rgb 'black'\n"
		"set tics nomirror out scale 0.6\n"
		"set grid y lc rgb '#888888' lw 0.5 dt 3\n"
		"set xlabel ",
		plot->y2_label && plot->kind != REPORT_HEAT ? 11 : 3);
	report_plot_quote(plot->x_label, file);
	fputc('\n', file);
	if (plot->log_x)
		report_plot_log_x(plot, file);
	else if (plot->tic_x)
		fputs("set offsets graph 0.03, graph 0.03, 0, 0\n", file);
	report_plot_y_axis(plot, "y", plot->y_label, plot->log_y, plot->y_max, file);
	if (plot->y2_label && plot->kind != REPORT_HEAT) {
		report_plot_y_axis(plot, "y2", plot->y2_label, false, plot->y2_max, file);
		fputs("set y2tics nomirror out scale 0.6\n", file);
	}
}

static void report_plot_tics(const struct report_plot *plot, size_t n, FILE *file)
{
	fputs("(", file);
	for (size_t i = 0; i < n; i++) {
		fputs(i ? ", " : "", file);
		report_plot_quote(plot->categories[i], file);
		fprintf(file, " %.9g", plot->tic_x ? plot->tic_x[i] : (double)i);
	}
	fputs(")\n", file);
}

static void report_plot_categories(const struct report_plot *plot, FILE *file)
{
	double side_by_side = plot->kind == REPORT_STACK ? 1 : (double)plot->n_series;
	size_t n = 0;

	for (size_t s = 0; s < plot->n_series; s++)
		n = plot->series[s].n > n ? plot->series[s].n : n;
	fprintf(file,
		"set boxwidth %.9g absolute\nset style fill solid 0.9 border lc rgb 'black'\n"
		"set xrange [-0.5:%zu.5]\nset xtics scale 0 ",
		REPORT_PLOT_GROUP / side_by_side * 0.92, n - 1);
	report_plot_tics(plot, n, file);
	if (!plot->log_y && !(plot->y_max > 0))
		fputs("set yrange [0:*]\n", file);
}

static void report_plot_bar(const struct report_plot *plot, size_t index, FILE *file)
{
	unsigned line = plot->series[index].line;
	const char *fill = report_plot_fills[line ? (line - 1) % REPORT_PLOT_COLOURS
						  : report_plot_style(plot, index)];

	if (plot->kind == REPORT_STACK)
		fprintf(file,
			"$d%zu using 1:2:($1-%.9g):($1+%.9g):7:2 with boxxyerror fs %s border lc "
			"rgb 'black' lc rgb '%s' title ",
			index, REPORT_PLOT_GROUP / 2, REPORT_PLOT_GROUP / 2, fill,
			report_plot_colour(plot, index));
	else
		fprintf(file,
			"$d%zu using 1:2 with boxes fs %s border lc rgb 'black' lc rgb '%s' title ",
			index, fill, report_plot_colour(plot, index));
}

/* How a line is drawn, its points left out or not. */
static void report_plot_line_as(const struct report_plot *plot, size_t index, bool points,
				FILE *file)
{
	static const char *const styles[] = {
		[REPORT_LINES] = "lines lw 2",
		[REPORT_STEPS] = "steps lw 2",
		[REPORT_POINTS] = "points ps 0.6",
	};
	const struct report_series *s = &plot->series[index];
	size_t style = report_plot_style(plot, index);

	if (s->filled)
		fputs("filledcurves y1=0 fs transparent solid 0.3 noborder", file);
	else if (s->pointed && points)
		fprintf(file, "linespoints lw %g ps 0.8 pt %d", s->line > 1 ? 1.2 : 2.0,
			report_plot_points[style]);
	else
		fputs(styles[plot->kind], file);
	if (plot->kind == REPORT_POINTS)
		fprintf(file, " pt %d", report_plot_points[style]);
	else if (!s->filled)
		fprintf(file, " dt %d",
			s->reference || s->right ? 2
			: s->line		 ? report_plot_lines[(s->line - 1) % 4]
						 : report_plot_dashes[style]);
	fprintf(file, " lc rgb '%s' ", report_plot_colour(plot, index));
}

/* Where some points are open, points are not drawn with the line: a filled one would lie beneath.
 */
static void report_plot_line(const struct report_plot *plot, size_t index, FILE *file)
{
	const struct report_series *s = &plot->series[index];

	fprintf(file, "$d%zu using 1:2 axes x1%s with ", index, s->right ? "y2" : "y1");
	report_plot_line_as(plot, index, !s->open, file);
	if (s->open && !s->filled) {
		fputs("notitle, keyentry with ", file);
		report_plot_line_as(plot, index, true, file);
	}
	fputs("title ", file);
}

static void report_plot_open_points(const struct report_plot *plot, size_t index, const char *axis,
				    FILE *file)
{
	int point = report_plot_points[report_plot_style(plot, index)];
	const char *colour = report_plot_colour(plot, index);

	fprintf(file,
		", $d%zu using 1:($5>0?1/0:$2) axes %s with points pt %d ps 0.8 lc rgb '%s' notitle"
		", $d%zu using 1:($5>0?$2:1/0) axes %s with points pt %d ps 1.1 lw 1.5 lc rgb '%s' "
		"notitle",
		index, axis, point, colour, index, axis, point - 1, colour);
}

/* Error bars, points that are open or ringed, labels. */
static void report_plot_marks(const struct report_plot *plot, size_t index, FILE *file)
{
	const struct report_series *s = &plot->series[index];
	const char *axis = s->right ? "x1y2" : "x1y1";

	/* arrows with heads at right angles: gnuplot's own error bars blot out the value beneath */
	if (s->y_low && plot->kind != REPORT_STACK)
		fprintf(file,
			", $d%zu using 1:3:(0):($4-$3) axes %s with vectors heads size graph "
			"0.005,90 nofilled lw 0.8 lc rgb '%s' notitle",
			index, axis,
			plot->kind == REPORT_BARS ? "black" : report_plot_colour(plot, index));
	if (s->filled) /* an area of one point has no width */
		fprintf(file, ", $d%zu using 1:2 axes %s with impulses lw 6 lc rgb '#b3%s' notitle",
			index, axis, report_plot_colour(plot, index) + 1);
	if (s->open && !s->filled && !report_plot_is_bars(plot))
		report_plot_open_points(plot, index, axis, file);
	if (s->ringed)
		fprintf(file,
			", $d%zu using 1:($6>0?$2:1/0) axes %s with points pt 6 ps 1.6 lw 1.5 lc "
			"rgb 'black' notitle",
			index, axis);
	if (s->label)
		fprintf(file,
			", $d%zu using 1:2:8 axes %s with labels offset 0,0.8 font ',11' tc rgb "
			"'black' notitle",
			index, axis);
}

/* A field for each point, and its text: light enough for dark letters. */
static void report_plot_heat(const struct report_plot *plot, FILE *file)
{
	fputs("set palette defined (0 '#fff3c4', 1 '#6fb1e0')\nset cblabel ", file);
	report_plot_quote(plot->y2_label, file);
	if (plot->y2_max > 0)
		fprintf(file, " offset 2\nset cbrange [0:%.9g]\n", plot->y2_max);
	else
		fputs(" offset 2\nset cbrange [0:*]\n", file);
	fprintf(file,
		"set xrange [-0.5:%zu.5]\nset yrange [%zu.5:-0.5]\nunset grid\nset xtics scale 0 ",
		plot->n_tics - 1, plot->n_rows - 1);
	report_plot_tics(plot, plot->n_tics, file);
	fputs("set ytics scale 0 (", file);
	for (size_t i = 0; i < plot->n_rows; i++) {
		fputs(i ? ", " : "", file);
		report_plot_quote(plot->rows[i], file);
		fprintf(file, " %zu", i);
	}
	fputs(")\n", file);
	report_plot_data(plot, 0, file);
	fputs("plot $d0 using 1:2:($1-0.5):($1+0.5):($2-0.5):($2+0.5):($5>0?1/0:$3) with "
	      "boxxyerror fs solid 1 noborder lc palette notitle, $d0 using 1:2:8 with labels tc "
	      "rgb 'black' notitle\n",
	      file);
}

void report_plot_script(const struct report_plot *plot, FILE *file)
{
	report_plot_axes(plot, file);
	if (plot->kind == REPORT_HEAT) {
		report_plot_heat(plot, file);
		return;
	}
	if (report_plot_is_bars(plot)) {
		report_plot_categories(plot, file);
	} else if (plot->categories) {
		fputs("set xtics ", file);
		report_plot_tics(plot, plot->n_tics, file);
	}
	for (size_t s = 0; s < plot->n_series; s++)
		report_plot_data(plot, s, file);
	fputs("plot ", file);
	for (size_t s = 0; s < plot->n_series; s++) {
		fputs(s ? ", " : "", file);
		if (report_plot_is_bars(plot))
			report_plot_bar(plot, s, file);
		else
			report_plot_line(plot, s, file);
		report_plot_quote(plot->series[s].name, file);
		report_plot_marks(plot, s, file);
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

/* A line of the picture, with the names of patterns made the picture's own. */
static void report_plot_keep(const char *line, size_t length, unsigned picture, FILE *file)
{
	const char *end = line + length, *at;

	while ((at = memmem(line, (size_t)(end - line), "gpPat", 5))) {
		fprintf(file, "%.*sp%uPat", (int)(at - line), line, picture);
		line = at + 5;
	}
	fprintf(file, "%.*s\n", (int)(end - line), line);
}

void report_plot_inline(const char *svg, unsigned picture, FILE *file)
{
	bool symbols = false, first = true;

	while (*svg) {
		size_t length = strcspn(svg, "\n");

		/* the first definitions are the symbols, those behind are patterns */
		symbols |= first && strncmp(svg, "<defs>", 6) == 0;
		if (strncmp(svg, "<g id=", 6) == 0 || strncmp(svg, "\t<g id=", 7) == 0)
			fputs("<g>\n", file); /* named, and with a tooltip that tells nothing */
		else if (!report_plot_unwanted(svg) && (picture == 0 || !symbols))
			report_plot_keep(svg, length, picture, file);
		if (strncmp(svg, "</defs>", 7) == 0)
			symbols = first = false;
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
