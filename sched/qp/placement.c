/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/placement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach.h"
#include "flow_table.h"
#include "qp/baseline.h"
#include "qp/lanes.h"
#include "qp/transfer_state.h"

#define PHASE_STEPS 1024 /* steps for a phase of 1: the schedule may have no short period */
#define SMALL_BYTES 2048u

/* ---- flow ---- */

/* The next bound flow in turn. Each call binds one more flow until all are bound. */
static uint64_t next_flow(struct transfer *t, uint32_t bytes)
{
	uint64_t flow = t->placement.flow_turn % t->attr.options->flows;
	struct flow_table_stats stats;
	struct flow_slot slot;

	flow_table_stats(t->placement.flows, &stats);
	if (stats.in_use < t->attr.options->flows &&
	    !flow_table_pick(t->placement.flows, flow, t->attr.ep->now_ns, &slot))
		t->placement.flow_turn++;
	(void)flow_table_turn(t->placement.flows, bytes,
			      &flow); /* flow is unchanged if none is bound */
	return flow;
}

static bool choose_flow(struct transfer *t, struct chunk *c)
{
	struct flow_slot slot;

	if (c->flow == UINT64_MAX)
		c->flow = next_flow(t, c->length);
	if (flow_table_pick(t->placement.flows, c->flow, t->attr.ep->now_ns, &slot) ||
	    !t->weights.w[slot.plane])
		return false;
	c->lane = slot.plane;
	c->qp = slot.index;
	return true;
}

static void follow_flow(struct transfer *t, const uint64_t *bps, const struct weights *w)
{
	(void)bps;
	flow_table_reweight(t->placement.flows, w);
}

/* ---- spray ---- */

/* Bytes of chunks like c in parts; a whole chunk, written or read, has SPRAY_FLY_UNIT parts. */
static unsigned parts_of(const struct transfer *t, const struct chunk *c, uint64_t bytes)
{
	uint32_t unit = unit_bytes_of(t, &t->messages[c->message]);
	uint64_t parts = (bytes * SPRAY_FLY_UNIT + unit - 1) / unit;

	return parts < 1 ? 1 : parts > SPRAY_FLY_UNIT ? SPRAY_FLY_UNIT : (unsigned)parts;
}

/* By bytes: otherwise, if two sizes alternate, one of two QPs would get all the large chunks. */
static struct outlet *least_sprayed(struct transfer *t, unsigned lane)
{
	struct outlet *least = outlet_of(t, lane, 0);

	for (unsigned i = 1; i < t->attr.n_qps; i++)
		if (outlet_of(t, lane, i)->sprayed_bytes < least->sprayed_bytes)
			least = outlet_of(t, lane, i);
	return least;
}

/*
 * Where the chunk before went, for as long as what went there is no more than a whole chunk, which
 * is what one lane is given at once. So small messages leave in one super-packet, and one
 * acknowledgement is for several.
 */
static struct outlet *stay(struct transfer *t, const struct chunk *c)
{
	struct outlet *q = t->placement.stay;
	unsigned parts;

	if (!q || !t->placement.spray.w[q->lane] ||
	    t->placement.stay_bytes + c->length > unit_bytes_of(t, &t->messages[c->message]))
		return NULL;
	/* of what stayed together, not of each: in all a unit at most, however small they are */
	parts = parts_of(t, c, t->placement.stay_bytes + c->length) -
		parts_of(t, c, t->placement.stay_bytes);
	if (parts)
		spray_fly_pay(&t->placement.spray, q->lane, parts);
	t->placement.stay_bytes += c->length;
	return q;
}

static struct outlet *go_on(struct transfer *t, const struct chunk *c)
{
	int plane = spray_fly_next_part(&t->placement.spray, parts_of(t, c, c->length));

	t->placement.stay = plane < 0 ? NULL : least_sprayed(t, (unsigned)plane);
	t->placement.stay_bytes = c->length;
	return t->placement.stay;
}

static bool choose_spray(struct transfer *t, struct chunk *c)
{
	struct outlet *q = stay(t, c);

	if (!q)
		q = go_on(t, c);
	if (!q)
		return false;
	/* two QPs of a sub-port, beside one of another, get half of the other's share each */
	q->sprayed_bytes += (uint64_t)c->length * lanes_qp_sharing(t->attr.lanes, q->lane, q->qp);
	c->lane = q->lane;
	c->qp = q->qp;
	return true;
}

