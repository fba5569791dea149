/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_mr.h"

#include <stdlib.h>

#include "ofi/ofi_domain.h"
#include "ofi/ofi_no.h"

void *ofi_mr_reach(const struct ofi_mrs *mrs, uint32_t rkey, uint64_t addr, uint64_t length,
		   unsigned right)
{
	struct ofi_mr *mr;

	HASH_FIND(hh, mrs->by_rkey, &rkey, sizeof(rkey), mr);
	if (!mr || !(mr->rights & right) || addr < mr->addr || length > mr->length ||
	    addr - mr->addr > mr->length - length)
		return NULL;
	return (void *)(uintptr_t)addr;
}

static int mr_close(struct fid *fid)
{
	struct ofi_mr *mr = container_of(fid, struct ofi_mr, fid.fid);
	struct ofi_domain *domain = mr->domain;

	ofi_lock(domain);
	HASH_DEL(domain->mrs.by_rkey, mr);
	fare_mr_deregister(mr->mr);
	domain->n_users--;
	ofi_unlock(domain);
	free(mr);
	return 0;
}

/* Endpoints and counters may be bound; regions belong to the domain all the same. */
static int mr_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	(void)fid, (void)flags;
	return bfid->fclass == FI_CLASS_EP ? 0 : -FI_ENOSYS;
}

static int mr_control(struct fid *fid, int command, void *arg)
{
	(void)fid, (void)arg;
	return command == FI_ENABLE ? 0 : -FI_ENOSYS;
}

static struct fi_ops mr_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = mr_close,
	.bind = mr_bind,
	.control = mr_control,
	.ops_open = ofi_no_ops_open,
};

static unsigned rights_of(uint64_t access)
{
	return (access & FI_REMOTE_WRITE ? FARE_REMOTE_WRITE : 0) |
	       (access & FI_REMOTE_READ ? FARE_REMOTE_READ : 0);
}

static int reg_locked(struct ofi_domain *domain, struct ofi_mr *mr)
{
	int err = fare_mr_register(&mr->mr, domain->fare_domain, (void *)mr->addr, mr->length,
				   mr->rights);

	if (err)
		return err;
	mr->rkey = fare_mr_rkey(mr->mr);
	mr->fid.key = mr->rkey;
	mr->fid.mem_desc = mr;
	HASH_ADD(hh, domain->mrs.by_rkey, rkey, sizeof(mr->rkey), mr);
	if (!mr->hh.tbl) {
		fare_mr_deregister(mr->mr);
		return -FI_ENOMEM;
	}
	domain->n_users++;
	return 0;
}

static int reg_attr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
		    struct fid_mr **out)
{
	struct ofi_domain *domain = container_of(fid, struct ofi_domain, fid.fid);
	struct ofi_mr *mr;
	int err;

	if (flags & ~(uint64_t)FI_RMA_EVENT || fid->fclass != FI_CLASS_DOMAIN)
		return -FI_EINVAL;
	if (attr->iov_count != 1 || attr->iface != FI_HMEM_SYSTEM)
		return -FI_ENOSYS;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -FI_ENOMEM;
	mr->fid.fid.fclass = FI_CLASS_MR;
	mr->fid.fid.context = attr->context;
	mr->fid.fid.ops = &mr_fi_ops;
	mr->domain = domain;
	mr->addr = (uintptr_t)attr->mr_iov[0].iov_base;
	mr->length = attr->mr_iov[0].iov_len;
	mr->rights = rights_of(attr->access);
	ofi_lock(domain);
	err = reg_locked(domain, mr);
	ofi_unlock(domain);
	if (err) {
		free(mr);
		return err;
	}
	*out = &mr->fid;
	return 0;
}

static int reg_v(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access,
		 uint64_t offset, uint64_t requested_key, uint64_t flags, struct fid_mr **out,
		 void *context)
{
	const struct fi_mr_attr attr = {.mr_iov = iov,
					.iov_count = count,
					.access = access,
					.offset = offset,
					.requested_key = requested_key,
					.context = context};

	return reg_attr(fid, &attr, flags, out);
}

static int reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset,
	       uint64_t requested_key, uint64_t flags, struct fid_mr **out, void *context)
{
	const struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};

	return reg_v(fid, &iov, 1, access, offset, requested_key, flags, out, context);
}

struct fi_ops_mr ofi_mr_ops = {
	.size = sizeof(struct fi_ops_mr),
	.reg = reg,
	.regv = reg_v,
	.regattr = reg_attr,
};
