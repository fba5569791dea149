/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_domain.c - the provider's entry; fi_fabric(3), fi_domain(3): one local GPU in one process;
 * fi_mr(3): the application's regions.
 */
#include "ofi/ofi.h"

#include <stdlib.h>
#include <string.h>

#include "ofi/ofi_name.h"
#include "why.h"

/* ---- what is not offered ---- */

OFI_NOT_OFFERED(int, no_context, struct fid_domain *domain, struct fi_tx_attr *attr,
		struct fid_stx **stx, void *context)
OFI_NOT_OFFERED(int, no_srx, struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **ep,
		void *context)
OFI_NOT_OFFERED(int, no_scalable, struct fid_domain *domain, struct fi_info *info,
		struct fid_ep **ep, void *context)
OFI_NOT_OFFERED(int, no_poll, struct fid_domain *domain, struct fi_poll_attr *attr,
		struct fid_poll **poll)
OFI_NOT_OFFERED(int, no_collective, struct fid_domain *domain, enum fi_collective_op coll,
		struct fi_collective_attr *attr, uint64_t flags)
OFI_NOT_OFFERED(int, no_passive_ep, struct fid_fabric *fabric, struct fi_info *info,
		struct fid_pep **pep, void *context)
OFI_NOT_OFFERED(int, no_wait_open, struct fid_fabric *fabric, struct fi_wait_attr *attr,
		struct fid_wait **waitset)

/* ---- regions ---- */

static int mr_close(struct fid *fid)
{
	struct ofi_mr *mr = container_of(fid, struct ofi_mr, fid.fid);
	struct ofi_domain *domain = mr->domain;

	ofi_lock(domain);
	if (mr->rights)
		HASH_DEL(domain->mrs_by_key, mr);
	HASH_DELETE(hh_desc, domain->mrs_by_desc, mr);
	ofi_op_forget_mr(mr);
	fare_mr_deregister(mr->mr);
	domain->n_users--;
	ofi_leave(domain);
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

static struct fi_ops mr_fi_ops = OFI_FI_OPS(mr_close, mr_bind, mr_control);

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
	if (ofi_mr_find(domain, mr->key))
		return -FI_ENOKEY;
	HASH_ADD(hh, domain->mrs_by_key, key, sizeof(mr->key), mr);
	return mr->hh.tbl ? 0 : -FI_ENOMEM;
}

/* 0 or -FI_ENOMEM, and then it has no key any more. */
static int take_desc(struct ofi_domain *domain, struct ofi_mr *mr)
{
	HASH_ADD(hh_desc, domain->mrs_by_desc, fid.mem_desc, sizeof(mr->fid.mem_desc), mr);
	if (mr->hh_desc.tbl)
		return 0;
	if (mr->rights)
		HASH_DEL(domain->mrs_by_key, mr);
	return -FI_ENOMEM;
}

static int mr_reg_locked(struct ofi_domain *domain, struct ofi_mr *mr, uint64_t requested_key)
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

static int mr_reg_attr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
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
	mr->fid.fid = (struct fid){FI_CLASS_MR, attr->context, &mr_fi_ops};
	mr->domain = domain;
	mr->addr = (uintptr_t)attr->mr_iov[0].iov_base;
	mr->length = attr->mr_iov[0].iov_len;
	mr->rights = rights_of(attr->access);
	ofi_lock(domain);
	err = mr_reg_locked(domain, mr, attr->requested_key);
	if (err)
		ofi_peers_log_memory(domain, "a region cannot be registered", err);
	ofi_unlock(domain);
	if (err) {
		free(mr);
		return err;
	}
	*out = &mr->fid;
	return 0;
}

static int mr_reg_v(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access,
		    uint64_t offset, uint64_t requested_key, uint64_t flags, struct fid_mr **out,
		    void *context)
{
	const struct fi_mr_attr attr = {.mr_iov = iov,
					.iov_count = count,
					.access = access,
					.offset = offset,
					.requested_key = requested_key,
					.context = context};

	return mr_reg_attr(fid, &attr, flags, out);
}

static int mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset,
		  uint64_t requested_key, uint64_t flags, struct fid_mr **out, void *context)
{
	const struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};

	return mr_reg_v(fid, &iov, 1, access, offset, requested_key, flags, out, context);
}

static struct fi_ops_mr mr_ops = {
	.size = sizeof(struct fi_ops_mr),
	.reg = mr_reg,
	.regv = mr_reg_v,
	.regattr = mr_reg_attr,
};

/* ---- the domain ---- */

static int source_of(const struct fi_info *info, struct peer_address *out)
{
	struct ofi_address address;
	int err;

	*out = (struct peer_address){0};
	if (!info->src_addr)
		return 0;
	err = ofi_name_decode(info->addr_format, info->src_addr, info->src_addrlen, &address);
	return err ? err : ofi_name_place(&address, out);
}

