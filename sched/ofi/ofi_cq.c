/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_cq.c - fi_cq(3), fi_cntr(3), fi_eq(3): what an application reads and waits for.
 */
#include "ofi/ofi.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <utlist.h>

#include "base/clock.h"
#include "ofi/ofi_name.h"

/* The provider's errors are libfabric's own. buf takes len bytes of the text; NULL or 0: none. */
static const char *strerror_of(int prov_errno, char *buf, size_t len)
{
	if (buf && len)
		snprintf(buf, len, "%s", fi_strerror(prov_errno));
	return fi_strerror(prov_errno);
}

static const char *cq_strerror(struct fid_cq *fid, int prov_errno, const void *err_data, char *buf,
			       size_t len)
{
	(void)fid, (void)err_data;
	return strerror_of(prov_errno, buf, len);
}

static const char *eq_strerror(struct fid_eq *fid, int prov_errno, const void *err_data, char *buf,
			       size_t len)
{
	(void)fid, (void)err_data;
	return strerror_of(prov_errno, buf, len);
}

/* ==== fi_cq(3): of every format; waiting by descriptor, in the call, or not at all ==== */

static struct ofi_cq *cq_of(struct fid_cq *fid)
{
	return container_of(fid, struct ofi_cq, fid);
}

/* ---- reading ---- */

/* The formats are prefixes of the longest. */
static size_t entry_bytes(enum fi_cq_format format)
{
	switch (format) {
	case FI_CQ_FORMAT_CONTEXT:
		return sizeof(struct fi_cq_entry);
	case FI_CQ_FORMAT_MSG:
		return sizeof(struct fi_cq_msg_entry);
	case FI_CQ_FORMAT_DATA:
		return sizeof(struct fi_cq_data_entry);
	case FI_CQ_FORMAT_TAGGED:
	case FI_CQ_FORMAT_UNSPEC:
		break;
	}
	return sizeof(struct fi_cq_tagged_entry);
}

static ssize_t take_entries(struct ofi_cq *cq, void *buf, size_t count, fi_addr_t *source)
{
	size_t bytes = entry_bytes(cq->format), n = 0;
	const struct ofi_cq_event *event;

	while (n < count && (event = ofi_complete_first(cq)) && !event->err) {
		memcpy((uint8_t *)buf + n * bytes, &event->entry, bytes);
		if (source)
			source[n] = event->source;
		n++;
		ofi_complete_drop(cq);
	}
	if (n)
		return (ssize_t)n;
	return ofi_complete_first(cq) ? -FI_EAVAIL : cq->domain->broken ? -FI_EOTHER : -FI_EAGAIN;
}

/*
 * A read that took entries is often followed by one that only finds that there are no more. It does
 * not poll, so that what the application makes of the entries leaves before acknowledgements.
 */
static ssize_t cq_readfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *source)
{
	struct ofi_cq *cq = cq_of(fid);
	ssize_t n;

	ofi_lock(cq->domain);
	if (cq->domain->is_inherited) {
		ofi_leave(cq->domain);
		return -ECHILD;
	}
	/* what the process sent to itself wakes nobody: it is delivered by a poll */
	if (!count || (!cq->n && (!cq->has_read || cq->domain->own)))
		ofi_progress_by_application(cq->domain);
	n = count ? take_entries(cq, buf, count, source) : cq->n ? 0 : -FI_EAGAIN;
	cq->has_read = n > 0;
	ofi_leave(cq->domain);
	return n;
}

static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	return cq_readfrom(fid, buf, count, NULL);
}

