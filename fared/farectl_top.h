/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * farectl_top.h - `farectl top`: planes, paths and events as they change.
 *
 * Owns the terminal while it runs. In: a run directory. Out: a screen (ncurses), or plain text.
 * Thread: the main one.
 */
#ifndef FARECTL_TOP_H
#define FARECTL_TOP_H

#include <stdbool.h>

#define FARECTL_TOP_MIN_INTERVAL_S 0.1
#define FARECTL_TOP_MAX_INTERVAL_S 60.0

struct farectl_top_options {
	const char *run_dir;
	double interval_s;
	unsigned rounds; /* 0: until q or a signal */
	bool batch;	 /* plain text, one screen after the other */
	bool all_paths;
};

/* The exit status. */
int farectl_top(const struct farectl_top_options *options);

#endif
