/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/placement.h"

#include <string.h>

#include "qp/group_shape.h"
#include "qp/internal.h"

#define PHASE_STEPS 1024 /* steps for a phase of 1: the schedule may have no short period */
#define SMALL_BYTES 2048u

/* ---- flow ---- */

/* The next bound flow in turn. Each call binds one more flow until all are bound. */
static uint64_t next_flow(struct fare_group *group, uint32_t bytes)
{
	uint64_t flow = group->flow_turn % group->options.flows;
	struct flow_table_stats stats;
	struct flow_slot slot;

	flow_table_stats(group->flows, &stats);
	if (stats.in_use < group->options.flows &&
	    !flow_table_pick(group->flows, flow, group->domain->ep.now_ns, &slot))
		group->flow_turn++;
	(void)flow_table_turn(group->flows, bytes, &flow); /* flow is unchanged if none is bound */
	return flow;
}

static bool choose_flow(struct fare_group *group, struct chunk *c)
{
	struct flow_slot slot;

	if (c->flow == UINT64_MAX)
		c->flow = next_flow(group, c->length);
	if (flow_table_pick(group->flows, c->flow, group->domain->ep.now_ns, &slot) ||
	    !group->weights.w[slot.plane])
		return false;
	c->lane = slot.plane;
	c->qp = slot.index;
	return true;
}

static void follow_flow(struct fare_group *group, const uint64_t *bps, const struct weights *w)
{
	(void)bps;
	flow_table_reweight(group->flows, w);
}

/* ---- spray ---- */

/* The length of a chunk in parts; a whole chunk, written or read, has SPRAY_FLY_UNIT parts. */
static unsigned parts_of(const struct fare_group *group, const struct chunk *c)
{
	uint32_t unit = shape_unit_bytes(group, &group->messages[c->message]);
	uint64_t parts = ((uint64_t)c->length * SPRAY_FLY_UNIT + unit - 1) / unit;

	return parts < 1 ? 1 : parts > SPRAY_FLY_UNIT ? SPRAY_FLY_UNIT : (unsigned)parts;
}

/* By bytes: otherwise, if two sizes alternate, one of two QPs would get all the large chunks. */
static struct lane_qp *least_sprayed(struct lane *lane)
{
	struct lane_qp *least = lane->qps;

	for (unsigned i = 1; i < lane->n_qps; i++)
		if (lane->qps[i].sprayed_bytes < least->sprayed_bytes)
			least = &lane->qps[i];
	return least;
}

/* QPs of the lane that leave by the same sub-port. */
static unsigned sharing(const struct lane *lane, const struct lane_qp *q)
{
	unsigned n = 0;

	for (unsigned i = 0; i < lane->n_qps; i++)
		n += lane->qps[i].sub_port == q->sub_port;
	return n;
}

static bool choose_spray(struct fare_group *group, struct chunk *c)
{
	int plane = spray_fly_next_part(&group->spray, parts_of(group, c));
	struct lane_qp *q;

	if (plane < 0)
		return false;
	q = least_sprayed(&group->lanes[plane]);
	/* two QPs of a sub-port, beside one of another, get half of the other's share each */
	q->sprayed_bytes += (uint64_t)c->length * sharing(&group->lanes[plane], q);
	c->lane = q->lane;
	c->qp = q->index;
	return true;
}

/*
 * Other bandwidths: the schedule goes on with each lane's arrears. If no lane was usable, or
 * nothing was posted yet, it begins at the pair's phase. Reason: lanes come up one by one, and
 * sources that all begin with the first lane would use the same plane at the same time.
 */
static void follow_spray(struct fare_group *group, const uint64_t *bps, const struct weights *w)
{
	double arrears[FARE_MAX_PLANES];
	bool goes_on = group->spray.sum && group->stats.chunks_posted;
	unsigned steps = (unsigned)(attach_pair_phase(group->pair) * PHASE_STEPS);

	(void)w;
	if (!memcmp(bps, group->spray_bps, group->n_lanes * sizeof(*bps)))
		return;
	memcpy(group->spray_bps, bps, group->n_lanes * sizeof(*bps));
	for (unsigned l = 0; l < group->n_lanes; l++)
		arrears[l] = spray_fly_arrears(&group->spray, l);
	spray_fly_init(&group->spray, bps, group->n_lanes, goes_on ? arrears : NULL);
	for (; !goes_on && steps; steps--)
		spray_fly_next(&group->spray);
}

/* ---- the kernel's multipath ---- */

static unsigned kernel_qps(const struct fare_group *group)
{
	return group->lanes[0].n_qps * group->n_lanes;
}

static void use_qp(const struct fare_group *group, struct chunk *c, unsigned i)
{
	c->lane = (uint16_t)(i / group->lanes[0].n_qps);
	c->qp = (uint16_t)(i % group->lanes[0].n_qps);
}

