/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * search.h - the highest load that holds, by halving (RFC 2544, 26.1).
 *
 * Owns: nothing. In: a range, and a trial at any point of it; out: the highest point that held.
 * After n steps it is known to 2^-n of the range: ten steps give 0.1%. Thread: the caller's.
 */
#ifndef SEARCH_H
#define SEARCH_H

#include <stdbool.h>

/* 0, or -errno: the search ends. */
typedef int search_try(void *arg, double at, bool *held);

/* *best: low where nothing held. The first error of a trial. */
int search_highest(double low, double high, unsigned steps, search_try *try, void *arg,
		   double *best);

#endif
