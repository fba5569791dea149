/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ofi/ofi_atomic_op.h"
#include "ofi/ofi_ends.h"
#include "ofi/ofi_env.h"
#include "ofi/ofi_fabric.h"
#include "ofi/ofi_nic.h"
#include "ofi/ofi_prov.h"
#include "ofi/ofi_wire.h"
#include "why.h"
#include "wire/roce_ports.h"

/* What fi_getinfo() was called with. */
struct asked {
	uint32_t version;
	const struct fi_info *hints;
	struct ofi_env env;
	struct ofi_ends ends;
};

/* hints or attributes that this provider does not have: said at FI_LOG_LEVEL=info */
static bool refuse(const char *what)
{
	OFI_INFO(FI_LOG_CORE, "hints ask for %s\n", what);
	return false;
}

/* ---- do the hints fit? ---- */

static bool tx_fits(const struct fi_tx_attr *a)
{
	if (!a)
		return true;
	if (a->caps & ~(OFI_CAPS_TX | OFI_CAPS_DOMAIN))
		return refuse("other capabilities of a transmit context");
	if (a->msg_order & ~OFI_ORDER)
		return refuse("an order that is not kept");
	if (a->size > OFI_TX_SIZE || a->iov_limit > OFI_IOV_MAX || a->rma_iov_limit > 1 ||
	    a->inject_size > OFI_RECORD_MAX)
		return refuse("larger limits of a transmit context");
	return true;
}

static bool rx_fits(const struct fi_rx_attr *a)
{
	if (!a)
		return true;
	if (a->caps & ~(OFI_CAPS_RX | OFI_CAPS_DOMAIN))
		return refuse("other capabilities of a receive context");
	if (a->msg_order & ~OFI_ORDER)
		return refuse("an order that is not kept");
	if (a->size > OFI_RX_SIZE || a->iov_limit > OFI_IOV_MAX)
		return refuse("larger limits of a receive context");
	return true;
}

static bool ep_fits(const struct fi_ep_attr *a)
{
	if (!a)
		return true;
	if (a->type != FI_EP_UNSPEC && a->type != FI_EP_RDM)
		return refuse("another type of endpoint");
	if (a->protocol != FI_PROTO_UNSPEC && a->protocol != OFI_PROTOCOL)
		return refuse("another protocol");
	if (a->max_msg_size > OFI_MAX_SIZE || a->tx_ctx_cnt > 1 || a->rx_ctx_cnt > 1 ||
	    a->max_order_raw_size > OFI_ATOMIC_VALUES_MAX ||
	    a->max_order_war_size > OFI_ATOMIC_VALUES_MAX ||
	    a->max_order_waw_size > OFI_ATOMIC_VALUES_MAX)
		return refuse("larger limits of an endpoint");
	return true;
}

static bool uses_rma(uint64_t caps)
{
	return !caps ||
	       caps & (FI_RMA | FI_ATOMIC | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE);
}

static bool is_verbs(const struct ofi_env *env)
{
	return env->provider && !strcmp(env->provider, "verbs");
}

/*
 * The mode of registration for these hints. What the hints name is what the application is prepared
 * for (fi_mr(3)): basic if it can, because keys of its own choice cost a question to each peer.
 * Before 1.5 mr_mode is one of an enumeration, not bits.
 */
static int mr_mode_for(uint32_t version, const struct fi_info *hints, const struct ofi_env *env)
{
	bool is_any = !hints || !hints->domain_attr;
	int mode = is_any ? OFI_MR_MODE : hints->domain_attr->mr_mode;

	if (FI_VERSION_LT(version, FI_VERSION(1, 5)) && (is_any || !mode))
		return OFI_MR_BASIC;
	if (mode == OFI_MR_BASIC || mode == OFI_MR_SCALABLE)
		return mode;
	if (hints && !uses_rma(hints->caps))
		return 0;
	if ((mode & OFI_MR_MODE) == OFI_MR_MODE)
		return OFI_MR_MODE;
	/* a device pins what is registered */
	return is_verbs(env) ? FI_MR_ALLOCATED : 0;
}

bool ofi_info_is_scalable(const struct fi_info *info)
{
	return info->domain_attr && !(info->domain_attr->mr_mode & (OFI_MR_BASIC | FI_MR_PROV_KEY));
}

static bool mr_mode_fits(uint32_t version, const struct fi_info *hints, const struct ofi_env *env)
{
	const int alone = OFI_MR_BASIC | OFI_MR_SCALABLE;
	int mode = mr_mode_for(version, hints, env), wanted = hints->domain_attr->mr_mode;

	if (wanted & alone && wanted & (wanted - 1))
		return refuse("FI_MR_BASIC or FI_MR_SCALABLE together with other bits of mr_mode");
	if (hints->caps && mode == FI_MR_ALLOCATED && !(wanted & FI_MR_ALLOCATED))
		return refuse("RMA without FI_MR_ALLOCATED, which the provider verbs needs");
	return true;
}

