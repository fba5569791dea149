/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/report_plot.h"

static const double xs[] = {1, 2, 3}, ys[] = {0.5, NAN, 0.75}, low[] = {0.25, 0, -INFINITY},
		    high[] = {0.625, 1, 1};

static char *script_of(const struct report_plot *plot)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	report_plot_script(plot, file);
	fclose(file);
	return text;
}

static char *inline_of(const char *svg, unsigned picture)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	report_plot_inline(svg, picture, file);
	fclose(file);
	return text;
}

START_TEST(nothing_to_draw)
{
	const double none[] = {NAN}, negative[] = {-1};
	struct report_series series = {.name = "s", .x = xs, .y = ys, .n = 3};
	struct report_plot plot = {.kind = REPORT_LINES, .n_series = 1, .series = &series};

	ck_assert_int_eq(report_plot_check(&plot), 0);
	plot.n_series = 0;
	ck_assert_int_eq(report_plot_check(&plot), -EINVAL);
	plot.n_series = REPORT_MAX_SERIES + 1;
	ck_assert_int_eq(report_plot_check(&plot), -EINVAL);
	plot.n_series = 1;
	plot.kind = REPORT_BARS; /* and no categories */
	ck_assert_int_eq(report_plot_check(&plot), -EINVAL);
	plot.kind = REPORT_LINES;
	series.x = NULL;
	ck_assert_int_eq(report_plot_check(&plot), -EINVAL);
	series = (struct report_series){.x = xs, .y = none, .n = 1};
	ck_assert_int_eq(report_plot_check(&plot), -EINVAL);
	series = (struct report_series){.x = xs, .y = negative, .n = 1};
	ck_assert_int_eq(report_plot_check(&plot), 0);
	plot.log_y = true;
	ck_assert_int_eq(report_plot_check(&plot), -EINVAL);
	plot.log_y = false;
	series.y_low = low; /* and no y_high */
	ck_assert_int_eq(report_plot_check(&plot), -EINVAL);
}
END_TEST

/* Values that are no numbers leave no line; ends of error bars that are none fall on the value. */
START_TEST(numbers)
{
	struct report_series series = {
		.name = "s", .x = xs, .y = ys, .y_low = low, .y_high = high, .n = 3};
	struct report_plot plot = {.kind = REPORT_LINES, .n_series = 1, .series = &series};
	char *text = script_of(&plot);

	ck_assert_ptr_nonnull(
		strstr(text, "EOD\n1 0.5 0.25 0.625 0 0 0 \"\"\n3 0.75 0.75 1 0 0 0 \"\"\nEOD\n"));
	free(text);
}
END_TEST

/* Bars of a category stand side by side around its index. */
START_TEST(bars_stand_side_by_side)
{
	const char *const categories[] = {"one", "two"};
	const double a[] = {1, 2}, b[] = {3, 4};
	struct report_series series[] = {{.name = "a", .y = a, .n = 2},
					 {.name = "b", .y = b, .n = 2}};
	struct report_plot plot = {
		.kind = REPORT_BARS, .categories = categories, .n_series = 2, .series = series};
	char *text = script_of(&plot);

	ck_assert_ptr_nonnull(strstr(text, "-0.21 1 1 1 0 0 0 \"\"\n0.79 2 2 2 0 0 0 \"\"\n"));
	ck_assert_ptr_nonnull(strstr(text, "0.21 3 3 3 0 0 0 \"\"\n1.21 4 4 4 0 0 0 \"\"\n"));
	ck_assert_ptr_nonnull(strstr(text, "('one' 0, 'two' 1)"));
	free(text);
}
END_TEST

/* Series of one style have its colour and mark, and lines of their own; an area of one point is a
 * bar, and has no open mark. */
