/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * make_pages DIR: pages for page.sh from results made up (bench/report/fake_tests.h):
 * DIR/report.html, DIR/compare.html.
 */
#include <stdio.h>
#include <string.h>

#include "bench/report/fake_tests.h"
#include "report/compare_show.h"
#include "report/results_report.h"

static const struct results_tests tests = {fake_tests, sizeof(fake_tests) / sizeof(fake_tests[0])};

static int make(const char *dir, const char *from, const char *name)
{
	char was[128], is[4200];
	FILE *in, *out;
	int c;

	snprintf(was, sizeof(was), "%s/%s", from, name);
	snprintf(is, sizeof(is), "%s/%s", dir, name);
	in = fopen(was, "re");
	out = fopen(is, "we");
	if (!in || !out)
		return 1;
	while ((c = getc(in)) != EOF)
		putc(c, out);
	fclose(in);
	return fclose(out) != 0;
}

int main(int argc, char **argv)
{
	char a[] = "/tmp/make_pages.XXXXXX", b[] = "/tmp/make_pages.XXXXXX", html[64];
	char *compare[] = {(char[]){"compare"}, (char[]){"--html"}, html, a, b, NULL};
	struct results results;
	int status;

	if (argc != 2)
		return 2;
	fake_directory(a, 2);
	fake_directory(b, 1.4);
	snprintf(html, sizeof(html), "%s/compare.html", a);
	status = results_open(&results, a) != 0 || results_report(&results, &tests, a, NULL) != 0;
	results_close(&results);
	status |= compare_command(5, compare, &tests) != 3; /* something got worse */
	status |= make(argv[1], a, "report.html") | make(argv[1], a, "compare.html");
	fake_directory_gone(a);
	fake_directory_gone(b);
	return status;
}
