/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/stream.h"

#include <errno.h>
#include <string.h>

void stream_tx_init(struct stream_tx *tx, unsigned slots)
{
	memset(tx, 0, sizeof(*tx));
	tx->slots = slots;
	for (unsigned i = 0; i < slots; i++)
		tx->next[i] = i;
}

void stream_rx_init(struct stream_rx *rx, unsigned slots)
{
	memset(rx, 0, sizeof(*rx));
	rx->slots = slots;
	for (unsigned i = 0; i < slots; i++)
		rx->expected[i] = i;
}

bool stream_tx_next(const struct stream_tx *tx, uint64_t limit, uint64_t *seq)
{
	bool any = false;

	for (unsigned i = 0; i < tx->slots; i++) {
		if (tx->posted[i] || tx->next[i] >= limit || (any && tx->next[i] >= *seq))
			continue;
		*seq = tx->next[i];
		any = true;
	}
	return any;
}

void stream_tx_post(struct stream_tx *tx, uint64_t seq)
{
	unsigned slot = (unsigned)(seq % tx->slots);

	tx->posted[slot] = true;
	tx->completed[slot] = false;
	tx->credited[slot] = false;
	tx->n_posted++;
}

/* The slot whose message under way has this tag. */
static int stream_tx_slot(const struct stream_tx *tx, uint32_t tag)
{
	for (unsigned i = 0; i < tx->slots; i++)
		if (tx->posted[i] && (uint32_t)tx->next[i] == tag)
			return (int)i;
	return -EPROTO;
}

static void stream_tx_free(struct stream_tx *tx, int slot)
{
	if (!tx->completed[slot] || !tx->credited[slot])
		return;
	tx->posted[slot] = false;
	tx->next[slot] += tx->slots;
}

int stream_tx_complete(struct stream_tx *tx, uint32_t tag)
{
	int slot = stream_tx_slot(tx, tag);

	if (slot < 0 || tx->completed[slot])
		return -EPROTO;
	tx->completed[slot] = true;
	stream_tx_free(tx, slot);
	return 0;
}

int stream_tx_credit(struct stream_tx *tx, uint32_t tag)
{
	int slot = stream_tx_slot(tx, tag);

	if (slot < 0 || tx->credited[slot])
		return -EPROTO;
	tx->credited[slot] = true;
	tx->n_credited++;
	stream_tx_free(tx, slot);
	return slot;
}

bool stream_tx_idle(const struct stream_tx *tx)
{
	for (unsigned i = 0; i < tx->slots; i++)
		if (tx->posted[i])
			return false;
	return true;
}

int stream_rx_accept(const struct stream_rx *rx, uint32_t tag, uint64_t *seq)
{
	for (unsigned i = 0; i < rx->slots; i++) {
		if ((uint32_t)rx->expected[i] != tag)
			continue;
		*seq = rx->expected[i];
		return 0;
	}
	return -EPROTO;
}

void stream_rx_verified(struct stream_rx *rx, uint64_t seq)
{
	rx->expected[seq % rx->slots] = seq + rx->slots;
	rx->n_verified++;
}

uint64_t stream_rx_floor(const struct stream_rx *rx)
{
	uint64_t floor = UINT64_MAX;

	for (unsigned i = 0; i < rx->slots; i++)
		if (rx->expected[i] < floor)
			floor = rx->expected[i];
	return floor;
}
