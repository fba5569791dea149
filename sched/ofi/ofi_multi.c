/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_multi.h"

#include <stdlib.h>

#include "ofi/ofi_ep.h"
#include "ofi/ofi_peer.h"
#include "ofi/ofi_rx.h"

struct ofi_recv *ofi_multi_part(struct ofi_recv *recv, uint64_t bytes)
{
	struct ofi_recv *part;
	uint64_t left;

	if (!recv->is_multi)
		return recv;
	part = calloc(1, sizeof(*part));
	if (!part)
		return NULL;
	left = recv->room - recv->used;
	part->whole = recv;
	part->ep = recv->ep;
	part->context = recv->context;
	part->wants_entry = recv->wants_entry;
	part->room = bytes < left ? bytes : left;
	part->n_iov = 1;
	part->iov[0].iov_base = (uint8_t *)recv->iov[0].iov_base + recv->used;
	part->iov[0].iov_len = part->room;
	part->desc[0] = recv->desc[0];
	recv->ep->n_rx++;
	recv->n_parts++;
	recv->used += part->room;
	left -= part->room;
	recv->is_spent = !left || left < recv->least;
	return part;
}

bool ofi_multi_is_spent(const struct ofi_recv *recv)
{
	return !recv->is_multi || recv->is_spent;
}

bool ofi_multi_end(struct ofi_recv *recv)
{
	recv->is_spent = true;
	return !recv->n_parts;
}

bool ofi_multi_gives_back(const struct ofi_recv *recv)
{
	return recv->is_multi ||
	       (recv->whole && recv->whole->is_spent && recv->whole->n_parts == 1);
}

void ofi_multi_free(struct ofi_recv *recv)
{
	struct ofi_recv *whole = recv->whole;

	recv->ep->n_rx--;
	if (recv->kept_bytes)
		ofi_peer_give_credit(recv->peer, recv->kept_bytes);
	free(recv);
	if (!whole || --whole->n_parts || !whole->is_spent)
		return;
	whole->ep->n_rx--;
	free(whole);
}
