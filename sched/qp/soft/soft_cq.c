/* SPDX-License-Identifier: BSD-2-Clause */
#include "soft_cq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "soft_endpoint.h"

void soft_cq_fini(struct soft_cq *cq)
{
	fifo_fini(&cq->wcs);
	memset(cq, 0, sizeof(*cq));
}

static struct qp_wc *soft_cq_at(const struct soft_cq *cq, size_t i)
{
	return fifo_at(&cq->wcs, sizeof(struct qp_wc), cq->first + i);
}

void soft_cq_allow(struct soft_cq *cq, size_t work, size_t receives)
{
	if (work > cq->max_work)
		cq->max_work = work;
	if (receives > cq->max_receives)
		cq->max_receives = receives;
}

int soft_cq_claim(struct soft_cq *cq, bool is_receive)
{
	size_t *n = is_receive ? &cq->n_receives : &cq->n_work;

	if (*n >= (is_receive ? cq->max_receives : cq->max_work))
		return -ENOBUFS;
	if (fifo_reserve(&cq->wcs, sizeof(struct qp_wc), cq->first, cq->first + cq->n,
			 (uint32_t)(cq->n_receives + cq->n_work + 1)))
		return -ENOMEM;
	++*n;
	return 0;
}

void soft_cq_unclaim(struct soft_cq *cq, bool is_receive)
{
	--*(is_receive ? &cq->n_receives : &cq->n_work);
}

void soft_cq_push(struct soft_cq *cq, const struct qp_wc *wc)
{
	if (cq->n == cq->wcs.room)
		abort(); /* not reachable by input: everything is counted before */
	*soft_cq_at(cq, cq->n++) = *wc;
}

void soft_cq_complete(void *arg, uint64_t wr_id, enum qp_wc_status status, uint32_t bytes)
{
	struct qp *qp = arg;
	struct qp_wc wc = {
		.qp = qp,
		.context = qp->attr.context,
		.wr_id = wr_id,
		.status = status,
		.byte_len = bytes,
	};

	soft_cq_push(&qp->ep->cq, &wc);
}

void soft_cq_notify(struct qp *qp, const struct rc_notice *notice)
{
	struct qp_wc wc = {
		.qp = qp,
		.context = qp->attr.context,
		.wr_id = notice->wr_id,
		.status = notice->status,
		.is_receive = true,
		.has_imm = notice->has_imm,
		.imm = notice->imm,
		.byte_len = notice->bytes,
	};

	soft_cq_push(&qp->ep->cq, &wc);
}

int soft_cq_poll(struct soft_cq *cq, struct qp_wc *out, int max)
{
	int n = 0;

	for (; n < max && cq->n; n++) {
		out[n] = *soft_cq_at(cq, 0);
		soft_cq_unclaim(cq, out[n].is_receive);
		cq->n--;
		cq->first++;
	}
	return n;
}

void soft_cq_purge(struct soft_cq *cq, const struct qp *qp)
{
	size_t kept = 0;

	for (size_t i = 0; i < cq->n; i++) {
		const struct qp_wc *wc = soft_cq_at(cq, i);

		if (wc->qp == qp)
			soft_cq_unclaim(cq, wc->is_receive);
		else
			*soft_cq_at(cq, kept++) = *wc;
	}
	cq->n = kept;
}
