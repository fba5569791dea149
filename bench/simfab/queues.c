/* SPDX-License-Identifier: BSD-2-Clause */
#include "simfab/queues.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/hist.h"
#include "core/rng.h"
#include "core/stats.h"
#include "ecn.h"
#include "pfc.h"
#include "qp/soft/dcqcn.h"

#define PARTS	    100 /* of the time: convergence is judged by these */
#define NEAR	    0.1
#define MOST_CREDIT 1 /* packets: a sender that was paused sends no burst faster than the line */

enum frame { FRAME_NONE, FRAME_XOFF, FRAME_XON };

struct sender {
	struct dcqcn dcqcn;
	struct pfc_pause pause;
	double credit;		  /* packets */
	struct pfc_buffer held;	  /* in the leaf */
	bool is_asked, is_marked; /* is_asked: to pause */
	uint64_t cnp_ns;	  /* of the last one; 0: none */
	uint8_t frame[QUEUES_MAX_DELAY];
	bool cnp[QUEUES_MAX_DELAY]; /* both by the slot in which they arrive */
	uint64_t paused_ns;	    /* when counting began */
};

struct leaf {
	const struct queues *q;
	struct sender *sender;
	uint16_t *fifo; /* who sent it; with CE: and MARK */
	uint64_t slot, head, tail, room;
	double slot_ns;
	uint64_t random;
	struct ecn_rule marking;
	struct pfc_limits limits; /* of each ingress port */
	struct hist depth;
	double *got, *sum; /* packets of each in this part, and in the second half */
	uint64_t marks;
	unsigned good_from; /* the part since which all are near */
	struct queues_result *out;
};

#define MARK 0x8000

static uint64_t leaf_now_ns(const struct leaf *l)
{
	return (uint64_t)((double)l->slot * l->slot_ns);
}

static bool leaf_counts(const struct leaf *l)
{
	return l->slot_ns * (double)l->slot * 2 >= l->q->seconds * 1e9;
}

/* ---- a sender ---- */

static unsigned later(const struct leaf *l)
{
	return (unsigned)((l->slot + l->q->delay_slots) % QUEUES_MAX_DELAY);
}

static void sender_watch_held(struct leaf *l, struct sender *s)
{
	bool wants = s->held.wants_pause;

	if (wants == s->is_asked)
		return;
	s->is_asked = wants;
	s->frame[later(l)] = wants ? FRAME_XOFF : FRAME_XON;
	l->out->pauses += wants && leaf_counts(l);
}

/* What has arrived. A pause lasts until XON: the leaf would repeat it in time. */
static void sender_receive(struct leaf *l, struct sender *s)
{
	unsigned at = (unsigned)(l->slot % QUEUES_MAX_DELAY);

	if (s->frame[at])
		pfc_pause_receive(&s->pause, leaf_now_ns(l),
				  s->frame[at] == FRAME_XOFF ? UINT64_MAX / 2 : 0);
	if (s->cnp[at] && l->q->does_dcqcn) {
		dcqcn_advance(&s->dcqcn, leaf_now_ns(l), 0);
		dcqcn_cnp(&s->dcqcn, leaf_now_ns(l));
	}
	s->frame[at] = FRAME_NONE;
	s->cnp[at] = false;
}

/* Into the leaf, or dropped there. */
static void sender_put(struct leaf *l, unsigned i)
{
	struct sender *s = &l->sender[i];
	const unsigned bytes = l->q->packet_bytes;
	uint64_t queue_ns = ecn_drain_ns((l->tail - l->head) * bytes, l->marking.rate_mbps);
	bool is_marked = ecn_marks(&l->marking, queue_ns, (uint32_t)rng_next(&l->random));

	if (pfc_buffer_enter(&s->held, &l->limits, bytes))
		l->fifo[l->tail++ % l->room] = (uint16_t)(i | (is_marked ? MARK : 0));
	else
		l->out->drops += leaf_counts(l);
	sender_watch_held(l, s);
}

static void sender_step(struct leaf *l, unsigned i)
{
	struct sender *s = &l->sender[i];
	unsigned sent = 0;

	sender_receive(l, s);
	s->credit = fmin(s->credit, MOST_CREDIT) + s->dcqcn.rate_bps / l->q->line_bps;
	if (s->credit >= 1 && !s->pause.paused) {
		s->credit -= 1;
		sent = l->q->packet_bytes;
		sender_put(l, i);
	}
	if (l->q->does_dcqcn)
		dcqcn_advance(&s->dcqcn, leaf_now_ns(l), sent);
}

/* ---- the receiver ---- */

/* The notification point. */
static void leaf_notify(struct leaf *l, struct sender *s)
{
	uint64_t now_ns = leaf_now_ns(l), interval_ns = s->dcqcn.config.cnp_ns;

	if (l->q->cnps_as_model) {
		s->is_marked = true;
		return;
	}
	if (s->cnp_ns && now_ns - s->cnp_ns < interval_ns)
		return;
	s->cnp_ns = now_ns;
	s->cnp[later(l)] = true;
}

/* By the model: at the end of each interval; those of different senders end at different times. */
static void leaf_notify_all(struct leaf *l)
{
	const unsigned n = l->q->senders;
	uint64_t slots = (uint64_t)((double)l->sender[0].dcqcn.config.cnp_ns / l->slot_ns);

	for (unsigned i = 0; i < n; i++) {
		struct sender *s = &l->sender[i];

		if (!s->is_marked || (l->slot + i * slots / n) % slots)
			continue;
		s->is_marked = false;
		s->cnp[later(l)] = true;
	}
}

