/* SPDX-License-Identifier: BSD-2-Clause */
#include "gray.h"

#include <math.h>
#include <string.h>

#include "health_limits.h"
#include "health_planted.h"

/* Ways in which a sub-port may lose: the narrowest that explains the losses is taken. */
enum hop { HOP_OUT, HOP_REMOTE, HOP_BACK, HOP_BOTH, HOPS };

/* Of a probe sent before anything was known of its hop there or back nothing can be said. */
static bool is_known(enum hop hop, const struct loss_rtt_probe *p)
{
	return hop == HOP_OUT || (hop == HOP_REMOTE ? p->remote >= 0 : p->back >= 0);
}

static bool is_over(enum hop hop, uint32_t s, const struct loss_rtt_probe *p)
{
	switch (hop) {
	case HOP_OUT:
		return p->local_sub_port == s;
	case HOP_REMOTE:
		return p->remote == (int8_t)s;
	case HOP_BACK:
		return p->back == (int8_t)s;
	case HOP_BOTH:
	case HOPS:
		break;
	}
	return p->local_sub_port == s || p->back == (int8_t)s;
}

struct tally {
	uint32_t n, lost;
	uint32_t n_since; /* the oldest loss, that one included */
	uint32_t run;	  /* lost in a row */
};

/*
 * Counts what is_over sub-port s and the rest. A loss is held against s only if probes of the rest,
 * sent just before and just after it, were answered: while the peer was away all were lost, and
 * what was well before says nothing of then.
 */
static void count(const struct gray *g, const struct loss_rtt *l, enum hop hop, uint32_t s,
		  struct tally *with, struct tally *rest)
{
	uint32_t at = 0, i = 0, i_rest = 0, n_between = 0, run = 0, n_lost = 0;
	const struct loss_rtt_probe *p;
	enum loss_rtt_outcome outcome;
	bool answered = false;

	*with = *rest = (struct tally){0};
	for (; loss_rtt_decided(l, &at, &p, &outcome); i++) {
		bool lost = outcome != LOSS_RTT_ANSWERED;

		if (!is_known(hop, p) || gray_is_over(g, p->local_sub_port, p->remote, p->back))
			continue;
		if (is_over(hop, s, p)) {
			with->n++;
			n_between += lost;
			run = lost ? run : 0;
			continue;
		}
		if (answered && !lost && i - i_rest <= HEALTH_RUN) {
			with->lost += n_between;
			run += n_between;
			with->run = run > with->run ? run : with->run;
		}
		answered = !lost;
		i_rest = i;
		n_between = 0;
		rest->n++;
		rest->lost += lost;
		if (with->lost + rest->lost > n_lost) {
			with->n_since = with->n;
			rest->n_since = rest->n;
			n_lost = with->lost + rest->lost;
		}
	}
}

static double log_choose(uint32_t n, uint32_t k)
{
	int sign;

	return lgamma_r(n + 1., &sign) - lgamma_r(k + 1., &sign) - lgamma_r(n - k + 1., &sign);
}

/*
 * How likely chance is, if all sub-ports lose alike, to put as many or more of the losses on this
 * one: of all ways to choose the lost ones among those sent since the oldest (the hypergeometric
 * distribution's tail).
 */
static double chance(const struct tally *with, const struct tally *rest)
{
	uint32_t lost = with->lost + rest->lost, n = with->n_since + rest->n_since;
	double p = 0;

	for (uint32_t others = 0; others <= rest->lost; others++)
		if (lost - others <= with->n_since && others <= rest->n_since)
			p += exp(log_choose(with->n_since, lost - others) +
				 log_choose(rest->n_since, others) - log_choose(n, lost));
	return p;
}

/* queues: a full one drops part of what comes; what lets nothing through at all is no queue. */
static bool explains(const struct tally *with, const struct tally *rest, uint32_t max_loss_ppm,
		     bool queues)
{
	if (rest->n < HEALTH_RUN)
		return false;
	if (queues && with->run < HEALTH_RUN)
		return false;
	return with->lost >= HEALTH_LOST_MIN && rest->lost * 8 <= with->lost &&
	       (uint64_t)rest->lost * 1000000 <= (uint64_t)max_loss_ppm * rest->n &&
	       (uint64_t)with->lost * 1000000 > (uint64_t)max_loss_ppm * with->n;
}

static void mark_gray(struct gray *g, enum gray_side side, uint32_t s, uint64_t now)
{
	struct gray_trial *t = &g->trials[side][s];
	bool again = t->wanted && now < t->cleared_ns + HEALTH_HONEST_NS;

	t->wanted = (uint16_t)(!again			       ? HEALTH_RUN
			       : t->wanted < HEALTH_PASSES_MAX ? 2 * t->wanted
							       : HEALTH_PASSES_MAX);
	t->passes = 0;
	t->sequence = 0;
	t->next_ns = now + HEALTH_TRY_NS;
	g->mask[side] |= (uint8_t)(1u << s);
}