static int open_fare(struct ofi_domain *d, unsigned gpu, const struct peer_address *source)
{
	struct in6_addr address;
	struct fare_domain_options options = {
		.provider = d->env.provider,
		.accept = true,
		.on_request = ofi_link_on_request,
		.on_request_arg = d,
		.key_file = d->env.key_file,
		.trusted_network = d->env.trusted_network,
		.secret = d->env.secret,
		.busy_poll = d->env.progress_thread,
		.port = source->port,
	};
	char why[WHY_BYTES];
	int err = fare_attach(&d->fare, d->env.run_dir);

	if (err) {
		why_attach(err, d->env.run_dir, why);
		OFI_WARN(FI_LOG_DOMAIN, "%s\n", why);
		return err;
	}
	options.family = fare_local_address(d->fare, gpu, AF_INET, &address) ? AF_INET6 : AF_INET;
	if (!IN6_IS_ADDR_UNSPECIFIED(&source->address))
		options.family = IN6_IS_ADDR_V4MAPPED(&source->address) ? AF_INET : AF_INET6;
	err = fare_domain_open(&d->fare_domain, d->fare, gpu, &options);
	if (err) {
		why_domain(err, &options, why);
		OFI_WARN(FI_LOG_DOMAIN, "libfare's domain: %s\n", why);
		return err;
	}
	fare_domain_address(d->fare_domain, &d->address);
	return 0;
}

/* All that the application opened on it is closed. */
static void domain_destroy(struct ofi_domain *d)
{
	ofi_progress_fini(d);
	ofi_cookies_fini(&d->cookies);
	fare_domain_close(d->fare_domain);
	fare_detach(d->fare);
	pthread_mutex_destroy(&d->lock);
	__atomic_fetch_sub(&d->fabric->n_users, 1, __ATOMIC_RELEASE);
	free(d);
}

static int domain_close(struct fid *fid)
{
	struct ofi_domain *d = container_of(fid, struct ofi_domain, fid.fid);
	bool busy;

	ofi_lock(d);
	busy = d->n_users;
	ofi_unlock(d);
	if (busy)
		return -FI_EBUSY;
	domain_destroy(d);
	return 0;
}

static struct fi_ops domain_fi_ops = OFI_FI_OPS(domain_close, ofi_no_bind, ofi_no_control);

static struct fi_ops_domain domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.av_open = ofi_av_open,
	.cq_open = ofi_cq_open,
	.endpoint = ofi_ep_open,
	.scalable_ep = no_scalable,
	.cntr_open = ofi_cntr_open,
	.poll_open = no_poll,
	.stx_ctx = no_context,
	.srx_ctx = no_srx,
	.query_atomic = ofi_atomic_query,
	.query_collective = no_collective,
};

static int gpu_of(const struct fi_info *info, unsigned *out)
{
	const char *name = info->domain_attr ? info->domain_attr->name : NULL;
	char *end;

	if (!name || strncmp(name, "fare", 4) || !name[4])
		return -FI_EINVAL;
	*out = (unsigned)strtoul(name + 4, &end, 10);
	return *end ? -FI_EINVAL : 0;
}

static int domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **out,
		       void *context)
{
	struct peer_address source;
	struct ofi_domain *d;
	unsigned gpu;
	int err = gpu_of(info, &gpu);

	if (!err && !ofi_name_bytes(info->addr_format))
		err = -FI_EINVAL;
	if (!err)
		err = source_of(info, &source);
	if (err)
		return err;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -FI_ENOMEM;
	d->fabric = container_of(fabric, struct ofi_fabric, fid);
	__atomic_fetch_add(&d->fabric->n_users, 1, __ATOMIC_RELAXED);
	d->progress.wake = -1;
	d->format = info->addr_format;
	d->is_scalable = ofi_info_is_scalable(info);
	pthread_mutex_init(&d->lock, NULL);
	ofi_env_read(&d->env);
	err = open_fare(d, gpu, &source);
	if (!err)
		err = ofi_progress_init(d);
	if (err) {
		domain_destroy(d);
		return err;
	}
	d->fid.fid = (struct fid){FI_CLASS_DOMAIN, context, &domain_fi_ops};
	d->fid.ops = &domain_ops;
	d->fid.mr = &mr_ops;
	*out = &d->fid;
	return 0;
}

/* ---- the fabric ---- */

static int fabric_close(struct fid *fid)
{
	struct ofi_fabric *fabric = container_of(fid, struct ofi_fabric, fid.fid);

	if (__atomic_load_n(&fabric->n_users, __ATOMIC_ACQUIRE))
		return -FI_EBUSY;
	free(fabric);
	return 0;
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

static struct fi_ops fabric_fi_ops = OFI_FI_OPS(fabric_close, ofi_no_bind, ofi_no_control);

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(struct fi_ops_fabric),
	.domain = domain_open,
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
	fabric->fid.fid = (struct fid){FI_CLASS_FABRIC, context, &fabric_fi_ops};
	fabric->fid.ops = &fabric_ops;
	fabric->fid.api_version = attr->api_version;
	*out = &fabric->fid;
	return 0;
}

/* ---- the provider's entry ---- */

FI_EXT_INI;

/* libfabric keeps each definition of a parameter, and this object stays (-z nodelete). */
FI_EXT_INI
{
	if (!ofi_provider.getinfo)
		ofi_env_define();
	ofi_provider.getinfo = ofi_getinfo;
	ofi_provider.fabric = ofi_fabric_open;
	return &ofi_provider;
}
