/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/control_wire.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/octets.h"

#define MAGIC	0x46415245u /* "FARE" */
#define VERSION 8
/* of the baseline's first octet */
#define RANDOM_PORTS_BIT 1u
#define DCQCN_BIT	 2u

static bool has_qps(enum control_type type)
{
	return type == CONTROL_LANE_OPEN || type == CONTROL_LANE_ACCEPT;
}

static bool is_open(enum control_type type)
{
	return type == CONTROL_GROUP_OPEN || type == CONTROL_GROUP_ACCEPT;
}

/* A benchmark's (baseline.h); other groups have no such octets. */
static void put_dcqcn(struct octets_out *c, const struct qp_dcqcn *d)
{
	if (!d->is_on)
		return;
	octets_put(c, d->g_ppb, 4);
	octets_put(c, d->timer_us, 4);
	octets_put(c, d->counter_bytes, 4);
	octets_put(c, d->rai_kbps, 4);
}

static void get_dcqcn(struct octets *c, struct qp_dcqcn *out)
{
	if (!out->is_on)
		return;
	out->g_ppb = (uint32_t)octets_get(c, 4);
	out->timer_us = (uint32_t)octets_get(c, 4);
	out->counter_bytes = (uint32_t)octets_get(c, 4);
	out->rai_kbps = (uint32_t)octets_get(c, 4);
}

static void put_open(struct octets_out *c, const struct control_message *m)
{
	const struct fare_group_options *o = &m->open.options;
	const struct fare_baseline *b = &m->open.baseline;

	octets_put(c, o->mode, 1);
	octets_put(c, m->open.n_lanes, 1);
	octets_put(c, m->open.qps_per_lane, 2);
	octets_put(c, o->qps_per_sub_port, 4);
	octets_put(c, o->flows, 4);
	octets_put(c, o->chunk_bytes, 4);
	octets_put(c, o->window_bytes, 4);
	octets_put(c, o->max_messages, 4);
	octets_put(c, (b->random_ports ? RANDOM_PORTS_BIT : 0) | (b->dcqcn.is_on ? DCQCN_BIT : 0),
		   1);
	octets_put(c, b->placement, 1);
	octets_put(c, o->in_order, 1);
	octets_put(c, m->open.follows_rate, 1);
	octets_put(c, o->dscp, 1);
	octets_put(c, o->service_level, 1);
	octets_put(c, o->message_bytes, 2);
	octets_put(c, m->open.path_mtu, 4);
	octets_put(c, m->open.ring_addr, 8);
	octets_put(c, m->open.ring_rkey, 4);
	octets_put(c, o->private_bytes, 2);
	octets_put_bytes(c, o->private_data, o->private_bytes);
	put_dcqcn(c, &b->dcqcn);
}

static bool has_nonce(enum control_type type)
{
	return type == CONTROL_GROUP_OPEN || type == CONTROL_GROUP_CHALLENGE;
}

bool control_wire_is_lane(enum control_type type)
{
	return type >= CONTROL_LANE_OPEN && type <= CONTROL_LANE_RESET_ACK;
}

