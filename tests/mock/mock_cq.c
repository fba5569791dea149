/* SPDX-License-Identifier: BSD-2-Clause */
/* mock_cq.c - completion queues, their channels and events. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "mock_objects.h"

static void notify(struct mock_cq *cq)
{
	struct mock_channel *ch = (struct mock_channel *)cq->c.channel;
	uint64_t one = 1;

	if (!cq->armed || !ch || ch->n == MOCK_EVENTS)
		return;
	cq->armed = false;
	ch->events[ch->n++] = cq;
	if (write(ch->c.fd, &one, sizeof(one)) != sizeof(one))
		abort();
}

void mock_cq_fail(struct mock_cq *cq)
{
	const struct ibv_async_event e = {.element.cq = &cq->c, .event_type = IBV_EVENT_CQ_ERR};

	cq->failed = true;
	mock_raise(mock_context_of(cq->c.context), &e);
}

void mock_cq_complete(struct ibv_cq *c, const struct ibv_wc *wc)
{
	struct mock_cq *cq = (struct mock_cq *)c;

	if (cq->failed)
		return;
	if (cq->n == (unsigned)c->cqe) {
		mock_cq_fail(cq); /* overrun */
		return;
	}
	cq->wc[(cq->first + cq->n++) % (unsigned)c->cqe] = *wc;
	notify(cq);
}

int mock_poll_cq(struct ibv_cq *c, int max, struct ibv_wc *wc)
{
	struct mock_cq *cq = (struct mock_cq *)c;
	int n = 0;

	pthread_mutex_lock(&verbs_mock_lock);
	for (; n < max && cq->n; n++, cq->n--) {
		wc[n] = cq->wc[cq->first];
		cq->first = (cq->first + 1) % (unsigned)c->cqe;
	}
	if (cq->failed)
		n = -1;
	pthread_mutex_unlock(&verbs_mock_lock);
	return n;
}

int mock_req_notify_cq(struct ibv_cq *c, int solicited_only)
{
	(void)solicited_only;
	pthread_mutex_lock(&verbs_mock_lock);
	((struct mock_cq *)c)->armed = true;
	pthread_mutex_unlock(&verbs_mock_lock);
	return 0;
}

void mock_cq_free(struct mock_cq *cq)
{
	free(cq->wc);
	free(cq);
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int vector)
{
	struct mock_cq *cq = calloc(1, sizeof(*cq));
	bool ended;

	(void)vector;
	pthread_mutex_lock(&verbs_mock_lock);
	ended = mock_context_of(context)->ended;
	pthread_mutex_unlock(&verbs_mock_lock);
	if (cq)
		cq->wc = calloc((size_t)cqe, sizeof(*cq->wc));
	if (!cq || !cq->wc || ended) {
		if (cq)
			free(cq->wc);
		free(cq);
		errno = ended ? EIO : ENOMEM;
		return NULL;
	}
	cq->c.context = context;
	cq->c.channel = channel;
	cq->c.cq_context = cq_context;
	cq->c.cqe = cqe;
	pthread_mutex_lock(&verbs_mock_lock);
	cq->next = mock_context_of(context)->cqs;
	mock_context_of(context)->cqs = cq;
	pthread_mutex_unlock(&verbs_mock_lock);
	return &cq->c;
}

static bool is_used(const struct ibv_cq *cq)
{
	for (struct mock_qp *qp = mock_context_of(cq->context)->qps; qp; qp = qp->next)
		if (qp->q.send_cq == cq || qp->q.recv_cq == cq)
			return true;
	return false;
}

/* Events that nobody has taken are dropped; those that were taken have to be acknowledged. */
int ibv_destroy_cq(struct ibv_cq *c)
{
	struct mock_cq *cq = (struct mock_cq *)c, **link;
	struct mock_channel *ch = (struct mock_channel *)c->channel;
	unsigned kept = 0;
	uint64_t count;

	pthread_mutex_lock(&verbs_mock_lock);
	if (is_used(c) && !mock_context_of(c->context)->ended) {
		pthread_mutex_unlock(&verbs_mock_lock);
		return EBUSY;
	}
	for (unsigned i = 0; ch && i < ch->n; i++) {
		if (ch->events[i] != cq)
			ch->events[kept++] = ch->events[i];
		else if (read(ch->c.fd, &count, sizeof(count)) < 0)
			abort();
	}
	if (ch)
		ch->n = kept;
	mock_drop_events(mock_context_of(c->context), c);
	while (cq->n_acked != cq->n_reported)
		pthread_cond_wait(&verbs_mock_changed, &verbs_mock_lock);
	for (link = &mock_context_of(c->context)->cqs; *link != cq; link = &(*link)->next)
		;
	*link = cq->next;
	pthread_mutex_unlock(&verbs_mock_lock);
	mock_cq_free(cq);
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct mock_channel *ch = calloc(1, sizeof(*ch));

	if (!ch)
		return NULL;
	ch->c.context = context;
	ch->c.fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	return &ch->c;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *c)
{
	close(c->fd);
	free(c);
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *c, struct ibv_cq **cq, void **context)
{
	struct mock_channel *ch = (struct mock_channel *)c;
	struct mock_cq *of = NULL;
	uint64_t count;

	pthread_mutex_lock(&verbs_mock_lock);
	if (ch->n) {
		if (read(c->fd, &count, sizeof(count)) < 0)
			abort();
		of = ch->events[0];
		memmove(&ch->events[0], &ch->events[1], --ch->n * sizeof(ch->events[0]));
		of->n_reported++;
		*cq = &of->c;
		*context = of->c.cq_context;
	}
	pthread_mutex_unlock(&verbs_mock_lock);
	if (!of)
		errno = EAGAIN;
	return of ? 0 : -1;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned n)
{
	VERBS_MOCK(((struct mock_cq *)cq)->n_acked += n);
}
