/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_queue.h"

#include <errno.h>
#include <utlist.h>

#include "ofi/ofi_domain.h"
#include "ofi/ofi_link.h"
#include "ofi/ofi_op.h"
#include "ofi/ofi_self.h"
#include "base/clock.h"
#include "ofi/ofi_wire.h"

static int send_record(struct ofi_op *op)
{
	uint32_t left = op->message_bytes - op->sent_bytes;
	struct ofi_peer *peer = op->peer;
	const struct fare_send send = {.data = op->message + op->sent_bytes,
				       .length = left < OFI_RECORD_BYTES ? left : OFI_RECORD_BYTES,
				       .flags = left > OFI_RECORD_BYTES ? FARE_SEND_MORE : 0,
				       .context = (uintptr_t)op,
				       .deadline_ns = op->deadline_ns};
	int err;

	ofi_wire_set_credit(op->message + op->sent_bytes, peer->owed);
	err = fare_group_send(peer->tx->group, &send);
	if (err)
		return err;
	op->sent_bytes += send.length;
	op->n_held++;
	peer->owed = 0;
	return 0;
}

/* What the group has no room for now goes later. */
static int send_message(struct ofi_op *op)
{
	int err = 0;

	while (op->sent_bytes < op->message_bytes && !err)
		err = send_record(op);
	if (!err && ofi_wire_kind(op->message) == OFI_CREDIT)
		op->peer->credit_queued = false;
	return err;
}

static int write_memory(struct ofi_op *op)
{
	const struct fare_write write = {.remote_addr = op->remote_addr,
					 .rkey = op->rkey,
					 .context = (uintptr_t)op,
					 .deadline_ns = op->deadline_ns,
					 .pieces = op->pieces,
					 .n_pieces = op->n_pieces};
	int err = fare_group_write(op->peer->tx->group, &write);

	op->peer->n_writes += !err;
	op->n_held += !err;
	return err;
}

static int read_memory(struct ofi_op *op)
{
	const struct fare_read read = {.remote_addr = op->remote_addr,
				       .rkey = op->rkey,
				       .context = (uintptr_t)op,
				       .deadline_ns = op->deadline_ns,
				       .pieces = op->pieces,
				       .n_pieces = op->n_pieces,
				       /* an announced message's; one of an RMA is its caller's */
				       .flags = op->recv ? FARE_KEY_IS_GOOD : 0};
	int err = fare_group_read(op->peer->tx->group, &read);

	op->n_held += !err;
	return err;
}

/* ---- keys of the application's choice ---- */

static uint64_t bytes_of(const struct ofi_op *op)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < op->n_pieces; i++)
		bytes += op->pieces[i].length;
	return bytes;
}

/* -EINPROGRESS: the question is the queue's first, before the operation that needs its answer. */
static int ask(struct ofi_op *op)
{
	struct ofi_op *question = ofi_op_create(op->domain, NULL, op->peer, OFI_OP_MESSAGE);
	struct ofi_wire w = {.kind = OFI_FIND, .tag = op->key};
	int err = question ? ofi_op_await_fin(question) : -ENOMEM;

	if (!err) {
		w.cookie = question->cookie;
		err = ofi_op_set_message(question, &w);
	}
	if (!err)
		err = ofi_keys_ask(&op->peer->keys, op->key);
	if (err) {
		if (question)
			ofi_op_destroy(question);
		return err == -ENOSPC ? -EAGAIN : err;
	}
	question->is_question = true;
	question->key = op->key;
	question->deadline_ns = op->deadline_ns;
	question->waits |= OFI_WAIT_FARE;
	op->has_asked = true;
	DL_PREPEND(op->peer->queue, question);
	return -EINPROGRESS;
}

/* 0: op->rkey and op->remote_addr are known; -EAGAIN: asked; -EINPROGRESS: as ask(). */
static int resolve(struct ofi_op *op)
{
	struct ofi_keys *keys = &op->peer->keys;
	const struct ofi_key *k = ofi_keys_find(keys, op->key);
	bool is_answer = k && op->has_asked;

	if (k && k->state == OFI_KEY_ASKED)
		return -EAGAIN;
	if (k && k->state == OFI_KEY_KNOWN) {
		op->rkey = k->rkey;
		if (!ofi_keys_place(k, op->address, bytes_of(op), &op->remote_addr))
			return 0;
	}
	/* no such region, or it is too short; what was known from before may have changed */
	ofi_keys_forget(keys, op->key);
	return is_answer ? -EACCES : ask(op);
}

