/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_fabric.h"

#include <stdlib.h>
#include <string.h>

#include "ofi/ofi_cq.h"
#include "ofi/ofi_domain.h"
#include "ofi/ofi_eq.h"
#include "ofi/ofi_no.h"

static int fabric_close(struct fid *fid)
{
	struct ofi_fabric *fabric = container_of(fid, struct ofi_fabric, fid.fid);

	if (__atomic_load_n(&fabric->n_users, __ATOMIC_ACQUIRE))
		return -FI_EBUSY;
	free(fabric);
	return 0;
}

static int no_passive_ep(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep,
			 void *context)
{
	(void)fabric, (void)info, (void)pep, (void)context;
	return -FI_ENOSYS;
}

static int no_wait_open(struct fid_fabric *fabric, struct fi_wait_attr *attr,
			struct fid_wait **waitset)
{
	(void)fabric, (void)attr, (void)waitset;
	return -FI_ENOSYS;
}

static int fabric_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	int err = 0;

	(void)fabric;
	for (int i = 0; i < count && !err; i++)
		if (fids[i]->fclass == FI_CLASS_CQ)
			err = ofi_cq_trywait(fids[i]);
	return err;
}

static struct fi_ops fabric_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = fabric_close,
	.bind = ofi_no_bind,
	.control = ofi_no_control,
	.ops_open = ofi_no_ops_open,
};

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(struct fi_ops_fabric),
	.domain = ofi_domain_open,
	.passive_ep = no_passive_ep,
	.eq_open = ofi_eq_open,
	.wait_open = no_wait_open,
	.trywait = fabric_trywait,
};

int ofi_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **out, void *context)
{
	struct ofi_fabric *fabric;

	if (attr->name && strcmp(attr->name, OFI_FABRIC_NAME))
		return -FI_EINVAL;
	fabric = calloc(1, sizeof(*fabric));
	if (!fabric)
		return -FI_ENOMEM;
	fabric->fid.fid.fclass = FI_CLASS_FABRIC;
	fabric->fid.fid.context = context;
	fabric->fid.fid.ops = &fabric_fi_ops;
	fabric->fid.ops = &fabric_ops;
	fabric->fid.api_version = attr->api_version;
	*out = &fabric->fid;
	return 0;
}
