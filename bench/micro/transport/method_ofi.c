/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libfabric: reliable endpoints, fi_write with delivery notified.
 */
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "micro/transport/method.h"

#define NAME_BYTES 128
#define CONTEXTS   1024

struct ofi_card {
	uint64_t base, key;
	size_t name_bytes;
	uint8_t name[NAME_BYTES];
};

struct ofi {
	const struct transport_end *end;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct fid_mr *mr;
	fi_addr_t peer;
	struct ofi_card theirs;
	struct fi_context2 context[CONTEXTS];
};

static int method_ofi_find(struct ofi *o, const char *provider)
{
	struct fi_info *hints = fi_allocinfo();
	int err;

	if (!hints)
		return -ENOMEM;
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_RMA | FI_WRITE | FI_REMOTE_WRITE;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->domain_attr->mr_mode =
		FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->control_progress = hints->domain_attr->data_progress =
		FI_PROGRESS_MANUAL;
	hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
	hints->addr_format = FI_SOCKADDR_IN;
	hints->fabric_attr->prov_name = strdup(provider);
	err = fi_getinfo(FI_VERSION(1, 14), o->end->local, NULL, FI_SOURCE, hints, &o->info);
	fi_freeinfo(hints);
	return err ? -EOPNOTSUPP : 0;
}

static int build(struct ofi *o)
{
	struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_CONTEXT, .size = CONTEXTS};
	struct fi_av_attr av = {.type = FI_AV_TABLE, .count = 1};
	int err = fi_fabric(o->info->fabric_attr, &o->fabric, NULL);

	if (!err)
		err = fi_domain(o->fabric, o->info, &o->domain, NULL);
	if (!err)
		err = fi_av_open(o->domain, &av, &o->av, NULL);
	if (!err)
		err = fi_cq_open(o->domain, &cq, &o->cq, NULL);
	if (!err)
		err = fi_endpoint(o->domain, o->info, &o->ep, NULL);
	if (!err)
		err = fi_ep_bind(o->ep, &o->av->fid, 0);
	if (!err)
		err = fi_ep_bind(o->ep, &o->cq->fid, FI_TRANSMIT | FI_RECV);
	if (!err)
		err = fi_enable(o->ep);
	if (!err)
		err = fi_mr_reg(o->domain, o->end->memory, o->end->memory_bytes,
				FI_WRITE | FI_REMOTE_WRITE, 0, o->end->who + 1, 0, &o->mr, NULL);
	return err;
}

static int ofi_open(struct transport_end *end, void **state)
{
	struct ofi *o = calloc(1, sizeof(*o));
	struct ofi_card mine = {.name_bytes = NAME_BYTES};
	bool virtual;
	int err;

	*state = o;
	if (!o)
		return -ENOMEM;
	o->end = end;
	err = method_ofi_find(o, end->method->provider);
	if (!err)
		err = build(o);
	if (!err)
		err = fi_getname(&o->ep->fid, mine.name, &mine.name_bytes);
	if (err)
		return err;
	virtual = o->info->domain_attr->mr_mode &
		  (FI_MR_VIRT_ADDR | 1 /* FI_MR_BASIC, deprecated in libfabric 2 */);
	mine.base = virtual ? (uintptr_t)end->memory : 0;
	mine.key = fi_mr_key(o->mr);
	err = transport_exchange(end, &mine, &o->theirs, sizeof(mine));
	if (!err && fi_av_insert(o->av, o->theirs.name, 1, &o->peer, 0, NULL) != 1)
		err = -EHOSTUNREACH;
	return err;
}

static int ofi_post(void *state, unsigned slot)
{
	struct ofi *o = state;
	size_t offset = slot * o->end->stride;
	ssize_t n = fi_write(o->ep, o->end->memory + offset, o->end->bytes, fi_mr_desc(o->mr),
			     o->peer, o->theirs.base + offset, o->theirs.key, &o->context[slot]);

	return n == -FI_EAGAIN ? -EAGAIN : (int)n;
}

static int ofi_progress(void *state, unsigned *done, int max)
{
	struct fi_cq_entry entry[64];
	struct ofi *o = state;
	ssize_t n = fi_cq_read(o->cq, entry, (size_t)(max < 64 ? max : 64));

	if (n == -FI_EAGAIN)
		return 0;
	if (n < 0)
		return -EIO;
	for (ssize_t i = 0; i < n; i++)
		done[i] = (unsigned)((struct fi_context2 *)entry[i].op_context - o->context);
	return (int)n;
}

static void ofi_close(void *state)
{
	struct ofi *o = state;

	fi_close(&o->ep->fid);
	fi_close(&o->mr->fid);
	fi_close(&o->cq->fid);
	fi_close(&o->av->fid);
	fi_close(&o->domain->fid);
	fi_close(&o->fabric->fid);
	fi_freeinfo(o->info);
	free(o);
}

#define OFI_METHOD(PROVIDER)                                                                       \
	.provider = PROVIDER, .open = ofi_open, .post = ofi_post, .progress = ofi_progress,        \
	.close = ofi_close

/* libfabric's own over TCP, below its layer of reliable datagram endpoints; and by itself (net). */
static const struct transport_method ofi_tcp = {
	.name = "ofi-tcp", .what = "libfabric tcp;ofi_rxm, fi_write", OFI_METHOD("tcp;ofi_rxm")};
static const struct transport_method ofi_net = {
	.name = "ofi-net", .what = "libfabric net, fi_write", OFI_METHOD("net")};
static const struct transport_method ofi_udp = {
	.name = "ofi-udp", .what = "libfabric udp;ofi_rxd, fi_write", OFI_METHOD("udp;ofi_rxd")};

extern const struct transport_method *const transport_module[];
const struct transport_method *const transport_module[] = {&ofi_tcp, &ofi_net, &ofi_udp, NULL};
