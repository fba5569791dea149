/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * operations.c - what applications ask of a group: writes, reads, messages, one by one or several
 * at once.
 *
 * Owns nothing. In: structures of any release (sized.h). Out: checked operations to transfer.c. The
 * domain's thread.
 */
#include <errno.h>

#include "qp/internal.h"
#include "qp/pieces.h"
#include "sized.h"

static int check(const struct fare_group *group, const struct operation *op)
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
		return pieces_check(group, w);
	if (w->length &&
	    (!w->data || !w->mr || !domain_mr_holds(group->domain, w->mr, w->data, w->length)))
		return -EINVAL;
	if (op->send_bytes && !op->send_data)
		return -EINVAL;
	if (op->send_bytes > group->options.message_bytes ||
	    (op->is_send && !group->options.message_bytes))
		return -EMSGSIZE;
	return 0;
}

static int queue(struct fare_group *group, const struct operation *op)
{
	int err = check(group, op);

	return err ? err : transfer_queue(group, op);
}

static int queue_one(struct fare_group *group, const struct operation *op)
{
	int err = queue(group, op);

	if (!err)
		transfer_go(group);
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
			err = queue(group, &op);
		if (err)
			break;
	}
	if (done)
		transfer_go(group);
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
