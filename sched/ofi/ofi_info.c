/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_info.c - fi_getinfo(3): what this provider offers for each local GPU, and whether that is
 * what the hints ask for; both ends as the caller names them; the GPU's planes as one network card.
 */
#include "ofi/ofi.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach.h"
#include "base/address.h"
#include "nccl/nccl_properties.h"
#include "ofi/ofi_atomic_op.h"
#include "ofi/ofi_name.h"
#include "why.h"
#include "wire/roce_ports.h"

/*
 * ==== both ends ====
 *
 * In: node, service, flags and hints. Out: addr_format, src_addr and dest_addr of one GPU's info.
 * With FI_SOURCE node and service are the source, else the destination; the other end is that of
 * the hints. A source without a port, or with the unspecified address, leaves that open.
 */

struct ofi_end {
	int n; /* 0: it was not named */
	struct peer_address at[OFI_NAME_PLACES];
	const void *bytes; /* of the hints, in their format; borrowed */
};

struct ofi_ends {
	uint32_t format; /* of the hints; FI_FORMAT_UNSPEC: opaque bytes */
	struct ofi_end source, destination;
};

static int read_names(struct ofi_end *end, const char *node, const char *service, uint64_t flags)
{
	const char *why;

	end->n = ofi_name_resolve(node, service, flags & FI_NUMERICHOST, end->at, &why);
	if (end->n > 0)
		return 0;
	end->n = 0;
	OFI_INFO(FI_LOG_CORE, "node %s, service %s: %s\n", node ? node : "-",
		 service ? service : "-", why);
	return -FI_ENODATA;
}

static int read_bytes(struct ofi_end *end, uint32_t format, const void *bytes, size_t n)
{
	struct ofi_address address;

	if (!bytes)
		return 0;
	if (ofi_name_decode(format, bytes, n, &address) || ofi_name_place(&address, &end->at[0])) {
		OFI_INFO(FI_LOG_CORE, "an address of the hints is not of their format\n");
		return -FI_ENODATA;
	}
	end->n = 1;
	end->bytes = bytes;
	return 0;
}

static int ends_read(struct ofi_ends *out, const char *node, const char *service, uint64_t flags,
		     const struct fi_info *hints, uint16_t first_port)
{
	struct ofi_end *named = flags & FI_SOURCE ? &out->source : &out->destination;
	int err = 0;

	*out = (struct ofi_ends){.format = hints ? hints->addr_format : FI_FORMAT_UNSPEC};
	if (out->format != FI_SOCKADDR && !ofi_name_bytes(out->format)) {
		OFI_INFO(FI_LOG_CORE, "hints ask for another format of addresses\n");
		return -FI_ENODATA;
	}
	if (node || service)
		err = read_names(named, node, service, flags);
	for (int i = 0; i < named->n && named == &out->destination && !service; i++)
		named->at[i].port = first_port;
	if (!err && hints && !out->source.n)
		err = read_bytes(&out->source, out->format, hints->src_addr, hints->src_addrlen);
	if (!err && hints && !out->destination.n)
		err = read_bytes(&out->destination, out->format, hints->dest_addr,
				 hints->dest_addrlen);
	for (int i = 0; i < out->source.n && !err; i++) {
		if (out->source.at[i].port < ROCE_SOURCE_PORT_FIRST)
			continue;
		OFI_INFO(FI_LOG_CORE, "source port %u: processes are reached below %u\n",
			 out->source.at[i].port, ROCE_SOURCE_PORT_FIRST);
		err = -FI_ENODATA;
	}
	return err;
}

static bool is_any(const struct in6_addr *a)
{
	static const uint8_t none[4];

	return IN6_IS_ADDR_UNSPECIFIED(a) ||
	       (IN6_IS_ADDR_V4MAPPED(a) && !memcmp(&a->s6_addr[12], none, sizeof(none)));
}

static bool allows(const struct ofi_end *source, const struct in6_addr *own)
{
	for (int i = 0; i < source->n; i++)
		if (is_any(&source->at[i].address) ||
		    !memcmp(&source->at[i].address, own, sizeof(*own)))
			return true;
	return !source->n;
}

/*
 * The place of the GPU's family, as packets have one; NULL: none. That a host has such an address
 * does not make it a GPU of the fabric: ends_fit() asks for routes.
 */
static const struct peer_address *reached(const struct ofi_end *destination,
					  const struct in6_addr *own)
{
	for (int i = 0; i < destination->n; i++) {
		const struct peer_address *p = &destination->at[i];

		if (is_any(&p->address) ||
		    !IN6_IS_ADDR_V4MAPPED(&p->address) == !IN6_IS_ADDR_V4MAPPED(own))
			return p;
	}
	return NULL;
}

