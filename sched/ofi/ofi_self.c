/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_self.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "ofi/ofi_domain.h"
#include "ofi/ofi_op.h"
#include "ofi/ofi_rx.h"
#include "ofi/ofi_wire.h"

struct ofi_own_message {
	struct ofi_own_message *prev, *next;
	struct ofi_peer *peer;
	size_t bytes;
	uint8_t data[];
};

static int queue_message(struct ofi_op *op)
{
	struct ofi_own_message *m = malloc(sizeof(*m) + op->message_bytes);

	if (!m)
		return -ENOMEM;
	ofi_wire_set_credit(op->message, op->peer->owed);
	if (ofi_wire_kind(op->message) == OFI_CREDIT)
		op->peer->credit_queued = false;
	m->peer = op->peer;
	m->bytes = op->message_bytes;
	memcpy(m->data, op->message, op->message_bytes);
	DL_APPEND(op->domain->peers.own, m);
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
	uint64_t length = 0;
	uint8_t *there;

	for (unsigned i = 0; i < op->n_pieces; i++)
		length += op->pieces[i].length;
	there = op->recv ? announced(op, length)
			 : ofi_mr_reach(&op->domain->mrs, op->key, op->address, length, right);
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

int ofi_self_run(struct ofi_op *op)
{
	return op->kind == OFI_OP_MESSAGE ? queue_message(op) : move_memory(op);
}

bool ofi_self_deliver(struct ofi_domain *domain)
{
	struct ofi_own_message *m = domain->peers.own;

	if (!m)
		return false;
	DL_DELETE(domain->peers.own, m);
	ofi_rx_record(m->peer, NULL, m->data, m->bytes);
	free(m);
	return true;
}

void ofi_self_fini(struct ofi_domain *domain)
{
	struct ofi_own_message *m;

	while ((m = domain->peers.own)) {
		DL_DELETE(domain->peers.own, m);
		free(m);
	}
}
