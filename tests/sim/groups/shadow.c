/* SPDX-License-Identifier: BSD-2-Clause */
#include "shadow.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app.h"

static struct shadow *shadow_of(const struct sim *sim)
{
	return &sim->app->shadow;
}

static struct shadow_write *write_of(const struct sim *sim, uint32_t id)
{
	struct shadow *s = shadow_of(sim);

	return id && id <= s->n_writes ? &s->writes[id - 1] : NULL;
}

/* ---- what a write's bytes are ---- */

static uint64_t word_of(uint32_t id, uint32_t i)
{
	return prng_mix((uint64_t)id << 32 | i);
}

void shadow_fill(uint32_t id, uint8_t *to, uint32_t length)
{
	for (uint32_t i = 0; i < length; i += 8) {
		uint64_t w = word_of(id, i / 8);

		memcpy(to + i, &w, length - i < 8 ? length - i : 8);
	}
}

void shadow_fill_ro(uint32_t process, uint8_t *to, uint32_t length)
{
	shadow_fill(process | 1u << 31, to, length);
}

/* Bytes [from, from + length) of the write; from is a multiple of 8. */
static bool is_right(uint32_t id, uint32_t from, const uint8_t *data, uint32_t length)
{
	for (uint32_t i = 0; i < length; i += 8) {
		uint64_t w = word_of(id, (from + i) / 8);

		if (memcmp(data + i, &w, length - i < 8 ? length - i : 8))
			return false;
	}
	return true;
}

static bool is_same_process(const struct sim *sim, unsigned host, uint32_t number)
{
	return sim->host[host].process && sim->host[host].process->number == number;
}

/* ---- slots ---- */

static void return_tx(struct sim *sim, uint32_t id)
{
	const struct shadow_write *w = write_of(sim, id);

	if (w->tx_slot < 0 || !is_same_process(sim, w->from, w->from_process) ||
	    shadow_of(sim)->tx_owner[w->from][w->tx_slot] != id)
		return;
	shadow_of(sim)->tx_owner[w->from][w->tx_slot] = 0;
	memset(sim->host[w->from].process->tx[w->tx_slot], 0xa5, HOST_SLOT_BYTES);
}

static bool owns_rx(const struct sim *sim, uint32_t id)
{
	const struct shadow_write *w = write_of(sim, id);

	return w->rx_slot >= 0 && is_same_process(sim, w->to, w->to_process) &&
	       shadow_of(sim)->rx_owner[w->to][w->rx_slot] == id;
}

static void return_rx(struct sim *sim, uint32_t id)
{
	const struct shadow_write *w = write_of(sim, id);

	if (!owns_rx(sim, id))
		return;
	shadow_of(sim)->rx_owner[w->to][w->rx_slot] = 0;
	memset(sim->host[w->to].process->rx[w->rx_slot], 0x5a, HOST_SLOT_BYTES);
}

/* Whoever lands there later is found out when the slot is taken again. */
static bool is_untouched(const uint8_t *slot)
{
	for (unsigned i = 0; i < HOST_SLOT_BYTES; i++)
		if (slot[i] != 0xa5)
			return false;
	return true;
}

static bool is_in_place(const struct sim *sim, uint32_t id)
{
	const struct shadow_write *w = write_of(sim, id);

	return is_right(id, 0, sim->host[w->to].process->rx[w->rx_slot] + w->offset, w->length);
}

static bool is_read_right(const struct sim *sim, uint32_t id)
{
	const struct shadow_write *w = write_of(sim, id);

	return is_right(w->ro_number | 1u << 31, w->offset,
			sim->host[w->from].process->tx[w->tx_slot] + w->offset, w->length);
}

/* ---- NICs ---- */

void shadow_hide(struct sim *sim, uint32_t id)
{
	struct shadow_write *w = write_of(sim, id);

	if (w)
		w->n_hidden++;
}

void shadow_reveal(struct sim *sim, uint32_t id)
{
	struct shadow_write *w = write_of(sim, id);

	if (w && w->n_hidden)
		w->n_hidden--;
}

uint32_t shadow_on_read(struct sim *sim, unsigned host, const void *at, uint32_t length,
			uint64_t remote_addr)
{
	const struct process *process = sim->host[host].process;
	uintptr_t offset = (uintptr_t)at - (uintptr_t)process->tx;
	uint32_t id;

	(void)length;
	(void)remote_addr;
	if (offset >= sizeof(process->tx))
		return 0;
	id = shadow_of(sim)->tx_owner[host][offset / HOST_SLOT_BYTES];
	if (!id)
		VIOLATION(sim, "read: host %u: a NIC reads slot %u, which was given back", host,
			  (unsigned)(offset / HOST_SLOT_BYTES));
	return id;
}

