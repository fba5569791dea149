/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_atomic_rx.h"

#include <errno.h>
#include <string.h>

#include "ofi/ofi_atomic_op.h"
#include "ofi/ofi_domain.h"
#include "ofi/ofi_op.h"
#include "ofi/ofi_queue.h"

/* ---- of a peer ---- */

/* 0; -EACCES: no such memory, or not with that right; -EINVAL: not aligned. */
static int reach(const struct ofi_domain *domain, const struct ofi_atomic *a, void **target)
{
	size_t size = ofi_atomic_size(a->datatype);
	unsigned rights = (ofi_atomic_changes(a) ? FARE_REMOTE_WRITE : 0) |
			  (ofi_atomic_result_bytes(a) ? FARE_REMOTE_READ : 0);

	*target = ofi_mr_reach(&domain->mrs, a->key, a->address, a->count * size, rights);
	if (!*target)
		return -EACCES;
	return (uintptr_t)*target % size ? -EINVAL : 0;
}

/* What the peer is answered, and where its result goes. NULL: no memory. */
static struct ofi_op *make_answer(struct ofi_peer *peer, const struct ofi_wire *w, int err,
				  uint8_t **results)
{
	const struct ofi_wire answer = {
		.kind = OFI_RESULT, .cookie = w->cookie, .status = (uint32_t)-err};
	struct ofi_op *op = ofi_op_create(peer->domain, NULL, peer, OFI_OP_MESSAGE);

	if (op && ofi_op_set_record(op, &answer, err ? 0 : w->status, results)) {
		ofi_op_destroy(op);
		return NULL;
	}
	return op;
}

void ofi_atomic_arrive(struct ofi_peer *peer, const struct ofi_wire *w, const uint8_t *body,
		       size_t bytes)
{
	uint8_t *results = NULL;
	void *target = NULL;
	struct ofi_atomic a;
	struct ofi_op *answer;
	int err = ofi_atomic_decode(body, bytes, w->status, &a);

	if (!err)
		err = reach(peer->domain, &a, &target);
	answer = make_answer(peer, w, err, &results);
	if (!answer) {
		/* the peer is not left waiting: its operations fail */
		ofi_peer_taken(peer, ofi_wire_cost(OFI_ATOMIC, w->status));
		ofi_limits_answered(&peer->limits);
		ofi_peer_disconnect(peer);
		return;
	}
	if (err)
		ofi_peer_taken(peer, w->status); /* the answer is shorter than was counted */
	else
		ofi_atomic_apply(&a, target, results);
	ofi_queue_submit(answer);
}

/* ---- of this process ---- */

static uint64_t result_bytes(const struct ofi_op *op)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < op->n_results; i++)
		bytes += op->results[i].iov_len;
	return bytes;
}

static void scatter(const struct ofi_op *op, const uint8_t *data)
{
	for (unsigned i = 0; i < op->n_results; i++) {
		memcpy(op->results[i].iov_base, data, op->results[i].iov_len);
		data += op->results[i].iov_len;
	}
}

static int status_of(const struct ofi_wire *w)
{
	switch (w->status) {
	case 0:
		return 0;
	case EACCES:
	case EINVAL:
		return -(int)w->status;
	default:
		return -EREMOTEIO;
	}
}

void ofi_atomic_answered(struct ofi_peer *peer, const struct ofi_wire *w, const uint8_t *body,
			 size_t bytes)
{
	struct ofi_op *op = ofi_op_find(peer->domain, peer, w->cookie);
	int err = status_of(w);

	/* what was not sent yet cannot have an answer */
	if (!op || !op->is_atomic || !op->submitted)
		return;
	if (!err && bytes != result_bytes(op))
		err = -EREMOTEIO;
	if (!err && !op->reported)
		scatter(op, body);
	ofi_op_settle(op, OFI_WAIT_FARE | OFI_WAIT_FIN, err);
}
