/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/message.h"

#include <string.h>

#include "engine/pattern.h"

void message_fill(void *buf, size_t bytes, const struct message_header *header)
{
	if (bytes < sizeof(*header)) {
		pattern_fill(buf, bytes, header->seed);
		return;
	}
	memcpy(buf, header, sizeof(*header));
	if (header->whole)
		pattern_fill((char *)buf + sizeof(*header), bytes - sizeof(*header), header->seed);
}

size_t message_verify(const void *buf, size_t bytes, uint64_t seed, bool whole,
		      struct message_header *header)
{
	size_t good, at = sizeof(*header);

	memset(header, 0, sizeof(*header));
	if (bytes < at)
		return pattern_verify(buf, bytes, seed);
	memcpy(header, buf, at);
	if (header->seed != seed || header->whole != whole)
		return 0;
	if (!whole)
		return bytes;
	good = pattern_verify((const char *)buf + at, bytes - at, seed);
	return good == bytes - at ? bytes : at + good;
}