int control_wire_encode(const struct control_message *m, void *buf, size_t size)
{
	struct octets_out c = {buf, size, false};

	if (control_wire_is_lane(m->type) &&
	    (m->lane.n_qps > FARE_PLANE_QPS_MAX || m->lane.n_addresses > FARE_MAX_SUB_PORTS))
		return -EINVAL;
	if (is_open(m->type) && m->open.options.private_bytes > FARE_PRIVATE_MAX)
		return -EINVAL;
	octets_put(&c, MAGIC, 4);
	octets_put(&c, VERSION, 1);
	octets_put(&c, m->type, 1);
	octets_put(&c, m->source_port, 2);
	octets_put(&c, m->source, 8);
	octets_put(&c, m->destination, 8);
	octets_put(&c, m->source_group, 4);
	octets_put(&c, m->destination_group, 4);
	if (has_nonce(m->type))
		octets_put_bytes(&c, m->nonce, sizeof(m->nonce));
	if (m->type == CONTROL_ECHO || m->type == CONTROL_ECHO_REPLY) {
		octets_put(&c, m->echo.nonce, 8);
		octets_put(&c, m->echo.candidate, 2);
		octets_put(&c, m->echo.plane, 2);
		octets_put(&c, m->echo.sub_port, 2);
	} else if (is_open(m->type)) {
		put_open(&c, m);
	} else if (m->type == CONTROL_GROUP_REFUSE) {
		octets_put(&c, m->error, 4);
	} else if (control_wire_is_lane(m->type)) {
		octets_put(&c, m->lane.lane, 2);
		octets_put(&c, has_qps(m->type) ? m->lane.n_qps : 0, 2);
		octets_put(&c, m->lane.epoch, 4);
		octets_put(&c, m->lane.seen.floor, 8);
		octets_put(&c, m->lane.seen.bits[0], 8);
		octets_put(&c, m->lane.seen.bits[1], 8);
		for (unsigned i = 0; has_qps(m->type) && i < m->lane.n_qps; i++) {
			octets_put(&c, (uint64_t)m->lane.qps[i].sub_port << 24 | m->lane.qps[i].qpn,
				   4);
			octets_put(&c, m->lane.qps[i].psn, 4);
		}
		if (has_qps(m->type))
			octets_put(&c, m->lane.n_addresses, 2);
		for (unsigned i = 0; has_qps(m->type) && i < m->lane.n_addresses; i++)
			octets_put_bytes(&c, m->lane.addresses[i], sizeof(m->lane.addresses[i]));
	}
	return c.failed ? -EMSGSIZE : (int)(size - c.left);
}

static bool get_flag(struct octets *c, bool *wrong)
{
	uint64_t v = octets_get(c, 1);

	*wrong |= v > 1;
	return v;
}

static const char *decode_open(struct control_message *out, struct octets *c)
{
	struct fare_group_options *o = &out->open.options;
	struct fare_baseline *b = &out->open.baseline;
	uint32_t flags, mtu;
	bool wrong = false;

	o->baseline = b;
	o->mode = (enum fare_mode)octets_get(c, 1);
	out->open.n_lanes = (uint8_t)octets_get(c, 1);
	out->open.qps_per_lane = (uint16_t)octets_get(c, 2);
	o->qps_per_sub_port = (uint32_t)octets_get(c, 4);
	o->flows = (uint32_t)octets_get(c, 4);
	o->chunk_bytes = (uint32_t)octets_get(c, 4);
	o->window_bytes = (uint32_t)octets_get(c, 4);
	o->max_messages = (uint32_t)octets_get(c, 4);
	flags = (uint32_t)octets_get(c, 1);
	b->random_ports = flags & RANDOM_PORTS_BIT;
	b->dcqcn.is_on = flags & DCQCN_BIT;
	b->placement = (enum fare_kernel_placement)octets_get(c, 1);
	o->in_order = get_flag(c, &wrong);
	out->open.follows_rate = get_flag(c, &wrong);
	o->dscp = (uint8_t)octets_get(c, 1);
	o->service_level = (uint8_t)octets_get(c, 1);
	o->message_bytes = (uint32_t)octets_get(c, 2);
	out->open.path_mtu = mtu = (uint32_t)octets_get(c, 4);
	out->open.ring_addr = octets_get(c, 8);
	out->open.ring_rkey = (uint32_t)octets_get(c, 4);
	o->private_bytes = (uint32_t)octets_get(c, 2);
	o->private_data = octets_borrow(c, o->private_bytes);
	get_dcqcn(c, &b->dcqcn);
	if (out->open.n_lanes == 0 || out->open.n_lanes > FARE_MAX_PLANES)
		return "number of lanes out of range";
	if (out->open.qps_per_lane == 0 || out->open.qps_per_lane > FARE_PLANE_QPS_MAX)
		return "QPs per lane out of range";
	if (o->private_bytes > FARE_PRIVATE_MAX)
		return "more private data than there may be";
	/* what the receiver passes on to sockets and devices */
	if (o->dscp > 63 || o->service_level > 15 || wrong)
		return "class, order or rate out of range";
	/* the provider checks for a minimum */
	if (!mtu || mtu > 4096 || mtu & (mtu - 1))
		return "path MTU is no power of two up to 4096";
	return NULL;
}

