/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_cq.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "ofi/ofi_domain.h"
#include "ofi/ofi_name.h"
#include "ofi/ofi_no.h"
#include "ofi/ofi_signal.h"
#include "base/clock.h"
#include "ofi/ofi_strerror.h"

#define FIRST_EVENTS 64u

struct ofi_cq {
	struct fid_cq fid;
	struct ofi_domain *domain;
	enum fi_cq_format format;
	unsigned n_bound;
	struct ofi_cq_event *events; /* a ring, of a power of two */
	unsigned size, head, n;
	bool has_read; /* the last read took entries */
	/* the signal is raised while there are events; epoll is readable then, and when libfare is
	 * due */
	struct ofi_signal signal;
	int epoll;
	bool interrupted;
	uint8_t err_data[OFI_NAME_BYTES_MAX]; /* what the last fi_cq_readerr() points to */
};

static struct ofi_cq *of(struct fid_cq *fid)
{
	return container_of(fid, struct ofi_cq, fid);
}

struct ofi_cq *ofi_cq_of(struct fid *fid)
{
	return container_of(fid, struct ofi_cq, fid.fid);
}

void ofi_cq_bound(struct ofi_cq *cq, int by)
{
	cq->n_bound += (unsigned)by;
}

/* ---- the ring ---- */

static bool grow(struct ofi_cq *cq)
{
	unsigned size = cq->size ? 2 * cq->size : FIRST_EVENTS;
	struct ofi_cq_event *events = calloc(size, sizeof(*events));

	if (!events)
		return false;
	for (unsigned i = 0; i < cq->n; i++)
		events[i] = cq->events[(cq->head + i) & (cq->size - 1)];
	free(cq->events);
	cq->events = events;
	cq->size = size;
	cq->head = 0;
	return true;
}

/* The event is not here any more. */
static void let_go(const struct ofi_cq_event *event)
{
	free(event->unknown);
	if (event->kept_bytes)
		ofi_peer_give_credit(event->peer, event->kept_bytes);
}

void ofi_cq_add(struct ofi_cq *cq, const struct ofi_cq_event *event)
{
	if (cq->domain->is_inherited) { /* the signal is the parent's */
		free(event->unknown);
		return;
	}
	if (cq->n == cq->size && !grow(cq)) {
		cq->domain->broken = true; /* a completion less: reads say so from now on */
		let_go(event);
		return;
	}
	cq->events[(cq->head + cq->n++) & (cq->size - 1)] = *event;
	ofi_signal_raise(&cq->signal);
}

static const struct ofi_cq_event *first(const struct ofi_cq *cq)
{
	return cq->n ? &cq->events[cq->head] : NULL;
}

static void drop_first(struct ofi_cq *cq)
{
	const struct ofi_cq_event event = cq->events[cq->head];

	cq->head = (cq->head + 1) & (cq->size - 1);
	if (!--cq->n)
		ofi_signal_clear(&cq->signal);
	let_go(&event);
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

static ssize_t take(struct ofi_cq *cq, void *buf, size_t count, fi_addr_t *source)
{
	size_t bytes = entry_bytes(cq->format), n = 0;
	const struct ofi_cq_event *event;

	while (n < count && (event = first(cq)) && !event->err) {
		memcpy((uint8_t *)buf + n * bytes, &event->entry, bytes);
		if (source)
			source[n] = event->source;
		n++;
		drop_first(cq);
	}
	if (n)
		return (ssize_t)n;
	return first(cq) ? -FI_EAVAIL : cq->domain->broken ? -FI_EOTHER : -FI_EAGAIN;
}

/*
 * A read that took entries is often followed by one that only finds that there are no more. It does
 * not poll, so that what the application makes of the entries leaves before acknowledgements.
 */
static ssize_t cq_readfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *source)
{
	struct ofi_cq *cq = of(fid);
	ssize_t n;

	ofi_lock(cq->domain);
	if (cq->domain->is_inherited) {
		ofi_unlock(cq->domain);
		return -ECHILD;
	}
	/* what the process sent to itself wakes nobody: it is delivered by a poll */
	if (!count || (!cq->n && (!cq->has_read || cq->domain->peers.own)))
		ofi_progress_by_application(cq->domain);
	n = count ? take(cq, buf, count, source) : cq->n ? 0 : -FI_EAGAIN;
	cq->has_read = n > 0;
	ofi_unlock(cq->domain);
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
	struct ofi_cq *cq = of(fid);
	const struct ofi_cq_event *event;
	ssize_t n = -FI_EAGAIN;

	(void)flags;
	ofi_lock(cq->domain);
	event = cq->domain->is_inherited ? NULL : first(cq);
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
		drop_first(cq);
	}
	ofi_unlock(cq->domain);
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
	ofi_unlock(cq->domain);
	return was;
}