static bool usable(const struct fare_group *group, unsigned i)
{
	return group->weights.w[i / group->lanes[0].n_qps] > 0;
}

static bool choose_stripe(struct fare_group *group, struct chunk *c)
{
	for (unsigned k = 0, total = kernel_qps(group); k < total; k++) {
		unsigned i = group->kernel_turn++ % total;

		if (!usable(group, i))
			continue;
		use_qp(group, c, i);
		return true;
	}
	return false;
}

static unsigned first_usable(const struct fare_group *group, unsigned i)
{
	unsigned total = kernel_qps(group);

	for (unsigned k = 0; k < total; k++)
		if (usable(group, (i + k) % total))
			return (i + k) % total;
	return total;
}

static unsigned least_under_way(const struct fare_group *group)
{
	unsigned total = kernel_qps(group), least = total;
	uint64_t bytes = UINT64_MAX;

	for (unsigned k = 0; k < total; k++) {
		unsigned i = (group->kernel_turn + k) % total;
		const struct lane_qp *q =
			&group->lanes[i / group->lanes[0].n_qps].qps[i % group->lanes[0].n_qps];

		if (usable(group, i) && q->posted_bytes + q->pending_bytes < bytes) {
			bytes = q->posted_bytes + q->pending_bytes;
			least = i;
		}
	}
	return least;
}

/* A message keeps its QP while the QP's lane is usable. */
static bool choose_message(struct fare_group *group, struct chunk *c, bool by_hash)
{
	struct message *m = &group->messages[c->message];
	unsigned i = m->kernel_qp;

	if (i >= kernel_qps(group) || !usable(group, i)) {
		i = by_hash ? first_usable(group, (unsigned)((m->number * 2654435761u >> 16) %
							     kernel_qps(group)))
			    : least_under_way(group);
		if (i >= kernel_qps(group))
			return false;
		group->kernel_turn++;
		m->kernel_qp = i;
	}
	use_qp(group, c, i);
	return true;
}

static bool choose_hash(struct fare_group *group, struct chunk *c)
{
	return choose_message(group, c, true);
}

static bool choose_least(struct fare_group *group, struct chunk *c)
{
	return choose_message(group, c, false);
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
static bool is_sooner(const struct fare_group *group, unsigned a, unsigned b)
{
	uint64_t time_a = counted(group->lanes[a].posted_bytes) * group->weights.w[b],
		 time_b = counted(group->lanes[b].posted_bytes) * group->weights.w[a];

	return time_a != time_b ? time_a < time_b : group->weights.w[a] > group->weights.w[b];
}

static bool choose_shortest(struct fare_group *group, struct chunk *c)
{
	unsigned best = group->n_lanes;
	const struct lane *lane;

	for (unsigned l = 0; l < group->n_lanes; l++)
		if (group->weights.w[l] && (best == group->n_lanes || is_sooner(group, l, best)))
			best = l;
	if (best == group->n_lanes)
		return false;
	lane = &group->lanes[best];
	c->lane = (uint16_t)best;
	c->qp = 0;
	for (uint16_t i = 1; i < lane->n_qps; i++)
		if (counted(lane->qps[i].posted_bytes) < counted(lane->qps[c->qp].posted_bytes))
			c->qp = i;
	return true;
}

/*
 * Where the message before went, if this one follows it: for as long as they are no more than a
 * chunk, which is what one lane is given at once.
 */
static bool join(const struct fare_group *group, struct chunk *c)
{
	if (!group->is_joined || !group->weights.w[group->join_lane] ||
	    group->join_bytes + c->length > group->unit_bytes)
		return false;
	c->lane = group->join_lane;
	c->qp = group->join_qp;
	return true;
}

bool placement_record(struct fare_group *group, struct chunk *c)
{
	bool is_joined = join(group, c), is_placed = is_joined || choose_shortest(group, c);

	group->join_bytes = (is_joined ? group->join_bytes : 0) + c->length;
	group->is_joined = is_placed && group->messages[c->message].is_followed;
	group->join_lane = c->lane;
	group->join_qp = c->qp;
	return is_placed;
}

const struct placement *placement_of(const struct fare_group *group)
{
	static const struct placement modes[] = {
		[FARE_MODE_FLOW] = {choose_flow, follow_flow, false},
		[FARE_MODE_SPRAY] = {choose_spray, follow_spray, false},
		[FARE_MODE_PACKET] = {choose_spray, follow_spray, false},
	};
	static const struct placement kernel[] = {
		[FARE_KERNEL_STRIPE] = {choose_stripe, NULL, false},
		[FARE_KERNEL_HASH] = {choose_hash, NULL, true},
		[FARE_KERNEL_LEAST] = {choose_least, NULL, true},
	};

	return group->options.mode == FARE_MODE_KERNEL ? &kernel[group->options.kernel_placement]
						       : &modes[group->options.mode];
}
