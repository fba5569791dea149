/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_op.c - operations of this process toward a peer: their memory, the order in which they start,
 * their end. Toward this process itself messages are queued and memory is copied.
 *
 * A peer's operations that no group has yet wait in its queue, in order; each starts when the group
 * has room and nothing before it waits. No peer reaches this process's own messages: a group that
 * comes from its own address is refused, and a message that is announced is found by its sender's
 * operation, never by an address in a record.
 */
#include "ofi/ofi.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/clock.h"

/* That wait for a peer that takes none; the next says that all regions may be closed. */
#define FORGETS_MAX 64u

struct ofi_op *ofi_op_create(struct ofi_domain *domain, struct ofi_ep *ep, struct ofi_peer *peer,
			     enum ofi_op_kind kind)
{
	struct ofi_op *op = calloc(1, sizeof(*op));

	if (!op)
		return NULL;
	op->domain = domain;
	op->peer = peer;
	op->kind = kind;
	op->ep = ep;
	DL_APPEND2(domain->ops, op, all_prev, all_next);
	peer->n_ops++;
	if (ep)
		ep->n_tx++;
	return op;
}

static void release_memory(struct ofi_op *op)
{
	for (unsigned i = 0; i < op->n_pieces; i++) {
		fare_mr_deregister(op->registered[i]);
		op->registered[i] = NULL;
	}
	op->n_pieces = 0;
	free(op->bounce);
	op->bounce = NULL;
}

static uint8_t kind_of(const struct ofi_op *op)
{
	return op->kind == OFI_OP_MESSAGE ? ofi_wire_kind(op->message) : 0;
}

void ofi_op_destroy(struct ofi_op *op)
{
	if (op->ep)
		op->ep->n_tx--;
	if (op->cookie)
		ofi_cookies_remove(&op->domain->cookies, op->cookie);
	if (op->announces)
		ofi_op_destroy(op->announces);
	release_memory(op);
	DL_DELETE2(op->domain->ops, op, all_prev, all_next);
	if (!op->sent_bytes || op->is_atomic) /* the answer is what gives it back */
		ofi_peer_uncharge(op);
	if (!--op->peer->n_ops)
		ofi_peer_changed(op->peer);
	free(op->results);
	if (op->message != op->header)
		free(op->message);
	free(op);
}

int ofi_op_has_room(const struct ofi_ep *ep, bool tx)
{
	if (ep->domain->is_inherited)
		return -ECHILD;
	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	return (tx ? ep->n_tx >= OFI_TX_SIZE : ep->n_rx >= OFI_RX_SIZE) ? -FI_EAGAIN : 0;
}

/* ---- memory ---- */

const struct ofi_mr *ofi_mr_find(const struct ofi_domain *domain, uint64_t key)
{
	const struct ofi_mr *mr;

	HASH_FIND(hh, domain->mrs_by_key, &key, sizeof(key), mr);
	return mr;
}

void *ofi_mr_reach(const struct ofi_domain *domain, uint64_t key, uint64_t addr, uint64_t length,
		   unsigned rights)
{
	const struct ofi_mr *mr = ofi_mr_find(domain, key);
	uint64_t first = mr && !domain->is_scalable ? mr->addr : 0;

	if (!mr || (mr->rights & rights) != rights || addr < first || length > mr->length ||
	    addr - first > mr->length - length)
		return NULL;
	return (void *)(mr->addr + (uintptr_t)(addr - first));
}

static int take_message(struct ofi_op *op, size_t bytes)
{
	op->message = bytes <= sizeof(op->header) ? op->header : malloc(bytes);
	if (!op->message)
		return -ENOMEM;
	op->message_bytes = (uint32_t)bytes;
	return 0;
}

int ofi_op_set_record(struct ofi_op *op, const struct ofi_wire *w, size_t bytes, uint8_t **payload)
{
	size_t header = ofi_wire_bytes(w->kind);
	int err = take_message(op, header + bytes);

	if (err)
		return err;
	ofi_wire_encode(w, op->message);
	*payload = op->message + header;
	return 0;
}

