/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_av.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "ofi/ofi_domain.h"
#include "ofi/ofi_ep.h"
#include "ofi/ofi_no.h"

#define STRADDR_BYTES 128

struct key {
	const struct ofi_peer *peer;
	uint64_t ep;
};

struct entry {
	UT_hash_handle hh;
	struct key key;
	struct ofi_peer *peer;
	fi_addr_t number;
};

struct bound {
	struct bound *prev, *next;
	struct ofi_ep *ep;
};

struct ofi_av {
	struct fid_av fid;
	struct ofi_domain *domain;
	enum fi_av_type type;
	struct entry **entries; /* by number; NULL: removed */
	size_t n, size;
	struct entry *by_key;
	struct bound *eps;
};

static struct ofi_av *of(struct fid_av *fid)
{
	return container_of(fid, struct ofi_av, fid);
}

struct ofi_av *ofi_av_of(struct fid *fid)
{
	return container_of(fid, struct ofi_av, fid.fid);
}

/* ---- looking up ---- */

static struct entry *at(const struct ofi_av *av, fi_addr_t number)
{
	return number < av->n ? av->entries[number] : NULL;
}

struct ofi_peer *ofi_av_peer(const struct ofi_av *av, fi_addr_t address, uint16_t *ep)
{
	const struct entry *e = at(av, address);

	if (e)
		*ep = (uint16_t)e->key.ep;
	return e ? e->peer : NULL;
}

static struct entry *find(const struct ofi_av *av, const struct ofi_peer *peer, uint16_t ep)
{
	const struct key key = {peer, ep};
	struct entry *e;

	HASH_FIND(hh, av->by_key, &key, sizeof(key), e);
	return e;
}

fi_addr_t ofi_av_find(const struct ofi_av *av, const struct ofi_peer *peer, uint16_t ep)
{
	const struct entry *e = find(av, peer, ep);

	return e ? e->number : FI_ADDR_NOTAVAIL;
}

/* ---- inserting ---- */

static int make_room(struct ofi_av *av)
{
	size_t size = av->size ? 2 * av->size : 16;
	struct entry **entries;

	if (av->n < av->size)
		return 0;
	entries = realloc(av->entries, size * sizeof(*entries));
	if (!entries)
		return -FI_ENOMEM;
	av->entries = entries;
	av->size = size;
	return 0;
}

/* Messages that came before the address of their sender. */
static void name_sources(struct ofi_av *av, const struct entry *e)
{
	struct ofi_arrived *a;
	struct bound *b;

	DL_FOREACH (av->eps, b)
		for (unsigned tagged = 0; tagged < 2; tagged++)
			DL_FOREACH (b->ep->match.arrived[tagged], a) {
				const struct ofi_message *m = (const struct ofi_message *)a;

				if (m->peer == e->peer && m->wire.src_ep == e->key.ep)
					a->source = e->number;
			}
}

static int insert_one(struct ofi_av *av, const uint8_t *bytes, fi_addr_t *out)
{
	struct ofi_address address;
	struct ofi_peer *peer;
	struct entry *e;

	if (ofi_address_decode(bytes, &address))
		return -FI_EINVAL;
	peer = ofi_peer_get(av->domain, &address.process);
	e = peer ? find(av, peer, address.ep) : NULL;
	if (!peer)
		return -FI_ENOMEM;
	ofi_peer_changed(peer);
	if (!e && make_room(av))
		return -FI_ENOMEM;
	if (!e) {
		e = calloc(1, sizeof(*e));
		if (!e)
			return -FI_ENOMEM;
		e->key = (struct key){peer, address.ep};
		e->peer = peer;
		e->number = av->n;
		HASH_ADD(hh, av->by_key, key, sizeof(e->key), e);
		if (!e->hh.tbl) {
			free(e);
			return -FI_ENOMEM;
		}
		av->entries[av->n++] = e;
		peer->n_entries++;
		name_sources(av, e);
	}
	*out = e->number;
	return 0;
}

static int av_insert(struct fid_av *fid, const void *addr, size_t count, fi_addr_t *fi_addr,
		     uint64_t flags, void *context)
{
	struct ofi_av *av = of(fid);
	int n = 0;

	if (flags & ~(uint64_t)(FI_MORE | FI_SYNC_ERR))
		return -FI_EBADFLAGS;
	ofi_lock(av->domain);
	for (size_t i = 0; i < count; i++) {
		fi_addr_t number = FI_ADDR_NOTAVAIL;
		int err = insert_one(av, (const uint8_t *)addr + i * OFI_ADDRESS_BYTES, &number);

		n += !err;
		if (fi_addr)
			fi_addr[i] = number;
		if (flags & FI_SYNC_ERR)
			((int *)context)[i] = -err;
	}
	ofi_unlock(av->domain);
	return n;
}

static int av_insertsvc(struct fid_av *fid, const char *node, const char *service,
			fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	(void)fid, (void)node, (void)service, (void)fi_addr, (void)flags, (void)context;
	return -FI_ENOSYS;
}

