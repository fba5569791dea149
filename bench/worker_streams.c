/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * worker_streams.c - the messages of a worker: posted as the books allow, verified, credited,
 * counted.
 */
#include <errno.h>
#include <string.h>

#include "pattern.h"
#include "worker_internal.h"

static uint64_t worker_bytes(const uint64_t *round_bytes, uint64_t slot_bytes, uint64_t seq)
{
	return round_bytes ? round_bytes[seq] : slot_bytes;
}

/* Sequence numbers below this may be posted now. */
static uint64_t worker_limit(const struct worker *w)
{
	uint64_t limit = w->rounds;

	if (!w->running || w->stopping)
		return 0;
	if (!w->rounds)
		return UINT64_MAX;
	/* two rounds overlap: round r may start when everything of round r - 2 has arrived here */
	for (unsigned i = 0; i < w->n_rx; i++) {
		uint64_t floor = stream_rx_floor(&w->rx[i].books) + 2;

		if (floor < limit)
			limit = floor;
	}
	return limit;
}

static void worker_post(struct worker *w)
{
	uint64_t limit = worker_limit(w), seq;

	for (unsigned i = 0; i < w->n_tx; i++) {
		struct worker_tx *tx = &w->tx[i];

		while (stream_tx_next(&tx->books, limit, &seq)) {
			uint64_t at = seq % tx->books.slots * tx->slot_bytes;
			uint64_t bytes = worker_bytes(tx->round_bytes, tx->slot_bytes, seq);
			struct fare_write write = {
				.data = w->tx_arena + tx->offset + at,
				.mr = w->tx_mr,
				.length = bytes,
				.remote_addr = tx->remote_addr + at,
				.rkey = tx->rkey,
				.tag = (uint32_t)seq,
				.flags = FARE_WRITE_NOTIFY,
				.context = seq,
			};
			int err;

			pattern_fill(w->tx_arena + tx->offset + at, bytes,
				     pattern_seed(w->nonce, w->gpu, tx->gpu, seq));
			err = fare_group_write(tx->group, &write);
			if (err == -ENOBUFS)
				break;
			if (err)
				worker_fail(w, "write to GPU %u: %s", tx->gpu, strerror(-err));
			stream_tx_post(&tx->books, seq);
		}
	}
}

void worker_start(struct worker *w)
{
	w->running = true;
	worker_post(w);
}

static void worker_credit(struct worker *w, struct worker_rx *rx)
{
	for (unsigned i = 0; i < rx->books.slots; i++) {
		struct fare_write write = {
			.data = w->tx_arena, .mr = w->tx_mr, .flags = FARE_WRITE_NOTIFY};
		int err;

		if (!rx->due[i])
			continue;
		write.tag = (uint32_t)(rx->due[i] - 1);
		write.context = UINT64_MAX;
		err = fare_group_write(rx->group, &write);
		if (err == -ENOBUFS)
			return;
		if (err)
			worker_fail(w, "credit to GPU %u: %s", rx->gpu, strerror(-err));
		rx->due[i] = 0;
	}
}

static void worker_sample(struct worker *w)
{
	if (w->n_samples == WORKER_MAX_SAMPLES)
		worker_fail(w, "more than %d samples: shorten the run or enlarge the messages",
			    WORKER_MAX_SAMPLES);
	w->samples[w->n_samples++] = worker_now_ns();
}

