/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sized.h - structures of applications that were built with another release of fare.h (pure).
 *
 * Structures grow at their end, and 0 in a new field means what was so before. So an older caller's
 * is shorter, and what is missing is 0; a newer caller's is longer, and what this library does not
 * know must be 0 (as of openat2(2)).
 */
#ifndef SIZED_H
#define SIZED_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* given NULL: all 0. 0 or -E2BIG: it asks for what this library does not have. */
static inline int sized_in(void *own, size_t own_size, const void *given, size_t given_size)
{
	const uint8_t *bytes = given;

	if (!given)
		given_size = 0;
	for (size_t i = own_size; i < given_size; i++)
		if (bytes[i]) {
			memset(own, 0, own_size);
			return -E2BIG;
		}
	if (given_size > own_size)
		given_size = own_size;
	if (given_size)
		memcpy(own, given, given_size);
	memset((uint8_t *)own + given_size, 0, own_size - given_size);
	return 0;
}

static inline void sized_out(void *given, size_t given_size, const void *own, size_t own_size)
{
	size_t known = given_size < own_size ? given_size : own_size;

	memcpy(given, own, known);
	memset((uint8_t *)given + known, 0, given_size - known);
}

#endif