void ofi_op_set_message(struct ofi_op *op, const struct ofi_wire *w)
{
	uint8_t *none;

	(void)ofi_op_set_record(op, w, 0, &none); /* a header has its place in the operation */
}

int ofi_op_set_eager(struct ofi_op *op, const struct ofi_wire *w, const struct iovec *iov,
		     uint64_t bytes)
{
	int err = take_message(op, ofi_wire_eager_bytes(bytes));

	if (!err)
		ofi_wire_encode_eager(w, iov, bytes, op->message);
	return err;
}

static int add_piece(struct ofi_op *op, void *data, uint64_t length, struct fare_mr *mr,
		     unsigned rights)
{
	struct fare_piece *piece = &op->pieces[op->n_pieces];
	int err = 0;

	if (!mr) {
		err = fare_mr_register(&mr, op->domain->fare_domain, data, length, rights);
		op->registered[op->n_pieces] = err ? NULL : mr;
	}
	if (err) {
		ofi_peers_log_memory(op->domain, "memory of an operation cannot be registered",
				     err);
		return err;
	}
	*piece = (struct fare_piece){.data = data, .mr = mr, .length = length};
	op->n_pieces++;
	return 0;
}

/*
 * The application's region serves if it is still open (a receive may have been posted long ago) and
 * has what is needed of it.
 */
static struct fare_mr *region_of(const struct ofi_op *op, void **desc, size_t i, unsigned rights)
{
	const struct ofi_mr *mr = NULL;

	if (desc && desc[i])
		HASH_FIND(hh_desc, op->domain->mrs_by_desc, &desc[i], sizeof(desc[i]), mr);
	return mr && (mr->rights & rights) == rights ? mr->mr : NULL;
}

int ofi_op_take_memory(struct ofi_op *op, const struct iovec *iov, void **desc, size_t count,
		       uint64_t length, unsigned rights)
{
	int err = count > FARE_PIECES_MAX ? -EINVAL : 0;

	for (size_t i = 0; i < count && length && !err; i++) {
		uint64_t n = iov[i].iov_len < length ? iov[i].iov_len : length;

		if (!n)
			continue;
		err = add_piece(op, iov[i].iov_base, n, region_of(op, desc, i, rights), rights);
		length -= n;
	}
	return err;
}

int ofi_op_copy_memory(struct ofi_op *op, const struct iovec *iov, size_t count, uint64_t length,
		       unsigned rights)
{
	uint8_t *copy = malloc(length ? length : 1);

	if (!copy)
		return -ENOMEM;
	op->bounce = copy;
	for (size_t i = 0; i < count; i++) {
		memcpy(copy, iov[i].iov_base, iov[i].iov_len);
		copy += iov[i].iov_len;
	}
	return length ? add_piece(op, op->bounce, length, NULL, rights) : 0;
}

/* ---- over ---- */

int ofi_op_await_fin(struct ofi_op *op)
{
	int err = ofi_cookies_add(&op->domain->cookies, op, &op->cookie);

	if (!err)
		op->waits |= OFI_WAIT_FIN;
	return err == -ENOSPC ? -FI_EAGAIN : err;
}

struct ofi_op *ofi_op_find(struct ofi_domain *domain, const struct ofi_peer *peer, uint32_t cookie)
{
	struct ofi_op *op = ofi_cookies_find(&domain->cookies, cookie);

	return op && op->peer == peer ? op : NULL;
}

/* The message behind a write: it goes, or fails as the write did. */
static void op_announce(struct ofi_op *op)
{
	struct ofi_op *next = op->announces;

	op->announces = NULL;
	if (op->status)
		ofi_op_settle(next, 0, op->status);
	else
		ofi_op_submit(next);
}