/* A GPU of this server, or one to which the daemon has seen a route on some plane. */
static bool has_route(struct fare *fare, unsigned gpu, const struct in6_addr *peer)
{
	struct fare_paths paths = {0};
	struct fare_pair *pair;
	bool any = false;

	if (is_any(peer) || attach_is_local(fare, peer))
		return true;
	if (fare_pair_open(&pair, fare, gpu, peer))
		return false;
	if (fare_pair_paths(pair, &paths))
		any = true; /* being written: it is known */
	for (unsigned p = 0; p < paths.n_planes; p++)
		any |= paths.path[p].verdict != FARE_VERDICT_NO_ROUTE;
	fare_pair_close(pair);
	return any;
}

/* An address that an application had from the peer itself is taken as it is. */
static bool can_reach(const struct ofi_end *destination, struct fare *fare, unsigned gpu,
		      const struct in6_addr *own)
{
	const struct peer_address *p = reached(destination, own);

	return p && (destination->bytes || has_route(fare, gpu, &p->address));
}

static bool ends_fit(const struct ofi_ends *ends, struct fare *fare, unsigned gpu,
		     struct in6_addr *own)
{
	static const int families[] = {AF_INET, AF_INET6};

	for (unsigned i = 0; i < 2; i++) {
		if ((families[i] == AF_INET6 && ends->format == FI_SOCKADDR_IN) ||
		    (families[i] == AF_INET && ends->format == FI_SOCKADDR_IN6) ||
		    fare_local_address(fare, gpu, families[i], own))
			continue;
		if (allows(&ends->source, own) &&
		    (!ends->destination.n || can_reach(&ends->destination, fare, gpu, own)))
			return true;
	}
	return false;
}

/* NULL: no memory */
static void *encoded(uint32_t format, const struct peer_address *at)
{
	void *out = calloc(1, ofi_name_bytes(format));
	struct ofi_address name;

	ofi_name_make(at, &name);
	if (out)
		ofi_name_encode(format, &name, out);
	return out;
}

static void *destination_of(const struct ofi_end *end, uint32_t format, const struct in6_addr *own)
{
	const struct peer_address *p = reached(end, own);
	struct peer_address at = {is_any(&p->address) ? *own : p->address, p->port};
	void *out = encoded(format, &at);

	/* perhaps more than a name; a socket address may be of the other family, or any */
	if (out && end->bytes && format == FI_FORMAT_UNSPEC)
		memcpy(out, end->bytes, ofi_name_bytes(format));
	return out;
}

static int ends_fill(const struct ofi_ends *ends, const struct in6_addr *own, struct fi_info *info)
{
	const struct peer_address at = {*own, ends->source.n ? ends->source.at[0].port : 0};
	bool has_destination = ends->destination.n;

	info->addr_format = ofi_name_format(ends->format, own);
	info->src_addrlen = ofi_name_bytes(info->addr_format);
	info->src_addr = encoded(info->addr_format, &at);
	if (has_destination) {
		info->dest_addrlen = info->src_addrlen;
		info->dest_addr = destination_of(&ends->destination, info->addr_format, own);
	}
	return info->src_addr && (info->dest_addr || !has_destination) ? 0 : -FI_ENOMEM;
}

/* ==== the network card: a GPU's planes, with the speed of the sub-ports that are up ==== */

/* One block of memory: the structures, and the strings that they name. */
struct ofi_nic {
	struct fid_nic fid;
	struct fi_device_attr device;
	struct fi_bus_attr bus;
	struct fi_link_attr link;
	char name[16], address[INET6_ADDRSTRLEN];
};

static int nic_close(struct fid *fid)
{
	free(container_of(fid, struct ofi_nic, fid.fid));
	return 0;
}

static void point_inside(struct ofi_nic *nic)
{
	nic->fid.device_attr = &nic->device;
	nic->fid.bus_attr = &nic->bus;
	nic->fid.link_attr = &nic->link;
	nic->device.name = nic->name;
	nic->device.driver = (char *)"fare";
	nic->link.address = nic->address;
	nic->link.network_type = (char *)"RoCEv2";
}

static int nic_control(struct fid *fid, int command, void *arg)
{
	struct ofi_nic *copy;

	if (command != FI_DUP)
		return -FI_ENOSYS;
	copy = malloc(sizeof(*copy));
	if (!copy)
		return -FI_ENOMEM;
	*copy = *container_of(fid, struct ofi_nic, fid.fid);
	point_inside(copy);
	*(struct fid **)arg = &copy->fid.fid;
	return 0;
}

