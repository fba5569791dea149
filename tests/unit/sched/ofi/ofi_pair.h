/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_pair.h - endpoints of the provider in one process, on the two GPUs of domain_pair.h.
 */
#ifndef OFI_PAIR_H
#define OFI_PAIR_H

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>

#include "ofi/ofi.h"
#include "ofi/ofi_name.h"
#include "ofi/ofi_wire.h"

#include "../qp/domain_pair.h"

#define SERVICE	     "9228"
#define SERVICE_PORT 9228

/* An endpoint with all that it needs, in a domain of its own. */
struct end {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct fid_cntr *cntr; /* NULL: none */
};

static inline void on_host(int host)
{
	setenv("FARE_RUN_DIR", dir[host], 1);
	setenv("FARE_TRUSTED_NETWORK", "1", 1);
}

static inline int ask(int host, const char *node, const char *service, uint64_t flags,
		      const struct fi_info *hints, struct fi_info **out)
{
	on_host(host);
	return ofi_getinfo(FI_VERSION(1, 17), node, service, flags, hints, out);
}

static inline struct fi_info *hints_of(uint64_t caps, uint32_t format)
{
	struct fi_info *hints = fi_allocinfo();

	ck_assert_ptr_nonnull(hints);
	hints->caps = caps;
	hints->addr_format = format;
	hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	return hints;
}

/* Takes the info. */
static inline void open_parts(struct end *e, struct fi_info *info)
{
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED};
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE};

	*e = (struct end){.info = info};
	ck_assert_int_eq(ofi_fabric_open(info->fabric_attr, &e->fabric, NULL), 0);
	ck_assert_int_eq(fi_domain(e->fabric, info, &e->domain, NULL), 0);
	ck_assert_int_eq(fi_av_open(e->domain, &av_attr, &e->av, NULL), 0);
	ck_assert_int_eq(fi_cq_open(e->domain, &cq_attr, &e->cq, NULL), 0);
	ck_assert_int_eq(fi_endpoint(e->domain, info, &e->ep, NULL), 0);
	ck_assert_int_eq(fi_ep_bind(e->ep, &e->cq->fid, FI_TRANSMIT | FI_RECV), 0);
	ck_assert_int_eq(fi_ep_bind(e->ep, &e->av->fid, 0), 0);
}

/* node and service as of fi_getinfo(); the hints are freed. */
static inline void open_end(struct end *e, int host, const char *node, const char *service,
			    uint64_t flags, struct fi_info *hints)
{
	struct fi_info *info;

	ck_assert_int_eq(ask(host, node, service, flags, hints, &info), 0);
	fi_freeinfo(hints);
	open_parts(e, info);
	ck_assert_int_eq(fi_enable(e->ep), 0);
}

static inline void close_end(struct end *e)
{
	ck_assert_int_eq(fi_close(&e->ep->fid), 0);
	if (e->cntr)
		ck_assert_int_eq(fi_close(&e->cntr->fid), 0);
	ck_assert_int_eq(fi_close(&e->cq->fid), 0);
	ck_assert_int_eq(fi_close(&e->av->fid), 0);
	ck_assert_int_eq(fi_close(&e->domain->fid), 0);
	ck_assert_int_eq(fi_close(&e->fabric->fid), 0);
	fi_freeinfo(e->info);
}

/* An entry of e's queue, and where it came from; meanwhile other makes progress. */
static inline ssize_t next_entry(struct end *e, struct end *other, struct fi_cq_tagged_entry *entry,
				 fi_addr_t *source)
{
	ssize_t n;

	for (time_t patience = time(NULL) + PATIENCE_S;
	     (n = fi_cq_readfrom(e->cq, entry, 1, source)) == -FI_EAGAIN;) {
		ck_assert_msg(time(NULL) < patience, "no completion came");
		if (other)
			fi_cq_read(other->cq, NULL, 0);
	}
	return n;
}

/* One message of 8 bytes. The receiver's idea of its source; the sender's completion is taken. */
static inline fi_addr_t pass(struct end *from, fi_addr_t to, struct end *at)
{
	static uint64_t sent, got;
	struct fi_cq_tagged_entry entry;
	fi_addr_t source;

	sent++;
	ck_assert_int_eq(fi_recv(at->ep, &got, sizeof(got), NULL, FI_ADDR_UNSPEC, &got), 0);
	ck_assert_int_eq(fi_send(from->ep, &sent, sizeof(sent), NULL, to, &sent), 0);
	ck_assert_int_eq(next_entry(at, from, &entry, &source), 1);
	ck_assert_ptr_eq(entry.op_context, &got);
	ck_assert_uint_eq(got, sent);
	ck_assert_int_eq(next_entry(from, at, &entry, NULL), 1);
	ck_assert_ptr_eq(entry.op_context, &sent);
	return source;
}

static inline int run_suite(Suite *s)
{
	SRunner *sr = srunner_create(s);
	int failed;

	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}

#endif