/* Into the caller's memory if there is some, which releases before 1.5 did not ask for. */
static void give_err_data(struct ofi_cq *cq, struct fi_cq_err_entry *buf, const void *data)
{
	size_t bytes = data ? ofi_name_bytes(cq->domain->format) : 0;
	bool is_old = FI_VERSION_LT(cq->domain->fabric->fid.api_version, FI_VERSION(1, 5));

	if (!bytes) {
		buf->err_data_size = 0;
	} else if (is_old || !buf->err_data_size) {
		memcpy(cq->err_data, data, bytes);
		buf->err_data = cq->err_data;
		buf->err_data_size = is_old ? buf->err_data_size : bytes;
	} else {
		buf->err_data_size = bytes < buf->err_data_size ? bytes : buf->err_data_size;
		memcpy(buf->err_data, data, buf->err_data_size);
	}
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *buf, uint64_t flags)
{
	struct ofi_cq *cq = cq_of(fid);
	const struct ofi_cq_event *event;
	ssize_t n = -FI_EAGAIN;

	(void)flags;
	ofi_lock(cq->domain);
	event = cq->domain->is_inherited ? NULL : ofi_complete_first(cq);
	if (event && event->err) {
		n = 1;
		buf->op_context = event->entry.op_context;
		buf->flags = event->entry.flags;
		buf->len = event->entry.len;
		buf->buf = event->entry.buf;
		buf->data = event->entry.data;
		buf->tag = event->entry.tag;
		buf->olen = event->olen;
		buf->err = event->err;
		buf->prov_errno = event->err;
		give_err_data(cq, buf, event->unknown);
		ofi_complete_drop(cq);
	}
	ofi_leave(cq->domain);
	return n;
}

/* ---- waiting ---- */

static int left_ms(uint64_t end_ns)
{
	uint64_t now = clock_now_ns();

	return now >= end_ns ? 0 : (int)((end_ns - now + 999999) / 1000000);
}

static bool was_interrupted(struct ofi_cq *cq)
{
	bool was;

	ofi_lock(cq->domain);
	was = cq->interrupted;
	cq->interrupted = false;
	if (was && !cq->n)
		ofi_signal_clear(&cq->signal);
	ofi_leave(cq->domain);
	return was;
}

/* Something may have come, or it is time to look. 0 or -errno. */
static int cq_wait(struct ofi_cq *cq, int ms)
{
	struct pollfd p = {.fd = cq->epoll, .events = POLLIN};
	int most, n;

	ofi_progress_begin_wait(cq->domain); /* from here on who sends to this process wakes it */
	most = ofi_progress_most_ms(cq->domain);
	n = poll(&p, 1, most >= 0 && (ms < 0 || ms > most) ? most : ms);
	ofi_progress_end_wait(cq->domain);
	return n < 0 && errno != EINTR ? -errno : 0;
}

static ssize_t cq_sreadfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *source,
			    const void *cond, int timeout)
{
	struct ofi_cq *cq = cq_of(fid);
	uint64_t end_ns = clock_now_ns() + (timeout > 0 ? (uint64_t)timeout * 1000000 : 0);
	int err = 0;
	ssize_t n;

	(void)cond;
	if (cq->epoll < 0)
		return -FI_ENOSYS;
	while ((n = cq_readfrom(fid, buf, count, source)) == -FI_EAGAIN) {
		int ms = timeout < 0 ? -1 : left_ms(end_ns);

		if (!ms || was_interrupted(cq))
			break;
		err = cq_wait(cq, ms);
		if (err)
			return err;
	}
	return n;
}

static ssize_t cq_sread(struct fid_cq *fid, void *buf, size_t count, const void *cond, int timeout)
{
	return cq_sreadfrom(fid, buf, count, NULL, cond, timeout);
}

static int cq_signal(struct fid_cq *fid)
{
	struct ofi_cq *cq = cq_of(fid);

	ofi_lock(cq->domain);
	cq->interrupted = true;
	if (!cq->domain->is_inherited)
		ofi_signal_raise(&cq->signal);
	ofi_leave(cq->domain);
	return 0;
}

int ofi_cq_trywait(struct fid *fid)
{
	struct ofi_cq *cq = container_of(fid, struct ofi_cq, fid.fid);
	bool any;

	ofi_lock(cq->domain);
	ofi_progress_by_application(cq->domain);
	any = cq->n;
	ofi_leave(cq->domain);
	ofi_progress_by_fd(cq->domain);
	return any ? -FI_EAGAIN : 0;
}

/* ---- opening and closing ---- */

