/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_domain.h - fi_domain(3): one local GPU in one process, and the lock under which all that
 * happens there happens.
 *
 * Owns the attachment to the daemon, libfare's domain, the peers, and the tables of endpoints and
 * operations. One lock: libfare's domain is used by one thread at a time, and the application's
 * threads and the progress thread are several. Functions of this provider that are not libfabric's
 * own are called with it held, unless they say otherwise.
 */
#ifndef OFI_DOMAIN_H
#define OFI_DOMAIN_H

#include <errno.h>
#include <pthread.h>

#include <rdma/fi_domain.h>

#include "attach.h"
#include "fare.h"
#include "ofi/ofi_tables.h"
#include "ofi/ofi_env.h"
#include "ofi/ofi_fabric.h"
#include "ofi/ofi_mr.h"
#include "ofi/ofi_peer.h"
#include "ofi/ofi_progress.h"
#include "ofi/ofi_rx.h"

struct ofi_av;
struct ofi_cq;
struct ofi_ep;
struct ofi_fabric;
struct ofi_op;

#define OFI_EPS_MAX 1024

struct ofi_domain {
	struct fid_domain fid;
	struct ofi_fabric *fabric;
	struct ofi_env env;
	pthread_mutex_t lock;
	struct fare *fare;
	struct fare_domain *fare_domain;
	struct fare_address address;
	uint32_t format; /* of endpoints' addresses: fi_info.addr_format */
	struct ofi_av *avs;
	struct ofi_peers peers;
	struct ofi_mrs mrs;
	bool is_scalable;	    /* keys of the application's choice, offsets (ofi_mr.h) */
	struct ofi_op *ops;	    /* all of them */
	struct ofi_gather gather;   /* what arrives now */
	struct ofi_cookies cookies; /* operations that wait for OFI_FIN */
	struct ofi_ep *eps[OFI_EPS_MAX];
	unsigned n_users; /* what the application opened on it */
	struct ofi_progress progress;
	bool broken; /* libfare's domain is: said once */
	/* fork() has copied it: nothing but closing does anything (ofi_domain_inherit) */
	bool is_inherited;
};

static inline struct ofi_domain *ofi_domain_of(struct fid_domain *fid)
{
	return container_of(fid, struct ofi_domain, fid);
}

/* In a child of fork(), once: the lock may be held by a thread that the child does not have. */
void ofi_domain_inherit(struct ofi_domain *domain);

static inline void ofi_lock(struct ofi_domain *domain)
{
	if (attach_check(domain->fare) == -ECHILD)
		ofi_domain_inherit(domain);
	pthread_mutex_lock(&domain->lock);
}

static inline void ofi_unlock(struct ofi_domain *domain)
{
	pthread_mutex_unlock(&domain->lock);
}

/*
 * An endpoint wants this address as its own. 0; -FI_EADDRNOTAVAIL: it is not where the domain
 * receives; -FI_EINVAL: it is none.
 */
int ofi_domain_check_source(const struct ofi_domain *domain, const void *addr, size_t bytes);
int ofi_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **out,
		    void *context);

#endif
