/* SPDX-License-Identifier: BSD-2-Clause */
#include "utf8.h"

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
