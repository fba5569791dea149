/* SPDX-License-Identifier: BSD-2-Clause */
#include "loss_rtt.h"

#include <string.h>

#include "health_limits.h"
#include "health_planted.h"

/* of either side, and source ports, as far as routes are known */
#define SUB_PORTS    8u
#define PORTS	     16u
#define ROUTES_KNOWN (SUB_PORTS * SUB_PORTS * SUB_PORTS)
#define ROUTES	     (ROUTES_KNOWN + SUB_PORTS * PORTS)

void loss_rtt_init(struct loss_rtt *l)
{
	memset(l, 0, sizeof(*l));
	l->next = 1;
	for (unsigned i = 0; i < LOSS_RTT_WINDOW; i++) /* nothing waits for an answer */
		l->ring[i].answered = true;
}

static struct loss_rtt_probe *at(struct loss_rtt *l, uint32_t sequence)
{
	return &l->ring[sequence % LOSS_RTT_WINDOW];
}

static void decide(struct loss_rtt *l, uint32_t sequence, uint8_t outcome)
{
	uint8_t *slot = &l->outcome[sequence % LOSS_RTT_WINDOW];

	/* the slot's former outcome leaves the window */
	if (l->n_decided == LOSS_RTT_WINDOW) {
		l->n_lost -= *slot == LOSS_RTT_LOST;
	} else {
		l->n_decided++;
	}
	*slot = outcome;
	l->n_lost += outcome == LOSS_RTT_LOST;
	l->n_lost_ever += outcome == LOSS_RTT_LOST;
	l->settled = sequence;
	l->undecided_ns = sequence + 1 == l->next ? 0 : at(l, sequence + 1)->sent_ns;
}

static uint8_t outcome_of(struct loss_rtt *l, uint32_t sequence)
{
	const struct loss_rtt_probe *p = at(l, sequence);

	if (p->answered)
		return LOSS_RTT_ANSWERED;
	if (p->void_)
		return LOSS_RTT_VOID;
	return LOSS_RTT_LOST;
}

uint32_t loss_rtt_sent(struct loss_rtt *l, uint64_t now, const struct loss_rtt_probe *probe)
{
	uint32_t sequence = l->next++;

	if (sequence - l->settled > LOSS_RTT_WINDOW) /* its slot is still undecided */
		decide(l, l->settled + 1, outcome_of(l, l->settled + 1));
	if (!l->undecided_ns)
		l->undecided_ns = now;
	*at(l, sequence) = *probe;
	at(l, sequence)->sent_ns = now;
	at(l, sequence)->answered = false;
	at(l, sequence)->rtt_us = 0;
	l->n_sent_ever++;
	return sequence;
}

/* Four buckets to the octave of microseconds. */
static unsigned bucket_of(uint64_t ns)
{
	uint64_t us = ns / 1000 + 1;
	unsigned octave = 63u - (unsigned)__builtin_clzll(us), bucket;

	bucket = octave < 2 ? (unsigned)us - 1
			    : 4 * (octave - 1) + (unsigned)(us >> (octave - 2) & 3) - 1;
	return bucket < LOSS_RTT_BUCKETS ? bucket : LOSS_RTT_BUCKETS - 1;
}

static uint64_t bucket_end_ns(unsigned bucket)
{
	unsigned octave = (bucket + 1) / 4 + 1;

	if (bucket < 3)
		return (bucket + 1) * UINT64_C(1000);
	return ((UINT64_C(4) + (bucket + 1) % 4 + 1) << (octave - 2)) * 1000 - 1000;
}

/* The peer was away, or we were, if it is so long. */
static void note_peak(uint64_t *peak, uint64_t ns)
{
	if (ns > HEALTH_PEAK_MAX_NS)
		ns = HEALTH_PEAK_MAX_NS;
	*peak = ns >= *peak ? ns : *peak - (*peak - ns) / (2 * LOSS_RTT_WINDOW);
}

static uint32_t microseconds(uint64_t ns)
{
	return ns / 1000 < UINT32_MAX ? (uint32_t)(ns / 1000) : UINT32_MAX;
}

/* waited_ns: to be read, here and there; an operator is shown what the network takes. */
static void note_rtt(struct loss_rtt *l, uint64_t now, uint64_t waited_ns, struct loss_rtt_probe *p)
{
	uint64_t ns = now > p->sent_ns ? now - p->sent_ns : 0;

	p->rtt_us = microseconds(ns);
	if (l->n_rtt >= HEALTH_RTT_MEMORY) {
		l->n_rtt = 0;
		for (unsigned i = 0; i < LOSS_RTT_BUCKETS; i++)
			l->n_rtt += l->histogram[i] /= 2;
	}
	l->histogram[bucket_of(ns > waited_ns ? ns - waited_ns : 0)]++;
	l->n_rtt++;
	note_peak(&l->rtt_peak_ns, ns);
}

/* What was taken for lost had been waiting in queues. It was reported as lost, and stays so. */
static void void_late(struct loss_rtt *l, uint32_t sequence)
{
	uint8_t *outcome = &l->outcome[sequence % LOSS_RTT_WINDOW];

	l->n_lost -= *outcome == LOSS_RTT_LOST;
	*outcome = LOSS_RTT_VOID;
}

bool loss_rtt_answered(struct loss_rtt *l, uint64_t now, uint32_t sequence, uint64_t nonce,
		       uint64_t waited_ns, struct loss_rtt_probe *probe)
{
	struct loss_rtt_probe *p = at(l, sequence);
	uint32_t age = l->next - sequence; /* 1: the newest */

	if (age == 0 || age > LOSS_RTT_WINDOW || p->nonce != nonce || p->answered)
		return false;
	p->answered = true;
	if (age >= l->next - l->settled) {
		void_late(l, sequence);
		note_rtt(l, now, waited_ns, p);
		return false;
	}
	if (!l->newest_answered || (int32_t)(sequence - l->newest_answered) > 0)
		l->newest_answered = sequence;
	note_rtt(l, now, waited_ns, p);
	*probe = *p;
	return true;
}

