/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fare_group.c - the functions of fare.h on a group: what applications ask is checked and passed
 * on.
 *
 * Owns nothing, and nothing in the library calls it. In: structures of any release (sized.h). Out:
 * groups to engine.c, checked operations to transfer.c. The domain's thread.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "qp/domain.h"
#include "qp/engine.h"
#include "qp/group.h"
#include "qp/regions.h"
#include "sized.h"

static int group_check(const struct fare_group *group)
{
	return domain_check(group ? group->domain : NULL);
}

/* ---- opening and closing ---- */

static int open_group(struct fare_group **out, struct fare_domain *domain,
		      const struct peer_address *peer, const struct fare_group_options *given,
		      size_t size)
{
	struct fare_group_options options;
	int err = sized_in(&options, sizeof(options), given, size);

	/* packets have one family, and no group has several members */
	if (!err &&
	    (IN6_IS_ADDR_V4MAPPED(&peer->address) !=
		     IN6_IS_ADDR_V4MAPPED(&domain->ep.attr.address) ||
	     IN6_IS_ADDR_UNSPECIFIED(&peer->address) || IN6_IS_ADDR_MULTICAST(&peer->address)))
		err = -EINVAL;
	if (!err)
		err = engine_open(out, domain, peer, &options, NULL);
	if (!err)
		domain_has_work(domain);
	return err;
}

int fare_group_open_sized(struct fare_group **out, struct fare_domain *domain,
			  const struct in6_addr *peer, const struct fare_group_options *options,
			  size_t size)
{
	struct peer_address first;
	int err = out && peer ? domain_check(domain) : -EINVAL;

	if (out)
		*out = NULL;
	if (err)
		return err;
	first = (struct peer_address){*peer, domain->ep.provider->first_port};
	return open_group(out, domain, &first, options, size);
}

int fare_group_open_to_sized(struct fare_group **out, struct fare_domain *domain,
			     const struct fare_address *peer,
			     const struct fare_group_options *options, size_t size)
{
	struct peer_address to;
	uint64_t incarnation;
	int err = out && peer ? domain_check(domain) : -EINVAL;

	if (out)
		*out = NULL;
	if (!err)
		err = peer_address_decode(peer, &to, &incarnation);
	if (!err && !to.port)
		err = -EINVAL;
	if (!err)
		err = open_group(out, domain, &to, options, size);
	if (err)
		return err;
	(*out)->link.peer_incarnation = incarnation;
	(*out)->names_process = incarnation;
	return 0;
}

void fare_group_disconnect(struct fare_group *group)
{
	if (!group_check(group))
		group_end(group, 0);
}

void fare_group_close(struct fare_group *group)
{
	if (group_check(group))
		return;
	group_leave(group);
	engine_close(group);
}

void fare_group_peer(const struct fare_group *group, struct in6_addr *out)
{
	if (out)
		*out = group_check(group) ? in6addr_any : group->link.address.address;
}

int fare_group_peer_address(const struct fare_group *group, struct fare_address *out)
{
	if (!group->link.peer_incarnation)
		return -ENOTCONN;
	peer_address_encode(&group->link.address, group->link.peer_incarnation, out);
	return 0;
}

const void *fare_group_private(const struct fare_group *group, size_t *bytes)
{
	bool is_there = !group_check(group);

	if (bytes)
		*bytes = is_there ? group->peer_private_bytes : 0;
	return is_there ? group->peer_private : NULL;
}

void fare_group_set_context(struct fare_group *group, void *context)
{
	if (!group_check(group))
		group->context = context;
}

void *fare_group_context(const struct fare_group *group)
{
	return group_check(group) ? NULL : group->context;
}

/* ---- operations ---- */

/* Each piece must lie within its region, and the sum of lengths must not overflow. */
static int check_pieces(const struct fare_group *group, const struct fare_write *write)
{
	uint64_t length = 0;

	if (write->n_pieces > FARE_PIECES_MAX || !write->pieces || write->length)
		return -EINVAL;
	for (unsigned i = 0; i < write->n_pieces; i++) {
		const struct fare_piece *p = &write->pieces[i];

		if (p->length &&
		    (!p->data || !p->mr || !regions_hold(group->domain, p->mr, p->data, p->length)))
			return -EINVAL;
		if (__builtin_add_overflow(length, p->length, &length))
			return -EINVAL;
	}
	return length > UINT64_MAX - write->remote_addr ? -EINVAL : 0;
}

static int fare_group_check(const struct fare_group *group, const struct operation *op)
{
	const struct fare_write *w = &op->write;

	if (w->length > UINT64_MAX - w->remote_addr)
		return -EINVAL;
	if (group_is_over(group))
		return -ENOTCONN;
	/* a responder that takes packets in any order answers no READ */
	if (op->is_read && group->options.mode == FARE_MODE_PACKET)
		return -EOPNOTSUPP;
	if (w->n_pieces)
		return check_pieces(group, w);
	if (w->length &&
	    (!w->data || !w->mr || !regions_hold(group->domain, w->mr, w->data, w->length)))
		return -EINVAL;
	if (op->send_bytes && !op->send_data)
		return -EINVAL;
	if (op->send_bytes > group->options.message_bytes ||
	    (op->is_send && !group->options.message_bytes))
		return -EMSGSIZE;
	return 0;
}