/* Something may have come, or it is time to look. 0 or -errno. */
static int wait_for(struct ofi_cq *cq, int ms)
{
	struct pollfd p = {.fd = cq->epoll, .events = POLLIN};
	int most = ofi_progress_most_ms(cq->domain), n;

	ofi_progress_begin_wait(cq->domain);
	n = poll(&p, 1, most >= 0 && (ms < 0 || ms > most) ? most : ms);
	ofi_progress_end_wait(cq->domain);
	return n < 0 && errno != EINTR ? -errno : 0;
}

static ssize_t cq_sreadfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *source,
			    const void *cond, int timeout)
{
	struct ofi_cq *cq = of(fid);
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
		err = wait_for(cq, ms);
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
	struct ofi_cq *cq = of(fid);

	ofi_lock(cq->domain);
	cq->interrupted = true;
	if (!cq->domain->is_inherited)
		ofi_signal_raise(&cq->signal);
	ofi_unlock(cq->domain);
	return 0;
}

int ofi_cq_trywait(struct fid *fid)
{
	struct ofi_cq *cq = ofi_cq_of(fid);
	bool any;

	ofi_lock(cq->domain);
	ofi_progress_by_application(cq->domain);
	any = cq->n;
	ofi_unlock(cq->domain);
	ofi_progress_by_fd(cq->domain);
	return any ? -FI_EAGAIN : 0;
}

static const char *cq_strerror(struct fid_cq *fid, int prov_errno, const void *err_data, char *buf,
			       size_t len)
{
	(void)fid, (void)err_data;
	return ofi_strerror(prov_errno, buf, len);
}

/* ---- opening and closing ---- */

static void destroy(struct ofi_cq *cq)
{
	ofi_signal_fini(&cq->signal);
	if (cq->epoll >= 0)
		close(cq->epoll);
	free(cq->events);
	free(cq);
}

static int cq_close(struct fid *fid)
{
	struct ofi_cq *cq = ofi_cq_of(fid);
	struct ofi_domain *domain = cq->domain;
	bool busy;

	ofi_lock(domain);
	busy = cq->n_bound;
	while (!busy && cq->n)
		drop_first(cq);
	domain->n_users -= !busy;
	ofi_unlock(domain);
	if (busy)
		return -FI_EBUSY;
	destroy(cq);
	return 0;
}

static int cq_control(struct fid *fid, int command, void *arg)
{
	struct ofi_cq *cq = ofi_cq_of(fid);

	if (command == FI_GETWAITOBJ) {
		*(enum fi_wait_obj *)arg = cq->epoll < 0 ? FI_WAIT_NONE : FI_WAIT_FD;
		return 0;
	}
	if (command != FI_GETWAIT || cq->epoll < 0)
		return -FI_ENOSYS;
	*(int *)arg = cq->epoll;
	return 0;
}

static struct fi_ops cq_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = cq_close,
	.bind = ofi_no_bind,
	.control = cq_control,
	.ops_open = ofi_no_ops_open,
};

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
		destroy(cq);
		return err;
	}
	cq->fid.fid.fclass = FI_CLASS_CQ;
	cq->fid.fid.context = context;
	cq->fid.fid.ops = &cq_fi_ops;
	cq->fid.ops = &cq_ops;
	ofi_lock(cq->domain);
	cq->domain->n_users++;
	ofi_unlock(cq->domain);
	*out = &cq->fid;
	return 0;
}
