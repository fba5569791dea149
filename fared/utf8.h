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

/* Ends text, which was cut to fit its buffer, with a whole character. */
static inline void utf8_trim(char *text)
{
	size_t n = strlen(text), start = n, bytes;
	unsigned char first;

	while (start && n - start < 3 && ((unsigned char)text[start - 1] & 0xc0) == 0x80)
		start--;
	if (!start)
		return;
	first = (unsigned char)text[start - 1];
	bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
	if (n - (start - 1) < bytes)
		text[start - 1] = '\0';
}

/* Replaces by '?' what is no whole character: one was cut within a text. */
static inline void utf8_mend(char *text)
{
	for (unsigned char *p = (unsigned char *)text; *p;) {
		unsigned n = *p >= 0xf0 ? 4 : *p >= 0xe0 ? 3 : *p >= 0xc0 ? 2 : 1, i = 1;

		while (i < n && (p[i] & 0xc0) == 0x80)
			i++;
		if (i < n || (*p & 0xc0) == 0x80)
			memset(p, '?', i);
		p += i;
	}
}

#endif