static bool domain_fits(uint32_t version, const struct fi_info *hints, const struct ofi_env *env)
{
	const struct fi_domain_attr *a = hints->domain_attr;

	if (!a)
		return true;
	if (a->caps & ~OFI_CAPS_DOMAIN)
		return refuse("other capabilities of a domain");
	if ((a->data_progress == FI_PROGRESS_AUTO || a->control_progress == FI_PROGRESS_AUTO) &&
	    !env->progress_thread)
		return refuse("FI_PROGRESS_AUTO, and the progress thread is switched off");
	if (a->cq_data_size > sizeof(uint64_t) || a->mr_key_size > sizeof(uint64_t) ||
	    a->auth_key_size)
		return refuse("larger limits of a domain");
	return mr_mode_fits(version, hints, env);
}

static bool hints_fit(uint32_t version, const struct fi_info *hints, const struct ofi_env *env)
{
	if (!hints)
		return true;
	if (hints->caps & ~(OFI_CAPS_TX | OFI_CAPS_RX | OFI_CAPS_DOMAIN))
		return refuse("capabilities that are not offered");
	if (hints->caps & FI_SOURCE_ERR && !(hints->caps & FI_SOURCE))
		return refuse("FI_SOURCE_ERR without FI_SOURCE");
	if (hints->fabric_attr && hints->fabric_attr->name &&
	    strcmp(hints->fabric_attr->name, OFI_FABRIC_NAME))
		return refuse("another fabric");
	return tx_fits(hints->tx_attr) && rx_fits(hints->rx_attr) && ep_fits(hints->ep_attr) &&
	       domain_fits(version, hints, env);
}

static bool gpu_fits(const struct fi_info *hints, const char *name)
{
	return !hints || !hints->domain_attr || !hints->domain_attr->name ||
	       !strcmp(hints->domain_attr->name, name);
}

/* ---- what is offered ---- */

static uint64_t caps_of(const struct fi_info *hints, uint64_t all)
{
	uint64_t wanted = hints ? hints->caps : 0;

	/* errors for what is none are for those that ask for them */
	if (!wanted)
		return all & ~FI_SOURCE_ERR;
	if (wanted & (FI_MSG | FI_TAGGED) && !(wanted & (FI_SEND | FI_RECV)))
		wanted |= FI_SEND | FI_RECV;
	if (wanted & (FI_RMA | FI_ATOMIC) &&
	    !(wanted & (FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)))
		wanted |= FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
	return wanted & all;
}

static void fill_contexts(struct fi_info *info, const struct fi_info *hints)
{
	struct fi_tx_attr *tx = info->tx_attr;
	struct fi_rx_attr *rx = info->rx_attr;

	tx->caps = caps_of(hints, OFI_CAPS_TX);
	rx->caps = caps_of(hints, OFI_CAPS_RX);
	tx->op_flags = hints && hints->tx_attr ? hints->tx_attr->op_flags : 0;
	rx->op_flags = hints && hints->rx_attr ? hints->rx_attr->op_flags : 0;
	tx->msg_order = hints && hints->tx_attr ? hints->tx_attr->msg_order : OFI_ORDER;
	rx->msg_order = hints && hints->rx_attr ? hints->rx_attr->msg_order : OFI_ORDER;
	tx->inject_size = OFI_RECORD_MAX;
	tx->size = OFI_TX_SIZE;
	rx->size = OFI_RX_SIZE;
	tx->iov_limit = rx->iov_limit = OFI_IOV_MAX;
	tx->rma_iov_limit = 1;
}

static void fill_endpoint(struct fi_ep_attr *ep, const struct fi_info *hints)
{
	ep->type = FI_EP_RDM;
	ep->protocol = OFI_PROTOCOL;
	ep->protocol_version = 1;
	ep->max_msg_size = OFI_MAX_SIZE;
	/* of atomic operations: those of reads and writes are in no order (OFI_ORDER) */
	ep->max_order_raw_size = ep->max_order_war_size = ep->max_order_waw_size =
		OFI_ATOMIC_VALUES_MAX;
	ep->mem_tag_format = hints && hints->ep_attr && hints->ep_attr->mem_tag_format
				     ? hints->ep_attr->mem_tag_format
				     : UINT64_MAX >> 1;
	ep->tx_ctx_cnt = ep->rx_ctx_cnt = 1;
}

/*
 * What the application asks for, as fi_domain(3) has it: all that is offered here is at least as
 * strong. So an application that compares what it asked for with what it got is content.
 */
