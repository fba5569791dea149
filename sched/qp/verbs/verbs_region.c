/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/verbs/verbs_endpoint.h"

#include <errno.h>
#include <stdlib.h>

#define INDEX_BITS	12
#define INDEX_MASK	((1u << INDEX_BITS) - 1)
#define GENERATION_MASK ((1u << (32 - INDEX_BITS)) - 1)

static struct verbs_region *find(const struct qp_endpoint *ep, uint32_t key)
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

static void release(struct qp_endpoint *ep, struct verbs_region *r)
{
	for (unsigned d = 0; r->mr && d < ep->n_devices; d++)
		if (r->mr[d])
			ibv_dereg_mr(r->mr[d]);
	free(r->mr);
	r->mr = NULL;
	r->key = 0;
}

int verbs_region_register(struct qp_endpoint *ep, void *addr, size_t length, unsigned access,
			  struct qp_mr *out)
{
	struct verbs_region *r = find_free(ep);
	int rights = IBV_ACCESS_LOCAL_WRITE;

	if (!length || access & ~(QP_ACCESS_REMOTE_WRITE | QP_ACCESS_REMOTE_READ))
		return -EINVAL;
	if (!r)
		return -ENOSPC;
	if (access & QP_ACCESS_REMOTE_WRITE)
		rights |= IBV_ACCESS_REMOTE_WRITE;
	if (access & QP_ACCESS_REMOTE_READ)
		rights |= IBV_ACCESS_REMOTE_READ;
	r->mr = calloc(ep->n_devices, sizeof(struct ibv_mr *));
	if (!r->mr)
		return -ENOMEM;
	for (unsigned d = 0; d < ep->n_devices; d++) {
		r->mr[d] = ibv_reg_mr(ep->devices[d].pd, addr, length, rights);
		if (!r->mr[d]) {
			int err = errno ? -errno : -ENOMEM;

			release(ep, r);
			return err;
		}
	}
	r->access = access;
	/* counts up from a random start: no key comes back before all others of its place were used
	 */
	r->generation = r->generation ? r->generation + 1 : (uint32_t)verbs_endpoint_random() | 1;
	r->key =
		(r->generation & GENERATION_MASK) << INDEX_BITS | ((uint32_t)(r - ep->regions) + 1);
	out->lkey = out->rkey = r->key;
	return 0;
}

int verbs_region_deregister(struct qp_endpoint *ep, const struct qp_mr *mr)
{
	struct verbs_region *r = find(ep, mr->lkey);

	if (!r)
		return -ENOENT;
	release(ep, r);
	return 0;
}

void verbs_region_free_all(struct qp_endpoint *ep)
{
	for (uint32_t i = 0; ep->regions && i < VERBS_MAX_REGIONS; i++)
		if (ep->regions[i].key)
			release(ep, &ep->regions[i]);
	free(ep->regions);
	ep->regions = NULL;
}

int verbs_region_lkey(const struct qp_endpoint *ep, uint32_t key, unsigned device, uint32_t *lkey)
{
	const struct verbs_region *r = find(ep, key);

	if (!r)
		return -EINVAL;
	*lkey = r->mr[device]->lkey;
	return 0;
}

void verbs_region_answer(const struct qp_endpoint *ep, struct verbs_wire_message *reply)
{
	const struct verbs_region *r = find(ep, reply->key);

	reply->n_keys = 0;
	if (!r || !r->access)
		return;
	for (unsigned p = 0; p < ep->attr.n_planes; p++)
		for (unsigned s = 0; s < ep->attr.n_sub_ports[p]; s++)
			reply->keys[reply->n_keys++] = (struct verbs_wire_key){
				.plane = (uint8_t)p,
				.sub_port = (uint8_t)s,
				.rkey = r->mr[ep->sub_ports[p][s].device]->rkey};
}