START_TEST(styles_lines_and_areas)
{
	const bool open[] = {true};
	struct report_series series[] = {
		{.name = "p50", .x = xs, .y = ys, .n = 3, .style = 4, .line = 1, .pointed = true},
		{.name = "p99", .x = xs, .y = ys, .n = 3, .style = 4, .line = 2, .pointed = true},
		{.name = "area",
		 .x = xs,
		 .y = ys,
		 .n = 1,
		 .filled = true,
		 .style = 4,
		 .open = open}};
	struct report_plot plot = {.kind = REPORT_LINES, .n_series = 3, .series = series};
	char *text = script_of(&plot), line[120];

	for (int i = 1; i <= 2; i++) {
		snprintf(line, sizeof(line), "ps 0.8 pt 13 dt %d lc rgb '%s' title 'p%s'",
			 i == 1 ? 1 : 3, report_plot_colour_of(4), i == 1 ? "50" : "99");
		ck_assert_ptr_nonnull(strstr(text, line));
	}
	ck_assert_ptr_nonnull(strstr(text, "title 'area', $d2 using 1:2 axes x1y1 with impulses"));
	ck_assert_ptr_null(strstr(text, "$5>0"));
	free(text);
}
END_TEST

/* As many names of a logarithmic axis as fit beside each other, and never none. */
START_TEST(names_of_a_logarithmic_axis)
{
	static const struct {
		double from, to;
		const char *tics;
	} of[] = {{41, 210, "set xtics (50, 100, 200)"},
		  {8, 52000, "set xtics (10, 100, 1000, 10000)"},
		  {1, 1.5e9, "set xtics (1, 100, 10000, 1000000, 100000000)"},
		  {6, 9, "set xtics (6, 9)"}};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		const double x[] = {of[i].from, of[i].to}, y[] = {0, 1};
		struct report_series series = {.name = "x", .x = x, .y = y, .n = 2};
		struct report_plot plot = {
			.kind = REPORT_STEPS, .n_series = 1, .series = &series, .log_x = true};
		char *text = script_of(&plot);

		ck_assert_msg(strstr(text, of[i].tics), "no %s in %s", of[i].tics, text);
		free(text);
	}
}
END_TEST

/* Whatever a name holds, it stays inside its quotes and on its line. */
START_TEST(names_are_only_names)
{
	struct report_series series = {
		.name = "'\nsystem('touch x')\n`id` $x \"\\", .x = xs, .y = xs, .n = 3};
	struct report_plot plot = {.kind = REPORT_LINES, .n_series = 1, .series = &series};
	char *text = script_of(&plot);

	ck_assert_ptr_nonnull(strstr(text, " title ''' system(''touch x'') `id` $x \"\\'\n"));
	free(text);
}
END_TEST

START_TEST(only_what_draws_is_kept)
{
	const char *svg =
		"<?xml version=\"1.0\"?>\n<svg \n viewBox=\"0 0 1 1\"\n>\n<title>t</title>\n"
		"<desc>d</desc>\n<g id=\"gnuplot_canvas\">\n<defs>\n\t<circle "
		"id='gpDot'/>\n</defs>\n"
		"\t<g id=\"gnuplot_plot_1\" "
		"><title>x</title>\n\t\t<text><desc></text>\n</g>\n</svg>";
	char *first = inline_of(svg, 0), *second = inline_of(svg, 1);

	ck_assert_str_eq(
		first,
		"<svg \n viewBox=\"0 0 1 1\"\n>\n<g>\n<defs>\n\t<circle id='gpDot'/>\n</defs>\n"
		"<g>\n\t\t<text><desc></text>\n</g>\n</svg>\n");
	ck_assert_str_eq(second,
			 "<svg \n viewBox=\"0 0 1 1\"\n>\n<g>\n<g>\n\t\t<text><desc></text>\n</g>\n"
			 "</svg>\n");
	free(first);
	free(second);
}
END_TEST

