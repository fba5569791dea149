/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * worker_read.c - messages that the receiver fetches: offered by their length, read, verified.
 *
 * An offer is a message of libfare whose tag is the sequence number; a receiver that has verified
 * what it read credits the slot as it does after a write.
 */
#include <errno.h>
#include <string.h>

#include "engine/worker_internal.h"

int worker_offer(struct worker_tx *tx, uint64_t seq, uint64_t bytes)
{
	const struct fare_send offer = {
		.data = &bytes, .length = sizeof(bytes), .tag = (uint32_t)seq, .context = seq};

	return fare_group_send(tx->group, &offer);
}

void worker_on_offer(struct worker *w, struct worker_rx *rx, const struct fare_event *event)
{
	uint64_t seq, bytes = 0;

	if (event->bytes == sizeof(bytes))
		memcpy(&bytes, event->data, sizeof(bytes));
	if (!rx->load->read || bytes == 0 || bytes > rx->slot_bytes)
		worker_fail(w, "from GPU %u: an offer that is none, or of more than a slot holds",
			    rx->gpu);
	if (stream_rx_accept(&rx->books, event->tag, &seq) || rx->offered[seq % rx->books.slots])
		worker_fail(w, "from GPU %u: offer %u is a duplicate, or one before it was lost",
			    rx->gpu, event->tag);
	rx->offered[seq % rx->books.slots] = bytes;
	worker_read(w, rx);
}

void worker_read(struct worker *w, struct worker_rx *rx)
{
	for (unsigned i = 0; i < rx->books.slots; i++) {
		uint64_t at = i * rx->slot_bytes;
		struct fare_read read = {.data = w->rx_arena + rx->offset + at,
					 .mr = w->rx_mr,
					 .length = rx->offered[i],
					 .remote_addr = rx->remote_addr + at,
					 .rkey = rx->rkey,
					 .context = rx->books.expected[i]};
		int err;

		if (!rx->offered[i] || rx->reading[i])
			continue;
		err = fare_group_read(rx->group, &read);
		if (err == -ENOBUFS)
			return;
		if (err)
			worker_fail(w, "read from GPU %u: %s", rx->gpu, strerror(-err));
		rx->reading[i] = true;
	}
}

uint64_t worker_on_read(struct worker *w, struct worker_rx *rx, uint64_t seq)
{
	unsigned slot = (unsigned)(seq % rx->books.slots);
	uint64_t bytes = rx->offered[slot];

	if (!rx->reading[slot] || rx->books.expected[slot] != seq)
		worker_fail(w, "from GPU %u: a read was completed twice, or never posted", rx->gpu);
	rx->reading[slot] = false;
	rx->offered[slot] = 0;
	return bytes;
}