static void leaf_send(struct leaf *l)
{
	unsigned packet, from;

	if (l->head == l->tail)
		return;
	packet = l->fifo[l->head % l->room];
	from = packet & (MARK - 1);
	if (leaf_counts(l)) {
		hist_add(&l->depth, (l->tail - l->head) * l->q->packet_bytes);
		l->sum[from]++;
		l->out->packets++;
		l->marks += packet & MARK ? 1 : 0;
	}
	l->head++;
	l->got[from]++;
	pfc_buffer_leave(&l->sender[from].held, &l->limits, l->q->packet_bytes);
	sender_watch_held(l, &l->sender[from]);
	if (packet & MARK)
		leaf_notify(l, &l->sender[from]);
}

/* ---- all of it ---- */

static void leaf_part_ends(struct leaf *l, unsigned part, uint64_t slots)
{
	const unsigned n = l->q->senders;
	double fair = (double)slots / n, off = 0;

	for (unsigned i = 0; i < n; i++) {
		off += fabs(l->got[i] - fair) / fair / n;
		l->got[i] = 0;
	}
	if (off > NEAR)
		l->good_from = part + 1;
}

static void leaf_begins_to_count(struct leaf *l)
{
	for (unsigned i = 0; i < l->q->senders; i++) {
		struct pfc_pause *p = &l->sender[i].pause;

		l->sender[i].paused_ns =
			p->paused_ns + (p->paused ? leaf_now_ns(l) - p->since_ns : 0);
	}
}

static void leaf_end(struct leaf *l, uint64_t slots)
{
	struct queues_result *out = l->out;
	double counted_ns = (double)slots * l->slot_ns / 2;

	for (unsigned i = 0; i < l->q->senders; i++) {
		const struct sender *s = &l->sender[i];
		uint64_t ns = s->pause.paused_ns - s->paused_ns;

		if (s->pause.paused)
			ns += leaf_now_ns(l) - s->pause.since_ns;
		out->paused += (double)ns / counted_ns / l->q->senders;
	}
	out->depth_p50 = hist_quantile(&l->depth, 0.5);
	out->depth_p99 = hist_quantile(&l->depth, 0.99);
	out->depth_max = (double)l->depth.max;
	out->marked = out->packets ? (double)l->marks / (double)out->packets : 0;
	out->of_line = (double)out->packets * l->slot_ns / counted_ns;
	out->jfi = stats_jfi(l->sum, l->q->senders);
	out->converged_s = l->good_from < PARTS ? l->q->seconds * l->good_from / PARTS : NAN;
}

static void leaf_run(struct leaf *l)
{
	uint64_t part_slots = (uint64_t)(l->q->seconds * 1e9 / l->slot_ns) / PARTS;

	for (unsigned part = 0; part < PARTS; part++) {
		if (part == PARTS / 2)
			leaf_begins_to_count(l);
		for (uint64_t k = 0; k < part_slots; k++, l->slot++) {
			if (l->q->cnps_as_model)
				leaf_notify_all(l);
			for (unsigned i = 0; i < l->q->senders; i++) /* each is first in turn */
				sender_step(l, (unsigned)((i + l->slot) % l->q->senders));
			leaf_send(l);
		}
		leaf_part_ends(l, part, part_slots);
	}
	leaf_end(l, part_slots * PARTS);
}

static bool queues_fit(const struct queues *q)
{
	double slots = q->seconds * q->line_bps / 8 / q->packet_bytes;

	return q->line_bps >= 1e6 && q->line_bps < 1e15 && q->senders >= 1 &&
	       q->senders <= QUEUES_MAX_SENDERS && q->packet_bytes && q->delay_slots >= 1 &&
	       q->delay_slots < QUEUES_MAX_DELAY && slots >= 10 * PARTS &&
	       slots <= QUEUES_MAX_SLOTS && q->max_percent <= 100 && q->xoff_bytes > q->xon_bytes &&
	       q->xon_bytes >= 0 && q->headroom_bytes >= 0;
}

int queues_run(const struct queues *q, struct queues_result *out)
{
	struct leaf l = {.q = q, .random = q->seed, .out = out};
	struct dcqcn_config config = dcqcn_published(q->line_bps);

	if (!queues_fit(q))
		return -EINVAL;
	*out = (struct queues_result){.packets = 0};
	l.slot_ns = q->packet_bytes * 8e9 / q->line_bps;
	l.room = q->senders * ((uint64_t)(q->xoff_bytes + q->headroom_bytes) / q->packet_bytes + 1);
	l.marking = ecn_rule(&(struct ecn_ramp){.rate_mbps = (unsigned)(q->line_bps / 1e6),
						.min_bytes = q->min_bytes,
						.max_bytes = q->max_bytes,
						.max_percent = q->max_percent});
	l.limits = (struct pfc_limits){.xoff_bytes = q->xoff_bytes,
				       .xon_bytes = q->xon_bytes,
				       .limit_bytes = q->xoff_bytes + q->headroom_bytes};
	l.sender = calloc(q->senders, sizeof(*l.sender));
	l.got = calloc(q->senders, sizeof(*l.got));
	l.sum = calloc(q->senders, sizeof(*l.sum));
	l.fifo = calloc(l.room, sizeof(*l.fifo));
	hist_init(&l.depth);
	for (unsigned i = 0; l.sender && i < q->senders; i++)
		dcqcn_init(&l.sender[i].dcqcn, &config);
	if (l.sender && l.got && l.sum && l.fifo)
		leaf_run(&l);
	else
		out = NULL;
	free(l.sender);
	free(l.got);
	free(l.sum);
	free(l.fifo);
	return out ? 0 : -ENOMEM;
}