bool ofi_queue_again(struct ofi_op *op)
{
	if (!op->by_key || op->has_asked)
		return false;
	ofi_keys_forget(&op->peer->keys, op->key);
	op->submitted = false;
	DL_PREPEND(op->peer->queue, op);
	ofi_peer_time(op->peer);
	return true;
}

/* ---- starting ---- */

/* 0: the group has it; -EAGAIN: later; -EINPROGRESS: something before it first; else it fails. */
static int start(struct ofi_op *op)
{
	int err;

	if (op->after_writes && op->peer->n_writes)
		return -EAGAIN;
	err = ofi_link_ensure(op->peer);
	if (!err && op->by_key)
		err = resolve(op);
	if (err)
		return err;
	err = op->kind == OFI_OP_MESSAGE ? send_message(op)
	      : op->kind == OFI_OP_WRITE ? write_memory(op)
					 : read_memory(op);
	/* closed: its event is on the way */
	return err == -ENOBUFS || err == -ENOTCONN ? -EAGAIN : err;
}

static void start_own(struct ofi_peer *peer, struct ofi_op *op)
{
	int err = ofi_self_run(op);

	if (!err && op->kind == OFI_OP_MESSAGE)
		peer->owed = 0;
	ofi_op_settle(op, OFI_WAIT_FARE, err);
}

static void dequeue(struct ofi_peer *peer, struct ofi_op *op)
{
	uint8_t kind = op->kind == OFI_OP_MESSAGE ? ofi_wire_kind(op->message) : 0;

	DL_DELETE(peer->queue, op);
	op->submitted = true;
	if (kind == OFI_FIN || kind == OFI_FOUND)
		ofi_limits_answered(&peer->limits);
	else if (kind == OFI_FORGET)
		peer->n_forgets--;
}

void ofi_queue_run(struct ofi_peer *peer)
{
	struct ofi_op *op;
	int err = 0;

	while ((op = peer->queue) && err != -EAGAIN) {
		err = peer->is_self ? 0 : start(op);
		if (err == -EAGAIN || err == -EINPROGRESS)
			continue;
		dequeue(peer, op);
		if (peer->is_self)
			start_own(peer, op);
		else if (err)
			ofi_op_settle(op, OFI_WAIT_FARE | OFI_WAIT_FIN, err);
		else
			ofi_op_started(op);
	}
	if (peer->queue)
		ofi_peer_time(peer);
}

static void set_out(struct ofi_op *op)
{
	const struct ofi_env *env = &op->domain->env;

	if (env->deadline_ms)
		op->deadline_ns = clock_now_ns() + env->deadline_ms * UINT64_C(1000000);
	op->waits |= OFI_WAIT_FARE;
	if (op->kind == OFI_OP_MESSAGE && ofi_wire_kind(op->message) == OFI_FORGET)
		op->peer->n_forgets++;
}

void ofi_queue_submit(struct ofi_op *op)
{
	set_out(op);
	DL_APPEND(op->peer->queue, op);
	if (op->peer->queue == op)
		ofi_queue_run(op->peer);
}

void ofi_queue_submit_first(struct ofi_op *op)
{
	set_out(op);
	DL_PREPEND(op->peer->queue, op);
	ofi_queue_run(op->peer);
}

void ofi_queue_drop(struct ofi_op *op)
{
	if (!op->submitted)
		dequeue(op->peer, op);
}

void ofi_queue_fail(struct ofi_peer *peer, int status)
{
	struct ofi_op *op;

	while ((op = peer->queue)) {
		dequeue(peer, op);
		ofi_op_settle(op, OFI_WAIT_FARE | OFI_WAIT_FIN, status);
	}
}

void ofi_queue_expire(struct ofi_peer *peer, uint64_t now_ns)
{
	struct ofi_op *op, *next;

	DL_FOREACH_SAFE (peer->queue, op, next) {
		if (!op->deadline_ns || now_ns < op->deadline_ns)
			continue;
		dequeue(peer, op);
		ofi_op_settle(op, OFI_WAIT_FARE | OFI_WAIT_FIN, -ETIMEDOUT);
	}
}
