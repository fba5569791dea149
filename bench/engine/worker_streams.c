/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * worker_streams.c - the messages of a worker: posted as the books allow, verified, credited,
 * counted.
 */
#include <errno.h>
#include <string.h>

#include "engine/pattern.h"
#include "engine/planted.h"
#include "engine/worker_internal.h"

static uint64_t worker_bytes(const uint64_t *round_bytes, uint64_t drawn, uint64_t slot_bytes,
			     uint64_t seq)
{
	return round_bytes ? round_bytes[seq % drawn] : slot_bytes;
}

static bool worker_is_whole(const struct worker_load *load, uint64_t seq)
{
	return seq % load->verify_every == 0;
}

/*
 * What the stream carries next, in slot seq % slots. To make it up takes time that is none of the
 * transport's: the message is due so much later.
 */
static uint64_t worker_fill(struct worker *w, struct worker_tx *tx, uint64_t seq, uint64_t *due_ns)
{
	struct message_header header = {
		.seed = pattern_seed(w->nonce, w->gpu, tx->key, seq),
		.whole = worker_is_whole(tx->load, seq),
	};
	uint64_t bytes = worker_bytes(tx->round_bytes, tx->load->drawn, tx->slot_bytes, seq);
	uint64_t at = tx->offset + seq % tx->books.slots * tx->slot_bytes,
		 began_ns = worker_now_ns(w);
	uint8_t *slot = w->tx_arena + at;
	int err;

	if (tx->command) {
		const struct worker_command *command = &tx->command[tx->next_command];

		header.id = command->id;
		bytes = command->bytes;
	}
	message_fill(slot, bytes, &header, w->crew);
	err = memory_put(&w->source, at, bytes);
	header.arrival_ns = *due_ns += worker_now_ns(w) - began_ns;
	if (!err)
		err = memory_get(&w->source, at, bytes); /* a file is read when the block is due */
	header.post_ns = worker_now_ns(w);
	message_stamp(slot, bytes, &header);
	if (!err)
		err = fare_mr_sync(w->tx_mr);
	if (err)
		worker_fail(w, "memory of message %llu to GPU %u: %s", (unsigned long long)seq,
			    tx->gpu, strerror(-err));
	return bytes;
}

static void worker_took(struct worker *w, struct worker_tx *tx, uint64_t seq, uint64_t due_ns,
			uint64_t bytes)
{
	w->proof_sent += message_proof(bytes, pattern_seed(w->nonce, w->gpu, tx->key, seq),
				       worker_is_whole(tx->load, seq));
	stream_tx_post(&tx->books, seq);
	tx->due_ns[seq % tx->books.slots] = due_ns;
	if (worker_in_window(w, due_ns))
		hist_add(tx->load->posted, worker_now_ns(w) - due_ns);
	w->sent_bytes += bytes;
	worker_round_posted(w, tx->load, seq, w->event_ns);
	arrivals_take(&tx->arrivals);
	if (tx->command) {
		tx->next_command = (tx->next_command + 1) % WORKER_MAX_COMMANDS;
		tx->n_commands--;
	}
}

/* More than this host allows would be sent: later. */
static bool worker_is_held(struct worker *w)
{
	uint64_t at_ns = limits_wait_ns(&w->limits, &w->meter, w->event_ns);

	if (!at_ns)
		return false;
	w->held |= worker_in_window(w, w->event_ns);
	worker_wake_at(w, at_ns);
	return true;
}

/* False: nothing more can be posted on this stream now. */
static bool worker_post_one(struct worker *w, struct worker_tx *tx, uint64_t limit)
{
	uint64_t seq, due_ns, at;
	struct fare_write write = {.mr = w->tx_mr, .rkey = tx->rkey, .flags = FARE_WRITE_NOTIFY};
	int err;

	if (tx->load->presence != WORKER_PRESENT || !stream_tx_next(&tx->books, limit, &seq) ||
	    !worker_is_due(w, tx, seq, &due_ns) || worker_is_held(w))
		return false;
	at = seq % tx->books.slots * tx->slot_bytes;
	write.data = w->tx_arena + tx->offset + at;
	write.length = worker_fill(w, tx, seq, &due_ns);
	write.remote_addr = tx->remote_addr + at;
	write.tag = (uint32_t)seq;
	write.context = seq;
	err = tx->load->read ? worker_offer(tx, seq, write.length)
			     : fare_group_write(tx->group, &write);
	if (err == -ENOBUFS)
		return false;
	if (err)
		worker_fail(w, "write to GPU %u: %s", tx->gpu, strerror(-err));
	limits_sent(&w->limits, &w->meter, w->event_ns, write.length);
	worker_took(w, tx, seq, due_ns, write.length);
	return true;
}

