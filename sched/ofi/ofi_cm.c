/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_cm.h"

#include <string.h>

#include "ofi/ofi_domain.h"
#include "ofi/ofi_ep.h"
#include "ofi/ofi_name.h"

static int ep_getname(fid_t fid, void *addr, size_t *addrlen)
{
	struct ofi_ep *ep = container_of(fid, struct ofi_ep, fid.fid);
	struct ofi_address address = {.process = ep->domain->address, .ep = ep->number};
	size_t room = *addrlen, bytes = ofi_name_bytes(ep->domain->format);
	uint8_t text[OFI_NAME_BYTES_MAX];

	*addrlen = bytes;
	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	ofi_name_encode(ep->domain->format, &address, text);
	memcpy(addr, text, room < bytes ? room : bytes);
	return room < bytes ? -FI_ETOOSMALL : 0;
}

/* The domain receives where it does since it was opened. */
static int ep_setname(fid_t fid, void *addr, size_t addrlen)
{
	struct ofi_ep *ep = container_of(fid, struct ofi_ep, fid.fid);

	if (ep->enabled)
		return -FI_EOPBADSTATE;
	return ofi_domain_check_source(ep->domain, addr, addrlen);
}

static int no_getpeer(struct fid_ep *ep, void *addr, size_t *addrlen)
{
	(void)ep, (void)addr, (void)addrlen;
	return -FI_ENOSYS;
}

static int no_connect(struct fid_ep *ep, const void *addr, const void *param, size_t paramlen)
{
	(void)ep, (void)addr, (void)param, (void)paramlen;
	return -FI_ENOSYS;
}

static int no_listen(struct fid_pep *pep)
{
	(void)pep;
	return -FI_ENOSYS;
}

static int no_accept(struct fid_ep *ep, const void *param, size_t paramlen)
{
	(void)ep, (void)param, (void)paramlen;
	return -FI_ENOSYS;
}

static int no_reject(struct fid_pep *pep, fid_t handle, const void *param, size_t paramlen)
{
	(void)pep, (void)handle, (void)param, (void)paramlen;
	return -FI_ENOSYS;
}

static int no_shutdown(struct fid_ep *ep, uint64_t flags)
{
	(void)ep, (void)flags;
	return -FI_ENOSYS;
}

static int no_join(struct fid_ep *ep, const void *addr, uint64_t flags, struct fid_mc **mc,
		   void *context)
{
	(void)ep, (void)addr, (void)flags, (void)mc, (void)context;
	return -FI_ENOSYS;
}

struct fi_ops_cm ofi_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.setname = ep_setname,
	.getname = ep_getname,
	.getpeer = no_getpeer,
	.connect = no_connect,
	.listen = no_listen,
	.accept = no_accept,
	.reject = no_reject,
	.shutdown = no_shutdown,
	.join = no_join,
};
