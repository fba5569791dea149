/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * regions.c - registered memory of a domain: what applications name by a struct fare_mr.
 */
#include <errno.h>
#include <stdlib.h>

#include "qp/internal.h"

_Static_assert(FARE_REMOTE_WRITE == QP_ACCESS_REMOTE_WRITE &&
		       FARE_REMOTE_READ == QP_ACCESS_REMOTE_READ,
	       "rights are passed on");

struct fare_mr {
	struct fare_domain *domain;
	struct fare_mr *next;
	uintptr_t addr;
	size_t length;
	struct qp_mr mr;
};

int fare_mr_register(struct fare_mr **out, struct fare_domain *domain, void *addr, size_t length,
		     unsigned rights)
{
	struct fare_mr *mr = calloc(1, sizeof(*mr));
	int err;

	*out = NULL;
	if (rights & ~(FARE_REMOTE_WRITE | FARE_REMOTE_READ)) {
		free(mr);
		return -EINVAL;
	}
	if (!mr)
		return -ENOMEM;
	mr->domain = domain;
	mr->addr = (uintptr_t)addr;
	mr->length = length;
	err = domain->provider->mr_register(domain->endpoint, addr, length, rights, &mr->mr);
	if (err) {
		free(mr);
		return err;
	}
	mr->next = domain->regions;
	domain->regions = mr;
	*out = mr;
	return 0;
}

void fare_mr_deregister(struct fare_mr *mr)
{
	struct fare_mr **link;

	if (!mr)
		return;
	for (link = &mr->domain->regions; *link != mr; link = &(*link)->next)
		;
	*link = mr->next;
	mr->domain->provider->mr_deregister(mr->domain->endpoint, &mr->mr);
	free(mr);
}

uint32_t fare_mr_rkey(const struct fare_mr *mr)
{
	return mr->mr.rkey;
}

bool domain_mr_holds(const struct fare_domain *domain, const struct fare_mr *mr, const void *data,
		     uint64_t length)
{
	uintptr_t at = (uintptr_t)data;

	return mr->domain == domain && at >= mr->addr && length <= mr->length &&
	       at - mr->addr <= mr->length - length;
}

uint32_t domain_mr_lkey(const struct fare_mr *mr)
{
	return mr->mr.lkey;
}
