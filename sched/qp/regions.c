/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#include "qp/domain.h"
#include "qp/regions.h"
#include "qp/mr_cache.h"
#include "qp/mr_dmabuf.h"

#define CACHED_REGIONS 1024
#define PAGE_BYTES     4096u

_Static_assert(FARE_REMOTE_WRITE == QP_ACCESS_REMOTE_WRITE &&
		       FARE_REMOTE_READ == QP_ACCESS_REMOTE_READ,
	       "rights are passed on");

struct fare_mr {
	struct fare_domain *domain;
	struct fare_mr *prev, *next;
	uintptr_t addr;
	size_t length;
	struct qp_mr mr;
	struct mr_cache_entry *cached; /* NULL: not from the cache */
	struct mr_dmabuf dmabuf;       /* used if is_dmabuf */
	bool is_dmabuf;
};

static int regions_make(struct fare_mr **out, struct fare_domain *domain, uintptr_t addr,
			size_t length, unsigned rights)
{
	int err = domain_check(domain);

	*out = NULL;
	if (err)
		return err;
	/* no object is longer than PTRDIFF_MAX; SIZE_MAX fits from NULL on alone: all memory */
	if (rights & ~(FARE_REMOTE_WRITE | FARE_REMOTE_READ) || !length ||
	    (length > PTRDIFF_MAX && length != SIZE_MAX) || addr > UINTPTR_MAX - length)
		return -EINVAL;
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->domain = domain;
	(*out)->addr = addr;
	(*out)->length = length;
	return 0;
}

static int regions_keep(struct fare_mr **out, struct fare_mr *mr, int err)
{
	if (err) {
		free(mr);
		return err;
	}
	DL_APPEND(mr->domain->regions, mr);
	*out = mr;
	return 0;
}

int fare_mr_register(struct fare_mr **out, struct fare_domain *domain, void *addr, size_t length,
		     unsigned rights)
{
	struct fare_mr *mr;
	int err = out && (addr || length == SIZE_MAX)
			  ? regions_make(&mr, domain, (uintptr_t)addr, length, rights)
			  : -EINVAL;

	if (out)
		*out = NULL;
	if (err)
		return err;
	err = domain->ep.provider->mr_register(domain->ep.handle, addr, length, rights, &mr->mr);
	return regions_keep(out, mr, err);
}

int fare_mr_register_dmabuf(struct fare_mr **out, struct fare_domain *domain, int fd,
			    uint64_t offset, size_t length, uint64_t iova, unsigned rights)
{
	struct fare_mr *mr;
	int err = out ? regions_make(&mr, domain, 0, length, rights) : -EINVAL;

	if (out)
		*out = NULL;
	if (err)
		return err;
	if (offset > INT64_MAX - length || iova > UINT64_MAX - length)
		return regions_keep(out, mr, -EINVAL);
	/* NULL names no memory; a device wants the same offset within a page */
	if (!iova)
		iova = PAGE_BYTES + offset % PAGE_BYTES;
	err = mr_dmabuf_register(&mr->dmabuf, domain->ep.provider, domain->ep.handle, fd, offset,
				 length, iova, rights);
	mr->is_dmabuf = true;
	mr->mr = mr->dmabuf.mr;
	mr->addr = (uintptr_t)mr->dmabuf.addr;
	return regions_keep(out, mr, err);
}

/* ---- the cache ---- */

int fare_mr_get(struct fare_mr **out, struct fare_domain *domain, void *addr, size_t length,
		unsigned rights)
{
	struct fare_mr *mr;
	int err =
		addr && out ? regions_make(&mr, domain, (uintptr_t)addr, length, rights) : -EINVAL;

	if (out)
		*out = NULL;
	if (err)
		return err;
	if (!domain->mr_cache)
		err = mr_cache_create(&domain->mr_cache, domain->ep.provider, domain->ep.handle,
				      CACHED_REGIONS);
	if (!err)
		err = mr_cache_get(domain->mr_cache, addr, length, rights, &mr->cached);
	if (!err)
		mr->mr = mr->cached->mr;
	return regions_keep(out, mr, err);
}

void fare_mr_invalidate(struct fare_domain *domain, const void *addr, size_t length)
{
	if (!domain_check(domain) && domain->mr_cache)
		mr_cache_invalidate(domain->mr_cache, addr, length);
}

void regions_fini(struct fare_domain *domain)
{
	while (domain->regions)
		fare_mr_deregister(domain->regions);
	mr_cache_destroy(domain->mr_cache);
}

/* ---- regions of all kinds ---- */

void fare_mr_deregister(struct fare_mr *mr)
{
	struct fare_domain *domain;

	if (!mr || domain_check(mr->domain))
		return;
	domain = mr->domain;
	DL_DELETE(domain->regions, mr);
	if (mr->cached)
		mr_cache_put(domain->mr_cache, mr->cached);
	else if (mr->is_dmabuf)
		mr_dmabuf_deregister(&mr->dmabuf, domain->ep.provider, domain->ep.handle);
	else
		domain->ep.provider->mr_deregister(domain->ep.handle, &mr->mr);
	free(mr);
}

int fare_mr_sync(const struct fare_mr *mr)
{
	int err = mr ? domain_check(mr->domain) : -EINVAL;

	return !err && mr->is_dmabuf ? mr_dmabuf_sync(&mr->dmabuf) : err;
}

uint64_t fare_mr_addr(const struct fare_mr *mr)
{
	return mr ? mr->addr : 0;
}

uint32_t fare_mr_rkey(const struct fare_mr *mr)
{
	return mr ? mr->mr.rkey : 0;
}

bool regions_hold(const struct fare_domain *domain, const struct fare_mr *mr, const void *data,
		  uint64_t length)
{
	uintptr_t at = (uintptr_t)data;

	return mr->domain == domain && at >= mr->addr && length <= mr->length &&
	       at - mr->addr <= mr->length - length;
}

uint32_t regions_lkey(const struct fare_mr *mr)
{
	return mr->mr.lkey;
}