static void cq_destroy(struct ofi_cq *cq)
{
	ofi_signal_fini(&cq->signal);
	if (cq->epoll >= 0)
		close(cq->epoll);
	fifo_fini(&cq->events);
	free(cq);
}

static int cq_close(struct fid *fid)
{
	struct ofi_cq *cq = container_of(fid, struct ofi_cq, fid.fid);
	struct ofi_domain *domain = cq->domain;
	bool busy;

	ofi_lock(domain);
	busy = cq->n_bound;
	while (!busy && cq->n)
		ofi_complete_drop(cq);
	domain->n_users -= !busy;
	ofi_leave(domain);
	if (busy)
		return -FI_EBUSY;
	cq_destroy(cq);
	return 0;
}

static int cq_control(struct fid *fid, int command, void *arg)
{
	struct ofi_cq *cq = container_of(fid, struct ofi_cq, fid.fid);

	if (command == FI_GETWAITOBJ) {
		*(enum fi_wait_obj *)arg = cq->epoll < 0 ? FI_WAIT_NONE : FI_WAIT_FD;
		return 0;
	}
	if (command != FI_GETWAIT || cq->epoll < 0)
		return -FI_ENOSYS;
	*(int *)arg = cq->epoll;
	return 0;
}

static struct fi_ops cq_fi_ops = OFI_FI_OPS(cq_close, ofi_no_bind, cq_control);

static struct fi_ops_cq cq_ops = {
	.size = sizeof(struct fi_ops_cq),
	.read = cq_read,
	.readfrom = cq_readfrom,
	.readerr = cq_readerr,
	.sread = cq_sread,
	.sreadfrom = cq_sreadfrom,
	.signal = cq_signal,
	.strerror = cq_strerror,
};

static int make_waitable(struct ofi_cq *cq)
{
	struct epoll_event e = {.events = EPOLLIN};
	int err = ofi_signal_init(&cq->signal);

	if (err)
		return err;
	cq->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (cq->epoll < 0 || epoll_ctl(cq->epoll, EPOLL_CTL_ADD, cq->signal.fd, &e) ||
	    epoll_ctl(cq->epoll, EPOLL_CTL_ADD, fare_domain_fd(cq->domain->fare_domain), &e))
		return -errno;
	return 0;
}

int ofi_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **out,
		void *context)
{
	struct ofi_cq *cq;
	int err = 0;

	if (attr->format > FI_CQ_FORMAT_TAGGED)
		return -FI_EINVAL;
	if (attr->wait_obj != FI_WAIT_NONE && attr->wait_obj != FI_WAIT_UNSPEC &&
	    attr->wait_obj != FI_WAIT_FD)
		return -FI_ENOSYS;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -FI_ENOMEM;
	cq->domain = ofi_domain_of(domain);
	cq->format = attr->format;
	cq->signal = OFI_SIGNAL_NONE;
	cq->epoll = -1;
	if (attr->wait_obj != FI_WAIT_NONE)
		err = make_waitable(cq);
	if (err) {
		cq_destroy(cq);
		return err;
	}
	cq->fid.fid = (struct fid){FI_CLASS_CQ, context, &cq_fi_ops};
	cq->fid.ops = &cq_ops;
	ofi_domain_hold(cq->domain);
	*out = &cq->fid;
	return 0;
}

/* ==== fi_cntr(3) ==== */

#define POLL_MS 1 /* another thread may have counted meanwhile */

static struct ofi_cntr *cntr_of(struct fid_cntr *fid)
{
	return container_of(fid, struct ofi_cntr, fid);
}

static uint64_t cntr_poll(struct ofi_cntr *cntr, const uint64_t *what)
{
	uint64_t value;

	ofi_lock(cntr->domain);
	ofi_progress_by_application(cntr->domain);
	value = *what;
	ofi_leave(cntr->domain);
	return value;
}

static uint64_t cntr_read(struct fid_cntr *fid)
{
	return cntr_poll(cntr_of(fid), &cntr_of(fid)->value);
}

static uint64_t cntr_readerr(struct fid_cntr *fid)
{
	return cntr_poll(cntr_of(fid), &cntr_of(fid)->errors);
}

