/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * utf8.h - takes text apart that may not be what it claims to be.
 *
 * Owns: nothing; pure. In: bytes that end with 0; out: code points, U+FFFD for a byte that belongs
 * to none. Thread: any.
 */
#ifndef UTF8_H
#define UTF8_H

#include <stdint.h>

#define UTF8_INVALID 0xfffdu

/* Takes one character off *text, which must not be at its end; never goes beyond the terminator. */
uint32_t utf8_take(const char **text);

#endif
