/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_domain.h"

#include <stdlib.h>
#include <string.h>

#include "ofi/ofi_av.h"
#include "ofi/ofi_cntr.h"
#include "ofi/ofi_cq.h"
#include "ofi/ofi_ep.h"
#include "ofi/ofi_fabric.h"
#include "ofi/ofi_info.h"
#include "ofi/ofi_link.h"
#include "ofi/ofi_no.h"
#include "ofi/ofi_op.h"
#include "ofi/ofi_prov.h"
#include "ofi/ofi_self.h"

/* ---- what is not offered ---- */

static int no_context(struct fid_domain *domain, struct fi_tx_attr *attr, struct fid_stx **stx,
		      void *context)
{
	(void)domain, (void)attr, (void)stx, (void)context;
	return -FI_ENOSYS;
}

static int no_srx(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **ep,
		  void *context)
{
	(void)domain, (void)attr, (void)ep, (void)context;
	return -FI_ENOSYS;
}

static int no_scalable(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
		       void *context)
{
	(void)domain, (void)info, (void)ep, (void)context;
	return -FI_ENOSYS;
}

static int no_poll(struct fid_domain *domain, struct fi_poll_attr *attr, struct fid_poll **poll)
{
	(void)domain, (void)attr, (void)poll;
	return -FI_ENOSYS;
}

static int no_atomic(struct fid_domain *domain, enum fi_datatype datatype, enum fi_op op,
		     struct fi_atomic_attr *attr, uint64_t flags)
{
	(void)domain, (void)datatype, (void)op, (void)attr, (void)flags;
	return -FI_EOPNOTSUPP;
}

static int no_collective(struct fid_domain *domain, enum fi_collective_op coll,
			 struct fi_collective_attr *attr, uint64_t flags)
{
	(void)domain, (void)coll, (void)attr, (void)flags;
	return -FI_ENOSYS;
}

/* ---- opening and closing ---- */

static int open_fare(struct ofi_domain *d, unsigned gpu)
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
	};
	int err = fare_attach(&d->fare, d->env.run_dir);

	if (err)
		return err;
	options.family = fare_local_address(d->fare, gpu, AF_INET, &address) ? AF_INET6 : AF_INET;
	err = fare_domain_open(&d->fare_domain, d->fare, gpu, &options);
	if (!err)
		fare_domain_address(d->fare_domain, &d->address);
	return err;
}

/*
 * The parent's thread, connections and descriptors that wake somebody are not the child's. What is
 * left is memory, and the child's own descriptors, which closing gives back.
 */
void ofi_domain_inherit(struct ofi_domain *d)
{
	if (d->is_inherited)
		return;
	d->is_inherited = d->broken = true;
	pthread_mutex_init(&d->lock, NULL);
	ofi_progress_inherit(&d->progress);
}

/* All that the application opened on it is closed. */
static void destroy(struct ofi_domain *d)
{
	ofi_progress_fini(d);
	ofi_self_fini(d);
	ofi_peers_close_links(d);
	ofi_op_destroy_all(d);
	ofi_peers_fini(d);
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
	destroy(d);
	return 0;
}

static struct fi_ops domain_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = domain_close,
	.bind = ofi_no_bind,
	.control = ofi_no_control,
	.ops_open = ofi_no_ops_open,
};

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
	.query_atomic = no_atomic,
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

static void say_why(int err)
{
	if (err == -ENOKEY)
		OFI_WARN(FI_LOG_DOMAIN, "FARE_KEY_FILE names no key, and FARE_TRUSTED_NETWORK is "
					"not set\n");
	else
		OFI_WARN(FI_LOG_DOMAIN, "libfare's domain: %s\n", strerror(-err));
}

int ofi_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **out,
		    void *context)
{
	struct ofi_domain *d;
	unsigned gpu;
	int err = gpu_of(info, &gpu);

	if (err)
		return err;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -FI_ENOMEM;
	d->fabric = container_of(fabric, struct ofi_fabric, fid);
	__atomic_fetch_add(&d->fabric->n_users, 1, __ATOMIC_RELAXED);
	d->progress.wake = -1;
	d->is_scalable = ofi_info_is_scalable(info);
	pthread_mutex_init(&d->lock, NULL);
	ofi_env_read(&ofi_provider, &d->env);
	err = open_fare(d, gpu);
	if (!err)
		err = ofi_progress_init(d);
	if (err) {
		say_why(err);
		destroy(d);
		return err;
	}
	d->fid.fid.fclass = FI_CLASS_DOMAIN;
	d->fid.fid.context = context;
	d->fid.fid.ops = &domain_fi_ops;
	d->fid.ops = &domain_ops;
	d->fid.mr = &ofi_mr_ops;
	*out = &d->fid;
	return 0;
}
