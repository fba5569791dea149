/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * message.h - what a benchmark message carries: a header with its times, and the pattern.
 *
 * Owns: nothing; pure functions over the caller's memory. Messages shorter than the header are
 * pattern alone and carry no times. Of a load that verifies every k-th message, the others carry a
 * header and whatever lies behind it. Thread: any.
 */
#ifndef MESSAGE_H
#define MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct message_header {
	uint64_t seed;	     /* pattern_seed() of the message: tells it from every other */
	uint64_t arrival_ns; /* when it was due, sender's clock */
	uint64_t post_ns;    /* when it was handed to the transport */
	uint64_t id;	     /* the coordinator's, if it asked for it */
	uint64_t whole;	     /* 1: the pattern follows to the end */
};

struct crew;

/* Fills bytes at buf; header->seed and ->whole say with what. crew: by its threads (crew.h) where
 * there is enough for each; NULL: by this one. */
void message_fill(void *buf, size_t bytes, const struct message_header *header, struct crew *crew);
/* Writes the header of a message that was filled anew: its times may have changed. */
void message_stamp(void *buf, size_t bytes, const struct message_header *header);
/*
 * The offset of the first wrong byte; bytes if all are right. *header (zeroes if the message is too
 * short for one) is what it carries. If all are right, what was read is added to *proof.
 */
size_t message_verify(const void *buf, size_t bytes, uint64_t seed, bool whole,
		      struct message_header *header, uint64_t *proof, struct crew *crew);
/* What that adds: the header's seed and the pattern's words. */
uint64_t message_proof(size_t bytes, uint64_t seed, bool whole);

#endif
