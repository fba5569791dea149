/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/check_bench_page.h"
#include "report/report.h"

START_TEST(everything_is_escaped)
{
	const char *const headers[] = {"<th>", "b"}, *const cells[] = {"x</table>\x01\xff", "7"};
	struct report *report;
	struct table *table;
	char *page;

	ck_assert_int_eq(report_create(&report, "</title><script>alert('1')</script>"), 0);
	report_heading(report, "<h&\">");
	report_text(report, "%s %d", "<img src=x>", 7);
	report_verbatim(report, "</pre> \xc3\xa4");
	ck_assert_int_eq(table_create(&table, 2, headers), 0);
	ck_assert_int_eq(table_row(table, cells), 0);
	ck_assert_int_eq(report_table(report, table), 0);
	table_destroy(table);
	page = page_of(report);
	ck_assert_uint_eq(times(page, "<script"), 0);
	ck_assert_uint_eq(times(page, "<img"), 0);
	ck_assert_uint_eq(times(page, "</table>"), 1);
	ck_assert_uint_eq(times(page, "</pre>"), 1);
	ck_assert_ptr_nonnull(strstr(page, "<p>&lt;img src=x&gt; 7</p>"));
	ck_assert_ptr_nonnull(strstr(page, "<h2>&lt;h&amp;&quot;&gt;</h2>"));
	ck_assert_ptr_nonnull(strstr(page, "<h1>&lt;/title&gt;&lt;script&gt;alert(&#39;1&#39;)"));
	ck_assert_ptr_nonnull(
		strstr(page, "<td class=\"k\">x&lt;/table&gt;\xef\xbf\xbd\xef\xbf\xbd</td>"));
	ck_assert_ptr_nonnull(strstr(page, "<th class=\"r\">b</th>"));
	ck_assert_ptr_nonnull(strstr(page, "<td class=\"r\">7</td>"));
	ck_assert_ptr_nonnull(strstr(page, "\xc3\xa4"));
}
END_TEST

/* A sentence that begins with a number is broken into lines as any other; many columns stand
 * closer. */
