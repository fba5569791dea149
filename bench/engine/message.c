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
	message_stamp(buf, bytes, header);
	if (header->whole)
		pattern_fill((char *)buf + sizeof(*header), bytes - sizeof(*header), header->seed);
}

void message_stamp(void *buf, size_t bytes, const struct message_header *header)
{
	if (bytes >= sizeof(*header))
		memcpy(buf, header, sizeof(*header));
}

size_t message_verify(const void *buf, size_t bytes, uint64_t seed, bool whole,
		      struct message_header *header, uint64_t *proof)
{
	size_t good, at = sizeof(*header);

	memset(header, 0, sizeof(*header));
	if (bytes < at)
		return pattern_verify(buf, bytes, seed, proof);
	memcpy(header, buf, at);
	if (header->seed != seed || header->whole != whole)
		return 0;
	if (whole) {
		good = pattern_verify((const char *)buf + at, bytes - at, seed, proof);
		if (good != bytes - at)
			return at + good;
	}
	*proof += header->seed;
	return bytes;
}

uint64_t message_proof(size_t bytes, uint64_t seed, bool whole)
{
	if (bytes < sizeof(struct message_header))
		return pattern_proof(bytes, seed);
	return seed + (whole ? pattern_proof(bytes - sizeof(struct message_header), seed) : 0);
}