static void worker_message(struct worker *w, struct worker_rx *rx, const struct fare_event *event)
{
	uint64_t seq, bytes, at;
	size_t good;

	if (stream_rx_accept(&rx->books, event->tag, &seq) || (w->rounds && seq >= w->rounds))
		worker_fail(w, "from GPU %u: message %u is a duplicate, or one before it was lost",
			    rx->gpu, event->tag);
	bytes = worker_bytes(rx->round_bytes, rx->slot_bytes, seq);
	if (event->bytes != bytes)
		worker_fail(w, "from GPU %u: message %llu has %llu bytes, not %llu", rx->gpu,
			    (unsigned long long)seq, (unsigned long long)event->bytes,
			    (unsigned long long)bytes);
	at = rx->offset + seq % rx->books.slots * rx->slot_bytes;
	good = pattern_verify(w->rx_arena + at, bytes,
			      pattern_seed(w->nonce, rx->gpu, w->gpu, seq));
	if (good != bytes)
		worker_fail(w, "from GPU %u: message %llu: wrong byte at offset %zu of %llu",
			    rx->gpu, (unsigned long long)seq, good, (unsigned long long)bytes);
	stream_rx_verified(&rx->books, seq);
	w->verified_bytes += bytes;
	rx->due[seq % rx->books.slots] = seq + 1;
	if (w->rounds)
		w->samples[(size_t)(rx - w->rx) * w->rounds + seq] = worker_now_ns();
	else if (!w->no_times)
		worker_sample(w);
	worker_credit(w, rx);
}

/* ---- events of the domain
 * ------------------------------------------------------------------------------- */

static struct worker_tx *worker_find_tx(struct worker *w, const struct fare_group *group)
{
	for (unsigned i = 0; i < w->n_tx; i++)
		if (w->tx[i].group == group)
			return &w->tx[i];
	return NULL;
}

static struct worker_rx *worker_find_rx(struct worker *w, const struct fare_group *group)
{
	for (unsigned i = 0; i < w->n_rx; i++)
		if (w->rx[i].group == group)
			return &w->rx[i];
	return NULL;
}

static bool worker_claim(struct worker *w, struct fare_group *group)
{
	struct in6_addr peer;

	fare_group_peer(group, &peer);
	for (unsigned i = 0; i < w->n_rx; i++) {
		struct worker_rx *rx = &w->rx[i];

		if (rx->group || memcmp(&peer, &rx->peer, sizeof(peer)) != 0)
			continue;
		rx->group = group;
		return true;
	}
	return false;
}

static void worker_accepted(struct worker *w, struct fare_group *group)
{
	if (worker_claim(w, group))
		return;
	if (w->n_early < WORKER_MAX_EARLY)
		w->early[w->n_early++] = group;
	else
		fare_group_close(group);
}

void worker_claim_early(struct worker *w)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < w->n_early; i++)
		if (!worker_claim(w, w->early[i]))
			w->early[kept++] = w->early[i];
	w->n_early = kept;
}

/* A group that no stream owns ended: nobody else will close our half. */
static void worker_drop(struct worker *w, struct fare_group *group)
{
	for (unsigned i = 0; i < w->n_early; i++) {
		if (w->early[i] != group)
			continue;
		w->early[i] = w->early[--w->n_early];
		break;
	}
	fare_group_close(group);
}

static void worker_on_event(struct worker *w, const struct fare_event *event)
{
	struct worker_tx *tx = worker_find_tx(w, event->group);
	struct worker_rx *rx = worker_find_rx(w, event->group);
	int err = 0;

	switch (event->kind) {
	case FARE_EVENT_CONNECTED:
		if (tx)
			tx->connected = true;
		break;
	case FARE_EVENT_ACCEPTED:
		worker_accepted(w, event->group);
		break;
	case FARE_EVENT_COMPLETED:
		/* the peer may close as soon as it has our last credits, before they are
		 * acknowledged */
		if (event->status && !(rx && w->done))
			worker_fail(w, "a write to GPU %u failed: %s",
				    tx	 ? tx->gpu
				    : rx ? rx->gpu
					 : 0,
				    strerror(-event->status));
		if (tx)
			err = stream_tx_complete(&tx->books, (uint32_t)event->context);
		else if (rx)
			worker_credit(w, rx);
		break;
	case FARE_EVENT_RECEIVED:
		if (rx)
			worker_message(w, rx, event);
		else if (tx)
			err = stream_tx_credit(&tx->books, event->tag);
		break;
	case FARE_EVENT_CLOSED:
		if (tx && !tx->connected)
			worker_fail(w, "no connection to GPU %u: %s", tx->gpu,
				    strerror(-event->status));
		if (w->running && !w->done && (tx || rx))
			worker_fail(w, "GPU %u closed its group in mid-run",
				    tx ? tx->gpu : rx->gpu);
		if (!tx && !rx)
			worker_drop(w, event->group);
		break;
	case FARE_EVENT_BLOCKED:
	case FARE_EVENT_RESUMED:
	case FARE_EVENT_RELEASED:
	case FARE_EVENT_SHIFTED:
	case FARE_EVENT_MESSAGE: /* none are sent */
		break;
	}
	if (err)
		worker_fail(w, "to GPU %u: a message was %s twice, or never sent", tx->gpu,
			    event->kind == FARE_EVENT_COMPLETED ? "completed" : "credited");
}

