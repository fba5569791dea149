/* SPDX-License-Identifier: BSD-2-Clause */
#include "link.h"

/* Senders halve what they send when it drops, and it falls to a half; then it fills again. */
static uint64_t standing(const struct link *link, uint64_t now_ns)
{
	uint64_t at;

	if (!link->saw_ns)
		return link->queue_ns;
	at = (now_ns - link->queue_full_ns) % link->saw_ns;
	if (at < link->saw_ns / 4)
		return link->queue_ns - link->queue_ns * 2 * at / link->saw_ns;
	return link->queue_ns / 2 +
	       link->queue_ns * 2 * (at - link->saw_ns / 4) / (3 * link->saw_ns);
}

/* What the queue of others holds now, as time. */
static uint64_t waiting(const struct link *link, uint64_t now_ns)
{
	if (now_ns < link->queue_from_ns || now_ns >= link->queue_to_ns + link->queue_ns)
		return 0;
	if (now_ns < link->queue_full_ns)
		return (uint64_t)((double)link->queue_ns * (double)(now_ns - link->queue_from_ns) /
				  (double)(link->queue_full_ns - link->queue_from_ns));
	return now_ns < link->queue_to_ns ? standing(link, now_ns)
					  : link->queue_to_ns + link->queue_ns - now_ns;
}

/* A queue that is full to the byte has room for a short packet more often than for a long one. */
static bool drops(const struct link *link, struct prng *prng, uint32_t bytes, uint64_t wait_ns,
		  uint64_t now_ns)
{
	return now_ns >= link->queue_full_ns && now_ns < link->queue_to_ns &&
	       wait_ns > link->queue_ns * 9 / 10 &&
	       prng_chance(prng, bytes > 1000 ? 2 * link->drop_per_mille : link->drop_per_mille);
}

uint64_t link_through(struct link *link, struct prng *prng, uint32_t bytes, bool is_data,
		      uint64_t now_ns)
{
	uint64_t batch_ns = is_data ? 0 : link->batch_ns;
	uint64_t wait_ns = waiting(link, now_ns), out_ns;

	if (wait_ns && batch_ns)
		wait_ns = prng_below(prng, batch_ns);
	if (link->is_black || (link->most_bytes && bytes > link->most_bytes) ||
	    prng_chance(prng, link->loss_per_mille) ||
	    (!batch_ns && drops(link, prng, bytes, wait_ns, now_ns)))
		return 0;
	out_ns = now_ns + wait_ns;
	if (link->packet_ns) { /* it has a rate */
		out_ns = out_ns > link->free_ns ? out_ns : link->free_ns;
		out_ns = out_ns > link->hold_until_ns ? out_ns : link->hold_until_ns;
		link->free_ns = out_ns += link->packet_ns;
	}
	return out_ns + link->delay_ns + (link->jitter_ns ? prng_below(prng, link->jitter_ns) : 0);
}
