/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/group_shape.h"

#include <errno.h>

#include "qp/control_wire.h"
#include "qp/endpoint.h"
#include "qp/group_paths.h"
#include "qp/soft/dcqcn.h"

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
static void stay_on_host(struct group_shape *shape, struct fare_group_options *o)
{
	o->mode = FARE_MODE_KERNEL;
	shape->baseline = (struct fare_baseline){.placement = FARE_KERNEL_LEAST, .qps = 1};
}

int group_shape_options(struct group_shape *shape, struct fare_group_options *o,
			const struct fare_group_options *in, const struct endpoint *ep,
			bool is_own_server, const struct control_message *offer)
{
	uint32_t mtu = ep->info->path_mtu;

	*o = *in;
	o->private_data = NULL; /* the caller's */
	if (in->baseline)
		shape->baseline = *in->baseline;
	o->baseline = &shape->baseline;
	shape->dcqcn = &shape->baseline.dcqcn;
	if (o->mode > FARE_MODE_KERNEL || shape->baseline.placement > FARE_KERNEL_LEAST ||
	    o->qps_per_sub_port > FARE_PLANE_QPS_MAX || o->max_messages > FARE_MESSAGES_MAX ||
	    o->flows > MAX_FLOWS || o->chunk_bytes > (1u << 30) || o->window_bytes > (1u << 30) ||
	    o->message_bytes > FARE_MESSAGE_MAX || o->dscp > FARE_DSCP_ZERO ||
	    o->service_level > 15 || o->private_bytes > FARE_PRIVATE_MAX ||
	    (o->private_bytes && !in->private_data) || dcqcn_wrong(&shape->baseline.dcqcn))
		return -EINVAL;
	if (!offer && is_own_server && ep->provider == &qp_soft_provider)
		stay_on_host(shape, o);
	/* where a QP is its device's, the kernel's routing has no say */
	shape->is_routed = o->mode == FARE_MODE_KERNEL;
	shape->learns_ports = !shape->is_routed && !shape->baseline.random_ports;
	if (shape->is_routed && ep->provider != &qp_soft_provider)
		return -EOPNOTSUPP;
	/* packets that overtake each other need a responder that lets them */
	if (o->mode == FARE_MODE_PACKET && !ep->provider->qp_spread)
		return -EOPNOTSUPP;
	shape->follows_rate = offer ? offer->open.follows_rate
				    : !shape->is_routed && !o->chunk_bytes && !o->window_bytes;
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

void group_shape_fill_open(const struct group_shape *shape, const struct fare_group_options *o,
			   struct control_message *m)
{
	m->open.options = *o;
	m->open.baseline = shape->baseline;
	m->open.n_lanes = (uint8_t)shape->n_lanes;
	m->open.qps_per_lane = (uint16_t)shape->n_qps;
	m->open.follows_rate = shape->follows_rate;
}

/* How many sub-ports the fattest plane has here: every lane has that many QPs times k. */
static unsigned widest_plane(const struct endpoint *ep)
{
	unsigned m = 1;

	for (unsigned p = 0; p < ep->attr.n_planes; p++)
		m = ep->attr.n_sub_ports[p] > m ? ep->attr.n_sub_ports[p] : m;
	return m;
}

uint64_t group_shape_room(const struct group_shape *shape, unsigned lane)
{
	/* the next chunk of each sub-port is there before the last one is acknowledged */
	return shape->window_bytes[lane] + (uint64_t)shape->n_sharing * shape->unit_bytes;
}

uint64_t group_shape_qp_room(const struct group_shape *shape, unsigned lane)
{
	return shape->window_bytes[lane] / shape->n_qps + shape->unit_bytes;
}

/*
 * A chunk that is read: two super-packets and the border to the next READ, which costs a
 * super-packet whatever their length. Not where the application has said how long a chunk is, nor
 * where that is more than a QP asks for at once (read_batches() of rc_requester.c).
 */
static uint32_t longest_read(const struct group_shape *shape)
{
	uint32_t chunk = shape->chunk_bytes, window = shape->qp_window_bytes;
	uint64_t bytes =
		(uint64_t)QP_READ_BATCHES * chunk + (uint64_t)QP_READ_BORDER * shape->path_mtu;

	return shape->follows_rate && bytes <= window - window / 4 ? (uint32_t)bytes : chunk;
}

static uint64_t whole_window(const struct group_shape *shape)
{
	return (uint64_t)shape->qp_window_bytes * shape->n_sharing;
}

/* Of lanes whose QPs leave by n_sharing sub-ports. */
static void share_window(struct group_shape *shape, struct fare_group_options *options,
			 uint64_t lane_bytes)
{
	uint32_t mtu = shape->path_mtu;
	uint64_t window = lane_bytes / shape->n_sharing;

	window = window < mtu ? mtu : window > UINT32_MAX ? UINT32_MAX : window;
	shape->qp_window_bytes = (uint32_t)window;
	if (options->chunk_bytes > shape->qp_window_bytes)
		options->chunk_bytes = shape->qp_window_bytes / mtu * mtu;
	shape->chunk_bytes = shape->unit_bytes = options->chunk_bytes;
	shape->read_unit_bytes = longest_read(shape);
	for (unsigned l = 0; l < shape->n_lanes; l++)
		shape->window_bytes[l] = whole_window(shape);
}

/*
 * The slowest sub-port that is in use; 0: none is. One that is alone counts as half: a plane has
 * whole chunks of a message, and here they follow each other, where two would go side by side.
 */
static uint64_t slowest_bps(const struct group_paths *paths)
{
	uint64_t slowest = 0;

	for (unsigned p = 0; p < paths->now.n_planes; p++) {
		unsigned n = (unsigned)__builtin_popcount(group_paths_sub_ports(paths, p));
		uint64_t bps = paths->now.path[p].usable_bps / (n < 2 ? 2 : n);

		if (n && bps && (!slowest || bps < slowest))
			slowest = bps;
	}
	return slowest;
}

/* What bps carry in that time, in whole packets; most at most. */
static uint64_t group_shape_bytes_of(uint64_t bps, unsigned ms, uint64_t most, uint32_t mtu)
{
	uint64_t bytes = bps / 8 * ms / 1000 / mtu * mtu;

	return bytes > most ? most : bytes < mtu ? mtu : bytes;
}

/*
 * The defaults are for links of 100 Mb/s and more. On slower ones a chunk of 64 KB is what all
 * others wait for at the end of a transfer, and a window of three is a queue of a second where
 * several peers meet. So both follow the rate, unless the application has said how much: chunks
 * that of the slowest sub-port, as they are cut before they have a lane; a lane's window that of
 * the lane. The lanes of whole planes would not be filled by the window of one that has lost a
 * sub-port, where requests to read wait behind data of the other direction.
 */
void group_shape_follow_rate(struct group_shape *shape, const struct group_paths *paths)
{
	uint64_t bps = slowest_bps(paths);
	uint32_t mtu = paths->path_mtu;

	if (!shape->follows_rate || !bps)
		return;
	shape->unit_bytes = (uint32_t)group_shape_bytes_of(bps, CHUNK_MS, shape->chunk_bytes, mtu);
	shape->read_unit_bytes =
		(uint32_t)group_shape_bytes_of(bps, CHUNK_MS, longest_read(shape), mtu);
	for (unsigned l = 0; l < shape->n_lanes; l++) {
		bps = paths->now.path[l].usable_bps;
		if (bps)
			shape->window_bytes[l] =
				group_shape_bytes_of(bps, WINDOW_MS, whole_window(shape), mtu);
	}
}

int group_shape_lanes(struct group_shape *shape, struct fare_group_options *options,
		      const struct endpoint *ep, const struct control_message *offer)
{
	unsigned m = widest_plane(ep), n_planes = ep->attr.n_planes, n_lanes = n_planes, total,
		 per_lane = m * options->qps_per_sub_port;
	uint64_t window = (uint64_t)options->window_bytes * m * n_planes;

	shape->path_mtu = ep->info->path_mtu;
	shape->n_ports = per_lane;
	if (shape->is_routed) {
		total = shape->baseline.qps ? shape->baseline.qps : per_lane * n_planes;
		/* as few QPs as possible share a fate: the kernel's paths fail one by one */
		n_lanes = total < FARE_MAX_PLANES ? total : FARE_MAX_PLANES;
		per_lane = (total + n_lanes - 1) / n_lanes;
	}
	if (options->mode == FARE_MODE_PACKET)
		per_lane = 1;
	if (offer) { /* the acceptor mirrors the opener */
		if (!shape->is_routed && offer->open.n_lanes != n_lanes)
			return -EPROTO;
		if (options->mode == FARE_MODE_PACKET && offer->open.qps_per_lane != 1)
			return -EPROTO;
		n_lanes = offer->open.n_lanes;
		per_lane = offer->open.qps_per_lane;
	}
	if (!per_lane || per_lane > FARE_PLANE_QPS_MAX || n_lanes > FARE_MAX_PLANES)
		return -EINVAL;
	shape->n_lanes = n_lanes;
	shape->n_qps = per_lane;
	shape->n_sharing = per_lane < m ? per_lane : m;
	share_window(shape, options, window / n_lanes);
	return 0;
}