bool loss_rtt_answered_one(struct loss_rtt *l, uint64_t now, uint64_t waited_ns,
			   struct loss_rtt_probe *probe)
{
	for (uint32_t sequence = l->next - 1; sequence != l->settled; sequence--)
		if (!at(l, sequence)->answered)
			return loss_rtt_answered(l, now, sequence, at(l, sequence)->nonce,
						 waited_ns, probe);
	return false;
}

void loss_rtt_settle(struct loss_rtt *l, uint64_t before)
{
	while (l->undecided_ns && l->undecided_ns < before)
		decide(l, l->settled + 1, outcome_of(l, l->settled + 1));
}

void loss_rtt_void(struct loss_rtt *l, uint8_t local_sub_port)
{
	for (uint32_t s = l->settled + 1; s != l->next; s++)
		if (at(l, s)->local_sub_port == local_sub_port)
			at(l, s)->void_ = true;
}

uint64_t loss_rtt_silent_since(const struct loss_rtt *l)
{
	uint32_t first = l->newest_answered + 1;

	if (l->next - first > LOSS_RTT_WINDOW)
		first = l->next - LOSS_RTT_WINDOW;
	for (uint32_t s = first; s != l->next; s++)
		if (!l->ring[s % LOSS_RTT_WINDOW].void_)
			return l->ring[s % LOSS_RTT_WINDOW].sent_ns;
	return 0;
}

void loss_rtt_forget(struct loss_rtt *l)
{
	l->forgotten_ns = at(l, l->next - 1)->sent_ns;
	for (uint32_t s = l->settled + 1; s != l->next; s++)
		at(l, s)->void_ = true;
	memset(l->outcome, LOSS_RTT_VOID, sizeof(l->outcome));
	l->n_lost = l->n_decided = 0;
}

bool loss_rtt_decided(const struct loss_rtt *l, uint32_t *at_, const struct loss_rtt_probe **probe,
		      enum loss_rtt_outcome *outcome)
{
	while (*at_ < l->n_decided) {
		uint32_t sequence = l->settled - (*at_)++;

		if (l->next - sequence > LOSS_RTT_WINDOW) /* its slot has been taken over */
			return false;
		if (l->outcome[sequence % LOSS_RTT_WINDOW] == LOSS_RTT_VOID)
			continue;
		*probe = &l->ring[sequence % LOSS_RTT_WINDOW];
		*outcome = l->outcome[sequence % LOSS_RTT_WINDOW];
		return true;
	}
	return false;
}

uint32_t loss_rtt_lost_since(const struct loss_rtt *l, uint64_t since_ns)
{
	const struct loss_rtt_probe *p;
	enum loss_rtt_outcome outcome;
	uint32_t n = 0, i = 0;

	while (loss_rtt_decided(l, &i, &p, &outcome) && p->sent_ns >= since_ns)
		n += outcome == LOSS_RTT_LOST;
	return n;
}

/* The cables that a probe takes, there and back; where they are not known, its port. */
static unsigned route_of(const struct loss_rtt_probe *p)
{
	unsigned local = p->local_sub_port % SUB_PORTS;

	if (p->remote < 0 || p->back < 0)
		return ROUTES_KNOWN + local * PORTS + p->port % PORTS;
	return (local * SUB_PORTS + (unsigned)p->remote % SUB_PORTS) * SUB_PORTS +
	       (unsigned)p->back % SUB_PORTS;
}

uint32_t loss_rtt_clean_run(const struct loss_rtt *l, uint64_t now, uint64_t patience_ns,
			    uint64_t min_age_ns)
{
	uint64_t passed[(ROUTES + 63) / 64] = {0}; /* by route: a later probe was answered */
	uint32_t n = 0;

	for (uint32_t i = 1; i <= LOSS_RTT_WINDOW && i <= l->n_sent_ever; i++) {
		const struct loss_rtt_probe *p = &l->ring[(l->next - i) % LOSS_RTT_WINDOW];
		bool counts =
			p->answered && now >= p->sent_ns + p->rtt_us * UINT64_C(1000) + min_age_ns;
		unsigned route = route_of(p);

		if (p->sent_ns <= l->forgotten_ns)
			return n;
		if (p->void_)
			continue;
		if (!p->answered &&
		    (now > p->sent_ns + patience_ns ||
		     (passed[route / 64] >> route % 64 & 1 && !HEALTH_PLANTED(rows_by_time))))
			return n;
		n += counts;
		passed[route / 64] |= (uint64_t)counts << route % 64;
	}
	return l->n_sent_ever >= LOSS_RTT_WINDOW ? UINT32_MAX : n;
}

uint32_t loss_rtt_ppm(const struct loss_rtt *l)
{
	return l->n_decided ? (uint32_t)((uint64_t)l->n_lost * 1000000 / l->n_decided) : 0;
}

uint64_t loss_rtt_percentile_ns(const struct loss_rtt *l, unsigned percent)
{
	uint64_t rank = ((uint64_t)l->n_rtt * percent + 99) / 100, seen = 0;

	if (!l->n_rtt)
		return 0;
	if (!rank)
		rank = 1;
	for (unsigned i = 0; i < LOSS_RTT_BUCKETS; i++) {
		seen += l->histogram[i];
		if (seen >= rank)
			return bucket_end_ns(i);
	}
	return bucket_end_ns(LOSS_RTT_BUCKETS - 1);
}