static void report(struct ofi_op *op)
{
	op->reported = true;
	if (op->is_question) {
		ofi_keys_unask(&op->peer->keys, op->key);
	} else if (op->announces) {
		op_announce(op);
	} else if (op->recv) {
		op->is_event = true;
		DL_APPEND(op->domain->events.reads, op);
	} else if (op->ep) {
		ofi_complete_op(op);
	}
}

void ofi_op_settle(struct ofi_op *op, uint8_t waits, int status)
{
	op->status = op->status ? op->status : status;
	op->waits &= (uint8_t)~waits;
	if (!(op->waits & (OFI_WAIT_FARE | OFI_WAIT_FIN)) && !op->reported)
		report(op);
	if (!op->waits && !op->n_held && !op->is_event)
		ofi_op_destroy(op);
}

/* ---- a group takes it ---- */

static int send_record(struct ofi_op *op)
{
	uint32_t left = op->message_bytes - op->sent_bytes;
	struct ofi_peer *peer = op->peer;
	/* of a record that ends by its deadline nobody knows whether it arrived */
	uint32_t credit = op->deadline_ns ? 0 : peer->credit;
	const struct fare_send send = {.data = op->message + op->sent_bytes,
				       .length = left < OFI_RECORD_BYTES ? left : OFI_RECORD_BYTES,
				       .flags = left > OFI_RECORD_BYTES ? FARE_SEND_MORE : 0,
				       .context = (uintptr_t)op,
				       .deadline_ns = op->deadline_ns};
	int err;

	ofi_wire_set_credit(op->message + op->sent_bytes, credit);
	err = fare_group_send(peer->tx->group, &send);
	if (err)
		return err;
	op->sent_bytes += send.length;
	op->n_held++;
	peer->credit -= credit;
	return 0;
}

/* What the group has no room for now goes later. */
static int op_send_message(struct ofi_op *op)
{
	int err = 0;

	while (op->sent_bytes < op->message_bytes && !err)
		err = send_record(op);
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

static uint64_t piece_bytes(const struct ofi_op *op)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < op->n_pieces; i++)
		bytes += op->pieces[i].length;
	return bytes;
}

/* -EINPROGRESS: the question is the queue's first, before the operation that needs its answer. */
static int ask_for_key(struct ofi_op *op)
{
	struct ofi_op *question = ofi_op_create(op->domain, NULL, op->peer, OFI_OP_MESSAGE);
	struct ofi_wire w = {.kind = OFI_FIND, .tag = op->key};
	int err = question ? ofi_op_await_fin(question) : -ENOMEM;

	if (!err)
		err = ofi_keys_ask(&op->peer->keys, op->key);
	if (err) {
		if (question)
			ofi_op_destroy(question);
		return err;
	}
	w.cookie = question->cookie;
	ofi_op_set_message(question, &w);
	question->is_question = true;
	question->key = op->key;
	question->deadline_ns = op->deadline_ns;
	question->waits |= OFI_WAIT_FARE;
	op->has_asked = true;
	DL_PREPEND(op->peer->queue, question);
	return -EINPROGRESS;
}

/* 0: op->rkey and op->remote_addr are known; -EAGAIN: asked; -EINPROGRESS: as ask_for_key(). */
static int resolve(struct ofi_op *op)
{
	struct ofi_keys *keys = &op->peer->keys;
	const struct ofi_key *k = ofi_keys_find(keys, op->key);
	bool is_answer = k && op->has_asked;

	if (k && k->state == OFI_KEY_ASKED)
		return -EAGAIN;
	if (k && k->state == OFI_KEY_KNOWN) {
		op->rkey = k->rkey;
		if (!ofi_keys_place(k, op->address, piece_bytes(op), &op->remote_addr))
			return 0;
	}
	/* no such region, or it is too short; what was known from before may have changed */
	ofi_keys_forget(keys, op->key);
	return is_answer ? -EACCES : ask_for_key(op);
}

