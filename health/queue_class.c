/* SPDX-License-Identifier: BSD-2-Clause */
#include "queue_class.h"

#include "health_limits.h"
#include "loss_rtt.h"

uint32_t queue_class_sent(struct queue_class *q, uint64_t nonce, uint64_t now)
{
	uint32_t pair = q->next++;

	q->pairs[pair % QUEUE_CLASS_PAIRS] = (struct queue_class_pair){nonce, now, {0}};
	return pair * QUEUE_CLASS_KINDS;
}

static uint64_t queue_class_larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void grow_old(struct queue_class *q)
{
	q->n_before /= 2;
	q->n_behind /= 2;
	for (int k = 0; k < QUEUE_CLASS_KINDS; k++)
		q->longest_ns[k] /= 2;
}

/* Both of a pair were answered. */
static void compare(struct queue_class *q, const struct queue_class_pair *pair, uint64_t burst_ns)
{
	uint64_t probe = pair->rtt_ns[QUEUE_CLASS_PROBE] - q->fastest_ns;
	uint64_t data = pair->rtt_ns[QUEUE_CLASS_DATA] - q->fastest_ns;

	if (queue_class_larger(probe, data) <= HEALTH_CLASS_NOISE_NS + 4 * burst_ns)
		return;
	if (q->n_before + q->n_behind >= 2 * LOSS_RTT_WINDOW)
		grow_old(q);
	if (probe < data / 2)
		q->n_before++;
	else
		q->n_behind++;
	q->longest_ns[QUEUE_CLASS_PROBE] =
		queue_class_larger(q->longest_ns[QUEUE_CLASS_PROBE], probe);
	q->longest_ns[QUEUE_CLASS_DATA] = queue_class_larger(q->longest_ns[QUEUE_CLASS_DATA], data);
}

bool queue_class_answered(struct queue_class *q, uint32_t sequence, uint64_t nonce,
			  uint64_t came_ns, uint64_t burst_ns)
{
	struct queue_class_pair *pair = &q->pairs[sequence / QUEUE_CLASS_KINDS % QUEUE_CLASS_PAIRS];
	uint64_t *rtt_ns = &pair->rtt_ns[sequence % QUEUE_CLASS_KINDS];

	if (!nonce || pair->nonce != nonce || *rtt_ns || came_ns <= pair->sent_ns)
		return false;
	*rtt_ns = came_ns - pair->sent_ns;
	if (!q->fastest_ns || *rtt_ns < q->fastest_ns)
		q->fastest_ns = *rtt_ns;
	if (pair->rtt_ns[QUEUE_CLASS_PROBE] && pair->rtt_ns[QUEUE_CLASS_DATA])
		compare(q, pair, burst_ns);
	return true;
}

/* One port without a priority queue is enough for probes to wait: its share of pairs decides. */
enum queue_class_finding queue_class_finding(const struct queue_class *q)
{
	uint32_t n = q->n_before + q->n_behind;

	if (n < HEALTH_RUN)
		return QUEUE_CLASS_UNKNOWN;
	return q->n_behind > n / HEALTH_CLASS_SHARE ? QUEUE_CLASS_BEHIND : QUEUE_CLASS_BEFORE;
}

const char *queue_class_name(enum queue_class_finding finding)
{
	static const char *const names[] = {[QUEUE_CLASS_UNKNOWN] = "no queue seen",
					    [QUEUE_CLASS_BEFORE] = "before data",
					    [QUEUE_CLASS_BEHIND] = "behind data"};

	return names[finding];
}