/*
 * Other bandwidths: the schedule goes on with each lane's arrears. If no lane was usable, or
 * nothing was posted yet, it begins at the pair's phase. Reason: lanes come up one by one, and
 * sources that all begin with the first lane would use the same plane at the same time.
 */
static void follow_spray(struct transfer *t, const uint64_t *bps, const struct weights *w)
{
	double arrears[FARE_MAX_PLANES];
	bool goes_on = t->placement.spray.sum && t->stats.chunks_posted;
	unsigned steps = (unsigned)(attach_pair_phase(t->attr.paths->pair) * PHASE_STEPS);

	(void)w;
	if (!memcmp(bps, t->placement.spray_bps, t->attr.n_lanes * sizeof(*bps)))
		return;
	memcpy(t->placement.spray_bps, bps, t->attr.n_lanes * sizeof(*bps));
	t->placement.stay = NULL;
	for (unsigned l = 0; l < t->attr.n_lanes; l++)
		arrears[l] = spray_fly_arrears(&t->placement.spray, l);
	spray_fly_init(&t->placement.spray, bps, t->attr.n_lanes, goes_on ? arrears : NULL);
	for (; !goes_on && steps; steps--)
		spray_fly_next(&t->placement.spray);
}

/* ---- the kernel's multipath ---- */

static unsigned kernel_qps(const struct transfer *t)
{
	return t->attr.n_qps * t->attr.n_lanes;
}

static void use_qp(const struct transfer *t, struct chunk *c, unsigned i)
{
	c->lane = (uint16_t)(i / t->attr.n_qps);
	c->qp = (uint16_t)(i % t->attr.n_qps);
}

static bool usable(const struct transfer *t, unsigned i)
{
	return t->weights.w[i / t->attr.n_qps] > 0;
}

static bool choose_stripe(struct transfer *t, struct chunk *c)
{
	for (unsigned k = 0, total = kernel_qps(t); k < total; k++) {
		unsigned i = t->placement.kernel_turn++ % total;

		if (!usable(t, i))
			continue;
		use_qp(t, c, i);
		return true;
	}
	return false;
}

static unsigned first_usable(const struct transfer *t, unsigned i)
{
	unsigned total = kernel_qps(t);

	for (unsigned k = 0; k < total; k++)
		if (usable(t, (i + k) % total))
			return (i + k) % total;
	return total;
}

static unsigned least_outstanding(const struct transfer *t)
{
	unsigned total = kernel_qps(t), least = total;
	uint64_t bytes = UINT64_MAX;

	for (unsigned k = 0; k < total; k++) {
		unsigned i = (t->placement.kernel_turn + k) % total;
		unsigned lane = i / t->attr.n_qps, qp = i % t->attr.n_qps;
		uint64_t outstanding = lanes_qp_posted_bytes(t->attr.lanes, lane, qp) +
				       outlet_of(t, lane, qp)->pending_bytes;

		if (usable(t, i) && outstanding < bytes) {
			bytes = outstanding;
			least = i;
		}
	}
	return least;
}

/* A message keeps its QP while the QP's lane is usable. */
static bool choose_message(struct transfer *t, struct chunk *c, bool by_hash)
{
	struct message *m = &t->messages[c->message];
	unsigned i = m->kernel_qp;

	if (i >= kernel_qps(t) || !usable(t, i)) {
		i = by_hash ? first_usable(t, (unsigned)((m->number * 2654435761u >> 16) %
							 kernel_qps(t)))
			    : least_outstanding(t);
		if (i >= kernel_qps(t))
			return false;
		t->placement.kernel_turn++;
		m->kernel_qp = i;
	}
	use_qp(t, c, i);
	return true;
}

static bool choose_hash(struct transfer *t, struct chunk *c)
{
	return choose_message(t, c, true);
}

static bool choose_least(struct transfer *t, struct chunk *c)
{
	return choose_message(t, c, false);
}

/* ---- all ---- */

/*
 * A few small messages are nothing: those of a conversation stay on one QP, where one
 * acknowledgement is for several.
 */
static uint64_t counted(uint64_t posted_bytes)
{
	return posted_bytes / SMALL_BYTES;
}

/*
 * Whether a packet on lane a is there before one on lane b, as far as this end knows: what is
 * posted takes less time there. If nothing is posted on either, the wider one: what others have
 * queued there goes sooner.
 */