static int queue_operation(struct fare_group *group, const struct operation *op)
{
	int err = fare_group_check(group, op);

	return err ? err : transfer_queue(group->transfer, op);
}

static void fare_group_start(struct fare_group *group)
{
	domain_has_work(group->domain);
	group_go(group);
}

static int queue_one(struct fare_group *group, const struct operation *op)
{
	int err = queue_operation(group, op);

	if (!err)
		fare_group_start(group);
	return err;
}

static int take_write(const struct fare_group *group, struct operation *op, const void *given,
		      size_t size)
{
	int err = given ? group_check(group) : -EINVAL;

	if (!err)
		err = sized_in(&op->write, sizeof(op->write), given, size);
	return !err && op->write.flags & ~(FARE_WRITE_NOTIFY | FARE_KEY_IS_GOOD) ? -EINVAL : err;
}

int fare_group_write_sized(struct fare_group *group, const struct fare_write *write, size_t size)
{
	struct operation op = {0};
	int err = take_write(group, &op, write, size);

	return err ? err : queue_one(group, &op);
}

int fare_group_write_many_sized(struct fare_group *group, const struct fare_write *writes,
				unsigned n, size_t size)
{
	struct operation op = {0};
	unsigned done = 0;
	int err = n && !writes ? -EINVAL : group_check(group);

	for (; !err && done < n; done++) {
		err = take_write(group, &op, (const uint8_t *)writes + done * size, size);
		if (!err)
			err = queue_operation(group, &op);
		if (err)
			break;
	}
	if (done)
		fare_group_start(group);
	return done ? (int)done : err;
}

int fare_group_send_sized(struct fare_group *group, const struct fare_send *given, size_t size)
{
	struct operation op = {.is_send = true};
	struct fare_send send;
	int err = given ? group_check(group) : -EINVAL;

	if (!err)
		err = sized_in(&send, sizeof(send), given, size);
	if (!err && send.flags & ~FARE_SEND_MORE)
		err = -EINVAL;
	if (err)
		return err;
	op.write.tag = send.tag;
	op.write.context = send.context;
	op.write.deadline_ns = send.deadline_ns;
	op.send_data = send.data;
	op.send_bytes = send.length;
	op.is_followed = send.flags & FARE_SEND_MORE;
	return queue_one(group, &op);
}

int fare_group_read_sized(struct fare_group *group, const struct fare_read *given, size_t size)
{
	struct operation op = {.is_read = true};
	struct fare_read read;
	int err = given ? group_check(group) : -EINVAL;

	if (!err)
		err = sized_in(&read, sizeof(read), given, size);
	if (!err && read.flags & ~FARE_KEY_IS_GOOD)
		err = -EINVAL;
	if (err)
		return err;
	op.write.data = read.data;
	op.write.mr = read.mr;
	op.write.length = read.length;
	op.write.remote_addr = read.remote_addr;
	op.write.rkey = read.rkey;
	op.write.context = read.context;
	op.write.deadline_ns = read.deadline_ns;
	op.write.pieces = read.pieces;
	op.write.n_pieces = read.n_pieces;
	op.write.flags = read.flags;
	return queue_one(group, &op);
}

/* ---- figures ---- */

void fare_group_stats_sized(const struct fare_group *group, struct fare_group_stats *given,
			    size_t size)
{
	struct fare_group_stats stats = {0}, *out = &stats;
	const struct qp_stats *qp;

	if (!given)
		return;
	if (group_check(group)) {
		sized_out(given, size, out, sizeof(*out));
		return;
	}
	transfer_stats(group->transfer, out);
	out->path_deaths = lanes_n_deaths(group->lanes);
	out->path_rebuilds = lanes_n_rebuilds(group->lanes);
	qp = group->domain->ep.info->stats;
	out->retransmitted_packets = qp->retransmitted_packets; /* of the whole endpoint */
	out->timeouts = qp->timeouts;
	out->icrc_errors = qp->icrc_errors;
	out->out_of_order_packets = qp->out_of_order_packets;
	out->control_rejected = group->domain->control_rejected;
	sized_out(given, size, out, sizeof(*out));
}

void fare_group_dump(const struct fare_group *group, int fd)
{
	static const char *const states[] = {"opening", "open", "ending", "closed"};

	if (group_check(group))
		return;
	dprintf(fd, "group %u (%s, peer's %u): %s%s, deaths %llu, rebuilds %llu\n", group->link.id,
		group->opener ? "opener" : "acceptor", group->link.peer_id, states[group->state],
		group->closing ? " (closing)" : "",
		(unsigned long long)lanes_n_deaths(group->lanes),
		(unsigned long long)lanes_n_rebuilds(group->lanes));
	lanes_dump(group->lanes, transfer_weights(group->transfer)->w, fd);
	transfer_dump(group->transfer, fd);
}
