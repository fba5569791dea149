/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/group_shape.h"

#include <errno.h>

#include "qp/internal.h"

/* three batches: one on each of two shaped hops, one on its way */
#define DEFAULT_WINDOW (192u << 10)
/* on slow links: as long as that takes at the rate of a sub-port */
#define WINDOW_MS	 64u
#define CHUNK_MS	 8u
#define DEFAULT_MESSAGES 64u
#define DEFAULT_BACKOFF	 1000u /* ms */
/* 7 x 8 x 9: exact for the periods that one lost sub-port or plane makes */
#define DEFAULT_FLOWS 504u
#define MAX_FLOWS     4096u
#define BATCH_BYTES   65000u /* a super-packet with its headers fits 64 KiB */
#define WIRE_OVERHEAD 64u    /* headers and ICRC of a segment, rounded up */

/*
 * No plane leads to the GPU's own address: packets to another process there never leave the host,
 * so that there is nothing to spread them over.
 */
static void stay_on_host(struct fare_group_options *o)
{
	o->mode = FARE_MODE_KERNEL;
	o->kernel_placement = FARE_KERNEL_LEAST;
	o->qps = 1;
}

int shape_options(struct fare_group *group, const struct fare_group_options *in,
		  const struct control_message *offer)
{
	struct fare_group_options *o = &group->options;
	uint32_t mtu = group->domain->ep.path_mtu;

	*o = *in;
	o->private_data = NULL; /* the caller's */
	if (o->mode > FARE_MODE_PACKET || o->kernel_placement > FARE_KERNEL_LEAST ||
	    o->qps_per_sub_port > CONTROL_MAX_QPS || o->max_messages > FARE_MESSAGES_MAX ||
	    o->flows > MAX_FLOWS || o->chunk_bytes > (1u << 30) || o->window_bytes > (1u << 30) ||
	    o->message_bytes > FARE_MESSAGE_MAX || o->dscp > FARE_DSCP_ZERO ||
	    o->service_level > 15 || o->private_bytes > FARE_PRIVATE_MAX ||
	    (o->private_bytes && !in->private_data))
		return -EINVAL;
	if (!offer && group->is_own_gpu && group->domain->ep.provider == &qp_soft_provider)
		stay_on_host(o);
	/* where a QP is its device's, the kernel's routing has no say */
	if (o->mode == FARE_MODE_KERNEL && group->domain->ep.provider != &qp_soft_provider)
		return -EOPNOTSUPP;
	/* packets that overtake each other need a responder that lets them */
	if (o->mode == FARE_MODE_PACKET && !group->domain->ep.provider->qp_spread)
		return -EOPNOTSUPP;
	group->follows_rate =
		offer ? offer->open.follows_rate
		      : o->mode != FARE_MODE_KERNEL && !o->chunk_bytes && !o->window_bytes;
	if (!offer)
		o->dscp = !o->dscp ? FARE_DSCP : o->dscp == FARE_DSCP_ZERO ? 0 : o->dscp;
	o->qps_per_sub_port = o->qps_per_sub_port ? o->qps_per_sub_port : 1;
	o->flows = o->flows ? o->flows : DEFAULT_FLOWS;
	o->max_messages = o->max_messages ? o->max_messages : DEFAULT_MESSAGES;
	o->backoff_max_ms = o->backoff_max_ms ? o->backoff_max_ms : DEFAULT_BACKOFF;
	o->window_bytes = o->window_bytes ? o->window_bytes : DEFAULT_WINDOW;
	if (!o->chunk_bytes)
		o->chunk_bytes = BATCH_BYTES / (mtu + WIRE_OVERHEAD) * mtu;
	if (o->chunk_bytes < mtu)
		o->chunk_bytes = mtu; /* a packet is not cut */
	return 0;
}

/* How many sub-ports the fattest plane has here: every lane has that many QPs times k. */
static unsigned widest_plane(const struct fare_domain *domain)
{
	unsigned m = 1;

	for (unsigned p = 0; p < domain->ep.attr.n_planes; p++)
		m = domain->ep.attr.n_sub_ports[p] > m ? domain->ep.attr.n_sub_ports[p] : m;
	return m;
}

/*
 * What a lane may have posted, and each of its QPs. Its sub-ports' chunks come on top: the next one
 * is there before the last one is acknowledged.
 */
static void set_room(struct fare_group *group, struct lane *lane, uint64_t window)
{
	lane->room_bytes = window + (uint64_t)group->n_sharing * group->unit_bytes;
	lane->qp_room_bytes = window / lane->n_qps + group->unit_bytes;
}

/*
 * A chunk that is read: two super-packets and the border to the next READ, which costs a
 * super-packet whatever their length. Not where the application has said how long a chunk is, nor
 * where that is more than a QP asks for at once (read_batches() of rc_requester.c).
 */
static uint32_t longest_read(const struct fare_group *group)
{
	uint32_t chunk = group->options.chunk_bytes, window = group->qp_window_bytes;
	uint64_t bytes = (uint64_t)QP_READ_BATCHES * chunk +
			 (uint64_t)QP_READ_BORDER * group->domain->ep.path_mtu;

	return group->follows_rate && bytes <= window - window / 4 ? (uint32_t)bytes : chunk;
}