START_TEST(sentences_and_many_columns)
{
	const char *const headers[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"},
			  *const cells[] = {"0.12% of a core: the daemons of the busiest leaf",
					    "12.3\nn=2, and many words on how sure it is",
					    "",
					    "",
					    "",
					    "",
					    "",
					    "",
					    "",
					    "1"};
	struct report *report;
	struct table *table;
	char *page;

	ck_assert_int_eq(report_create(&report, "t"), 0);
	for (size_t n = 9; n <= 10; n++) {
		ck_assert_int_eq(table_create(&table, n, headers), 0);
		ck_assert_int_eq(table_row(table, cells), 0);
		ck_assert_int_eq(report_table(report, table), 0);
		table_destroy(table);
	}
	page = page_of(report);
	ck_assert_uint_eq(times(page, "<td>0.12% of a core"), 2);
	ck_assert_uint_eq(times(page, "<td class=\"r\">12.3<small>"), 2);
	ck_assert_uint_eq(times(page, "<table>"), 1);
	ck_assert_uint_eq(times(page, "<table class=\"wide\">"), 1);
}
END_TEST

/* Nothing on the page is fetched from anywhere, and it says where it comes from. */
START_TEST(self_contained)
{
	struct report *report;
	char *page;

	ck_assert_int_eq(report_create(&report, "t"), 0);
	page = page_of(report);
	ck_assert_uint_eq(times(page, "http"), 0);
	ck_assert_uint_eq(times(page, "url("), 0);
	ck_assert_uint_eq(times(page, "<link"), 0);
	ck_assert_uint_eq(times(page, "src="), 0);
	ck_assert_uint_eq(times(page, "bench_report_check_report"), 1); /* the command */
	ck_assert_uint_eq(times(page, "farebench " FARE_VERSION), 1);
}
END_TEST

/* Of a run that began earlier: both times. */
START_TEST(when_it_was_measured)
{
	struct report *report;
	char *page;

	ck_assert_int_eq(report_create(&report, "t"), 0);
	report_measured(report, "2026-01-02 03:04:05 <UTC>");
	page = page_of(report);
	ck_assert_ptr_nonnull(strstr(page, "<footer>Measuring began 2026-01-02 03:04:05 "
					   "&lt;UTC&gt;; this page was written 20"));
	ck_assert_ptr_null(strstr(page, "Begun"));
}
END_TEST

static void draw(FILE *file, const void *context)
{
	fputs("<svg><text>", file);
	report_escape(file, context);
	fputs("</text></svg>\n", file);
}

/* A picture is there whole or not at all; symbols are defined once. */
START_TEST(pictures)
{
	const double ones[] = {1};
	struct report_series series = {.name = "s", .x = ones, .y = ones, .n = 1};
	struct report_plot plot = {
		.title = "<p>", .kind = REPORT_LINES, .n_series = 1, .series = &series};
	struct report *report;
	char path[128], *page;
	FILE *file;

	ck_assert_int_eq(report_create(&report, "t"), 0);
	ck_assert_int_eq(report_plot(report, &plot), 0);
	ck_assert_int_eq(report_plot(report, &plot), 0);
	ck_assert_int_eq(report_drawing(report, "own", draw, "a<b"), 0);
	snprintf(path, sizeof(path), "%s/broken", page_directory);
	file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	fclose(file);
	ck_assert_int_eq(report_plot(report, &plot), -EREMOTEIO);
	plot.n_series = 0;
	ck_assert_int_eq(report_plot(report, &plot), -EINVAL);
	page = page_of(report);
	ck_assert_uint_eq(times(page, "<figure"), 3);
	ck_assert_uint_eq(times(page, "</figure>"), 3);
	ck_assert_uint_eq(times(page, "<figcaption>&lt;p&gt;</figcaption>"), 2);
	ck_assert_uint_eq(times(page, "id=q"), 1);
	ck_assert_uint_eq(times(page, "<svg><text>a&lt;b</text></svg>"), 1);
	ck_assert_uint_eq(times(page, "<?xml"), 0);
}
END_TEST

START_TEST(nowhere_to_write)
{
	struct report *report;

	ck_assert_int_eq(report_create(&report, "t"), 0);
	ck_assert_int_eq(report_write(report, "/nonexistent/page.html"), -ENOENT);
	ck_assert_int_eq(report_write(report, "/dev/full"), -ENOSPC);
	ck_assert_int_eq(access("/dev/full", F_OK), 0);
	report_destroy(report);
}
END_TEST

/* A file that may not grow stands for a file system that is full. */
START_TEST(half_a_page_is_none)
{
	const struct rlimit limit = {256, RLIM_INFINITY};
	char path[] = "/tmp/check_report.XXXXXX";
	struct report *report;
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(report_create(&report, "t"), 0);
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(report_write(report, path), -EFBIG);
	ck_assert_int_ne(access(path, F_OK), 0);
	report_destroy(report);
}
END_TEST

START_TEST(no_gnuplot)
{
	struct report *report;

	ck_assert_int_eq(setenv("PATH", "/nonexistent", 1), 0); /* each test is its own process */
	ck_assert_int_eq(report_create(&report, "t"), -ENOENT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("report");
	TCase *tcase = tcase_create("page"), *without = tcase_create("without");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, fake_gnuplot, no_more_gnuplot);
	tcase_add_test(tcase, everything_is_escaped);
	tcase_add_test(tcase, sentences_and_many_columns);
	tcase_add_test(tcase, self_contained);
	tcase_add_test(tcase, when_it_was_measured);
	tcase_add_test(tcase, pictures);
	tcase_add_test(tcase, nowhere_to_write);
	tcase_add_test(tcase, half_a_page_is_none);
	suite_add_tcase(suite, tcase);
	tcase_add_test(without, no_gnuplot);
	suite_add_tcase(suite, without);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
