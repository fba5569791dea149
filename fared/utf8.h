/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * utf8.h - texts cut to a length, but not within a character: JSON takes no half ones (pure).
 */
#ifndef FARED_UTF8_H
#define FARED_UTF8_H

#include <stddef.h>
#include <string.h>

/* Bytes of the longest beginning of text that has at most max bytes and ends with a character. */
static inline int utf8_fit(const char *text, size_t max)
{
	size_t n = strnlen(text, max + 1);

	if (n <= max)
		return (int)n;
	n = max;
	while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	return (int)n;
}

#endif
