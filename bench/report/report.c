/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/command.h"
#include "core/machine.h"
#include "report/report_plot.h"
#include "base/text_file.h"
#include "base/utf8.h"

#define REPORT_GNUPLOT_MS 10000
#define REPORT_NAME	  24 /* characters of a cell that stay on one line */
#define REPORT_WIDE	  9  /* columns: those of more stand closer, in smaller letters */

struct report {
	char *title;
	char *measured; /* when measuring began, where the page is written later; NULL: with it */
	char *body;	/* valid after fflush() */
	size_t body_bytes;
	FILE *file; /* writes body */
	unsigned pictures;
	bool lost;		/* a paragraph there was no memory for */
	struct machine machine; /* read when the report was begun */
};

/* Colours are named once, for light and for dark; gnuplot's black is made the colour of the text.
 */
static const char report_style[] =
	":root{color-scheme:light "
	"dark;--ink:#1c1f24;--soft:#5b626d;--line:#d5d9df;--back:#fff;--band:#f4f6f8;"
	"--accent:#3b82c4}\n"
	"@media "
	"(prefers-color-scheme:dark){:root{--ink:#e4e7eb;--soft:#9aa3af;--line:#3a404a;--back:#"
	"15181d;"
	"--band:#1d2127}}\n"
	"body{margin:0 auto;max-width:75rem;padding:1.5rem 1rem "
	"3rem;background:var(--back);color:var(--ink);"
	"font:16px/1.5 system-ui,sans-serif}\n"
	"h1{font-size:1.6rem;line-height:1.25;margin:.5rem 0 1rem}\n"
	"h2{font-size:1.15rem;margin:2.2rem 0 .6rem;padding-top:.6rem;border-top:1px solid "
	"var(--line)}\n"
	"p{margin:.5rem 0;max-width:48rem}\n"
	".scroll{overflow-x:auto;margin:1rem 0}\n"
	"table{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums}\n"
	"small{display:block;color:var(--soft);font-size:.75rem;white-space:normal}\n"
	"th,td{padding:.3rem .55rem;text-align:left;vertical-align:top;border-bottom:1px solid "
	"var(--line)}\n"
	"th{border-bottom-width:2px;font-weight:600}\n"
	"td.r,th.r{text-align:right}\n"
	"td.r{white-space:nowrap}\n"
	"td.k{white-space:nowrap}\n"
	".wide{font-size:.8125rem}.wide td,.wide th{padding:.3rem .3rem}\n"
	".pairs td,.pairs th{text-align:left;white-space:normal;overflow-wrap:anywhere}\n"
	".pairs th{overflow-wrap:normal}\n"
	".pairs td:first-child{overflow-wrap:break-word}\n"
	".scroll:has(tr:nth-child(60)){max-height:34rem;overflow-y:auto}\n"
	"thead th{position:sticky;top:0;background:var(--back)}\n"
	"tbody tr:nth-child(even){background:var(--band)}\n"
	"pre{overflow-x:auto;padding:.7rem "
	".9rem;background:var(--band);font-size:.8125rem;line-height:1.45}\n"
	"figure{margin:1.2rem 0}\n"
	"figcaption{font-weight:600;margin-bottom:.3rem}\n"
	"svg{display:block;width:100%;height:auto;color:var(--ink)}\n"
	"figure{overflow-x:auto}\n"
	"figure>svg{min-width:30rem;max-width:54rem}\n"
	".grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,25rem),1fr));"
	"gap:0 1.5rem}\n"
	".grid figure{margin:.6rem 0;min-width:0}\n"
	".grid figure>svg{min-width:0;max-width:34rem}\n"
	".grid figcaption{font-size:.875rem}\n"
	"h3{font-size:1rem;margin:1.4rem 0 .4rem}\n"
	"h4{font-size:.9375rem;margin:1rem 0 .3rem}\n"
	"a{color:inherit}\n"
	".links{columns:19rem;padding:0;margin:.5rem 0 1rem;list-style:none;font-size:.875rem}\n"
	"h1,h2,h3,h4,p,li,figcaption{overflow-wrap:anywhere}\n"
	"svg g[color=black]{color:inherit}\n"
	"svg [stroke=black],svg [stroke=\"rgb(  0,   0,   0)\"]{stroke:currentColor}\n"
	"svg [fill=black],svg [fill^=\"rgb(0,0,0)\"],svg [fill=\"rgb(  0,   0,   "
	"0)\"]{fill:currentColor}\n"
	"footer{margin-top:2.5rem;padding-top:.6rem;border-top:1px solid "
	"var(--line);color:var(--soft);"
	"font-size:.8125rem;overflow-wrap:anywhere}\n"
	"@page{size:A4 landscape;margin:12mm}\n"
	"@media print{.scroll{max-height:none;overflow:visible}"
	"body{max-width:none;padding:0;font-size:12px}table{font-size:.75rem}"
	"th,td{padding:.15rem .3rem}small{font-size:.65rem}"
	".wide{font-size:.6875rem}.wide td,.wide th{padding:.15rem .2rem}"
	"thead{display:table-header-group}thead th{position:static}"
	".grid{grid-template-columns:repeat(3,1fr)}figure>svg{max-width:40rem}"
	"figure,tr{break-inside:avoid}h2,h3,h4{break-after:avoid}}\n";