static bool is_gray(const struct gray *g, enum gray_side side, int8_t s)
{
	return s >= 0 && g->mask[side] >> s & 1;
}

bool gray_is_over(const struct gray *g, uint8_t local, int8_t remote, int8_t back)
{
	return is_gray(g, GRAY_LOCAL, (int8_t)local) || is_gray(g, GRAY_REMOTE, remote) ||
	       is_gray(g, GRAY_LOCAL, back);
}

/* Losses of the window by hop and sub-port, without those that touch what is gray already. */
struct losses {
	uint32_t by[HOPS][GRAY_MAX_SUB_PORTS];
	uint32_t all[HOPS];
};

static void sum_up(const struct gray *g, const struct loss_rtt *l, struct losses *out)
{
	const struct loss_rtt_probe *p;
	enum loss_rtt_outcome outcome;
	uint32_t at = 0;

	memset(out, 0, sizeof(*out));
	while (loss_rtt_decided(l, &at, &p, &outcome)) {
		if (outcome == LOSS_RTT_ANSWERED ||
		    gray_is_over(g, p->local_sub_port, p->remote, p->back))
			continue;
		for (enum hop hop = HOP_OUT; hop < HOPS; hop++) {
			out->all[hop] += is_known(hop, p);
			for (uint32_t s = 0; s < GRAY_MAX_SUB_PORTS; s++)
				out->by[hop][s] += is_known(hop, p) && is_over(hop, s, p);
		}
	}
}

/* As explains() would at best have it: most sub-ports need no counting. */
static bool may_explain(const struct losses *losses, enum hop hop, uint32_t s)
{
	uint32_t with = losses->by[hop][s], rest = losses->all[hop] - with;

	return with >= HEALTH_LOST_MIN && rest * 8 <= with;
}

/*
 * Probes that touch what is gray already say nothing of the rest: so the last sub-port in use is
 * never marked.
 */
enum gray_finding gray_find(struct gray *g, const struct loss_rtt *l, uint32_t max_loss_ppm,
			    bool queues, uint64_t now, enum gray_side *side, uint32_t *sub_port)
{
	enum gray_finding finding = GRAY_NOTHING;
	struct losses losses;

	sum_up(g, l, &losses);
	for (enum hop hop = HOP_OUT; hop < HOPS; hop++)
		for (uint32_t s = 0; s < GRAY_MAX_SUB_PORTS; s++) {
			struct tally with, rest;
			double p;

			*side = hop == HOP_REMOTE ? GRAY_REMOTE : GRAY_LOCAL;
			*sub_port = s;
			if (!may_explain(&losses, hop, s))
				continue;
			count(g, l, hop, s, &with, &rest);
			if (!explains(&with, &rest, max_loss_ppm, queues))
				continue;
			p = chance(&with, &rest);
			if (p <= 100 * HEALTH_CHANCE_MAX)
				finding = GRAY_SUSPICION;
			if (p > HEALTH_CHANCE_MAX && !HEALTH_PLANTED(gray_hasty))
				continue;
			mark_gray(g, *side, s, now);
			return GRAY_FOUND;
		}
	return finding;
}

bool gray_is_due(const struct gray *g, uint64_t now, enum gray_side *side, uint32_t *sub_port)
{
	for (*side = GRAY_LOCAL; *side < GRAY_SIDES; ++*side)
		for (*sub_port = 0; *sub_port < GRAY_MAX_SUB_PORTS; ++*sub_port)
			if (g->mask[*side] >> *sub_port & 1 &&
			    now >= g->trials[*side][*sub_port].next_ns)
				return true;
	return false;
}

void gray_tried(struct gray *g, enum gray_side side, uint32_t s, uint32_t sequence, uint64_t now)
{
	struct gray_trial *t = &g->trials[side][s];

	if (t->sequence) /* the one before was not answered */
		t->passes = 0;
	t->sequence = sequence;
	t->next_ns = now + HEALTH_TRY_NS;
}

bool gray_answered(struct gray *g, uint32_t sequence, uint64_t now, enum gray_side *side,
		   uint32_t *sub_port)
{
	for (*side = GRAY_LOCAL; *side < GRAY_SIDES; ++*side)
		for (*sub_port = 0; *sub_port < GRAY_MAX_SUB_PORTS; ++*sub_port) {
			struct gray_trial *t = &g->trials[*side][*sub_port];

			if (!(g->mask[*side] >> *sub_port & 1) || t->sequence != sequence)
				continue;
			t->sequence = 0;
			if (++t->passes < t->wanted)
				return false;
			t->cleared_ns = now;
			g->mask[*side] &= (uint8_t) ~(1u << *sub_port);
			return true;
		}
	return false;
}

bool gray_forget(struct gray *g, enum gray_side side, uint32_t s)
{
	bool was = g->mask[side] >> s & 1;

	g->mask[side] &= (uint8_t) ~(1u << s);
	g->trials[side][s] = (struct gray_trial){0};
	return was;
}