static void worker_post(struct worker *w)
{
	for (unsigned i = 0; i < w->n_tx; i++) {
		uint64_t limit = worker_limit(w, w->tx[i].load);

		while (worker_post_one(w, &w->tx[i], limit))
			;
	}
}

void worker_start(struct worker *w)
{
	w->before = worker_packets(w);
	w->running = true;
	w->start_ns = w->event_ns = worker_now_ns(w);
	for (unsigned i = 0; i < w->n_tx; i++)
		arrivals_start(&w->tx[i].arrivals,
			       (w->tx[i].load->law == ARRIVAL_BURST ? w->from_ns : w->start_ns) +
				       w->tx[i].load->delay_ns);
	worker_post(w);
}

static void worker_credit(struct worker *w, struct worker_rx *rx)
{
	for (unsigned i = 0; i < rx->books.slots; i++) {
		struct fare_write write = {
			.data = w->tx_arena, .mr = w->tx_mr, .flags = FARE_WRITE_NOTIFY};
		int err;

		if (!rx->credit[i])
			continue;
		write.tag = (uint32_t)(rx->credit[i] - 1);
		write.context = WORKER_CREDIT;
		err = fare_group_write(rx->group, &write);
		if (err == -ENOBUFS)
			return;
		if (err)
			worker_fail(w, "credit to GPU %u: %s", rx->gpu, strerror(-err));
		rx->credit[i] = 0;
	}
}

/* It has arrived when the file has it, too; what the file holds is compared now and then. */
static void worker_store(struct worker *w, const struct worker_rx *rx, uint64_t at, uint64_t bytes)
{
	int err = memory_put(&w->target, at, bytes);

	if (w->target.kind != MEMORY_FILE)
		return;
	w->event_ns = worker_now_ns(w);
	if (!err && rx->books.n_verified % WORKER_COMPARE == 0)
		err = memory_compare(&w->target, at, bytes);
	if (err)
		worker_fail(w, "file of messages from GPU %u: %s", rx->gpu,
			    err == -EILSEQ ? "it holds other bytes than were written"
					   : strerror(-err));
}

/* Checks that it is the message that is due, whole and right. Returns its sequence number. */
static uint64_t worker_check(struct worker *w, struct worker_rx *rx, uint32_t tag, uint64_t came,
			     struct message_header *header)
{
	uint64_t seq, bytes, at;
	size_t good;
	int err;

	if (stream_rx_accept(&rx->books, tag, &seq) ||
	    (rx->load->rounds && seq >= rx->load->rounds))
		worker_fail(w, "from GPU %u: message %u is a duplicate, or one before it was lost",
			    rx->gpu, tag);
	bytes = rx->load->law == ARRIVAL_COMMAND
			? came
			: worker_bytes(rx->round_bytes, rx->load->drawn, rx->slot_bytes, seq);
	if (came != bytes || bytes > rx->slot_bytes)
		worker_fail(w, "from GPU %u: message %llu has %llu bytes, not %llu", rx->gpu,
			    (unsigned long long)seq, (unsigned long long)came,
			    (unsigned long long)bytes);
	at = rx->offset + seq % rx->books.slots * rx->slot_bytes;
	err = fare_mr_sync(w->rx_mr);
	if (err)
		worker_fail(w, "memory of messages from GPU %u: %s", rx->gpu, strerror(-err));
	if (PLANTED(no_verify)) {
		memset(header, 0, sizeof(*header));
		return seq;
	}
	good = message_verify(w->rx_arena + at, bytes,
			      pattern_seed(w->nonce, rx->gpu, rx->key, seq),
			      worker_is_whole(rx->load, seq), header, &w->proof_seen, w->crew);
	if (good != bytes)
		worker_fail(w, "from GPU %u: message %llu: wrong byte at offset %zu of %llu",
			    rx->gpu, (unsigned long long)seq, good, (unsigned long long)bytes);
	worker_store(w, rx, at, bytes);
	return seq;
}

