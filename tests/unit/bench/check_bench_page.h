/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_bench_page.h - pages for tests: a gnuplot that answers without drawing (a fixture), and the
 * page read back.
 *
 * Owns a directory in /tmp between fake_gnuplot() and no_more_gnuplot().
 */
#ifndef CHECK_BENCH_PAGE_H
#define CHECK_BENCH_PAGE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report/report.h"

static char page_directory[] = "/tmp/check_page.XXXXXX";

static inline void fake_gnuplot(void)
{
	char path[128];
	FILE *file;

	ck_assert_ptr_nonnull(mkdtemp(page_directory));
	snprintf(path, sizeof(path), "%s/gnuplot", page_directory);
	file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	fputs("#!/bin/sh\n[ \"$1\" = --version ] && exit 0\ncat >/dev/null\n"
	      "[ -e \"${0%/*}/broken\" ] && { echo no >&2; exit 3; }\n"
	      "printf '<?xml?>\\n<svg>\\n<defs>\\n<circle id=q />\\n</defs>\\n</svg>\\n'\n",
	      file);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(chmod(path, 0700), 0);
	snprintf(path, sizeof(path), "%s:/usr/bin:/bin", page_directory);
	ck_assert_int_eq(setenv("PATH", path, 1), 0);
}

static inline void no_more_gnuplot(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", page_directory);
	ck_assert_int_eq(system(command), 0);
	strcpy(page_directory, "/tmp/check_page.XXXXXX");
}

/* The page that report writes; frees the report. */
static inline char *page_of(struct report *report)
{
	static char text[65536];
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/page.html", page_directory);
	ck_assert_int_eq(report_write(report, path), 0);
	report_destroy(report);
	file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	return text;
}

static inline unsigned times(const char *text, const char *word)
{
	const char *at = strstr(text, word);
	unsigned n = 0;

	for (; at; at = strstr(at + 1, word))
		n++;
	return n;
}

#endif
