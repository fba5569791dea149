/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * utf8.h - text that may not be what it claims to be: taken apart, and cut between characters (JSON
 * takes no half ones).
 *
 * Owns: nothing; pure. In: bytes that end with 0. Thread: any.
 */
#ifndef UTF8_H
#define UTF8_H

#include <stddef.h>
#include <stdint.h>

#define UTF8_INVALID 0xfffdu

/*
 * Takes one character off *text, which must not be at its end; never goes beyond the terminator.
 * UTF8_INVALID for a byte that belongs to none.
 */
uint32_t utf8_take(const char **text);

/* Bytes of the longest beginning of text that has at most max bytes and ends with a character. */
int utf8_fit(const char *text, size_t max);

/* Ends text, which was cut to fit its buffer, with a whole character. */
void utf8_trim(char *text);

/* Replaces by '?' what belongs to no whole character: one was cut within a text. */
void utf8_mend(char *text);

#endif