static int cntr_change(struct ofi_cntr *cntr, uint64_t *what, uint64_t value, bool add)
{
	ofi_lock(cntr->domain);
	*what = add ? *what + value : value;
	ofi_unlock(cntr->domain);
	return 0;
}

static int cntr_add(struct fid_cntr *fid, uint64_t value)
{
	return cntr_change(cntr_of(fid), &cntr_of(fid)->value, value, true);
}

static int cntr_set(struct fid_cntr *fid, uint64_t value)
{
	return cntr_change(cntr_of(fid), &cntr_of(fid)->value, value, false);
}

static int cntr_adderr(struct fid_cntr *fid, uint64_t value)
{
	return cntr_change(cntr_of(fid), &cntr_of(fid)->errors, value, true);
}

static int cntr_seterr(struct fid_cntr *fid, uint64_t value)
{
	return cntr_change(cntr_of(fid), &cntr_of(fid)->errors, value, false);
}

static int cntr_wait(struct fid_cntr *fid, uint64_t threshold, int timeout)
{
	struct ofi_cntr *cntr = cntr_of(fid);
	struct pollfd p = {.fd = fare_domain_fd(cntr->domain->fare_domain), .events = POLLIN};
	uint64_t end_ns = clock_now_ns() + (timeout > 0 ? (uint64_t)timeout * 1000000 : 0);
	uint64_t errors = cntr_poll(cntr, &cntr->errors);

	while (cntr_poll(cntr, &cntr->value) < threshold) {
		if (cntr_poll(cntr, &cntr->errors) != errors)
			return -FI_EAVAIL;
		if (timeout >= 0 && clock_now_ns() >= end_ns)
			return -FI_ETIMEDOUT;
		ofi_progress_begin_wait(cntr->domain);
		poll(&p, 1, POLL_MS);
		ofi_progress_end_wait(cntr->domain);
	}
	return 0;
}

static int cntr_close(struct fid *fid)
{
	struct ofi_cntr *cntr = container_of(fid, struct ofi_cntr, fid.fid);
	bool busy;

	ofi_lock(cntr->domain);
	busy = cntr->n_bound;
	cntr->domain->n_users -= !busy;
	ofi_unlock(cntr->domain);
	if (busy)
		return -FI_EBUSY;
	free(cntr);
	return 0;
}

static struct fi_ops cntr_fi_ops = OFI_FI_OPS(cntr_close, ofi_no_bind, ofi_no_control);

static struct fi_ops_cntr cntr_ops = {
	.size = sizeof(struct fi_ops_cntr),
	.read = cntr_read,
	.readerr = cntr_readerr,
	.add = cntr_add,
	.set = cntr_set,
	.wait = cntr_wait,
	.adderr = cntr_adderr,
	.seterr = cntr_seterr,
};

int ofi_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **out,
		  void *context)
{
	struct ofi_cntr *cntr;

	if (attr->events != FI_CNTR_EVENTS_COMP ||
	    (attr->wait_obj != FI_WAIT_NONE && attr->wait_obj != FI_WAIT_UNSPEC))
		return -FI_ENOSYS;
	cntr = calloc(1, sizeof(*cntr));
	if (!cntr)
		return -FI_ENOMEM;
	cntr->domain = ofi_domain_of(domain);
	cntr->fid.fid = (struct fid){FI_CLASS_CNTR, context, &cntr_fi_ops};
	cntr->fid.ops = &cntr_ops;
	ofi_domain_hold(cntr->domain);
	*out = &cntr->fid;
	return 0;
}

/*
 * ==== fi_eq(3): an event queue holds only what the application itself writes to it, as nothing
 * here is asynchronous but data ====
 */

struct event {
	struct event *prev, *next;
	uint32_t kind;
	size_t bytes;
	uint8_t data[];
};

struct ofi_eq {
	struct fid_eq fid;
	struct ofi_fabric *fabric;
	pthread_mutex_t lock;
	struct event *events;
	struct ofi_signal signal; /* raised while there are events */
};

static struct ofi_eq *eq_of(struct fid_eq *fid)
{
	return container_of(fid, struct ofi_eq, fid);
}

