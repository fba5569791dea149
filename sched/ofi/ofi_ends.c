/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_ends.h"

#include <stdlib.h>
#include <string.h>

#include "fare.h"
#include "ofi/ofi_prov.h"

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

int ofi_ends_read(struct ofi_ends *out, const char *node, const char *service, uint64_t flags,
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
 * does not make it a GPU of the fabric: ofi_ends_fit() asks for routes.
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

/* The GPU itself, or one to which the daemon has seen a route on some plane. */
static bool has_route(struct fare *fare, unsigned gpu, const struct in6_addr *own,
		      const struct in6_addr *peer)
{
	struct fare_paths paths = {0};
	struct fare_pair *pair;
	bool any = false;

	if (is_any(peer) || !memcmp(peer, own, sizeof(*own)))
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

	return p && (destination->bytes || has_route(fare, gpu, own, &p->address));
}

bool ofi_ends_fit(const struct ofi_ends *ends, struct fare *fare, unsigned gpu,
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

int ofi_ends_fill(const struct ofi_ends *ends, const struct in6_addr *own, struct fi_info *info)
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
