/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_recv.h"

#include <stdlib.h>
#include <string.h>

#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "ofi/ofi_complete.h"
#include "ofi/ofi_cq.h"
#include "ofi/ofi_domain.h"
#include "ofi/ofi_ep.h"
#include "ofi/ofi_info.h"
#include "ofi/ofi_multi.h"
#include "ofi/ofi_send.h"

static struct ofi_recv *create(struct ofi_ep *ep, const struct ofi_receive *r)
{
	struct ofi_recv *recv = calloc(1, sizeof(*recv));

	if (!recv)
		return NULL;
	/* without FI_DIRECTED_RECV the source is not looked at */
	recv->posted.source = ep->caps & FI_DIRECTED_RECV ? r->source : OFI_ANY_SOURCE;
	recv->posted.tag = r->tag;
	recv->posted.ignore = r->ignore;
	recv->posted.tagged = r->tagged;
	recv->ep = ep;
	recv->context = r->context;
	recv->wants_entry = ofi_complete_wants_entry(ep, false, r->flags);
	recv->n_iov = r->count;
	for (size_t i = 0; i < r->count; i++) {
		recv->iov[i] = r->iov[i];
		recv->desc[i] = r->desc ? r->desc[i] : NULL;
	}
	recv->room = ofi_iov_bytes(r->iov, r->count);
	recv->is_multi = !r->tagged && r->flags & FI_MULTI_RECV;
	recv->least = ep->min_multi_recv;
	return recv;
}

static ssize_t make(struct ofi_recv **out, struct ofi_ep *ep, const struct ofi_receive *r)
{
	int err = ofi_ep_has_room(ep, false);

	if (err)
		return err;
	*out = create(ep, r);
	if (!*out)
		return -FI_ENOMEM;
	ep->n_rx++;
	return 0;
}

/* Messages that wait go into it, until it takes no more; then it waits itself. */
static ssize_t post(struct ofi_ep *ep, const struct ofi_receive *r)
{
	struct ofi_recv *recv, *part;
	bool is_spent = false;
	ssize_t err = make(&recv, ep, r);

	if (err)
		return err;
	while (!is_spent) {
		struct ofi_arrived *a = ofi_match_arrived(&ep->match, &recv->posted);

		part = a ? ofi_multi_part(recv, ((struct ofi_message *)a)->length) : NULL;
		if (!part) {
			/* without memory for a part its message waits for the next receive */
			ofi_match_post(&ep->match, &recv->posted);
			return 0;
		}
		is_spent = ofi_multi_is_spent(recv);
		ofi_match_remove(&ep->match, a);
		ofi_rx_deliver(part, (struct ofi_message *)a);
		free(a);
	}
	return 0;
}

/* ---- looking ---- */

static void tell(struct ofi_ep *ep, const struct ofi_receive *r, const struct ofi_message *m)
{
	struct ofi_cq_event event = {.entry = {.op_context = r->context,
					       .flags = FI_RECV | (r->tagged ? FI_TAGGED : FI_MSG),
					       .tag = r->tag},
				     .source = FI_ADDR_NOTAVAIL,
				     .err = m ? 0 : FI_ENOMSG};

	if (m) {
		event.entry.len = m->length;
		event.entry.tag = m->wire.tag;
		event.entry.data = m->wire.data;
		event.entry.flags |= m->wire.flags & OFI_WIRE_DATA ? FI_REMOTE_CQ_DATA : 0;
		event.source = m->arrived.source;
	}
	if (ep->rx_cq)
		ofi_cq_add(ep->rx_cq, &event);
}

static void claim(struct ofi_ep *ep, struct ofi_message *m, void *context)
{
	m->claimed_by = context;
	m->arrived.next = (struct ofi_arrived *)ep->claimed;
	ep->claimed = m;
}

static void discard(struct ofi_message *m)
{
	ofi_rx_discard(m);
	free(m);
}

static ssize_t peek(struct ofi_ep *ep, const struct ofi_receive *r)
{
	const struct ofi_posted wanted = {.source = ep->caps & FI_DIRECTED_RECV ? r->source
										: OFI_ANY_SOURCE,
					  .tag = r->tag,
					  .ignore = r->ignore,
					  .tagged = r->tagged};
	struct ofi_message *m = (struct ofi_message *)ofi_match_arrived(&ep->match, &wanted);

	if (!m) {
		ofi_progress_by_application(ep->domain);
		m = (struct ofi_message *)ofi_match_arrived(&ep->match, &wanted);
	}
	tell(ep, r, m);
	if (m && r->flags & FI_CLAIM) {
		ofi_match_remove(&ep->match, &m->arrived);
		claim(ep, m, r->context);
	} else if (m && r->flags & FI_DISCARD) {
		ofi_match_remove(&ep->match, &m->arrived);
		discard(m);
	}
	return 0;
}

/* The message that this context has claimed. */
static struct ofi_message *take_claimed(struct ofi_ep *ep, const void *context)
{
	struct ofi_message *m, *before = NULL;

	for (m = ep->claimed; m && m->claimed_by != context;
	     m = (struct ofi_message *)m->arrived.next)
		before = m;
	if (!m)
		return NULL;
	if (before)
		before->arrived.next = m->arrived.next;
	else
		ep->claimed = (struct ofi_message *)m->arrived.next;
	return m;
}

static ssize_t receive_claimed(struct ofi_ep *ep, const struct ofi_receive *r)
{
	struct ofi_message *m = take_claimed(ep, r->context);
	struct ofi_recv *recv;
	ssize_t err;

	if (!m)
		return -FI_ENOMSG;
	if (r->flags & FI_DISCARD) {
		tell(ep, r, m);
		discard(m);
		return 0;
	}
	err = make(&recv, ep, r);
	if (err) {
		claim(ep, m, r->context);
		return err;
	}
	ofi_rx_deliver(recv, m);
	free(m);
	return 0;
}

static ssize_t receive_locked(struct ofi_ep *ep, const struct ofi_receive *r)
{
	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	if (r->count > OFI_IOV_MAX)
		return -FI_EINVAL;
	if (r->flags & FI_MULTI_RECV && !r->tagged && r->count != 1)
		return -FI_EINVAL;
	if (r->flags & FI_PEEK)
		return peek(ep, r);
	if (r->flags & FI_CLAIM)
		return receive_claimed(ep, r);
	return post(ep, r);
}

ssize_t ofi_receive(struct ofi_ep *ep, const struct ofi_receive *receive)
{
	ssize_t err;

	ofi_lock(ep->domain);
	err = receive_locked(ep, receive);
	ofi_unlock(ep->domain);
	return err;
}