static const char *why_not(const struct sim *sim, uint32_t id, uint32_t packet_id, uint32_t from,
			   const void *data, uint32_t length)
{
	const struct shadow_write *w = write_of(sim, id);
	const struct shadow_end *end;

	if (!w)
		return "which no write has";
	if (packet_id && packet_id != id)
		return "which another write has by now";
	if (from < w->offset || from + length > w->offset + w->length)
		return "beyond its write";
	if (w->is_completed && !w->is_late && !w->status)
		return "whose write was completed";
	end = &shadow_of(sim)->ends[w->end];
	if (end->other >= 0 && shadow_of(sim)->ends[end->other].is_closed &&
	    (!sim->config.is_device || shadow_of(sim)->ends[end->other].was_told))
		return "whose group is closed";
	if (!is_right(id, from - w->offset, data, length))
		return "and it is not what was written";
	return NULL;
}

void shadow_on_place(struct sim *sim, unsigned host, uint64_t addr, const void *data,
		     uint32_t length, uint32_t packet_id)
{
	const struct process *process = sim->host[host].process;
	uint64_t offset = addr - (uint64_t)(uintptr_t)process->rx;
	unsigned slot = (unsigned)(offset / HOST_SLOT_BYTES);
	const char *why;

	shadow_of(sim)->n_placed++;
	if (offset >= sizeof(process->rx)) {
		if (packet_id)
			VIOLATION(sim, "place: host %u: write %u lands outside of its slot", host,
				  packet_id);
		return;
	}
	why = why_not(sim, shadow_of(sim)->rx_owner[host][slot], packet_id,
		      (uint32_t)(offset % HOST_SLOT_BYTES), data, length);
	TRACE(sim, "host %u: write %u placed, slot %u offset %u length %u", host, packet_id, slot,
	      (unsigned)(offset % HOST_SLOT_BYTES), length);
	if (why)
		VIOLATION(sim, "place: host %u: bytes of write %u land in slot %u, %s", host,
			  packet_id, slot, why);
}

/* ---- writes ---- */

static int free_slot(const uint32_t *owner, struct prng *prng)
{
	unsigned first = (unsigned)prng_below(prng, HOST_SLOTS);

	for (unsigned i = 0; i < HOST_SLOTS; i++)
		if (!owner[(first + i) % HOST_SLOTS])
			return (int)((first + i) % HOST_SLOTS);
	return -1;
}

uint32_t shadow_begin(struct sim *sim, const struct shadow_write *in)
{
	struct shadow *s = shadow_of(sim);
	struct shadow_write *w = &s->writes[s->n_writes];
	uint32_t id = s->n_writes + 1;

	if (s->n_writes == SHADOW_WRITES)
		return 0;
	*w = *in;
	w->tx_slot = w->rx_slot = -1;
	w->begun = ++s->clock;
	if (w->length && !w->is_send) {
		w->tx_slot = free_slot(s->tx_owner[w->from], &sim->prng);
		w->rx_slot = free_slot(s->rx_owner[w->to], &sim->prng);
		if (w->tx_slot < 0 || w->rx_slot < 0)
			return 0;
		if (!is_untouched(sim->host[w->from].process->tx[w->tx_slot]))
			VIOLATION(sim,
				  "stale: host %u: slot %d was written to after it was given back",
				  w->from, w->tx_slot);
		s->tx_owner[w->from][w->tx_slot] = id;
		if (!w->is_read)
			shadow_fill(id, sim->host[w->from].process->tx[w->tx_slot] + w->offset,
				    w->length);
		if (w->has_bad_key || w->is_read)
			w->rx_slot = -1;
		else
			s->rx_owner[w->to][w->rx_slot] = id;
	}
	s->n_writes++;
	s->ends[w->end].n_unfinished++;
	return id;
}

void shadow_cancel_begin(struct sim *sim, uint32_t id)
{
	struct shadow *s = shadow_of(sim);

	return_tx(sim, id);
	return_rx(sim, id);
	s->ends[s->writes[id - 1].end].n_unfinished--;
	s->n_writes--;
}

static const char *why_not_status(const struct sim *sim, const struct shadow_write *w, int status)
{
	switch (status) {
	case 0:
		return w->has_bad_key ? "although its key is wrong" : NULL;
	case -ECANCELED:
		return NULL; /* shadow_on_closed() */
	case -ETIMEDOUT:
		return w->deadline_ns && sim_now_ns(sim) >= w->deadline_ns ? NULL
									   : "before its deadline";
	case -EACCES:
		return w->has_bad_key || w->has_no_target ||
				       !is_same_process(sim, w->to, w->to_process)
			       ? NULL
			       : "although its key is right";
	default:
		return "which is none of fare.h's";
	}
}

