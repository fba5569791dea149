/* SPDX-License-Identifier: BSD-2-Clause */
#include "farectl_top.h"

#include <curses.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "top_model.h"
#include "top_screen.h"

#define BATCH_WIDTH  120u
#define BATCH_HEIGHT 10000u
#define MAX_HEIGHT   1000u

static int read_daemon(struct top_model *m, const char *run_dir)
{
	struct snapshot s;
	int err = snapshot_take(&s, run_dir, SNAPSHOT_PATHS | SNAPSHOT_QPS | SNAPSHOT_EVENTS,
				m->last_event, NULL);

	if (err)
		snprintf(m->why, sizeof(m->why), "%s", s.why); /* the rest stays as it was */
	else
		err = top_model_update(m, &s);
	snapshot_free(&s);
	return err;
}

/* ---- plain text ---------------------------------------------------------- */

static int batch(const struct farectl_top_options *o, struct top_model *m)
{
	struct top_view view = {BATCH_WIDTH, BATCH_HEIGHT, o->all_paths, 0, false, o->interval_s};
	struct top_line *lines = calloc(BATCH_HEIGHT, sizeof(*lines));
	int err = lines ? 0 : -1;

	for (unsigned i = 0; !err && (!o->rounds || i < o->rounds); i++) {
		unsigned n;

		if (i)
			usleep((useconds_t)(o->interval_s * 1e6));
		err = read_daemon(m, o->run_dir);
		if (err && !m->n_planes) {
			fprintf(stderr, "farectl: %s\n", m->why);
			break;
		}
		err = 0; /* a daemon that went away is displayed, and may come back */
		n = top_screen(m, &view, lines);
		for (unsigned l = 0; l < n; l++)
			puts(lines[l].text);
		putchar('\n');
		err = fflush(stdout) ? -1 : 0;
	}
	free(lines);
	return err ? 1 : 0;
}

/* ---- the terminal -------------------------------------------------------- */

static void begin_screen(void)
{
	initscr();
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	if (!has_colors())
		return;
	start_color();
	use_default_colors();
	init_pair(TOP_GOOD, COLOR_GREEN, -1);
	init_pair(TOP_WARN, COLOR_YELLOW, -1);
	init_pair(TOP_BAD, COLOR_RED, -1);
}

static attr_t attributes(enum top_style style)
{
	switch (style) {
	case TOP_HEAD:
		return A_REVERSE;
	case TOP_TITLE:
		return A_BOLD;
	case TOP_GOOD:
	case TOP_WARN:
		return COLOR_PAIR(style);
	case TOP_BAD:
		return COLOR_PAIR(style) | A_BOLD;
	case TOP_PLAIN:
		break;
	}
	return A_NORMAL;
}

static void draw(const struct top_model *m, struct top_view *view, struct top_line *lines)
{
	unsigned n;

	view->width = (unsigned)COLS;
	view->height = LINES < (int)MAX_HEIGHT ? (unsigned)LINES : MAX_HEIGHT;
	if (view->height)
		view->height--; /* for the keys */
	n = top_screen(m, view, lines);
	erase();
	for (unsigned l = 0; l < n; l++) {
		attrset(attributes(lines[l].style));
		mvaddnstr((int)l, 0, lines[l].text, COLS);
	}
	attrset(A_NORMAL);
	mvaddnstr(LINES - 1, 0, "q quit  a all or degraded  up, down  space pause  +, - interval",
		  COLS);
	refresh();
}

static void scroll_by(struct top_view *view, const struct top_model *m, long lines)
{
	size_t n = view->all_paths ? m->n_paths : m->n_degraded;

	if (lines < 0 && view->scroll < (size_t)-lines)
		view->scroll = 0;
	else
		view->scroll += (size_t)lines;
	if (view->scroll >= n)
		view->scroll = n ? n - 1 : 0;
}

/* False: the end. */
static bool on_key(int key, struct top_view *view, const struct top_model *m)
{
	switch (key) {
	case 'q':
		return false;
	case 'a':
		view->all_paths = !view->all_paths;
		view->scroll = 0;
		break;
	case ' ':
		view->paused = !view->paused;
		break;
	case '+':
		view->interval_s = view->interval_s / 2 < FARECTL_TOP_MIN_INTERVAL_S
					   ? FARECTL_TOP_MIN_INTERVAL_S
					   : view->interval_s / 2;
		break;
	case '-':
		view->interval_s = view->interval_s * 2 > FARECTL_TOP_MAX_INTERVAL_S
					   ? FARECTL_TOP_MAX_INTERVAL_S
					   : view->interval_s * 2;
		break;
	case KEY_UP:
	case KEY_DOWN:
		scroll_by(view, m, key == KEY_UP ? -1 : 1);
		break;
	case KEY_PPAGE:
	case KEY_NPAGE:
		scroll_by(view, m, key == KEY_PPAGE ? -10 : 10);
		break;
	default:
		break;
	}
	return true;
}

static void on_terminal(const struct farectl_top_options *o, struct top_model *m)
{
	static struct top_line lines[MAX_HEIGHT];
	struct top_view view = {.all_paths = o->all_paths, .interval_s = o->interval_s};
	double next_s = clock_now_s() + o->interval_s;
	unsigned rounds = 1;
	bool goes_on = true;

	setlocale(LC_CTYPE, "");
	begin_screen();
	while (goes_on && (!o->rounds || rounds <= o->rounds)) {
		double wait_s = next_s - clock_now_s();
		int key;

		draw(m, &view, lines);
		timeout(wait_s > 0 ? (int)(wait_s * 1e3) + 1 : 0);
		key = getch();
		if (key != ERR)
			goes_on = on_key(key, &view, m);
		if (clock_now_s() < next_s)
			continue;
		if (!view.paused)
			read_daemon(m, o->run_dir);
		next_s = clock_now_s() + view.interval_s;
		rounds++;
	}
	endwin();
}

int farectl_top(const struct farectl_top_options *options)
{
	struct top_model m = {0};
	int rc = 0;

	if (options->batch || !isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO)) {
		rc = batch(options, &m);
	} else if (read_daemon(&m, options->run_dir)) {
		fprintf(stderr, "farectl: %s\n", m.why);
		rc = 1;
	} else {
		on_terminal(options, &m);
	}
	top_model_fini(&m);
	return rc;
}