/* ---- toward this process itself: messages are queued, memory is copied ---- */

static int queue_message(struct ofi_op *op)
{
	struct ofi_own_message *m = malloc(sizeof(*m) + op->message_bytes);

	if (!m)
		return -ENOMEM;
	ofi_wire_set_credit(op->message, op->peer->credit);
	m->peer = op->peer;
	m->bytes = op->message_bytes;
	memcpy(m->data, op->message, op->message_bytes);
	DL_APPEND(op->domain->own, m);
	op->sent_bytes = op->message_bytes; /* in the window until it is consumed, as a peer's */
	/* another thread's wait, which no descriptor ends */
	if (atomic_load(&op->domain->progress.waiting))
		ofi_progress_by_fd(op->domain);
	return 0;
}

/*
 * The memory of the message that is read: of the operation that sends it, while there is one and
 * its region is not closed.
 */
static uint8_t *announced(const struct ofi_op *op, uint64_t length)
{
	const struct ofi_op *sender = ofi_op_find(op->domain, op->peer, op->fin_cookie);

	return sender && sender->n_pieces == 1 && sender->pieces[0].mr &&
			       length <= sender->pieces[0].length
		       ? sender->pieces[0].data
		       : NULL;
}

static int move_memory(struct ofi_op *op)
{
	unsigned right = op->kind == OFI_OP_WRITE ? FARE_REMOTE_WRITE : FARE_REMOTE_READ;
	uint64_t length = piece_bytes(op);
	uint8_t *there;

	there = op->recv ? announced(op, length)
			 : ofi_mr_reach(op->domain, op->key, op->address, length, right);
	if (!there)
		return op->recv ? -ECANCELED : -EACCES;
	for (unsigned i = 0; i < op->n_pieces; i++) {
		if (op->kind == OFI_OP_WRITE)
			memmove(there, op->pieces[i].data, op->pieces[i].length);
		else
			memmove(op->pieces[i].data, there, op->pieces[i].length);
		there += op->pieces[i].length;
	}
	return 0;
}

struct ofi_own_message *ofi_op_next_own(struct ofi_domain *domain)
{
	struct ofi_own_message *m = domain->own;

	if (m)
		DL_DELETE(domain->own, m);
	return m;
}

static bool is_answer(uint8_t kind)
{
	return kind == OFI_FIN || kind == OFI_FOUND || kind == OFI_RESULT;
}

void ofi_op_lose_answer(struct ofi_peer *peer, uint32_t cookie)
{
	struct ofi_op *op = peer->is_self ? ofi_op_find(peer->domain, peer, cookie) : NULL;

	if (op)
		ofi_op_settle(op, OFI_WAIT_FIN, -ENOMEM);
	ofi_peer_disconnect(peer);
}

/* It ends without having been sent. */
static void fail_message(struct ofi_op *op, int err)
{
	struct ofi_wire w;
	size_t payload;

	if (is_answer(kind_of(op)) &&
	    !ofi_wire_decode(op->message, op->message_bytes, &w, &payload))
		ofi_op_lose_answer(op->peer, w.cookie);
	ofi_op_settle(op, OFI_WAIT_FARE | OFI_WAIT_FIN, err);
}

static void start_own(struct ofi_op *op)
{
	int err = op->kind == OFI_OP_MESSAGE ? queue_message(op) : move_memory(op);

	if (!err && op->kind == OFI_OP_MESSAGE)
		op->peer->credit = 0;
	if (err)
		fail_message(op, err);
	else
		ofi_op_settle(op, OFI_WAIT_FARE, 0);
}

/* ---- a peer's queue ---- */