void shadow_on_completed(struct sim *sim, int end, uint32_t id, int status)
{
	struct shadow_write *w = write_of(sim, id);
	const char *why;

	if (!w || w->end != end || w->is_abandoned) {
		VIOLATION(sim, "complete: end %d: COMPLETED of write %u, which it has not", end,
			  id);
		return;
	}
	TRACE(sim, "host %u: write %u completed, status %d", w->from, id, status);
	if (w->is_completed) {
		VIOLATION(sim, "complete: write %u completes twice", id);
		return;
	}
	why = why_not_status(sim, w, status);
	if (why)
		VIOLATION(sim, "status: write %u has status %d, %s", id, status, why);
	w->is_completed = true;
	w->status = status;
	w->done = status ? 0 : ++shadow_of(sim)->clock;
	shadow_of(sim)->n_completed++;
	if (status == -ETIMEDOUT) {
		w->is_late = true;
		return;
	}
	shadow_of(sim)->ends[end].n_unfinished--;
	if (!status && owns_rx(sim, id) && !is_in_place(sim, id))
		VIOLATION(sim, "lost: write %u is completed, and its bytes are not in place", id);
	if (!status && w->is_read && w->length && !is_read_right(sim, id))
		VIOLATION(sim, "lost: read %u is completed, and its bytes are not in place", id);
	return_tx(sim, id);
	if (status != -ECANCELED && (status || !w->notify || w->is_received))
		return_rx(sim, id);
}

void shadow_on_released(struct sim *sim, int end, uint32_t id, int status)
{
	struct shadow_write *w = write_of(sim, id);

	if (!w || w->end != end || !w->is_late || w->is_released) {
		VIOLATION(sim, "release: end %d: RELEASED of write %u, which is not late", end, id);
		return;
	}
	TRACE(sim, "host %u: write %u released", w->from, id);
	w->is_released = true;
	shadow_of(sim)->ends[end].n_unfinished--;
	return_tx(sim, id);
	/* the group closed: at the peer only its own CLOSED ends it */
	if (status != -ECANCELED)
		return_rx(sim, id);
}

/* What its sender saw completed before it began, is there to be seen. */
static uint32_t hidden_before(const struct sim *sim, const struct shadow_write *w)
{
	const struct shadow *s = shadow_of(sim);

	for (uint32_t id = 1; id <= s->n_writes; id++) {
		const struct shadow_write *before = write_of(sim, id);

		if (before->end == w->end && before->n_hidden &&
		    (before == w || (before->done && before->done < w->begun)))
			return id;
	}
	return 0;
}

static void check_order(struct sim *sim, struct shadow_end *end, const struct fare_event *e)
{
	if (sim->app->options.in_order && end->n_told++ &&
	    (e->sequence <= end->last_sequence || e->tag <= end->last_tag))
		VIOLATION(sim, "order: %u (number %llu) comes after %u (number %llu)", e->tag,
			  (unsigned long long)e->sequence, end->last_tag,
			  (unsigned long long)end->last_sequence);
	end->last_sequence = e->sequence;
	end->last_tag = e->tag;
}

void shadow_on_received(struct sim *sim, int end, const struct fare_event *event)
{
	uint32_t tag = event->tag, hidden;
	uint64_t bytes = event->bytes;
	struct shadow *s = shadow_of(sim);
	struct shadow_write *w = write_of(sim, tag);

	TRACE(sim, "host %u: write %u received", s->ends[end].host, tag);
	if (!w || !w->notify || w->to != s->ends[end].host ||
	    w->is_send != (event->kind == FARE_EVENT_MESSAGE) ||
	    (w->length && !w->is_send && w->to_process != s->ends[end].process) ||
	    (s->ends[end].other >= 0 && s->ends[end].other != w->end)) {
		VIOLATION(sim, "receive: end %d: RECEIVED of write %u, which is not for it", end,
			  tag);
		return;
	}
	s->n_received++;
	if (w->is_received || bytes != w->length || w->has_bad_key)
		VIOLATION(sim, "receive: write %u: RECEIVED %s", tag,
			  w->is_received ? "twice" : "with wrong length, or a wrong key");
	w->is_received = true;
	check_order(sim, &s->ends[end], event);
	hidden = hidden_before(sim, w);
	if (hidden)
		VIOLATION(sim, "visible: write %u: RECEIVED while bytes of %u cannot be seen", tag,
			  hidden);
	if (w->is_send && !is_right(tag, 0, event->data, w->length))
		VIOLATION(sim, "receive: message %u has other bytes", tag);
	if (w->length && !w->is_send && !w->is_released && !w->has_no_target &&
	    (!owns_rx(sim, tag) || !is_in_place(sim, tag)))
		VIOLATION(sim, "receive: write %u: RECEIVED before its bytes are in place", tag);
	return_rx(sim, tag);
}