static bool is_sooner(const struct transfer *t, unsigned a, unsigned b)
{
	uint64_t time_a = counted(lanes_posted_bytes(t->attr.lanes, a)) * t->weights.w[b],
		 time_b = counted(lanes_posted_bytes(t->attr.lanes, b)) * t->weights.w[a];

	return time_a != time_b ? time_a < time_b : t->weights.w[a] > t->weights.w[b];
}

static bool choose_shortest(struct transfer *t, struct chunk *c)
{
	unsigned best = t->attr.n_lanes;
	uint64_t least = UINT64_MAX;

	for (unsigned l = 0; l < t->attr.n_lanes; l++)
		if (t->weights.w[l] && (best == t->attr.n_lanes || is_sooner(t, l, best)))
			best = l;
	if (best == t->attr.n_lanes)
		return false;
	c->lane = (uint16_t)best;
	for (uint16_t i = 0; i < t->attr.n_qps; i++) {
		uint64_t bytes = counted(lanes_qp_posted_bytes(t->attr.lanes, best, i));

		if (bytes < least) {
			least = bytes;
			c->qp = i;
		}
	}
	return true;
}

/*
 * Where the message before went, if this one follows it: for as long as they are no more than a
 * chunk, which is what one lane is given at once.
 */
static bool join(const struct transfer *t, struct chunk *c)
{
	if (!t->placement.is_joined || !t->weights.w[t->placement.join_lane] ||
	    t->placement.join_bytes + c->length > t->unit_bytes)
		return false;
	c->lane = t->placement.join_lane;
	c->qp = t->placement.join_qp;
	return true;
}

bool placement_record(struct transfer *t, struct chunk *c)
{
	bool is_joined = join(t, c), is_placed = is_joined || choose_shortest(t, c);

	t->placement.join_bytes = (is_joined ? t->placement.join_bytes : 0) + c->length;
	t->placement.is_joined = is_placed && t->messages[c->message].is_followed;
	t->placement.join_lane = c->lane;
	t->placement.join_qp = c->qp;
	return is_placed;
}

static const struct placement_kind *kind_of(const struct fare_group_options *options)
{
	static const struct placement_kind modes[] = {
		[FARE_MODE_FLOW] = {choose_flow, follow_flow, false},
		[FARE_MODE_SPRAY] = {choose_spray, follow_spray, false},
		[FARE_MODE_PACKET] = {choose_spray, follow_spray, false},
	};
	static const struct placement_kind kernel[] = {
		[FARE_KERNEL_STRIPE] = {choose_stripe, NULL, false},
		[FARE_KERNEL_HASH] = {choose_hash, NULL, true},
		[FARE_KERNEL_LEAST] = {choose_least, NULL, true},
	};

	return options->mode == FARE_MODE_KERNEL ? &kernel[options->baseline->placement]
						 : &modes[options->mode];
}

/* Where the segment has no rows left the group works all the same, unseen by farectl. */
static int make_flows(struct transfer *t)
{
	struct placement *p = &t->placement;
	const struct fare_pair *pair = t->attr.paths->pair;
	struct flow_table_attr attr = {.n_planes = t->attr.n_lanes,
				       .turn = attach_pair_turn(pair),
				       .max_flows = t->attr.options->flows,
				       .by_bytes = t->attr.options->flows_by_bytes,
				       .idle_expiry_ns =
					       t->attr.options->idle_expiry_ms * UINT64_C(1000000)};

	p->entries = conn_segment_lend_entries(t->attr.segment, attr.max_flows);
	if (!p->entries)
		p->entries = p->own_entries = calloc(attr.max_flows, sizeof(*p->own_entries));
	if (!p->entries)
		return -ENOMEM;
	attr.entries = p->entries;
	attach_pair_identity(pair, &attr.peer, &attr.local_gpu);
	for (unsigned l = 0; l < t->attr.n_lanes; l++)
		attr.slots[l] = (uint16_t)t->attr.n_qps;
	return flow_table_create(&p->flows, &attr);
}

int placement_init(struct transfer *t)
{
	t->placement.kind = kind_of(t->attr.options);
	return t->attr.options->mode == FARE_MODE_FLOW ? make_flows(t) : 0;
}

void placement_fini(struct transfer *t)
{
	struct placement *p = &t->placement;

	flow_table_destroy(p->flows);
	if (!p->own_entries)
		conn_segment_return(t->attr.segment, p->entries, t->attr.options->flows);
	free(p->own_entries);
}
