/* SPDX-License-Identifier: BSD-2-Clause */
/* mock_device.c - devices, contexts, memory, events of devices. */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mock_objects.h"

#define FIRST_NUMBER 17

pthread_mutex_t verbs_mock_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t verbs_mock_changed = PTHREAD_COND_INITIALIZER;
struct verbs_mock_device mock_devices[VERBS_MOCK_DEVICES];
int verbs_mock_list_error;

/* Of the calling thread. */
static ino_t current_netns(void)
{
	struct stat st;

	return stat("/proc/thread-self/ns/net", &st) ? 0 : st.st_ino;
}

/* ---- devices ---- */

struct ibv_device **ibv_get_device_list(int *n)
{
	struct ibv_device **list = calloc(VERBS_MOCK_DEVICES + 1, sizeof(*list));
	ino_t netns = current_netns();
	int count = 0;

	if (!list || verbs_mock_list_error) {
		free(list);
		errno = verbs_mock_list_error ? verbs_mock_list_error : ENOMEM;
		return NULL;
	}
	pthread_mutex_lock(&verbs_mock_lock);
	for (unsigned i = 0; i < VERBS_MOCK_DEVICES; i++) {
		struct verbs_mock_device *d = &mock_devices[i];

		if (d->in_use && !d->absent && d->netns == netns)
			list[count++] = &d->d;
	}
	pthread_mutex_unlock(&verbs_mock_lock);
	if (n)
		*n = count;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct verbs_mock_device *d = (struct verbs_mock_device *)device;
	struct mock_context *c = calloc(1, sizeof(*c));
	int err;

	pthread_mutex_lock(&verbs_mock_lock);
	err = d->absent ? ENODEV : c ? d->open_error : ENOMEM;
	if (!err) {
		c->device = d;
		c->c.device = device;
		c->c.async_fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
		c->c.ops.poll_cq = mock_poll_cq;
		c->c.ops.req_notify_cq = mock_req_notify_cq;
		c->c.ops.post_send = mock_post_send;
		c->c.ops.post_recv = mock_post_recv;
		c->next = d->contexts;
		d->contexts = c;
		d->n_opened++;
	}
	pthread_mutex_unlock(&verbs_mock_lock);
	if (err) {
		free(c);
		errno = err;
		return NULL;
	}
	return &c->c;
}

/* What was made on it and not ended goes with it, as in the kernel. */
int ibv_close_device(struct ibv_context *context)
{
	struct mock_context *c = mock_context_of(context), **link;

	pthread_mutex_lock(&verbs_mock_lock);
	for (link = &c->device->contexts; *link != c; link = &(*link)->next)
		;
	*link = c->next;
	c->device->n_closed++;
	while (c->qps) {
		struct mock_qp *qp = c->qps;

		c->qps = qp->next;
		mock_qp_free(qp);
	}
	while (c->cqs) {
		struct mock_cq *cq = c->cqs;

		c->cqs = cq->next;
		mock_cq_free(cq);
	}
	while (c->mrs) {
		struct mock_mr *mr = c->mrs;

		c->mrs = mr->next;
		free(mr);
	}
	pthread_mutex_unlock(&verbs_mock_lock);
	close(context->async_fd);
	free(c);
	return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	int err;

	*attr = (struct ibv_device_attr){.phys_port_cnt = 1};
	pthread_mutex_lock(&verbs_mock_lock);
	err = mock_context_of(context)->ended ? EIO : 0;
	pthread_mutex_unlock(&verbs_mock_lock);
	return err;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *out)
{
	struct ibv_port_attr *attr = (struct ibv_port_attr *)out;
	const struct verbs_mock_device *d = mock_context_of(context)->device;
	int err;

	pthread_mutex_lock(&verbs_mock_lock);
	attr->state = d->port_state ? d->port_state : IBV_PORT_ACTIVE;
	attr->active_mtu = d->active_mtu ? d->active_mtu : IBV_MTU_4096;
	attr->gid_tbl_len = VERBS_MOCK_GIDS;
	attr->active_speed = d->active_speed;
	attr->active_width = d->active_width;
	err = mock_context_of(context)->ended ? EIO : port == 1 ? d->query_port_error : EINVAL;
	pthread_mutex_unlock(&verbs_mock_lock);
	return err;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max,
			     uint32_t flags, size_t size)
{
	struct mock_context *c = mock_context_of(context);
	struct verbs_mock_device *d = c->device;
	unsigned ifindex = if_nametoindex(d->netdev);
	ssize_t n = 0;

	(void)flags;
	if (size != sizeof(*entries))
		return -EINVAL;
	pthread_mutex_lock(&verbs_mock_lock);
	for (unsigned i = 0; i < d->n_gids && i < max; i++)
		entries[n++] = (struct ibv_gid_entry){.gid = d->gids[i],
						      .gid_index = i,
						      .port_num = 1,
						      .gid_type = IBV_GID_TYPE_ROCE_V2,
						      .ndev_ifindex = ifindex};
	if (c->ended)
		n = -EIO;
	d->n_gid_reads++;
	pthread_mutex_unlock(&verbs_mock_lock);
	return n;
}

