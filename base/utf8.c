/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/utf8.h"

#include <string.h>

uint32_t utf8_take(const char **text)
{
	static const uint32_t least[] = {0, 0x80, 0x800,
					 0x10000}; /* below: written longer than it is */
	const unsigned char *at = (const unsigned char *)*text;
	unsigned more = *at >= 0xf0 ? 3 : *at >= 0xe0 ? 2 : *at >= 0xc2 ? 1 : 0;
	uint32_t code = more == 3 ? *at & 0x07 : more == 2 ? *at & 0x0f : *at & 0x1f;

	*text += 1;
	if (*at < 0x80)
		return *at;
	if (more == 0 || *at > 0xf4)
		return UTF8_INVALID;
	for (unsigned i = 1; i <= more; i++) {
		if ((at[i] & 0xc0) != 0x80) /* also stops at the terminator */
			return UTF8_INVALID;
		code = code << 6 | (at[i] & 0x3f);
	}
	if (code < least[more] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return UTF8_INVALID;
	*text += more;
	return code;
}

int utf8_fit(const char *text, size_t max)
{
	size_t n = strnlen(text, max + 1);

	if (n <= max)
		return (int)n;
	n = max;
	while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	return (int)n;
}

void utf8_trim(char *text)
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

void utf8_mend(char *text)
{
	for (const char *at = text; *at;) {
		char *from = text + (at - text);

		if (utf8_take(&at) == UTF8_INVALID && strncmp(from, "\xef\xbf\xbd", 3) != 0)
			memset(from, '?', (size_t)(at - from));
	}
}
