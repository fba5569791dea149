/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_eq.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "ofi/ofi_fabric.h"
#include "ofi/ofi_no.h"
#include "ofi/ofi_signal.h"
#include "ofi/ofi_strerror.h"

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

static struct ofi_eq *of(struct fid_eq *fid)
{
	return container_of(fid, struct ofi_eq, fid);
}

static void drop_first(struct ofi_eq *eq)
{
	struct event *e = eq->events;

	DL_DELETE(eq->events, e);
	free(e);
	if (!eq->events)
		ofi_signal_clear(&eq->signal);
}

static ssize_t eq_read(struct fid_eq *fid, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	struct ofi_eq *eq = of(fid);
	ssize_t n = -FI_EAGAIN;

	pthread_mutex_lock(&eq->lock);
	if (eq->events && eq->events->bytes > len) {
		n = -FI_ETOOSMALL;
	} else if (eq->events) {
		*event = eq->events->kind;
		n = (ssize_t)eq->events->bytes;
		memcpy(buf, eq->events->data, eq->events->bytes);
		if (!(flags & FI_PEEK))
			drop_first(eq);
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
	struct ofi_eq *eq = of(fid);
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
	struct pollfd p = {.fd = of(fid)->signal.fd, .events = POLLIN};

	if (poll(&p, 1, timeout) <= 0)
		return -FI_EAGAIN;
	return eq_read(fid, event, buf, len, flags);
}

static const char *eq_strerror(struct fid_eq *fid, int prov_errno, const void *err_data, char *buf,
			       size_t len)
{
	(void)fid, (void)err_data;
	return ofi_strerror(prov_errno, buf, len);
}

static int eq_close(struct fid *fid)
{
	struct ofi_eq *eq = container_of(fid, struct ofi_eq, fid.fid);

	while (eq->events)
		drop_first(eq);
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

static struct fi_ops eq_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = eq_close,
	.bind = ofi_no_bind,
	.control = eq_control,
	.ops_open = ofi_no_ops_open,
};

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
	eq->fid.fid.fclass = FI_CLASS_EQ;
	eq->fid.fid.context = context;
	eq->fid.fid.ops = &eq_fi_ops;
	eq->fid.ops = &eq_ops;
	*out = &eq->fid;
	return 0;
}