/* Devices of one vendor are not what these stand for. */
bool mlx5dv_is_supported(struct ibv_device *device);
int mlx5dv_modify_qp_udp_sport(struct ibv_qp *qp, uint16_t port);

bool mlx5dv_is_supported(struct ibv_device *device)
{
	(void)device;
	return false;
}

int mlx5dv_modify_qp_udp_sport(struct ibv_qp *qp, uint16_t port)
{
	(void)qp;
	(void)port;
	return EOPNOTSUPP;
}

/* ---- memory ---- */

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = calloc(1, sizeof(*pd));

	if (pd)
		pd->context = context;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	free(pd);
	return 0;
}

static struct ibv_mr *add_mr(struct ibv_pd *pd, const struct mock_mr *what)
{
	struct mock_context *c = mock_context_of(pd->context);
	struct mock_mr *mr = calloc(1, sizeof(*mr));
	int err;

	if (!mr)
		return NULL;
	*mr = *what;
	mr->m.context = pd->context;
	mr->m.pd = pd;
	pthread_mutex_lock(&verbs_mock_lock);
	err = c->ended ? EIO : mr->is_dmabuf ? c->device->dmabuf_error : c->device->register_error;
	if (!err) {
		mr->m.lkey = mr->m.rkey = c->device->next_number++;
		mr->next = c->mrs;
		c->mrs = mr;
	}
	pthread_mutex_unlock(&verbs_mock_lock);
	if (err) {
		free(mr);
		errno = err;
		return NULL;
	}
	return &mr->m;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	const struct mock_mr mr = {
		.m = {.addr = addr, .length = length}, .iova = (uintptr_t)addr, .access = access};

	return add_mr(pd, &mr);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned access)
{
	const struct mock_mr mr = {
		.m = {.addr = addr, .length = length}, .iova = iova, .access = (int)access};

	return add_mr(pd, &mr);
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				 int fd, int access)
{
	const struct mock_mr mr = {
		.m = {.length = length}, .iova = iova, .access = access, .is_dmabuf = true};

	(void)offset;
	(void)fd;
	return add_mr(pd, &mr);
}

int ibv_dereg_mr(struct ibv_mr *m)
{
	struct mock_context *c = mock_context_of(m->context);
	struct mock_mr **link;
	int err;

	pthread_mutex_lock(&verbs_mock_lock);
	err = c->ended ? EIO : 0;
	for (link = &c->mrs; !err && &(*link)->m != m; link = &(*link)->next)
		;
	if (!err)
		*link = (*link)->next;
	pthread_mutex_unlock(&verbs_mock_lock);
	if (!err)
		free(m);
	return err;
}

struct mock_mr *mock_mr_find(struct ibv_pd *pd, uint32_t key, int access, uint64_t at,
			     uint64_t bytes)
{
	for (struct mock_mr *mr = mock_context_of(pd->context)->mrs; mr; mr = mr->next)
		if (mr->m.pd == pd && mr->m.rkey == key && (mr->access & access) == access &&
		    at >= mr->iova && bytes <= mr->m.length &&
		    at - mr->iova <= mr->m.length - bytes)
			return mr;
	return NULL;
}

/* ---- events ---- */

void mock_raise(struct mock_context *c, const struct ibv_async_event *e)
{
	uint64_t one = 1;

	if (c->ended || c->n_events == MOCK_EVENTS)
		return;
	c->events[c->n_events++] = *e;
	if (write(c->c.async_fd, &one, sizeof(one)) != sizeof(one))
		abort();
}

void mock_drop_events(struct mock_context *c, const void *element)
{
	unsigned kept = 0;
	uint64_t count;

	for (unsigned i = 0; i < c->n_events; i++) {
		if (c->events[i].element.qp != element)
			c->events[kept++] = c->events[i];
		else if (read(c->c.async_fd, &count, sizeof(count)) < 0)
			abort();
	}
	c->n_events = kept;
}