/* 0: the group has it; -EAGAIN: later; -EINPROGRESS: something before it first; else it fails. */
static int op_start(struct ofi_op *op)
{
	int err;

	if (op->after_writes && op->peer->n_writes)
		return -EAGAIN;
	err = ofi_link_ensure(op->peer);
	if (!err && op->by_key)
		err = resolve(op);
	if (err)
		return err;
	err = op->kind == OFI_OP_MESSAGE ? op_send_message(op)
	      : op->kind == OFI_OP_WRITE ? write_memory(op)
					 : read_memory(op);
	/* closed: its event still comes */
	return err == -ENOBUFS || err == -ENOTCONN ? -EAGAIN : err;
}

static void dequeue(struct ofi_peer *peer, struct ofi_op *op)
{
	uint8_t kind = kind_of(op);

	DL_DELETE(peer->queue, op);
	op->submitted = true;
	if (is_answer(kind))
		ofi_limits_answered(&peer->limits);
	if (kind == OFI_RESULT)
		ofi_peer_taken(peer, ofi_wire_cost(OFI_ATOMIC, op->message_bytes - OFI_WIRE_BYTES));
	if (kind == OFI_FORGET)
		peer->n_forgets--;
	if (kind == OFI_CREDIT)
		peer->credit_queued = false;
}

void ofi_queue_run(struct ofi_peer *peer)
{
	struct ofi_op *op;
	int err = 0;

	while ((op = peer->queue) && err != -EAGAIN) {
		err = peer->is_self ? 0 : op_start(op);
		if (err == -EAGAIN || err == -EINPROGRESS)
			continue;
		dequeue(peer, op);
		if (peer->is_self)
			start_own(op);
		else if (err)
			fail_message(op, err);
		else if (op->ends_early && !op->reported)
			report(op);
	}
}

static void set_out(struct ofi_op *op)
{
	const struct ofi_env *env = &op->domain->env;
	uint8_t kind = kind_of(op);

	if (env->deadline_ms && kind != OFI_CREDIT)
		op->deadline_ns = clock_now_ns() + env->deadline_ms * UINT64_C(1000000);
	op->waits |= OFI_WAIT_FARE;
	op->peer->n_forgets += kind == OFI_FORGET;
}

void ofi_op_submit(struct ofi_op *op)
{
	set_out(op);
	DL_APPEND(op->peer->queue, op);
	if (op->peer->queue == op)
		ofi_queue_run(op->peer);
}

int ofi_op_answer(struct ofi_peer *peer, const struct ofi_wire *w)
{
	struct ofi_op *op = ofi_op_create(peer->domain, NULL, peer, OFI_OP_MESSAGE);

	if (!op) {
		if (is_answer(w->kind))
			ofi_op_lose_answer(peer, w->cookie);
		return -ENOMEM;
	}
	ofi_op_set_message(op, w);
	if (w->kind != OFI_FOUND) {
		ofi_op_submit(op);
		return 0;
	}
	/* nothing here need be done before a peer knows a region, and it may wait for that alone */
	set_out(op);
	DL_PREPEND(peer->queue, op);
	ofi_queue_run(peer);
	return 0;
}

