/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lane_qps.c - the QPs of a lane: made on live sub-ports, with suitable source ports; connected;
 * moved from a sub-port that is down to a live one. lane.c decides when.
 */
#include "qp/internal.h"
#include "qp/planted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* 4.096 us x 2^15 = 134 ms: longer than the queue of a shaped last hop under incast */
#define ACK_TIMEOUT 15
#define RETRY_COUNT 7
/*
 * A QP gives up by itself after 8 x 134 ms, a device after up to four times as long (IBTA
 * 9.7.6.1.3): 4.3 s. One that has neither done anything nor failed after twice that will not.
 */
#define STALL_NS UINT64_C(10000000000)
/* for what is posted on the lane: at 10 Mb/s, less than a group's share of any plane */
#define STALL_BYTE_NS UINT64_C(800)

bool lane_qps_exist(const struct lane *lane)
{
	return lane->qps && lane->qps[0].qp;
}

int lane_qps_status(const struct fare_group *group, unsigned l)
{
	const struct qp_provider *provider = group->domain->ep.provider;
	const struct lane *lane = &group->lanes[l];
	int s, all = 0;

	for (unsigned i = 0; provider->qp_status && i < lane->n_qps; i++) {
		if (!lane->qps[i].qp)
			continue;
		s = provider->qp_status(lane->qps[i].qp);
		if (s < 0)
			return s;
		all |= s;
	}
	return all;
}

bool lane_qps_refused(const struct fare_group *group, unsigned l)
{
	const struct qp_provider *provider = group->domain->ep.provider;
	const struct lane *lane = &group->lanes[l];

	for (unsigned i = 0; provider->qp_refused && i < lane->n_qps; i++)
		if (lane->qps[i].qp && provider->qp_refused(lane->qps[i].qp))
			return true;
	return false;
}

uint32_t lane_qps_posted(const struct lane *lane)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < lane->n_qps; i++)
		n += lane->qps[i].posted;
	return n;
}

void lane_qps_on_post(struct fare_group *group, struct lane_qp *q, uint32_t bytes)
{
	if (!q->posted++)
		q->progress_ns = group->domain->ep.now_ns;
	q->posted_bytes += bytes;
	group->lanes[q->lane].posted_bytes += bytes;
}

void lane_qps_on_completion(struct fare_group *group, struct lane_qp *q, uint32_t bytes)
{
	q->posted--;
	q->progress_ns = group->domain->ep.now_ns;
	q->posted_bytes -= bytes;
	group->lanes[q->lane].posted_bytes -= bytes;
}

bool lane_qps_stalled(const struct fare_group *group, unsigned l)
{
	const struct lane *lane = &group->lanes[l];
	const struct fare_domain *domain = group->domain;
	uint64_t most_ns = STALL_NS + lane->posted_bytes * STALL_BYTE_NS;

	for (unsigned i = 0; i < lane->n_qps; i++) {
		const struct lane_qp *q = &lane->qps[i];
		uint64_t since_ns =
			q->progress_ns > domain->ep.resumed_ns ? q->progress_ns : domain->ep.resumed_ns;

		if (q->posted && domain->ep.now_ns - since_ns > most_ns && !PLANTED(stall_unseen))
			return true;
	}
	return false;
}

/* The lane's QPs have one source port each, which is chosen for them. */
static bool has_port(const struct lane *lane)
{
	return lane->path && lane->group->options.mode != FARE_MODE_PACKET;
}

void lane_qps_destroy(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];

	ways_clear(lane);
	for (unsigned i = 0; i < lane->n_qps; i++) {
		struct lane_qp *q = &lane->qps[i];

		if (!q->qp || (PLANTED(qp_leaked) && i && lane->epoch > 1))
			continue;
		if (has_port(lane))
			ports_use(lane, q->sub_port, q->source_port, -1);
		group->domain->ep.provider->qp_destroy(q->qp);
		q->qp = NULL;
	}
}

/* Makes a QP with the most suitable source port. Ports that another process has are skipped. */
static int create_qp(struct fare_group *group, struct lane_qp *q, struct qp_attr *attr,
		     struct port_pick *pick)
{
	const struct qp_provider *provider = group->domain->ep.provider;
	struct lane *lane = &group->lanes[q->lane];
	struct port_path *path = has_port(lane) ? port_entry_path(lane->path) : NULL;
	struct port_slot *slot;
	enum failure failure;
	int err;

	do {
		slot = path ? port_path_pick(path, pick, attr->sub_port, false) : NULL;
		attr->udp_source_port = slot ? port_path_port(path, slot) : 0;
		err = provider->qp_create(group->domain->ep.handle, attr, &q->qp);
		failure = failure_of_call(err);
		if (failure == FAILURE_PORT && slot)
			port_path_refuse(path, pick, attr->sub_port, attr->udp_source_port);
	} while (failure == FAILURE_PORT && slot);
	if (err)
		return err;
	q->source_port = provider->qp_source_port(q->qp);
	if (path)
		ports_use(lane, q->sub_port, q->source_port, 1);
	return 0;
}