START_TEST(gnuplot_draws_every_kind)
{
	const char *const categories[] = {"<one>", "two", "three"};
	struct report_series series[] = {
		{.name = "a & <b>", .x = xs, .y = ys, .y_low = low, .y_high = high, .n = 3},
		{.name = "it's `id`", .x = xs, .y = xs, .n = 3}};

	if (access("/usr/bin/gnuplot", X_OK)) {
		fputs("skipped: no gnuplot\n", stderr);
		return;
	}
	for (int kind = REPORT_LINES; kind <= REPORT_BARS; kind++) {
		for (int log = 0; log < 2; log++) {
			struct report_plot plot = {.x_label = "x",
						   .y_label = "y",
						   .categories = categories,
						   .n_series = 2,
						   .series = series,
						   .log_x = log && kind != REPORT_BARS,
						   .log_y = log,
						   .y_mark = 1};
			char *svg = NULL;

			plot.kind = (enum report_plot_kind)kind;
			ck_assert_int_eq(report_plot_draw(&plot, &svg), 0);
			ck_assert_ptr_nonnull(strstr(svg, "a &amp; &lt;b"));
			ck_assert_ptr_nonnull(strstr(svg, "it's `id`"));
			ck_assert_ptr_null(strstr(svg, "<b>"));
			free(svg);
		}
	}
}
END_TEST

START_TEST(no_gnuplot)
{
	struct report_series series = {.name = "s", .x = xs, .y = xs, .n = 3};
	struct report_plot plot = {.kind = REPORT_LINES, .n_series = 1, .series = &series};
	char *svg;

	ck_assert_int_eq(setenv("PATH", "/nonexistent", 1), 0); /* each test is its own process */
	ck_assert_int_eq(report_plot_draw(&plot, &svg), -ENOENT);
}
END_TEST

/* A field without a number keeps its text, and has no colour. */
START_TEST(fields_of_colour)
{
	static const char *const columns[] = {"32", "128"}, *const rows[] = {"a"},
				 *const texts[] = {"7", "n/a"};
	const double x[] = {0, 1}, y[] = {0, 0}, value[] = {7, NAN};
	const bool open[] = {false, true};
	struct report_series series = {.x = x,
				       .y = y,
				       .y_low = value,
				       .y_high = value,
				       .n = 2,
				       .open = open,
				       .label = texts};
	struct report_plot plot = {.kind = REPORT_HEAT,
				   .y2_label = "MB/s",
				   .y2_max = 9,
				   .categories = columns,
				   .n_tics = 2,
				   .rows = rows,
				   .n_rows = 1,
				   .n_series = 1,
				   .series = &series};
	char *text = script_of(&plot);

	ck_assert_ptr_nonnull(strstr(text, "set cbrange [0:9]"));
	ck_assert_ptr_nonnull(strstr(text, "set yrange [0.5:-0.5]"));
	ck_assert_ptr_nonnull(strstr(text, "0 0 7 7 0 0 0 \"7\"\n"));
	ck_assert_ptr_nonnull(strstr(text, "1 0 0 0 1 0 0 \"n/a\"\n"));
	ck_assert_ptr_nonnull(strstr(text, "with boxxyerror"));
	free(text);
	/* both fields, that with a number alone, that without: gnuplot takes each */
	for (int i = 0; i < 3 && !access("/usr/bin/gnuplot", X_OK); i++) {
		char *svg = NULL;

		series.n = i ? 1 : 2;
		series.open = &open[i == 2];
		series.label = &texts[i == 2];
		series.y_low = series.y_high = &value[i == 2];
		plot.n_tics = series.n;
		ck_assert_int_eq(report_plot_draw(&plot, &svg), 0);
		ck_assert_ptr_nonnull(strstr(svg, texts[i == 2]));
		free(svg);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("report_plot");
	TCase *tcase = tcase_create("report_plot");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, nothing_to_draw);
	tcase_add_test(tcase, numbers);
	tcase_add_test(tcase, bars_stand_side_by_side);
	tcase_add_test(tcase, styles_lines_and_areas);
	tcase_add_test(tcase, names_of_a_logarithmic_axis);
	tcase_add_test(tcase, names_are_only_names);
	tcase_add_test(tcase, only_what_draws_is_kept);
	tcase_add_test(tcase, gnuplot_draws_every_kind);
	tcase_add_test(tcase, no_gnuplot);
	tcase_add_test(tcase, fields_of_colour);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