static int av_insertsym(struct fid_av *fid, const char *node, size_t nodecnt, const char *service,
			size_t svccnt, fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	(void)fid, (void)node, (void)nodecnt, (void)service, (void)svccnt;
	(void)fi_addr, (void)flags, (void)context;
	return -FI_ENOSYS;
}

/* ---- removing ---- */

static void drop(struct ofi_av *av, struct entry *e)
{
	HASH_DEL(av->by_key, e);
	av->entries[e->number] = NULL;
	e->peer->n_entries--;
	ofi_peer_changed(e->peer);
	free(e);
}

static int av_remove(struct fid_av *fid, fi_addr_t *fi_addr, size_t count, uint64_t flags)
{
	struct ofi_av *av = of(fid);
	int err = 0;

	if (flags)
		return -FI_EBADFLAGS;
	ofi_lock(av->domain);
	for (size_t i = 0; i < count; i++) {
		struct entry *e = at(av, fi_addr[i]);

		if (e)
			drop(av, e);
		else
			err = -FI_EINVAL;
	}
	ofi_unlock(av->domain);
	return err;
}

static int av_lookup(struct fid_av *fid, fi_addr_t fi_addr, void *addr, size_t *addrlen)
{
	struct ofi_address address = {0};
	uint8_t bytes[OFI_ADDRESS_BYTES];
	struct ofi_av *av = of(fid);
	const struct entry *e;

	ofi_lock(av->domain);
	e = at(av, fi_addr);
	if (e) {
		address.process = e->peer->address;
		address.ep = (uint16_t)e->key.ep;
	}
	ofi_unlock(av->domain);
	if (!e)
		return -FI_EINVAL;
	ofi_address_encode(&address, bytes);
	memcpy(addr, bytes, *addrlen < sizeof(bytes) ? *addrlen : sizeof(bytes));
	*addrlen = sizeof(bytes);
	return 0;
}

/* The bytes in hexadecimal, and the endpoint. */
static const char *av_straddr(struct fid_av *fid, const void *addr, char *buf, size_t *len)
{
	const uint8_t *bytes = addr;
	char text[STRADDR_BYTES] = "fi_fare://";
	size_t n = strlen(text);

	(void)fid;
	for (unsigned i = 0; i < OFI_ADDRESS_BYTES; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%02x", bytes[i]);
	snprintf(buf, *len, "%s", text);
	*len = n + 1;
	return buf;
}

/* ---- opening and closing ---- */

void ofi_av_bind_ep(struct ofi_av *av, struct ofi_ep *ep)
{
	struct bound *b = calloc(1, sizeof(*b));

	if (!b)
		return;
	b->ep = ep;
	DL_APPEND(av->eps, b);
}

void ofi_av_unbind_ep(struct ofi_av *av, struct ofi_ep *ep)
{
	struct bound *b, *next;

	DL_FOREACH_SAFE (av->eps, b, next)
		if (b->ep == ep) {
			DL_DELETE(av->eps, b);
			free(b);
		}
}

static int av_close(struct fid *fid)
{
	struct ofi_av *av = ofi_av_of(fid);
	bool busy;

	ofi_lock(av->domain);
	busy = av->eps;
	for (size_t i = 0; i < av->n && !busy; i++)
		if (av->entries[i])
			drop(av, av->entries[i]);
	av->domain->n_users -= !busy;
	ofi_unlock(av->domain);
	if (busy)
		return -FI_EBUSY;
	free(av->entries);
	free(av);
	return 0;
}

static struct fi_ops av_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = av_close,
	.bind = ofi_no_bind,
	.control = ofi_no_control,
	.ops_open = ofi_no_ops_open,
};

static struct fi_ops_av av_ops = {
	.size = sizeof(struct fi_ops_av),
	.insert = av_insert,
	.insertsvc = av_insertsvc,
	.insertsym = av_insertsym,
	.remove = av_remove,
	.lookup = av_lookup,
	.straddr = av_straddr,
};

int ofi_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **out,
		void *context)
{
	struct ofi_av *av;

	if (attr->name || attr->rx_ctx_bits || attr->flags & ~(uint64_t)FI_SYMMETRIC)
		return -FI_ENOSYS;
	av = calloc(1, sizeof(*av));
	if (!av)
		return -FI_ENOMEM;
	av->domain = ofi_domain_of(domain);
	av->type = attr->type == FI_AV_UNSPEC ? FI_AV_TABLE : attr->type;
	attr->type = av->type;
	av->fid.fid.fclass = FI_CLASS_AV;
	av->fid.fid.context = context;
	av->fid.fid.ops = &av_fi_ops;
	av->fid.ops = &av_ops;
	ofi_lock(av->domain);
	av->domain->n_users++;
	ofi_unlock(av->domain);
	*out = &av->fid;
	return 0;
}