void shadow_on_closed(struct sim *sim, int end)
{
	struct shadow *s = shadow_of(sim);

	s->ends[end].is_closed = s->ends[end].was_told = true;
	for (uint32_t id = 1; id <= s->n_writes; id++) {
		const struct shadow_write *w = write_of(sim, id);

		if (w->end == end && !w->is_abandoned &&
		    !(w->is_late ? w->is_released : w->is_completed))
			VIOLATION(sim, "close: write %u was not finished before CLOSED", id);
		if (!s->ends[end].is_leaving && s->ends[end].other >= 0 &&
		    w->end == s->ends[end].other && w->notify && w->is_completed && !w->status &&
		    !w->is_received)
			VIOLATION(sim,
				  "lost: write %u was completed, and CLOSED comes before RECEIVED",
				  id);
	}
}

void shadow_abandon(struct sim *sim, int end)
{
	struct shadow *s = shadow_of(sim);

	s->ends[end].group = NULL;
	s->ends[end].is_closed = true;
	s->ends[end].n_unfinished = 0;
	for (uint32_t id = 1; id <= s->n_writes; id++) {
		struct shadow_write *w = write_of(sim, id);

		if (w->end != end || w->is_abandoned ||
		    (w->is_late ? w->is_released : w->is_completed))
			continue;
		w->is_abandoned = true;
		/* a device reads until the QPs that were destroyed are quiet */
		if (!sim->config.is_device)
			return_tx(sim, id);
	}
}

void shadow_on_process(struct sim *sim, unsigned host)
{
	memset(shadow_of(sim)->tx_owner[host], 0, sizeof(shadow_of(sim)->tx_owner[host]));
	memset(shadow_of(sim)->rx_owner[host], 0, sizeof(shadow_of(sim)->rx_owner[host]));
}

void shadow_on_released_memory(struct sim *sim, unsigned host)
{
	struct shadow *s = shadow_of(sim);

	memset(s->rx_owner[host], 0, sizeof(s->rx_owner[host]));
	for (uint32_t id = 1; id <= s->n_writes; id++)
		if (s->writes[id - 1].to == host)
			s->writes[id - 1].has_no_target = true;
}

void shadow_check_deadlines(struct sim *sim, unsigned host)
{
	struct shadow *s = shadow_of(sim);

	for (uint32_t id = 1; id <= s->n_writes; id++) {
		const struct shadow_write *w = write_of(sim, id);
		const struct shadow_end *end = &s->ends[w->end];

		if (w->from != host || w->is_completed || w->is_abandoned || !w->deadline_ns ||
		    sim_now_ns(sim) < w->deadline_ns || end->is_closed)
			continue;
		VIOLATION(sim, "deadline: write %u: its deadline passed, and nothing was said", id);
	}
}

int shadow_add_end(struct sim *sim, const struct shadow_end *in)
{
	struct shadow *s = shadow_of(sim);
	int i = (int)s->n_ends;

	if (s->n_ends == SHADOW_ENDS)
		return -1;
	s->ends[i] = *in;
	s->ends[i].other = -1;
	if (sim->host[in->peer].process)
		s->ends[i].peer_process = sim->host[in->peer].process->number;
	s->n_ends++;
	for (int k = 0; k < i; k++)
		if (s->ends[k].key.incarnation == in->key.incarnation &&
		    s->ends[k].key.id == in->key.id && s->ends[k].is_opener != in->is_opener) {
			s->ends[k].other = i;
			s->ends[i].other = k;
			s->ends[i].peer_process = s->ends[k].process;
			s->ends[k].peer_process = s->ends[i].process;
		}
	return i;
}

int shadow_end_of(const struct sim *sim, const struct fare_group *group)
{
	const struct shadow *s = shadow_of(sim);

	for (unsigned i = s->n_ends; i--;)
		if (s->ends[i].group == group)
			return (int)i;
	return -1;
}

bool shadow_is_settled(const struct sim *sim)
{
	const struct shadow *s = shadow_of(sim);

	for (uint32_t id = 1; id <= s->n_writes; id++) {
		const struct shadow_write *w = write_of(sim, id);

		if (w->is_abandoned)
			continue;
		if (!(w->is_late ? w->is_released : w->is_completed))
			return false;
		if (w->notify && !w->status && !w->is_received &&
		    is_same_process(sim, w->to, w->to_process) &&
		    !(s->ends[w->end].other >= 0 && s->ends[s->ends[w->end].other].is_closed))
			return false;
	}
	return true;
}
