/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/ring.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fare_limits.h"
#include "qp/planted.h"

_Static_assert(RING_SEEN_SPAN == FARE_MESSAGES_MAX, "one bit each");

#define RECEIVES 512u /* of all QPs of a group together, if each gets FEWEST or more */
/* least for each QP: while it has no receive, its sender waits 0.64 ms (RNR timer of verbs) */
#define FEWEST 4u
#define BITS   64u
/* flags of a record */
#define VOID	1u
#define MESSAGE 2u

uint16_t ring_receives(uint32_t max_messages, unsigned n_qps)
{
	uint32_t n = RECEIVES / n_qps < max_messages ? RECEIVES / n_qps : max_messages;

	return (uint16_t)(n > FEWEST ? n : FEWEST);
}

uint32_t ring_record_bytes(uint32_t payload)
{
	return RING_RECORD_BYTES + (payload + 7) / 8 * 8;
}

uint32_t ring_slots(uint32_t max_messages, uint32_t receives)
{
	uint32_t least = 2 * max_messages + receives, slots = BITS;

	while (slots < least)
		slots *= 2;
	return slots;
}

int ring_init(struct ring *ring, uint32_t slots, uint32_t record_bytes)
{
	*ring = (struct ring){.slots = slots,
			      .record_bytes = record_bytes,
			      .records = calloc(slots, record_bytes),
			      .seen = calloc(slots / BITS, sizeof(*ring->seen))};
	return ring->records && ring->seen ? 0 : -ENOMEM;
}

void ring_fini(struct ring *ring)
{
	free(ring->records);
	free(ring->seen);
	memset(ring, 0, sizeof(*ring));
}

void ring_fill(uint8_t record[RING_RECORD_BYTES], const struct ring_record *in)
{
	const uint64_t words[RING_RECORD_BYTES / 8] = {
		htobe64(in->seq), htobe64(in->bytes), htobe64(in->tag),
		htobe64((in->is_void ? VOID : 0) | (in->is_message ? MESSAGE : 0))};

	memcpy(record, words, sizeof(words));
}

static uint64_t *word_of(struct ring *ring, uint64_t seq)
{
	return &ring->seen[seq % ring->slots / BITS];
}

static uint64_t bit_of(uint64_t seq)
{
	return UINT64_C(1) << seq % BITS;
}

bool ring_take(struct ring *ring, uint32_t imm, struct ring_record *out)
{
	const uint8_t *at = ring->records + (size_t)(imm % ring->slots) * ring->record_bytes;
	uint64_t words[RING_RECORD_BYTES / 8], seq, flags;

	memcpy(words, at, sizeof(words));
	seq = be64toh(words[0]);
	flags = be64toh(words[3]);
	/* the peer wrote it: a number outside of the window is a duplicate or not valid */
	if (((uint32_t)seq != imm || seq < ring->floor || seq - ring->floor >= ring->slots ||
	     *word_of(ring, seq) & bit_of(seq)) &&
	    !PLANTED(notified_twice))
		return false;
	*word_of(ring, seq) |= bit_of(seq);
	while (*word_of(ring, ring->floor) & bit_of(ring->floor)) {
		*word_of(ring, ring->floor) &= ~bit_of(ring->floor);
		ring->floor++;
	}
	*out = (struct ring_record){.seq = seq,
				    .bytes = be64toh(words[1]),
				    .tag = (uint32_t)be64toh(words[2]),
				    .is_void = flags & VOID,
				    .is_message = flags & MESSAGE,
				    .payload = at + RING_RECORD_BYTES};
	return true;
}

void ring_seen(const struct ring *ring, struct ring_seen *out)
{
	*out = (struct ring_seen){.floor = ring->floor};
	for (uint64_t i = 0; i < RING_SEEN_SPAN && i < ring->slots; i++) {
		uint64_t seq = ring->floor + i;

		if (ring->seen[seq % ring->slots / BITS] & bit_of(seq))
			out->bits[i / BITS] |= bit_of(i);
	}
}

bool ring_seen_has(const struct ring_seen *seen, uint64_t number)
{
	uint64_t i = number - seen->floor;

	return number < seen->floor || (i < RING_SEEN_SPAN && seen->bits[i / BITS] & bit_of(i));
}

void ring_seen_merge(struct ring_seen *seen, const struct ring_seen *more)
{
	/* a control message that was overtaken says less than is known, but nothing wrong */
	if (more->floor < seen->floor)
		return;
	if (more->floor > seen->floor)
		*seen = (struct ring_seen){.floor = more->floor};
	for (unsigned w = 0; w < RING_SEEN_SPAN / BITS; w++)
		seen->bits[w] |= more->bits[w];
}
