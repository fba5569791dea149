/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/decimal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 340 /* DBL_MAX has 309 digits before the point */

static size_t count_digits(const char *text, size_t length)
{
	size_t n = 0;

	while (n < length && text[n] >= '0' && text[n] <= '9')
		n++;
	return n;
}

bool decimal_parse(const char *text, size_t length, bool whole, double *out)
{
	size_t n = count_digits(text, length), before = n;
	char copy[DIGITS_MAX + 1];

	if (!n || (n > 1 && text[0] == '0'))
		return false;
	if (!whole && n < length && text[n] == '.') {
		size_t after = count_digits(text + n + 1, length - n - 1);

		if (!after)
			return false;
		n += 1 + after;
	}
	if (n != length)
		return false;
	if (before > DIGITS_MAX) {
		*out = INFINITY;
		return true;
	}
	/* digits behind the last one that fits change nothing: a double has 17 */
	if (length > DIGITS_MAX)
		length = DIGITS_MAX;
	memcpy(copy, text, length);
	copy[length] = '\0';
	*out = strtod(copy, NULL);
	return true;
}