void ofi_queue_move(struct ofi_peer *from, struct ofi_peer *to)
{
	struct ofi_op *op;

	/* those behind a write are in no queue */
	DL_FOREACH2 (from->domain->ops, op, all_next) {
		if (op->peer != from)
			continue;
		op->peer = to;
		from->n_ops--;
		to->n_ops++;
		from->out_bytes -= op->charged;
		to->out_bytes += op->charged;
	}
	DL_CONCAT(to->queue, from->queue);
	from->queue = NULL;
	ofi_peer_changed(from);
	ofi_peer_changed(to);
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

/* ---- events ---- */

/*
 * The peer has refused a read or write. True: it was by a key that may have a new meaning, and it
 * waits until the peer was asked.
 */
static bool ask_again(struct ofi_op *op)
{
	if (!op->by_key || op->has_asked)
		return false;
	ofi_keys_forget(&op->peer->keys, op->key);
	op->submitted = false;
	DL_PREPEND(op->peer->queue, op);
	return true;
}

/* A message of several records is complete with the last of them, and fails with the first. */
void ofi_op_on_event(const struct fare_event *e)
{
	struct ofi_op *op = (struct ofi_op *)(uintptr_t)e->context;

	if (e->status != -ETIMEDOUT || e->kind == FARE_EVENT_RELEASED)
		op->n_held--; /* else its event still comes */
	if (e->kind == FARE_EVENT_RELEASED) {
		ofi_op_settle(op, 0, 0);
		return;
	}
	if (op->kind == OFI_OP_WRITE)
		op->peer->n_writes--;
	ofi_peer_changed(op->peer);
	if (e->status)
		ofi_peer_uncharge(op); /* it may not have arrived: the receiver is lenient */
	if (e->status == -EACCES && ask_again(op))
		return;
	if (!e->status && (op->n_held || !op->submitted))
		return;
	if (!op->submitted)
		dequeue(op->peer, op);
	ofi_op_settle(op, OFI_WAIT_FARE | (e->status ? OFI_WAIT_FIN : 0), e->status);
}

void ofi_op_fail_unanswered(struct ofi_peer *peer, int status)
{
	struct ofi_cookies *c = &peer->domain->cookies;

	for (uint32_t i = 0; i < c->n_slots; i++) {
		struct ofi_op *op = ofi_cookies_at(c, i);

		if (op && op->peer == peer && op->submitted)
			ofi_op_settle(op, OFI_WAIT_FIN, status);
	}
}

void ofi_op_expire_unanswered(struct ofi_domain *domain, uint64_t now_ns)
{
	for (uint32_t i = 0; i < domain->cookies.n_slots; i++) {
		struct ofi_op *op = ofi_cookies_at(&domain->cookies, i);

		if (op && op->submitted && op->deadline_ns && now_ns >= op->deadline_ns)
			ofi_op_settle(op, OFI_WAIT_FIN, -ETIMEDOUT);
	}
}

/* ---- what the application closes ---- */

/* Regions of the application stay; those of the operation go when it does. */
static bool uses_regions_of_others(const struct ofi_op *op)
{
	for (unsigned i = 0; i < op->n_pieces; i++)
		if (!op->registered[i])
			return true;
	return false;
}

bool ofi_op_end_ep(const struct ofi_ep *ep)
{
	bool any = false;
	struct ofi_op *op;

	DL_FOREACH2 (ep->domain->ops, op, all_next) {
		if (op->ep != ep || !op->n_held || !uses_regions_of_others(op))
			continue;
		ofi_peer_disconnect(op->peer);
		any = true;
	}
	return any;
}

void ofi_op_forget_ep(const struct ofi_ep *ep)
{
	struct ofi_op *op;

	DL_FOREACH2 (ep->domain->ops, op, all_next) {
		if (op->ep != ep)
			continue;
		op->ep = NULL;
		release_memory(op);
	}
}

static void forget_key(struct ofi_domain *domain, uint64_t key)
{
	struct ofi_wire w = {.kind = OFI_FORGET, .tag = key};
	struct ofi_peer *peer, *next;

	HASH_ITER (hh, domain->peers.by_address, peer, next) {
		if (!peer->asks_keys || !peer->tx || !peer->tx->connected || peer->tx->closed ||
		    peer->n_forgets > FORGETS_MAX)
			continue;
		w.status = peer->n_forgets == FORGETS_MAX ? OFI_FORGET_ALL : 0;
		if (ofi_op_answer(peer, &w))
			OFI_WARN(FI_LOG_MR, "no memory for a message about a closed region\n");
	}
}

void ofi_op_forget_mr(const struct ofi_mr *mr)
{
	struct ofi_op *op;

	DL_FOREACH2 (mr->domain->ops, op, all_next)
		for (unsigned i = 0; i < op->n_pieces; i++)
			if (op->pieces[i].mr == mr->mr)
				op->pieces[i].mr = NULL;
	if (mr->rights)
		forget_key(mr->domain, mr->key);
}
