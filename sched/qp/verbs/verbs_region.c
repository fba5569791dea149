/* SPDX-License-Identifier: BSD-2-Clause */
/* verbs_region.c - memory registered on every device (verbs_endpoint.h) */
#include "qp/verbs/verbs_endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define INDEX_BITS	12
#define INDEX_MASK	((1u << INDEX_BITS) - 1)
#define GENERATION_MASK ((1u << (32 - INDEX_BITS)) - 1)

static struct verbs_region *verbs_region_find(const struct qp_endpoint *ep, uint32_t key)
{
	uint32_t index = key & INDEX_MASK;

	if (!index || index > VERBS_MAX_REGIONS || ep->regions[index - 1].key != key)
		return NULL;
	return &ep->regions[index - 1];
}

static struct verbs_region *find_free(struct qp_endpoint *ep)
{
	for (uint32_t i = 0; i < VERBS_MAX_REGIONS; i++) {
		struct verbs_region *r = &ep->regions[(ep->next_region + i) % VERBS_MAX_REGIONS];

		if (r->key)
			continue;
		ep->next_region = (uint32_t)(r - ep->regions) + 1;
		return r;
	}
	return NULL;
}

static unsigned index_of(const struct qp_endpoint *ep, const struct verbs_region *r)
{
	return (unsigned)(r - ep->regions);
}

/* Of lost devices, too: what is left of their QPs must not reach it any more. */
static void verbs_region_release(struct qp_endpoint *ep, struct verbs_region *r)
{
	unsigned i = index_of(ep, r);

	for (struct verbs_handle *h = ep->handles; h; h = h->next) {
		if (h->mr[i])
			ibv_dereg_mr(h->mr[i]);
		h->mr[i] = NULL;
	}
	if (r->memory.dmabuf_fd >= 0)
		close(r->memory.dmabuf_fd);
	r->key = 0;
}

static int rights_of(unsigned access)
{
	int rights = IBV_ACCESS_LOCAL_WRITE;

	if (access & QP_ACCESS_REMOTE_WRITE)
		rights |= IBV_ACCESS_REMOTE_WRITE;
	if (access & QP_ACCESS_REMOTE_READ)
		rights |= IBV_ACCESS_REMOTE_READ;
	return rights;
}

static int register_on(const struct qp_endpoint *ep, const struct verbs_region *r,
		       struct verbs_handle *h)
{
	struct ibv_mr **mr = &h->mr[index_of(ep, r)];
	const struct verbs_memory *m = &r->memory;
	int rights = rights_of(m->access);

	errno = 0;
	if (m->dmabuf_fd >= 0)
		*mr = ibv_reg_dmabuf_mr(h->pd, m->dmabuf_offset, m->length, m->iova, m->dmabuf_fd,
					rights);
	else
		*mr = ibv_reg_mr(h->pd, m->addr, m->length, rights);
	if (*mr)
		return 0;
	return errno ? -errno : -ENOMEM;
}

static int verbs_region_check(const struct verbs_memory *m)
{
	const unsigned all = QP_ACCESS_REMOTE_WRITE | QP_ACCESS_REMOTE_READ;

	return !m->length || m->access & ~all ? -EINVAL : 0;
}

/* On every device that is there; a lost one gets it when it is back. Takes memory->dmabuf_fd. */
static int verbs_region_add(struct qp_endpoint *ep, const struct verbs_memory *memory,
			    struct qp_mr *out)
{
	struct verbs_region *r = find_free(ep);
	int err = 0;

	if (!r) {
		if (memory->dmabuf_fd >= 0)
			close(memory->dmabuf_fd);
		return -ENOSPC;
	}
	r->memory = *memory;
	for (unsigned d = 0; !err && d < ep->n_devices; d++)
		if (ep->devices[d].handle)
			err = register_on(ep, r, ep->devices[d].handle);
	if (err) {
		verbs_region_release(ep, r);
		return err;
	}
	/*
	 * counts up from a random start: no key comes back before all others of its place were used
	 */
	r->generation = r->generation ? r->generation + 1 : (uint32_t)verbs_random() | 1;
	r->key =
		(r->generation & GENERATION_MASK) << INDEX_BITS | ((uint32_t)(r - ep->regions) + 1);
	out->lkey = out->rkey = r->key;
	return 0;
}

