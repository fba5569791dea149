/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * top_screen.h - `farectl top` as lines of text, for any terminal.
 *
 * Solely owns: what goes where. In: a model, the size of the screen. Out: lines with a style. Pure.
 * Thread: any. farectl_top.c draws them.
 */
#ifndef TOP_SCREEN_H
#define TOP_SCREEN_H

#include <stdbool.h>

#include "top_model.h"

#define TOP_MAX_WIDTH 240

enum top_style { TOP_PLAIN, TOP_HEAD, TOP_TITLE, TOP_GOOD, TOP_WARN, TOP_BAD };

struct top_line {
	char text[TOP_MAX_WIDTH + 1];
	enum top_style style;
};

struct top_view {
	unsigned width, height; /* columns, lines */
	bool all_paths;		/* not only the degraded ones */
	size_t scroll;		/* paths left out above */
	bool paused;
	double interval_s;
};

/* Fills at most `height` lines and returns how many. */
unsigned top_screen(const struct top_model *m, const struct top_view *v, struct top_line *lines);

#endif
