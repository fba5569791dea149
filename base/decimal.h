/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * decimal.h - the one form in which a file may write a number.
 *
 * Owns nothing. Pure. Thread: any. strtol() and strtod() also take blanks, signs, octal, hex,
 * exponents, "inf", and stop at the first byte that they do not know: "400G" would be 400.
 */
#ifndef DECIMAL_H
#define DECIMAL_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Digits, without a leading zero except in 0 itself; unless whole, a point and more digits may
 * follow ("1.5"). No sign, unit, exponent, underscore or blank. true: *out is the value, which is
 * infinite where no double holds it; false: *out is untouched.
 */
bool decimal_parse(const char *text, size_t length, bool whole, double *out);

#endif