static void worker_count(struct worker *w, struct worker_rx *rx, uint64_t bytes,
			 const struct message_header *header)
{
	w->verified_bytes += bytes;
	w->unsent += !w->clock_offset_ns && header->post_ns > w->event_ns;
	rx->messages += worker_in_window(w, w->event_ns);
	if (header->arrival_ns && worker_in_window(w, header->arrival_ns))
		hist_add(rx->load->delivered,
			 w->event_ns > header->arrival_ns ? w->event_ns - header->arrival_ns : 0);
	if (rx->load->law == ARRIVAL_COMMAND ||
	    (rx->load->member != TRAFFIC_STAYS && rx->books.n_verified == 1))
		worker_send(w, json_pack("{s:s, s:i, s:I, s:I, s:I, s:I, s:I}", "event",
					 "delivered", "stream", (int)rx->key, "id",
					 (json_int_t)header->id, "bytes", (json_int_t)bytes,
					 "arrival_ns", (json_int_t)header->arrival_ns, "post_ns",
					 (json_int_t)header->post_ns, "t_ns",
					 (json_int_t)w->event_ns));
}

/* A message arrived whole: verifies, counts and credits it. */
static void worker_message(struct worker *w, struct worker_rx *rx, uint32_t tag, uint64_t bytes)
{
	struct message_header header;
	uint64_t seq = worker_check(w, rx, tag, bytes, &header);

	stream_rx_verified(&rx->books, seq);
	if (PLANTED(lost_message) && seq == 5)
		rx->books.n_verified--;
	worker_count(w, rx, bytes, &header);
	rx->credit[seq % rx->books.slots] = seq + 1;
	worker_credit(w, rx);
	worker_rounds_end(w, rx->load, w->event_ns);
}

/* The sender knows that the message which was due then has arrived. */
static void worker_done(struct worker *w, struct worker_tx *tx, uint64_t due_ns)
{
	if (worker_ended(w, tx->load, due_ns))
		tx->messages++;
}

static void worker_completed(struct worker *w, struct worker_tx *tx, uint64_t seq)
{
	uint64_t due_ns = tx->due_ns[seq % tx->books.slots];

	if (stream_tx_complete(&tx->books, (uint32_t)seq))
		worker_fail(w, "to GPU %u: a message was completed twice, or never sent", tx->gpu);
	if (!tx->load->read)
		worker_done(w, tx, due_ns);
}

static void worker_credited(struct worker *w, struct worker_tx *tx, uint32_t tag)
{
	int slot = stream_tx_credit(&tx->books, tag);

	if (slot < 0)
		worker_fail(w, "to GPU %u: a message was credited twice, or never sent", tx->gpu);
	if (tx->load->read)
		worker_done(w, tx, tx->due_ns[slot]);
}

/* ---- events of the domain ---- */

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

/* The opener says which stream its group is for. */
static bool worker_claim(struct worker *w, struct fare_group *group)
{
	size_t bytes;
	const void *said = fare_group_private(group, &bytes);
	uint32_t is[2];

	if (!said || bytes != sizeof(is))
		return false;
	memcpy(is, said, sizeof(is));
	for (unsigned i = 0; is[0] == w->nonce && i < w->n_rx; i++) {
		if (w->rx[i].group || w->rx[i].key != is[1])
			continue;
		w->rx[i].group = group;
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
		if (event->status && !(rx && (w->done || rx->load->member == TRAFFIC_LEAVES)))
			worker_fail(w, "a write to GPU %u failed: %s",
				    tx	 ? tx->gpu
				    : rx ? rx->gpu
					 : 0,
				    strerror(-event->status));
		if (tx)
			worker_completed(w, tx, event->context);
		else if (rx && event->context != WORKER_CREDIT)
			worker_message(w, rx, (uint32_t)event->context,
				       worker_on_read(w, rx, event->context));
		else if (rx)
			worker_credit(w, rx);
		break;
	case FARE_EVENT_RECEIVED:
		if (rx)
			worker_message(w, rx, event->tag, event->bytes);
		else if (tx)
			worker_credited(w, tx, event->tag);
		break;
	case FARE_EVENT_MESSAGE:
		if (rx)
			worker_on_offer(w, rx, event);
		break;
	case FARE_EVENT_CLOSED:
		if (tx && !tx->connected)
			worker_fail(w, "no connection to GPU %u: %s", tx->gpu,
				    strerror(-event->status));
		if (rx && rx->load->member == TRAFFIC_LEAVES) {
			fare_group_close(rx->group); /* whether all of it came, the audit says */
			rx->group = NULL;
			break;
		}
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
		break;
	}
}