uint32_t shape_unit_bytes(const struct fare_group *group, const struct message *m)
{
	return m->is_read ? group->read_unit_bytes : group->unit_bytes;
}

/* Of a lane whose QPs leave by n_sub_ports. */
static void share_window(struct fare_group *group, uint64_t lane_bytes, unsigned n_sub_ports)
{
	uint32_t mtu = group->domain->ep.path_mtu;
	uint64_t window = lane_bytes / n_sub_ports;

	window = window < mtu ? mtu : window > UINT32_MAX ? UINT32_MAX : window;
	group->qp_window_bytes = (uint32_t)window;
	if (group->options.chunk_bytes > group->qp_window_bytes)
		group->options.chunk_bytes = group->qp_window_bytes / mtu * mtu;
	group->unit_bytes = group->options.chunk_bytes;
	group->read_unit_bytes = longest_read(group);
	group->n_sharing = n_sub_ports;
}

/*
 * The slowest sub-port that is in use; 0: none is. One that is alone counts as half: a plane has
 * whole chunks of a message, and here they follow each other, where two would go side by side.
 */
static uint64_t slowest_bps(const struct fare_group *group)
{
	uint64_t slowest = 0;

	for (unsigned p = 0; p < group->paths.n_planes; p++) {
		const struct fare_path *path = &group->paths.path[p];
		unsigned n = (unsigned)__builtin_popcount(group_sub_ports(group, p));
		uint64_t bps = path->usable_bps / (n < 2 ? 2 : n);

		if (n && bps && (!slowest || bps < slowest))
			slowest = bps;
	}
	return slowest;
}

/* What bps carry in that time, in whole packets; most at most. */
static uint64_t bytes_of(uint64_t bps, unsigned ms, uint64_t most, uint32_t mtu)
{
	uint64_t bytes = bps / 8 * ms / 1000 / mtu * mtu;

	return bytes > most ? most : bytes < mtu ? mtu : bytes;
}

static uint64_t whole_window(const struct fare_group *group)
{
	return (uint64_t)group->qp_window_bytes * group->n_sharing;
}

/*
 * The defaults are for links of 100 Mb/s and more. On slower ones a chunk of 64 KB is what all
 * others wait for at the end of a transfer, and a window of three is a queue of a second where
 * several peers meet. So both follow the rate, unless the application has said how much: chunks
 * that of the slowest sub-port, as they are cut before they have a lane; a lane's window that of
 * the lane. The lanes of whole planes would not be filled by the window of one that has lost a
 * sub-port, where requests to read wait behind data of the other direction.
 */
void shape_follow_rate(struct fare_group *group)
{
	uint64_t bps = slowest_bps(group);
	uint32_t mtu = group->path_mtu;

	if (!group->follows_rate || !bps)
		return;
	group->unit_bytes = (uint32_t)bytes_of(bps, CHUNK_MS, group->options.chunk_bytes, mtu);
	group->read_unit_bytes = (uint32_t)bytes_of(bps, CHUNK_MS, longest_read(group), mtu);
	for (unsigned l = 0; l < group->n_lanes; l++) {
		bps = group->paths.path[l].usable_bps;
		if (bps)
			set_room(group, &group->lanes[l],
				 bytes_of(bps, WINDOW_MS, whole_window(group), mtu));
	}
}

int shape_lanes(struct fare_group *group, const struct control_message *offer)
{
	const struct fare_domain *domain = group->domain;
	unsigned m = widest_plane(domain), n_ports = m * group->options.qps_per_sub_port,
		 per_lane = n_ports, total;
	uint64_t window = (uint64_t)group->options.window_bytes * m * domain->ep.attr.n_planes;
	int err;

	group->n_lanes = domain->ep.attr.n_planes;
	if (group->options.mode == FARE_MODE_KERNEL) {
		total = group->options.qps ? group->options.qps : per_lane * domain->ep.attr.n_planes;
		/* as few QPs as possible share a fate: the kernel's paths fail one by one */
		group->n_lanes = total < FARE_MAX_PLANES ? total : FARE_MAX_PLANES;
		per_lane = (total + group->n_lanes - 1) / group->n_lanes;
	}
	if (group->options.mode == FARE_MODE_PACKET)
		per_lane = 1;
	if (offer) { /* the acceptor mirrors the opener */
		if (group->options.mode != FARE_MODE_KERNEL &&
		    offer->open.n_lanes != group->n_lanes)
			return -EPROTO;
		if (group->options.mode == FARE_MODE_PACKET && offer->open.qps_per_lane != 1)
			return -EPROTO;
		group->n_lanes = offer->open.n_lanes;
		per_lane = offer->open.qps_per_lane;
	}
	if (!per_lane || per_lane > CONTROL_MAX_QPS || group->n_lanes > FARE_MAX_PLANES)
		return -EINVAL;
	share_window(group, window / group->n_lanes, per_lane < m ? per_lane : m);
	err = lanes_create(group, group->n_lanes, per_lane, n_ports);
	for (unsigned l = 0; !err && l < group->n_lanes; l++)
		set_room(group, &group->lanes[l], whole_window(group));
	return err;
}
