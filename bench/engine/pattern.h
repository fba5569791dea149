/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pattern.h - the bytes that benchmark messages carry, and the proof that they arrived.
 *
 * Owns: nothing; pure functions over the caller's memory.
 * In: source, destination and the message's sequence number; out: bytes, or the offset of the first
 * wrong one. Thread: any.
 *
 * Word i of a message is seed + (i + 1) * K with K odd: all words of a message differ, a word tells
 * its own position, and another message's words differ because the seed is a mix of run, source,
 * destination and sequence. So a stale chunk, a chunk in the wrong place and a torn one are all
 * found, at the speed of memory.
 */
#ifndef PATTERN_H
#define PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* The seed of message seq from GPU src to GPU dst in the run that nonce names. */
uint64_t pattern_seed(uint32_t nonce, uint32_t src, uint32_t dst, uint64_t seq);

/* The seed of what begins at that byte (a multiple of 8): the message's pattern goes on there. */
uint64_t pattern_seed_at(uint64_t seed, size_t at);

/* Writes the pattern over bytes of buf (any alignment, any length). */
void pattern_fill(void *buf, size_t bytes, uint64_t seed);

/* The offset of the first wrong byte; bytes if all are right: then the words that were read are
 * added to *proof. */
size_t pattern_verify(const void *buf, size_t bytes, uint64_t seed, uint64_t *proof);
/* That sum (modulo 2^64; a last word that is cut off is filled up with zeroes), without reading. */
uint64_t pattern_proof(size_t bytes, uint64_t seed);

#endif