int lane_qps_create(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];
	bool kernel = group->options.mode == FARE_MODE_KERNEL,
	     packet = group->options.mode == FARE_MODE_PACKET;
	uint16_t notifications =
		ring_receives(group->options.max_messages, group->n_lanes * lane->n_qps);
	struct port_pick pick = {.used = ports_of_group(lane, false)};
	int err;

	lane->posted_bytes = 0;
	for (unsigned i = 0; i < lane->n_qps; i++) {
		struct lane_qp *q = &lane->qps[i];
		struct qp_attr attr = {.plane = kernel ? QP_ANY_PLANE : (uint16_t)l,
				       .timeout = ACK_TIMEOUT,
				       .retry_cnt = RETRY_COUNT,
				       .order_free = packet,
				       .notifications = notifications,
				       .window_bytes = group->qp_window_bytes,
				       .dscp = group->options.dscp,
				       .service_level = group->options.service_level,
				       .context = q};

		q->home = q->sub_port = attr.sub_port =
			kernel ? 0 : ports_local_sub_port(group, l, i);
		q->group = group;
		q->lane = (uint16_t)l;
		q->index = (uint16_t)i;
		err = create_qp(group, q, &attr, &pick);
		if (!err && packet)
			err = ways_set(group, l);
		if (err) {
			lane_qps_destroy(group, l);
			return err;
		}
		q->posted = 0;
		q->posted_bytes = 0;
		q->sprayed_bytes = 0;
		q->pending = (struct chunk_list){NO_CHUNK, NO_CHUNK, 0};
		q->pending_bytes = 0;
	}
	return 0;
}

int lane_qps_connect(struct fare_group *group, unsigned l, const struct control_qp *peer,
		     const uint8_t (*addresses)[16], unsigned n_addresses)
{
	struct lane *lane = &group->lanes[l];
	int err = 0;

	for (unsigned i = 0; !err && i < lane->n_qps; i++) {
		struct qp_remote remote = {.address = group->peer.address,
					   .udp_port = group->peer.port,
					   .path_mtu = group->path_mtu,
					   .qpn = peer[i].qpn,
					   .psn = peer[i].psn,
					   .sub_port = peer[i].sub_port,
					   .order_free = group->options.mode == FARE_MODE_PACKET};

		if (peer[i].sub_port < n_addresses)
			memcpy(&remote.device, addresses[peer[i].sub_port], sizeof(remote.device));
		err = group->domain->ep.provider->qp_connect(lane->qps[i].qp, &remote);
	}
	return err;
}

/*
 * A live sub-port has none of the lane's QPs although there are enough QPs: it was down when they
 * were made.
 */
static bool uneven(const struct lane *lane, uint32_t live)
{
	uint32_t homes = 0;

	for (unsigned i = 0; i < lane->n_qps; i++)
		homes |= 1u << lane->qps[i].home;
	return (live & ~homes) && (unsigned)__builtin_popcount(live & homes) < lane->n_qps;
}

/* QPs move from a sub-port that went down to a live one, and back when their own is live again. */
void lane_qps_follow_sub_ports(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];
	uint32_t live = group_sub_ports(group, l);
	bool spread, stuck = false;

	if (group->options.mode == FARE_MODE_KERNEL || !live)
		return;
	if (group->options.mode == FARE_MODE_PACKET) {
		if (lane->qps[0].qp && ways_set(group, l))
			lane_kill(group, l);
		return;
	}
	spread = uneven(lane, live);
	for (unsigned i = 0; i < lane->n_qps; i++) {
		struct lane_qp *q = &lane->qps[i];
		uint16_t want = live >> q->home & 1 ? q->home : ports_local_sub_port(group, l, i);
		int err;

		if (spread)
			want = q->home = ports_local_sub_port(group, l, i);
		if (!q->qp || q->sub_port == want)
			continue;
		err = group->domain->ep.provider->qp_move(q->qp, want, 0);
		if (!err) {
			ports_use(lane, q->sub_port, q->source_port, -1);
			q->sub_port = want;
			ports_use(lane, q->sub_port, q->source_port, 1);
		}
		stuck |= err == -EOPNOTSUPP || failure_of_call(err) == FAILURE_PORT;
	}
	shown_lane(group, l);
	/*
	 * with verbs a QP cannot leave its device; with soft somebody may have its port there: the
	 * lane is rebuilt on live sub-ports, while other planes carry
	 */
	if (stuck)
		lane_kill(group, l);
}

void lane_qps_kick(struct fare_group *group, unsigned l)
{
	struct lane *lane = &group->lanes[l];

	for (unsigned i = 0; i < lane->n_qps; i++)
		if (lane->qps[i].qp && lane->qps[i].posted)
			group->domain->ep.provider->qp_kick(lane->qps[i].qp);
}