static void fill_models(struct fi_domain_attr *d, const struct fi_domain_attr *wanted,
			const struct ofi_env *env)
{
	enum fi_progress most = env->progress_thread ? FI_PROGRESS_AUTO : FI_PROGRESS_MANUAL;

	d->threading = wanted && wanted->threading ? wanted->threading : FI_THREAD_SAFE;
	d->control_progress = wanted && wanted->control_progress == FI_PROGRESS_MANUAL
				      ? FI_PROGRESS_MANUAL
				      : most;
	d->data_progress =
		wanted && wanted->data_progress == FI_PROGRESS_MANUAL ? FI_PROGRESS_MANUAL : most;
}

static void fill_domain(struct fi_domain_attr *d, const struct fi_info *hints, uint32_t version,
			const struct ofi_env *env)
{
	fill_models(d, hints ? hints->domain_attr : NULL, env);
	d->resource_mgmt = FI_RM_ENABLED;
	d->av_type = hints && hints->domain_attr && hints->domain_attr->av_type
			     ? hints->domain_attr->av_type
			     : FI_AV_TABLE;
	d->mr_mode = mr_mode_for(version, hints, env);
	d->mr_key_size =
		d->mr_mode & (OFI_MR_BASIC | FI_MR_PROV_KEY) ? sizeof(uint32_t) : sizeof(uint64_t);
	d->cq_data_size = sizeof(uint64_t);
	d->cq_cnt = d->ep_cnt = d->cntr_cnt = 1024;
	d->tx_ctx_cnt = d->rx_ctx_cnt = 1024;
	d->max_ep_tx_ctx = d->max_ep_rx_ctx = 1;
	d->mr_iov_limit = 1;
	d->mr_cnt = 65535;
	d->caps = OFI_CAPS_DOMAIN;
}

/* One GPU: *out is added to at its end. */
static int add_gpu(struct fi_info **out, const struct fare *fare, unsigned gpu,
		   const struct in6_addr *own, const struct asked *asked)
{
	const struct fi_info *hints = asked->hints;
	struct fi_info *info = fi_allocinfo();
	char name[16];

	if (!info)
		return -FI_ENOMEM;
	snprintf(name, sizeof(name), "fare%u", gpu % FARE_MAX_LOCAL_GPUS);
	fill_contexts(info, hints);
	fill_endpoint(info->ep_attr, hints);
	fill_domain(info->domain_attr, hints, asked->version, &asked->env);
	info->caps = info->tx_attr->caps | info->rx_attr->caps | info->domain_attr->caps;
	info->domain_attr->name = strdup(name);
	info->fabric_attr->name = strdup(OFI_FABRIC_NAME);
	info->fabric_attr->api_version = asked->version;
	info->handle = hints ? hints->handle : NULL;
	info->nic = ofi_nic_create(fare, gpu);
	while (*out)
		out = &(*out)->next;
	*out = info;
	return ofi_ends_fill(&asked->ends, own, info);
}

static int list_gpus(struct fi_info **out, struct fare *fare, const struct asked *asked)
{
	struct in6_addr own;
	char name[16];
	int err = 0;

	for (unsigned gpu = 0; gpu < fare_n_local_gpus(fare) && !err; gpu++) {
		snprintf(name, sizeof(name), "fare%u", gpu % FARE_MAX_LOCAL_GPUS);
		if (gpu_fits(asked->hints, name) && ofi_ends_fit(&asked->ends, fare, gpu, &own))
			err = add_gpu(out, fare, gpu, &own, asked);
	}
	return err ? err : *out ? 0 : -FI_ENODATA;
}

/* A host without fared is as it should be, for programs that take any provider. */
static void say_why(int err, const struct asked *asked)
{
	const char *named = getenv("FI_PROVIDER");
	const struct fi_fabric_attr *a = asked->hints ? asked->hints->fabric_attr : NULL;
	char why[WHY_BYTES];

	why_attach(err, asked->env.run_dir, why);
	if (err != -ENOENT || (named && strstr(named, "fare")) ||
	    (a && a->prov_name && strstr(a->prov_name, "fare")))
		OFI_WARN(FI_LOG_CORE, "%s\n", why);
	else
		OFI_INFO(FI_LOG_CORE, "%s\n", why);
}

int ofi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		const struct fi_info *hints, struct fi_info **out)
{
	struct asked asked = {.version = version, .hints = hints};
	struct fare *fare;
	int err;

	*out = NULL;
	ofi_env_read(&ofi_provider, &asked.env);
	if (!hints_fit(version, hints, &asked.env))
		return -FI_ENODATA;
	err = fare_attach(&fare, asked.env.run_dir);
	if (err) {
		say_why(err, &asked);
		return -FI_ENODATA;
	}
	/* only now: a name may take long to be found */
	err = ofi_ends_read(&asked.ends, node, service, flags, hints,
			    is_verbs(&asked.env) ? FARE_CONTROL_PORT : ROCE_UDP_PORT);
	if (!err)
		err = list_gpus(out, fare, &asked);
	fare_detach(fare);
	if (err) {
		fi_freeinfo(*out);
		*out = NULL;
	}
	return err;
}