static bool worker_is_open(const struct worker *w)
{
	for (unsigned i = 0; i < w->n_tx; i++)
		if (!w->tx[i].connected && w->tx[i].load->member != TRAFFIC_JOINS)
			return false;
	for (unsigned i = 0; i < w->n_rx; i++)
		if (!w->rx[i].group && w->rx[i].load->member != TRAFFIC_JOINS)
			return false;
	return true;
}

static bool worker_has_rounds(const struct worker *w)
{
	for (unsigned i = 0; i < w->n_loads; i++)
		if (!w->load[i].rounds)
			return false;
	return w->n_loads > 0;
}

static bool worker_is_done(const struct worker *w)
{
	if (!w->running || (!w->stopping && !worker_has_rounds(w)))
		return false;
	for (unsigned i = 0; i < w->n_tx; i++)
		if (!stream_tx_idle(&w->tx[i].books) ||
		    (!w->stopping && w->tx[i].books.n_posted < w->tx[i].load->rounds))
			return false;
	for (unsigned i = 0; !w->stopping && i < w->n_rx; i++)
		if (stream_rx_floor(&w->rx[i].books) < w->rx[i].load->rounds)
			return false;
	return true;
}

/* Says who is missing rather than leave the coordinator to guess. */
static void worker_check_open(struct worker *w)
{
	if (w->opened || worker_now_ns(w) - w->open_ns < WORKER_OPEN_NS)
		return;
	for (unsigned i = 0; i < w->n_tx; i++)
		if (!w->tx[i].connected && w->tx[i].load->member != TRAFFIC_JOINS)
			worker_fail(w, "the group toward GPU %u is not connected after %u s",
				    w->tx[i].gpu, (unsigned)(WORKER_OPEN_NS / 1000000000u));
	for (unsigned i = 0; i < w->n_rx; i++)
		if (!w->rx[i].group && w->rx[i].load->member != TRAFFIC_JOINS)
			worker_fail(w, "GPU %u has opened no group toward us after %u s",
				    w->rx[i].gpu, (unsigned)(WORKER_OPEN_NS / 1000000000u));
}

static void worker_check_time(struct worker *w)
{
	if (w->running && !w->stopping && limits_is_over(&w->limits, w->start_ns, w->event_ns))
		worker_fail(w, "traffic ran for longer than the %llu s that this host allows",
			    (unsigned long long)(w->limits.max_run_ns / 1000000000u));
}

static void worker_report(struct worker *w)
{
	if (!w->opened && (w->n_tx || w->n_rx) && worker_is_open(w)) {
		w->opened = true;
		worker_send(w, json_pack("{s:s}", "event", "opened"));
	}
	worker_check_open(w);
	worker_members(w);
	if (!w->done && worker_is_done(w)) {
		w->done = true;
		worker_send(w, json_pack("{s:s}", "event", "done"));
	}
}

void worker_turn(struct worker *w)
{
	struct fare_event events[64];
	int n;

	w->wake_ns = UINT64_MAX;
	do {
		n = fare_domain_poll(w->domain, events, 64);
		if (n < 0)
			worker_fail(w, "the domain is broken: %s", strerror(-n));
		w->event_ns = worker_now_ns(w);
		worker_measure(w, w->event_ns);
		for (int i = 0; i < n; i++)
			worker_on_event(w, &events[i]);
		worker_post(w);
	} while (n == 64);
	for (unsigned i = 0; i < w->n_rx; i++) {
		if (!w->rx[i].group)
			continue;
		worker_credit(w, &w->rx[i]);
		worker_read(w, &w->rx[i]);
	}
	worker_check_time(w);
	worker_report(w);
}
