/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * worker_base.c - what every part of a worker uses: its clock, its end, numbers of a request,
 * groups and what they count. Calls no other part.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/clock.h"
#include "engine/worker_internal.h"

uint64_t worker_now_ns(const struct worker *w)
{
	return clock_now_ns() - (uint64_t)w->clock_offset_ns + w->planted_ns;
}

void worker_fail(struct worker *w, const char *format, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (w->coordinator) {
		json_t *event = json_pack("{s:s, s:i, s:s}", "event", "error", "gpu", (int)w->gpu,
					  "text", text);

		rendezvous_send(w->coordinator, event);
		json_decref(event);
	} else {
		fprintf(stderr, "farebench worker %u: %s\n", w->gpu, text);
	}
	exit(1);
}

void worker_send(struct worker *w, json_t *event)
{
	if (!event || rendezvous_send(w->coordinator, event))
		exit(1); /* the coordinator is gone, and it was the only one to tell */
	json_decref(event);
}

void worker_wake_at(struct worker *w, uint64_t at_ns)
{
	if (at_ns < w->wake_ns)
		w->wake_ns = at_ns;
}

bool worker_in_window(const struct worker *w, uint64_t t_ns)
{
	return t_ns >= w->from_ns && (!w->to_ns || t_ns < w->to_ns);
}

uint64_t worker_number(struct worker *w, json_t *object, const char *key, uint64_t max)
{
	json_t *value = json_object_get(object, key);

	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
	    (uint64_t)json_integer_value(value) > max)
		worker_fail(w, "request: %s: an integer 0..%llu is expected", key,
			    (unsigned long long)max);
	return (uint64_t)json_integer_value(value);
}

void worker_address(struct worker *w, json_t *object, struct in6_addr *out)
{
	const char *text = json_string_value(json_object_get(object, "address"));

	if (!text || address_parse(text, out))
		worker_fail(w, "request: address: %s is none", text ? text : "nothing");
	if (!limits_allow(&w->limits, out))
		worker_fail(w,
			    "request: address: %s is outside of 198.18.0.0/15, 2001:db8::/32 and "
			    "what this host's inventory allows: nothing was sent",
			    text);
}

void worker_open_group(struct worker *w, struct worker_tx *tx)
{
	uint32_t is[2] = {w->nonce, tx->key};
	struct fare_group_options options = tx->options;
	int err;

	options.private_data = is;
	options.private_bytes = sizeof(is);
	options.baseline = &tx->baseline;
	err = fare_group_open(&tx->group, w->domain, &tx->peer, &options);
	if (err)
		worker_fail(w, "opening a group toward GPU %u: %s", tx->gpu, strerror(-err));
}

void worker_tx_stats(const struct worker_tx *tx, struct fare_group_stats *out)
{
	*out = tx->last;
	if (tx->group)
		fare_group_stats(tx->group, out);
}

void worker_tx_mark(const struct worker_tx *tx, struct worker_mark *out)
{
	struct fare_group_stats stats = {0};

	if (!tx->load->read)
		worker_tx_stats(tx, &stats);
	memcpy(out->plane_bytes, stats.plane_bytes, sizeof(out->plane_bytes));
}

void worker_rx_mark(const struct worker_rx *rx, struct worker_mark *out)
{
	struct fare_group_stats stats = {0};

	if (rx->load->read && rx->group)
		fare_group_stats(rx->group, &stats);
	memcpy(out->plane_bytes, stats.plane_bytes, sizeof(out->plane_bytes));
}

/* Each group has the figures of the whole endpoint, as of when it was asked last. */
static void worker_packets_of(const struct fare_group_stats *stats, struct worker_packets *out)
{
	if (stats->retransmitted_packets > out->retransmitted)
		out->retransmitted = stats->retransmitted_packets;
	if (stats->out_of_order_packets > out->out_of_order)
		out->out_of_order = stats->out_of_order_packets;
}

struct worker_packets worker_packets(const struct worker *w)
{
	struct worker_packets out = {0, 0};
	struct fare_group_stats stats;

	for (unsigned i = 0; i < w->n_tx; i++) {
		worker_tx_stats(&w->tx[i], &stats);
		worker_packets_of(&stats, &out);
	}
	for (unsigned i = 0; i < w->n_rx; i++) {
		if (!w->rx[i].group)
			continue;
		fare_group_stats(w->rx[i].group, &stats);
		worker_packets_of(&stats, &out);
	}
	return out;
}