static const char *decode_addresses(struct control_message *out, struct octets *c)
{
	out->lane.n_addresses = (uint16_t)octets_get(c, 2);
	if (out->lane.n_addresses > FARE_MAX_SUB_PORTS)
		return "number of addresses out of range";
	for (unsigned i = 0; i < out->lane.n_addresses; i++)
		octets_copy(c, out->lane.addresses[i], sizeof(out->lane.addresses[i]));
	return NULL;
}

static const char *decode_lane(struct control_message *out, struct octets *c)
{
	out->lane.lane = (uint16_t)octets_get(c, 2);
	out->lane.n_qps = (uint16_t)octets_get(c, 2);
	out->lane.epoch = (uint32_t)octets_get(c, 4);
	out->lane.seen.floor = octets_get(c, 8);
	out->lane.seen.bits[0] = octets_get(c, 8);
	out->lane.seen.bits[1] = octets_get(c, 8);
	if (out->lane.lane >= FARE_MAX_PLANES)
		return "lane out of range";
	if (out->lane.n_qps > FARE_PLANE_QPS_MAX || (out->lane.n_qps > 0) != has_qps(out->type))
		return "number of QPs out of range";
	for (unsigned i = 0; i < out->lane.n_qps; i++) {
		out->lane.qps[i].sub_port = (uint8_t)octets_get(c, 1);
		out->lane.qps[i].qpn = (uint32_t)octets_get(c, 3);
		out->lane.qps[i].psn = (uint32_t)octets_get(c, 4);
		if (out->lane.qps[i].sub_port >= FARE_MAX_SUB_PORTS || out->lane.qps[i].psn >> 24)
			return "sub-port out of range, or PSN beyond 24 bits";
	}
	return has_qps(out->type) ? decode_addresses(out, c) : NULL;
}

int control_wire_decode(struct control_message *out, const void *buf, size_t length,
			const char **reason)
{
	struct octets c;

	octets_init(&c, buf, length);
	memset(out, 0, sizeof(*out));
	*reason = NULL;
	if (octets_get(&c, 4) != MAGIC)
		*reason = "not a control message";
	else if (octets_get(&c, 1) != VERSION)
		*reason = "unknown version";
	if (*reason)
		return -EBADMSG;
	out->type = (enum control_type)octets_get(&c, 1);
	out->source_port = (uint16_t)octets_get(&c, 2);
	out->source = octets_get(&c, 8);
	out->destination = octets_get(&c, 8);
	out->source_group = (uint32_t)octets_get(&c, 4);
	out->destination_group = (uint32_t)octets_get(&c, 4);
	if (has_nonce(out->type))
		octets_copy(&c, out->nonce, sizeof(out->nonce));
	if (out->type < CONTROL_ECHO || out->type >= CONTROL_TYPE_END) {
		*reason = "unknown type";
	} else if (out->type == CONTROL_ECHO || out->type == CONTROL_ECHO_REPLY) {
		out->echo.nonce = octets_get(&c, 8);
		out->echo.candidate = (uint16_t)octets_get(&c, 2);
		out->echo.plane = (uint16_t)octets_get(&c, 2);
		out->echo.sub_port = (uint16_t)octets_get(&c, 2);
	} else if (is_open(out->type)) {
		*reason = decode_open(out, &c);
	} else if (out->type == CONTROL_GROUP_REFUSE) {
		out->error = (uint32_t)octets_get(&c, 4);
	} else if (control_wire_is_lane(out->type)) {
		*reason = decode_lane(out, &c);
	}
	if (c.failed)
		*reason = "truncated"; /* other reasons may come from bytes past the end */
	else if (!*reason && (out->source == 0 || out->source_port == 0))
		*reason = "no source incarnation, or no port";
	/* up to three bytes of padding may follow; they are not read */
	return *reason ? -EBADMSG : 0;
}
