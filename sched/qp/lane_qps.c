/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lane_qps.c - the QPs of a lane: made on live sub-ports, with suitable source ports; connected;
 * moved from a sub-port that is down to a live one. lane.c decides when.
 */
#include <errno.h>
#include <string.h>

#include "qp/lane.h"
#include "qp/planted.h"
#include "qp/port_cache.h"
#include "qp/port_path.h"

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

int lane_qps_status(const struct lane *lane)
{
	const struct qp_provider *provider = lane_ep(lane)->provider;
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

bool lane_qps_refused(const struct lane *lane)
{
	const struct qp_provider *provider = lane_ep(lane)->provider;

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

bool lane_qps_stalled(const struct lane *lane)
{
	const struct endpoint *ep = lane_ep(lane);
	uint64_t most_ns = STALL_NS + lane->posted_bytes * STALL_BYTE_NS;

	for (unsigned i = 0; i < lane->n_qps; i++) {
		const struct lane_qp *q = &lane->qps[i];
		uint64_t since_ns =
			q->progress_ns > ep->resumed_ns ? q->progress_ns : ep->resumed_ns;

		if (q->posted && ep->now_ns - since_ns > most_ns && !PLANTED(stall_unseen))
			return true;
	}
	return false;
}

/* The lane's QPs have one source port each, which is chosen for them. */
static bool has_port(const struct lane *lane)
{
	return lane->ports && !lane->lanes->is_packet;
}

void lane_qps_destroy(struct lane *lane)
{
	lane_ports_clear_paths(lane);
	for (unsigned i = 0; i < lane->n_qps; i++) {
		struct lane_qp *q = &lane->qps[i];

		if (!q->qp || (PLANTED(qp_leaked) && i && lane->epoch > 1))
			continue;
		if (has_port(lane))
			lane_ports_use(lane, q->sub_port, q->source_port, -1);
		lane_ep(lane)->provider->qp_destroy(q->qp);
		q->qp = NULL;
	}
}

/* Makes a QP with the most suitable source port. Ports that another process has are skipped. */
static int create_qp(struct lane *lane, struct lane_qp *q, struct qp_attr *attr,
		     struct port_pick *pick)
{
	const struct qp_provider *provider = lane_ep(lane)->provider;
	struct port_path *path = has_port(lane) ? lane->ports : NULL;
	struct port_slot *slot;
	enum failure failure;
	int err;

	do {
		slot = path ? port_path_pick(path, pick, attr->sub_port, false) : NULL;
		attr->udp_source_port = slot ? port_path_port(path, slot) : 0;
		err = provider->qp_create(lane_ep(lane)->handle, attr, &q->qp);
		failure = failure_of_call(err);
		if (failure == FAILURE_PORT && slot)
			port_path_refuse(path, pick, attr->sub_port, attr->udp_source_port);
	} while (failure == FAILURE_PORT && slot);
	if (err)
		return err;
	q->source_port = provider->qp_source_port(q->qp);
	if (path)
		lane_ports_use(lane, q->sub_port, q->source_port, 1);
	return 0;
}

int lane_qps_create(struct lane *lane)
{
	const struct lanes_attr *of = &lane->lanes->attr;
	bool is_routed = of->paths->is_routed, is_packet = lane->lanes->is_packet;
	uint16_t notifications =
		ring_receives(of->options->max_messages, of->n_lanes * lane->n_qps);
	struct port_pick pick = {.used = lane_ports_of_group(lane, false)};
	int err;

	lane->posted_bytes = 0;
	for (unsigned i = 0; i < lane->n_qps; i++) {
		struct lane_qp *q = &lane->qps[i];
		struct qp_attr attr = {.plane = is_routed ? QP_ANY_PLANE : lane->index,
				       .timeout = ACK_TIMEOUT,
				       .retry_cnt = RETRY_COUNT,
				       .order_free = is_packet,
				       .notifications = notifications,
				       .window_bytes = of->qp_window_bytes,
				       .dcqcn = *of->dcqcn,
				       .dscp = of->options->dscp,
				       .service_level = of->options->service_level,
				       .context = &q->at};

		q->home = q->sub_port = attr.sub_port =
			is_routed ? 0 : group_paths_sub_port(of->paths, lane->index, i);
		err = create_qp(lane, q, &attr, &pick);
		if (!err && is_packet)
			err = lane_ports_set_paths(lane);
		if (err) {
			lane_qps_destroy(lane);
			return err;
		}
		q->posted = 0;
		q->posted_bytes = 0;
	}
	return 0;
}

int lane_qps_connect(struct lane *lane, const struct control_qp *peer,
		     const uint8_t (*addresses)[16], unsigned n_addresses)
{
	const struct lanes_attr *of = &lane->lanes->attr;
	int err = 0;

	for (unsigned i = 0; !err && i < lane->n_qps; i++) {
		struct qp_remote remote = {.address = of->link->address.address,
					   .udp_port = of->link->address.port,
					   .path_mtu = of->paths->path_mtu,
					   .qpn = peer[i].qpn,
					   .psn = peer[i].psn,
					   .sub_port = peer[i].sub_port,
					   .order_free = lane->lanes->is_packet};

		if (peer[i].sub_port < n_addresses)
			memcpy(&remote.device, addresses[peer[i].sub_port], sizeof(remote.device));
		err = lane_ep(lane)->provider->qp_connect(lane->qps[i].qp, &remote);
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
bool lane_qps_follow_sub_ports(struct lane *lane)
{
	const struct group_paths *paths = lane->lanes->attr.paths;
	uint32_t live = group_paths_sub_ports(paths, lane->index);
	bool spread, stuck = false;

	if (paths->is_routed || !live)
		return true;
	if (lane->lanes->is_packet)
		return !lane->qps[0].qp || !lane_ports_set_paths(lane);
	spread = uneven(lane, live);
	for (unsigned i = 0; i < lane->n_qps; i++) {
		struct lane_qp *q = &lane->qps[i];
		uint16_t next = group_paths_sub_port(paths, lane->index, i);
		uint16_t want = live >> q->home & 1 ? q->home : next;
		int err;

		if (spread)
			want = q->home = next;
		if (!q->qp || q->sub_port == want)
			continue;
		err = lane_ep(lane)->provider->qp_move(q->qp, want, 0);
		if (!err) {
			lane_ports_use(lane, q->sub_port, q->source_port, -1);
			q->sub_port = want;
			lane_ports_use(lane, q->sub_port, q->source_port, 1);
		}
		stuck |= err == -EOPNOTSUPP || failure_of_call(err) == FAILURE_PORT;
	}
	lane_export_lane(lane);
	/*
	 * with verbs a QP cannot leave its device; with soft somebody may have its port there: the
	 * lane is rebuilt on live sub-ports, while other planes carry
	 */
	return !stuck;
}

void lane_qps_kick(struct lane *lane)
{
	for (unsigned i = 0; i < lane->n_qps; i++)
		if (lane->qps[i].qp && lane->qps[i].posted)
			lane_ep(lane)->provider->qp_kick(lane->qps[i].qp);
}