int verbs_region_register(struct qp_endpoint *ep, void *addr, size_t length, unsigned access,
			  struct qp_mr *out)
{
	struct verbs_memory m = {.addr = addr, .length = length, .access = access, .dmabuf_fd = -1};
	int err = verbs_region_check(&m);

	return err ? err : verbs_region_add(ep, &m, out);
}

/* The descriptor is duplicated: a device that comes back needs it again. */
int verbs_region_register_dmabuf(struct qp_endpoint *ep, int fd, uint64_t offset, size_t length,
				 uint64_t iova, unsigned access, struct qp_mr *out)
{
	struct verbs_memory m = {
		.length = length, .access = access, .dmabuf_offset = offset, .iova = iova};
	int err = verbs_region_check(&m);

	if (err)
		return err;
	m.dmabuf_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (m.dmabuf_fd < 0)
		return -errno;
	err = verbs_region_add(ep, &m, out);
	/* a library or kernel without the call, a driver without it */
	return err == -ENOSYS || err == -ENOTSUP || err == -EPROTONOSUPPORT ? -EOPNOTSUPP : err;
}

bool verbs_region_restore_next(struct qp_endpoint *ep, unsigned device, uint32_t *next)
{
	struct verbs_handle *h = ep->devices[device].handle;

	while (*next < VERBS_MAX_REGIONS) {
		struct verbs_region *r = &ep->regions[(*next)++];

		if (!r->key || h->mr[index_of(ep, r)])
			continue;
		register_on(ep, r, h);
		return true;
	}
	return false;
}

int verbs_region_deregister(struct qp_endpoint *ep, const struct qp_mr *mr)
{
	struct verbs_region *r = verbs_region_find(ep, mr->lkey);

	if (!r)
		return -ENOENT;
	verbs_region_release(ep, r);
	return 0;
}

void verbs_region_free_all(struct qp_endpoint *ep)
{
	for (uint32_t i = 0; ep->regions && i < VERBS_MAX_REGIONS; i++)
		if (ep->regions[i].key)
			verbs_region_release(ep, &ep->regions[i]);
	free(ep->regions);
	ep->regions = NULL;
}

int verbs_region_lkey(const struct qp_endpoint *ep, uint32_t key, const struct verbs_handle *handle,
		      uint32_t *lkey)
{
	const struct verbs_region *r = verbs_region_find(ep, key);
	const struct ibv_mr *mr = r ? handle->mr[index_of(ep, r)] : NULL;

	if (!mr)
		return -EINVAL;
	*lkey = mr->lkey;
	return 0;
}

bool verbs_region_answer(const struct qp_endpoint *ep, struct verbs_wire_message *reply)
{
	const struct verbs_region *r = verbs_region_find(ep, reply->key);

	reply->n_keys = 0;
	if (!r || !(r->memory.access & (QP_ACCESS_REMOTE_WRITE | QP_ACCESS_REMOTE_READ)))
		return true;
	for (unsigned p = 0; p < ep->attr.n_planes; p++) {
		for (unsigned s = 0; s < ep->attr.n_sub_ports[p]; s++) {
			const struct verbs_handle *h =
				ep->devices[ep->sub_ports[p][s].device].handle;
			const struct ibv_mr *mr = h ? h->mr[index_of(ep, r)] : NULL;

			if (!mr)
				continue; /* lost: the peer asks again when it is back */
			reply->keys[reply->n_keys++] = (struct verbs_wire_key){
				.plane = (uint8_t)p, .sub_port = (uint8_t)s, .rkey = mr->rkey};
		}
	}
	return reply->n_keys > 0;
}