static void eq_drop_first(struct ofi_eq *eq)
{
	struct event *e = eq->events;

	DL_DELETE(eq->events, e);
	free(e);
	if (!eq->events)
		ofi_signal_clear(&eq->signal);
}

static ssize_t eq_read(struct fid_eq *fid, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	struct ofi_eq *eq = eq_of(fid);
	ssize_t n = -FI_EAGAIN;

	pthread_mutex_lock(&eq->lock);
	if (eq->events && eq->events->bytes > len) {
		n = -FI_ETOOSMALL;
	} else if (eq->events) {
		*event = eq->events->kind;
		n = (ssize_t)eq->events->bytes;
		memcpy(buf, eq->events->data, eq->events->bytes);
		if (!(flags & FI_PEEK))
			eq_drop_first(eq);
	}
	pthread_mutex_unlock(&eq->lock);
	return n;
}

static ssize_t eq_readerr(struct fid_eq *fid, struct fi_eq_err_entry *buf, uint64_t flags)
{
	(void)fid, (void)buf, (void)flags;
	return -FI_EAGAIN;
}

static ssize_t eq_write(struct fid_eq *fid, uint32_t event, const void *buf, size_t len,
			uint64_t flags)
{
	struct ofi_eq *eq = eq_of(fid);
	struct event *e = calloc(1, sizeof(*e) + len);

	(void)flags;
	if (!e)
		return -FI_ENOMEM;
	e->kind = event;
	e->bytes = len;
	memcpy(e->data, buf, len);
	pthread_mutex_lock(&eq->lock);
	DL_APPEND(eq->events, e);
	ofi_signal_raise(&eq->signal);
	pthread_mutex_unlock(&eq->lock);
	return (ssize_t)len;
}

static ssize_t eq_sread(struct fid_eq *fid, uint32_t *event, void *buf, size_t len, int timeout,
			uint64_t flags)
{
	struct pollfd p = {.fd = eq_of(fid)->signal.fd, .events = POLLIN};

	if (poll(&p, 1, timeout) <= 0)
		return -FI_EAGAIN;
	return eq_read(fid, event, buf, len, flags);
}

static int eq_close(struct fid *fid)
{
	struct ofi_eq *eq = container_of(fid, struct ofi_eq, fid.fid);

	while (eq->events)
		eq_drop_first(eq);
	ofi_signal_fini(&eq->signal);
	pthread_mutex_destroy(&eq->lock);
	__atomic_fetch_sub(&eq->fabric->n_users, 1, __ATOMIC_RELEASE);
	free(eq);
	return 0;
}

static int eq_control(struct fid *fid, int command, void *arg)
{
	if (command != FI_GETWAIT)
		return -FI_ENOSYS;
	*(int *)arg = container_of(fid, struct ofi_eq, fid.fid)->signal.fd;
	return 0;
}

static struct fi_ops eq_fi_ops = OFI_FI_OPS(eq_close, ofi_no_bind, eq_control);

static struct fi_ops_eq eq_ops = {
	.size = sizeof(struct fi_ops_eq),
	.read = eq_read,
	.readerr = eq_readerr,
	.write = eq_write,
	.sread = eq_sread,
	.strerror = eq_strerror,
};

int ofi_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **out,
		void *context)
{
	struct ofi_eq *eq;
	int err;

	if (attr->wait_obj > FI_WAIT_FD || attr->wait_obj == FI_WAIT_SET)
		return -FI_ENOSYS;
	eq = calloc(1, sizeof(*eq));
	if (!eq)
		return -FI_ENOMEM;
	err = ofi_signal_init(&eq->signal);
	if (err) {
		free(eq);
		return err;
	}
	pthread_mutex_init(&eq->lock, NULL);
	eq->fabric = container_of(fabric, struct ofi_fabric, fid);
	__atomic_fetch_add(&eq->fabric->n_users, 1, __ATOMIC_RELAXED);
	eq->fid.fid = (struct fid){FI_CLASS_EQ, context, &eq_fi_ops};
	eq->fid.ops = &eq_ops;
	*out = &eq->fid;
	return 0;
}
