/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * print_error.h - errors of farelab: one line on stderr, first what failed, then what to
 * do next.
 *
 * Owns nothing. In: a format. Out: "farelab: ..." on stderr. Any thread.
 */
#ifndef PRINT_ERROR_H
#define PRINT_ERROR_H

#include <stdio.h>

#define print_error(...) (fprintf(stderr, "farelab: " __VA_ARGS__), fputc('\n', stderr), (void)0)

#endif
