/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * say.h - how farelab talks to whoever runs it: one line on stderr, first what failed, then what to
 * do next.
 *
 * Owns nothing. In: a format. Out: "farelab: ..." on stderr. Any thread.
 */
#ifndef SAY_H
#define SAY_H

#include <stdio.h>

#define say(...) (fprintf(stderr, "farelab: " __VA_ARGS__), fputc('\n', stderr), (void)0)

#endif