/* Behind what buf holds: the attributes of the rest of a struct fi_info. */
static int nic_tostr(const struct fid *fid, char *buf, size_t len)
{
	const struct ofi_nic *nic = (const struct ofi_nic *)(const void *)fid;
	size_t used = strnlen(buf, len);

	snprintf(buf + used, len - used,
		 "    nic:\n        fi_device_attr:\n            name: %s\n            driver: %s\n"
		 "        fi_link_attr:\n            address: %s\n            speed: %zu\n"
		 "            state: %s\n            network_type: %s\n",
		 nic->name, nic->device.driver, nic->address, nic->link.speed,
		 nic->link.state == FI_LINK_UP ? "FI_LINK_UP" : "FI_LINK_DOWN",
		 nic->link.network_type);
	return 0;
}

static struct fi_ops nic_ops = {
	.size = sizeof(struct fi_ops),
	.close = nic_close,
	.bind = ofi_no_bind,
	.control = nic_control,
	.tostr = nic_tostr,
	.ops_open = ofi_no_ops_open,
};

static void set_address(struct ofi_nic *nic, const struct fare *fare, unsigned gpu)
{
	struct in6_addr a;

	if (!fare_local_address(fare, gpu, AF_INET, &a) ||
	    !fare_local_address(fare, gpu, AF_INET6, &a))
		address_format(&a, nic->address);
}

static void set_bus(struct ofi_nic *nic, const struct attach_gpu *gpu)
{
	char *path = properties_gpu_pci_path(gpu), *slash = path ? strrchr(path, '/') : NULL;
	unsigned domain, bus, device, function;

	if (slash && sscanf(slash, "/%x:%x:%x.%x", &domain, &bus, &device, &function) == 4) {
		nic->bus.bus_type = FI_BUS_PCI;
		nic->bus.attr.pci.domain_id = (uint16_t)domain;
		nic->bus.attr.pci.bus_id = (uint8_t)bus;
		nic->bus.attr.pci.device_id = (uint8_t)device;
		nic->bus.attr.pci.function_id = (uint8_t)function;
	}
	free(path);
}

static struct fid_nic *nic_create(const struct fare *fare, unsigned gpu)
{
	struct ofi_nic *nic = calloc(1, sizeof(*nic));
	struct attach_gpu published;

	if (!nic || !attach_local_gpu(fare, gpu, &published)) {
		free(nic);
		return NULL;
	}
	nic->fid.fid.fclass = FI_CLASS_NIC;
	nic->fid.fid.ops = &nic_ops;
	point_inside(nic);
	snprintf(nic->name, sizeof(nic->name), "fare%u", gpu % FARE_MAX_LOCAL_GPUS);
	set_address(nic, fare, gpu);
	set_bus(nic, &published);
	nic->link.speed = (size_t)properties_speed_mbps(&published) * 1000000;
	nic->link.state = nic->link.speed ? FI_LINK_UP : FI_LINK_DOWN;
	return &nic->fid;
}

/* ==== the hints ==== */

/* What fi_getinfo() was called with. */
struct asked {
	uint32_t version;
	const struct fi_info *hints;
	struct ofi_env env;
	struct ofi_ends ends;
};

/* hints or attributes that this provider does not have: said at FI_LOG_LEVEL=info */
static bool info_refuse(const char *what)
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
		return info_refuse("other capabilities of a transmit context");
	if (a->msg_order & ~OFI_ORDER)
		return info_refuse("an order that is not kept");
	if (a->size > OFI_TX_SIZE || a->iov_limit > OFI_IOV_MAX || a->rma_iov_limit > 1 ||
	    a->inject_size > OFI_RECORD_MAX)
		return info_refuse("larger limits of a transmit context");
	return true;
}

static bool rx_fits(const struct fi_rx_attr *a)
{
	if (!a)
		return true;
	if (a->caps & ~(OFI_CAPS_RX | OFI_CAPS_DOMAIN))
		return info_refuse("other capabilities of a receive context");
	if (a->msg_order & ~OFI_ORDER)
		return info_refuse("an order that is not kept");
	if (a->size > OFI_RX_SIZE || a->iov_limit > OFI_IOV_MAX)
		return info_refuse("larger limits of a receive context");
	return true;
}