static bool worker_is_open(const struct worker *w)
{
	for (unsigned i = 0; i < w->n_tx; i++)
		if (!w->tx[i].connected)
			return false;
	for (unsigned i = 0; i < w->n_rx; i++)
		if (!w->rx[i].group)
			return false;
	return true;
}

static bool worker_is_done(const struct worker *w)
{
	if (!w->running || (!w->rounds && !w->stopping))
		return false;
	for (unsigned i = 0; i < w->n_tx; i++)
		if (!stream_tx_idle(&w->tx[i].books) ||
		    (!w->stopping && w->tx[i].books.n_posted < w->rounds))
			return false;
	for (unsigned i = 0; !w->stopping && i < w->n_rx; i++)
		if (stream_rx_floor(&w->rx[i].books) < w->rounds)
			return false;
	return true;
}

/* Says who is missing rather than leave the coordinator to guess. */
static void worker_check_open(struct worker *w)
{
	if (w->opened || worker_now_ns() - w->open_ns < WORKER_OPEN_NS)
		return;
	for (unsigned i = 0; i < w->n_tx; i++)
		if (!w->tx[i].connected)
			worker_fail(w, "the group toward GPU %u is not connected after %u s",
				    w->tx[i].gpu, (unsigned)(WORKER_OPEN_NS / 1000000000u));
	for (unsigned i = 0; i < w->n_rx; i++)
		if (!w->rx[i].group)
			worker_fail(w, "GPU %u has opened no group toward us after %u s",
				    w->rx[i].gpu, (unsigned)(WORKER_OPEN_NS / 1000000000u));
}

void worker_bin(struct worker *w, uint64_t now)
{
	uint64_t bin = (now - w->bins_ns) / WORKER_BIN_NS, acked = 0;

	if (!w->bins || bin == w->bin)
		return;
	for (unsigned i = 0; i < w->n_tx; i++) {
		struct fare_group_stats stats;

		fare_group_stats(w->tx[i].group, &stats);
		for (unsigned plane = 0; plane < FARE_MAX_PLANES; plane++)
			acked += stats.plane_bytes[plane];
	}
	if (w->bin < WORKER_MAX_BINS)
		w->bins[w->bin] = (uint32_t)(acked - w->acked_bytes);
	w->acked_bytes = acked;
	w->bin = bin;
}

void worker_turn(struct worker *w)
{
	struct fare_event events[64];
	int n;

	worker_bin(w, worker_now_ns()); /* what the turns before this one have brought */
	do {
		n = fare_domain_poll(w->domain, events, 64);
		if (n < 0)
			worker_fail(w, "the domain is broken: %s", strerror(-n));
		for (int i = 0; i < n; i++)
			worker_on_event(w, &events[i]);
		worker_post(w);
	} while (n == 64);
	for (unsigned i = 0; i < w->n_rx; i++)
		if (w->rx[i].group)
			worker_credit(w, &w->rx[i]);
	if (!w->opened && (w->n_tx || w->n_rx) && worker_is_open(w)) {
		w->opened = true;
		worker_send(w, json_pack("{s:s}", "event", "opened"));
	}
	worker_check_open(w);
	if (!w->done && worker_is_done(w)) {
		w->done = true;
		worker_send(w, json_pack("{s:s}", "event", "done"));
	}
}