static bool is_of_qp(enum ibv_event_type type)
{
	return type == IBV_EVENT_QP_FATAL || type == IBV_EVENT_QP_REQ_ERR ||
	       type == IBV_EVENT_QP_ACCESS_ERR;
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *out)
{
	struct mock_context *c = mock_context_of(context);
	uint64_t count;
	int err = 0;

	pthread_mutex_lock(&verbs_mock_lock);
	if (c->n_events) {
		*out = c->events[0];
		memmove(&c->events[0], &c->events[1], --c->n_events * sizeof(c->events[0]));
		if (read(context->async_fd, &count, sizeof(count)) < 0)
			abort();
		if (out->event_type == IBV_EVENT_CQ_ERR)
			((struct mock_cq *)out->element.cq)->n_reported++;
		else if (is_of_qp(out->event_type))
			((struct mock_qp *)out->element.qp)->n_reported++;
	} else {
		err = c->ended ? EIO : EAGAIN;
	}
	pthread_mutex_unlock(&verbs_mock_lock);
	errno = err;
	return err ? -1 : 0;
}

void ibv_ack_async_event(struct ibv_async_event *e)
{
	if (e->event_type == IBV_EVENT_CQ_ERR)
		VERBS_MOCK(((struct mock_cq *)e->element.cq)->n_acked++);
	else if (is_of_qp(e->event_type))
		VERBS_MOCK(((struct mock_qp *)e->element.qp)->n_acked++);
}

/* ---- what a test makes happen ---- */

struct verbs_mock_device *verbs_mock_add(const char *name, const char *netdev, const char *gid0,
					 const char *gid1)
{
	const char *gids[VERBS_MOCK_GIDS] = {gid0, gid1};
	struct verbs_mock_device *d = NULL;

	pthread_mutex_lock(&verbs_mock_lock);
	for (unsigned i = 0; !d && i < VERBS_MOCK_DEVICES; i++)
		if (!mock_devices[i].in_use)
			d = &mock_devices[i];
	if (d) {
		memset(d, 0, sizeof(*d));
		snprintf(d->d.name, sizeof(d->d.name), "%s", name);
		snprintf(d->d.dev_name, sizeof(d->d.dev_name), "%s", name);
		snprintf(d->d.dev_path, sizeof(d->d.dev_path), "/");
		snprintf(d->netdev, sizeof(d->netdev), "%s", netdev);
		d->netns = current_netns();
		d->next_number = FIRST_NUMBER;
		for (; d->n_gids < VERBS_MOCK_GIDS && gids[d->n_gids]; d->n_gids++)
			if (inet_pton(AF_INET6, gids[d->n_gids], d->gids[d->n_gids].raw) != 1)
				break;
		d->in_use = d->n_gids > 0;
	}
	pthread_mutex_unlock(&verbs_mock_lock);
	return d && d->in_use ? d : NULL;
}

void verbs_mock_fail(struct verbs_mock_device *d, uint64_t n, uint64_t count, unsigned status)
{
	VERBS_MOCK(d->fail_from = d->n_posted + n; d->fail_count = count; d->fail_status = status);
}

void verbs_mock_mute(struct verbs_mock_device *d, uint64_t n)
{
	VERBS_MOCK(d->mute_from = n ? d->n_posted + n : 0);
}

void verbs_mock_remove(struct verbs_mock_device *d)
{
	const struct ibv_async_event fatal = {.event_type = IBV_EVENT_DEVICE_FATAL};

	pthread_mutex_lock(&verbs_mock_lock);
	d->absent = true;
	for (struct mock_context *c = d->contexts; c; c = c->next) {
		mock_raise(c, &fatal);
		c->ended = true;
	}
	pthread_mutex_unlock(&verbs_mock_lock);
}

void verbs_mock_restore(struct verbs_mock_device *d)
{
	VERBS_MOCK(d->absent = false);
}

static void raise_event(struct verbs_mock_device *d, unsigned type, int who)
{
	const struct ibv_async_event e = {.element.port_num = 1,
					  .event_type = (enum ibv_event_type)type};
	int last = -1;

	/* the list begins with the latest */
	for (struct mock_context *c = d->contexts; c; c = c->next)
		last++;
	for (struct mock_context *c = d->contexts; c; c = c->next, last--)
		if (who < 0 || who == last)
			mock_raise(c, &e);
}

void verbs_mock_event(struct verbs_mock_device *d, unsigned type, int who)
{
	VERBS_MOCK(raise_event(d, type, who));
}

void verbs_mock_port(struct verbs_mock_device *d, bool up)
{
	VERBS_MOCK(d->port_state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
		   raise_event(d, up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR, -1));
}

unsigned verbs_mock_mr(struct verbs_mock_device *d, uint64_t iova, struct verbs_mock_mr *out)
{
	unsigned n = 0;

	pthread_mutex_lock(&verbs_mock_lock);
	for (struct mock_context *c = d->contexts; c; c = c->next) {
		for (struct mock_mr *mr = c->mrs; mr && !c->ended; mr = mr->next) {
			if (mr->iova != iova)
				continue;
			*out = (struct verbs_mock_mr){mr->access, mr->is_dmabuf};
			n++;
		}
	}
	pthread_mutex_unlock(&verbs_mock_lock);
	return n;
}