void report_escape(FILE *file, const char *text)
{
	while (*text) {
		const char *at = text;
		uint32_t code = utf8_take(&text);

		if (code == '&')
			fputs("&amp;", file);
		else if (code == '<')
			fputs("&lt;", file);
		else if (code == '>')
			fputs("&gt;", file);
		else if (code == '"')
			fputs("&quot;", file);
		else if (code == '\'')
			fputs("&#39;", file);
		else if (code == UTF8_INVALID || (code < 0x20 && code != '\n' && code != '\t') ||
			 (code >= 0x7f && code < 0xa0))
			fputs("\xef\xbf\xbd", file);
		else
			fwrite(at, 1, (size_t)(text - at), file);
	}
}

void report_svg_text(FILE *file, double x, double y, const char *anchor, const char *text)
{
	fprintf(file,
		"<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"currentColor\" "
		"font-size=\"12\" font-family=\"sans-serif\">",
		x, y, anchor);
	report_escape(file, text);
	fputs("</text>\n", file);
}

static void report_element(FILE *file, const char *name, const char *text)
{
	fprintf(file, "<%s>", name);
	report_escape(file, text);
	fprintf(file, "</%s>\n", name);
}

static int report_find_gnuplot(void)
{
	static const char *const argv[] = {"gnuplot", "--version", NULL};
	struct command_result result;
	int err = command_run(argv, REPORT_GNUPLOT_MS, &result);

	if (!err)
		free(result.out);
	if (!err && result.status == 0)
		return 0;
	fputs("farebench: a page needs gnuplot for its pictures, and there is none that runs: "
	      "install "
	      "the package gnuplot-nox\n",
	      stderr);
	return -ENOENT;
}

int report_create(struct report **out, const char *title)
{
	struct report *report;
	int err = report_find_gnuplot();

	if (err)
		return err;
	report = calloc(1, sizeof(*report));
	if (!report)
		return -ENOMEM;
	report->title = strdup(title);
	report->file = open_memstream(&report->body, &report->body_bytes);
	if (!report->title || !report->file) {
		report_destroy(report);
		return -ENOMEM;
	}
	machine_read(&report->machine);
	*out = report;
	return 0;
}

void report_destroy(struct report *report)
{
	if (!report)
		return;
	if (report->file)
		fclose(report->file);
	free(report->body);
	free(report->title);
	free(report->measured);
	free(report);
}

void report_measured(struct report *report, const char *began)
{
	free(report->measured);
	report->measured = strdup(began);
	report->lost |= !report->measured;
}

void report_heading(struct report *report, const char *text)
{
	report_element(report->file, "h2", text);
}

void report_heading_at(struct report *report, unsigned level, const char *id, const char *text)
{
	fprintf(report->file, *id ? "<h%u id=\"" : "<h%u", level);
	report_escape(report->file, id);
	fputs(*id ? "\">" : ">", report->file);
	report_escape(report->file, text);
	fprintf(report->file, "</h%u>\n", level);
}

void report_links_begin(struct report *report)
{
	fputs("<ul class=\"links\">\n", report->file);
}

void report_link(struct report *report, const char *id, const char *text)
{
	fputs("<li><a href=\"#", report->file);
	report_escape(report->file, id);
	fputs("\">", report->file);
	report_escape(report->file, text);
	fputs("</a></li>\n", report->file);
}

void report_links_end(struct report *report)
{
	fputs("</ul>\n", report->file);
}

void report_grid_begin(struct report *report)
{
	fputs("<div class=\"grid\">\n", report->file);
}

void report_grid_end(struct report *report)
{
	fputs("</div>\n", report->file);
}

void report_text(struct report *report, const char *format, ...)
{
	char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, format);
	n = vasprintf(&text, format, ap);
	va_end(ap);
	if (n < 0) {
		report->lost = true;
		return;
	}
	report_element(report->file, "p", text);
	free(text);
}

void report_strong(struct report *report, const char *text)
{
	fputs("<p>", report->file);
	report_element(report->file, "strong", text);
	fputs("</p>\n", report->file);
}

void report_verbatim(struct report *report, const char *text)
{
	report_element(report->file, "pre", text);
}

static int report_error(const struct report *report)
{
	return ferror(report->file) || report->lost ? -ENOMEM : 0;
}

/* What stands in place of a number. */
static bool report_is_substitute(const char *text)
{
	return !*text || strcmp(text, "n/a") == 0;
}

/* A sentence that begins with a number is none: it is broken into lines. */
static bool report_is_number(const char *text)
{
	return table_is_right(text) && strcspn(text, "\n") <= REPORT_NAME;
}

/* Are there numbers in this column, and nothing else but what stands for one? */
static bool report_column_is_right(const struct table *table, size_t column)
{
	bool right = false;

	for (size_t row = 1; row < table_rows(table); row++) {
		const char *text = table_text(table, row, column);

		if (!report_is_number(text) && !report_is_substitute(text))
			return false;
		right |= report_is_number(text);
	}
	return right;
}