static bool ep_fits(const struct fi_ep_attr *a)
{
	if (!a)
		return true;
	if (a->type != FI_EP_UNSPEC && a->type != FI_EP_RDM)
		return info_refuse("another type of endpoint");
	if (a->protocol != FI_PROTO_UNSPEC && a->protocol != OFI_PROTOCOL)
		return info_refuse("another protocol");
	if (a->max_msg_size > OFI_MAX_SIZE || a->tx_ctx_cnt > 1 || a->rx_ctx_cnt > 1 ||
	    a->max_order_raw_size > OFI_ATOMIC_VALUES_MAX ||
	    a->max_order_war_size > OFI_ATOMIC_VALUES_MAX ||
	    a->max_order_waw_size > OFI_ATOMIC_VALUES_MAX)
		return info_refuse("larger limits of an endpoint");
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
		return info_refuse(
			"FI_MR_BASIC or FI_MR_SCALABLE together with other bits of mr_mode");
	if (hints->caps && mode == FI_MR_ALLOCATED && !(wanted & FI_MR_ALLOCATED))
		return info_refuse("RMA without FI_MR_ALLOCATED, which the provider verbs needs");
	return true;
}

static bool domain_fits(uint32_t version, const struct fi_info *hints, const struct ofi_env *env)
{
	const struct fi_domain_attr *a = hints->domain_attr;

	if (!a)
		return true;
	if (a->caps & ~OFI_CAPS_DOMAIN)
		return info_refuse("other capabilities of a domain");
	if ((a->data_progress == FI_PROGRESS_AUTO || a->control_progress == FI_PROGRESS_AUTO) &&
	    !env->progress_thread)
		return info_refuse("FI_PROGRESS_AUTO, and the progress thread is switched off");
	if (a->cq_data_size > sizeof(uint64_t) || a->mr_key_size > sizeof(uint64_t) ||
	    a->auth_key_size)
		return info_refuse("larger limits of a domain");
	return mr_mode_fits(version, hints, env);
}

static bool hints_fit(uint32_t version, const struct fi_info *hints, const struct ofi_env *env)
{
	if (!hints)
		return true;
	if (hints->caps & ~(OFI_CAPS_TX | OFI_CAPS_RX | OFI_CAPS_DOMAIN))
		return info_refuse("capabilities that are not offered");
	if (hints->caps & FI_SOURCE_ERR && !(hints->caps & FI_SOURCE))
		return info_refuse("FI_SOURCE_ERR without FI_SOURCE");
	if (hints->fabric_attr && hints->fabric_attr->name &&
	    strcmp(hints->fabric_attr->name, OFI_FABRIC_NAME))
		return info_refuse("another fabric");
	return tx_fits(hints->tx_attr) && rx_fits(hints->rx_attr) && ep_fits(hints->ep_attr) &&
	       domain_fits(version, hints, env);
}

static bool gpu_fits(const struct asked *asked, const char *name)
{
	const struct fi_domain_attr *wanted = asked->hints ? asked->hints->domain_attr : NULL;

	return (!asked->env.domain || !strcmp(asked->env.domain, name)) &&
	       (!wanted || !wanted->name || !strcmp(wanted->name, name));
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
	/* FI_AV_UNSPEC: both types are supported (fi_domain(3)) */
	d->av_type = hints && hints->domain_attr ? hints->domain_attr->av_type : FI_AV_UNSPEC;
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
	info->nic = nic_create(fare, gpu);
	while (*out)
		out = &(*out)->next;
	*out = info;
	/* a socket address cannot say which endpoint of a domain it is */
	if (asked->ends.format != FI_FORMAT_UNSPEC)
		info->domain_attr->ep_cnt = 1;
	return ends_fill(&asked->ends, own, info);
}

static int list_gpus(struct fi_info **out, struct fare *fare, const struct asked *asked)
{
	struct in6_addr own;
	char name[16];
	int err = 0;

	for (unsigned gpu = 0; gpu < fare_n_local_gpus(fare) && !err; gpu++) {
		snprintf(name, sizeof(name), "fare%u", gpu % FARE_MAX_LOCAL_GPUS);
		if (gpu_fits(asked, name) && ends_fit(&asked->ends, fare, gpu, &own))
			err = add_gpu(out, fare, gpu, &own, asked);
	}
	return err ? err : *out ? 0 : -FI_ENODATA;
}

/* A host without fared is as it should be, for programs that take any provider. */
static void log_why(int err, const struct asked *asked)
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
	ofi_env_read(&asked.env);
	if (!hints_fit(version, hints, &asked.env))
		return -FI_ENODATA;
	err = fare_attach(&fare, asked.env.run_dir);
	if (err) {
		log_why(err, &asked);
		return -FI_ENODATA;
	}
	/* only now: a name may take long to be found */
	err = ends_read(&asked.ends, node, service, flags, hints,
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
