/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_mr.h"

#include <stdlib.h>

#include "ofi/ofi_domain.h"
#include "ofi/ofi_no.h"
#include "ofi/ofi_op.h"
#include "ofi/ofi_prov.h"
#include "why.h"

const struct ofi_mr *ofi_mr_find(const struct ofi_mrs *mrs, uint64_t key)
{
	const struct ofi_mr *mr;

	HASH_FIND(hh, mrs->by_key, &key, sizeof(key), mr);
	return mr;
}

const struct ofi_mr *ofi_mr_of_desc(const struct ofi_mrs *mrs, const void *desc)
{
	const struct ofi_mr *mr;

	HASH_FIND(hh_desc, mrs->by_desc, &desc, sizeof(desc), mr);
	return mr;
}

void *ofi_mr_reach(const struct ofi_mrs *mrs, uint64_t key, uint64_t addr, uint64_t length,
		   unsigned rights)
{
	const struct ofi_mr *mr = ofi_mr_find(mrs, key);
	uint64_t first = mr && !mr->domain->is_scalable ? mr->addr : 0;

	if (!mr || (mr->rights & rights) != rights || addr < first || length > mr->length ||
	    addr - first > mr->length - length)
		return NULL;
	return (void *)(mr->addr + (uintptr_t)(addr - first));
}

void ofi_mr_say_why(struct ofi_domain *domain, const char *what, int err)
{
	char why[WHY_BYTES];

	if (!ofi_peers_may_say(domain))
		return;
	why_memory(err, domain->env.provider, why);
	OFI_WARN(FI_LOG_MR, "%s: %s\n", what, why);
}

static int mr_close(struct fid *fid)
{
	struct ofi_mr *mr = container_of(fid, struct ofi_mr, fid.fid);
	struct ofi_domain *domain = mr->domain;

	ofi_lock(domain);
	if (mr->rights) {
		HASH_DEL(domain->mrs.by_key, mr);
		ofi_peers_forget_key(domain, mr->key);
	}
	HASH_DELETE(hh_desc, domain->mrs.by_desc, mr);
	ofi_op_forget_mr(domain, mr->mr);
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

/* 0, -FI_ENOKEY: another region has it, or -FI_ENOMEM */
static int take_key(struct ofi_domain *domain, struct ofi_mr *mr, uint64_t requested_key)
{
	mr->key = domain->is_scalable ? requested_key : fare_mr_rkey(mr->mr);
	mr->fid.key = mr->key;
	if (!mr->rights)
		return 0;
	if (ofi_mr_find(&domain->mrs, mr->key))
		return -FI_ENOKEY;
	HASH_ADD(hh, domain->mrs.by_key, key, sizeof(mr->key), mr);
	return mr->hh.tbl ? 0 : -FI_ENOMEM;
}

/* 0 or -FI_ENOMEM, and then it has no key any more. */
static int take_desc(struct ofi_domain *domain, struct ofi_mr *mr)
{
	HASH_ADD(hh_desc, domain->mrs.by_desc, fid.mem_desc, sizeof(mr->fid.mem_desc), mr);
	if (mr->hh_desc.tbl)
		return 0;
	if (mr->rights)
		HASH_DEL(domain->mrs.by_key, mr);
	return -FI_ENOMEM;
}

static int reg_locked(struct ofi_domain *domain, struct ofi_mr *mr, uint64_t requested_key)
{
	int err = fare_mr_register(&mr->mr, domain->fare_domain, (void *)mr->addr, mr->length,
				   mr->rights);

	if (err)
		return err;
	mr->fid.mem_desc = mr;
	err = take_key(domain, mr, requested_key);
	if (!err)
		err = take_desc(domain, mr);
	if (err) {
		fare_mr_deregister(mr->mr);
		return err;
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
	err = reg_locked(domain, mr, attr->requested_key);
	if (err)
		ofi_mr_say_why(domain, "a region cannot be registered", err);
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