static bool report_cell_is_right(const struct table *table, size_t row, size_t column)
{
	const char *text = table_text(table, row, column);

	return (row && report_is_number(text)) || report_column_is_right(table, column);
}

/* What stands behind a line break says how sure a number is: in small letters below it. A name may
 * be broken behind each _. */
static void report_cell(struct report *report, const char *text, bool heading)
{
	size_t length = strcspn(text, heading ? "_\n" : "\n");
	char *part = strndup(text, length + (text[length] == '_'));

	report->lost |= !part;
	report_escape(report->file, part ? part : "");
	free(part);
	text += length;
	if (*text == '_') {
		fputs("<wbr>", report->file);
		report_cell(report, text + 1, heading);
	} else if (*text) {
		fputs("<small>", report->file);
		report_escape(report->file, text + 1);
		fputs("</small>", report->file);
	}
}

static int report_any_table(struct report *report, const struct table *table, const char *open)
{
	FILE *file = report->file;

	fputs(open, file);
	for (size_t row = 0; row < table_rows(table); row++) {
		const char *cell = row ? "td" : "th";

		fputs(row == 0 ? "<thead><tr>" : row == 1 ? "<tbody><tr>" : "<tr>", file);
		for (size_t column = 0; column < table_columns(table); column++) {
			const char *text = table_text(table, row, column);
			bool right = report_cell_is_right(table, row, column);

			/* a short name is not broken in two */
			fprintf(file, "<%s%s>", cell,
				right					  ? " class=\"r\""
				: row && table_width(text) <= REPORT_NAME ? " class=\"k\""
									  : "");
			report_cell(report, text, row == 0);
			fprintf(file, "</%s>", cell);
		}
		fputs(row == 0 ? "</tr></thead>\n" : "</tr>\n", file);
	}
	fputs(table_rows(table) > 1 ? "</tbody></table></div>\n" : "</table></div>\n", file);
	return report_error(report);
}

int report_table(struct report *report, const struct table *table)
{
	return report_any_table(report, table,
				table_columns(table) > REPORT_WIDE
					? "<div class=\"scroll\"><table class=\"wide\">\n"
					: "<div class=\"scroll\"><table>\n");
}

int report_pairs(struct report *report, const struct table *table)
{
	return report_any_table(report, table, "<div class=\"scroll\"><table class=\"pairs\">\n");
}

static void report_figure(struct report *report, const char *title)
{
	fputs("<figure role=\"group\">", report->file);
	if (title)
		report_element(report->file, "figcaption", title);
}

int report_plot(struct report *report, const struct report_plot *plot)
{
	char *svg;
	int err = report_plot_draw(plot, &svg);

	if (err)
		return err;
	report_figure(report, plot->title);
	report_plot_inline(svg, report->pictures++, report->file);
	fputs("</figure>\n", report->file);
	free(svg);
	return report_error(report);
}

int report_drawing(struct report *report, const char *title,
		   void (*draw)(FILE *file, const void *context), const void *context)
{
	report_figure(report, title);
	draw(report->file, context);
	fputs("</figure>\n", report->file);
	return report_error(report);
}

static void report_page(const struct report *report, FILE *file)
{
	const struct machine *m = &report->machine;

	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
	      file);
	report_element(file, "title", report->title);
	fprintf(file, "<style>\n%s</style>\n</head>\n<body>\n", report_style);
	report_element(file, "h1", report->title);
	fwrite(report->body, 1, report->body_bytes, file);
	fputs("<footer>", file);
	if (report->measured) {
		fputs("Measuring began ", file);
		report_escape(file, report->measured);
		fputs("; this page was written ", file);
	} else {
		fputs("Begun ", file);
	}
	report_escape(file, m->started);
	fputs(" by farebench " FARE_VERSION " on ", file);
	report_escape(file, m->processor);
	fprintf(file, ", %d core%s, Linux ", m->cores, m->cores == 1 ? "" : "s");
	report_escape(file, m->kernel);
	fputs(".<br>Command: <code>", file);
	report_escape(file, m->command);
	fputs("</code></footer>\n</body>\n</html>\n", file);
}

int report_write(struct report *report, const char *path)
{
	bool is_stdout = strcmp(path, "-") == 0;
	FILE *file;
	int err = 0;

	if (fflush(report->file) || report_error(report))
		return -ENOMEM;
	file = is_stdout ? stdout : fopen(path, "we");
	if (file) {
		errno = 0;
		report_page(report, file);
		if (fflush(file) || ferror(file))
			err = errno ? -errno : -EIO;
		if (!is_stdout && fclose(file) && !err)
			err = -errno;
		if (err && !is_stdout)
			text_file_discard(path);
	} else {
		err = -errno;
	}
	if (err)
		fprintf(stderr, "farebench: %s: %s\n", path, strerror(-err));
	else if (!is_stdout)
		fprintf(stderr, "page: %s\n", path);
	return err;
}
