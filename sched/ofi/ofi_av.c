/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_av.c - fi_av(3): endpoints' addresses and the numbers that stand for them, of both types;
 * which process a name stands for.
 *
 * Owns the map of both directions: fi_addr_t to (peer, endpoint), and back, for FI_SOURCE and
 * FI_DIRECTED_RECV. An entry that was inserted by a name (ofi_name.h) changes its peer.
 */
#include "ofi/ofi.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "ofi/ofi_name.h"

/* in key.ep: the entry is a name, and its peer changes */
#define BY_NAME (UINT64_C(1) << 16)

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

struct ofi_av {
	struct ofi_av *prev, *next; /* of the domain */
	struct fid_av fid;
	struct ofi_domain *domain;
	enum fi_av_type type;
	struct entry **entries; /* by number; NULL: removed */
	size_t n, size;
	struct entry *by_key;
	unsigned n_bound; /* endpoints */
};

static struct ofi_av *av_of(struct fid_av *fid)
{
	return container_of(fid, struct ofi_av, fid);
}

/* ---- looking up ---- */

static struct entry *entry_at(const struct ofi_av *av, fi_addr_t number)
{
	return number < av->n ? av->entries[number] : NULL;
}

struct ofi_peer *ofi_av_peer(const struct ofi_av *av, fi_addr_t address, uint16_t *ep)
{
	const struct entry *e = entry_at(av, address);

	if (e)
		*ep = (uint16_t)e->key.ep;
	return e ? e->peer : NULL;
}

static struct entry *entry_find(const struct ofi_av *av, const struct ofi_peer *peer, uint64_t ep)
{
	const struct key key = {peer, ep};
	struct entry *e;

	HASH_FIND(hh, av->by_key, &key, sizeof(key), e);
	return e;
}

fi_addr_t ofi_av_find(const struct ofi_av *av, const struct ofi_peer *peer, uint16_t ep)
{
	const struct entry *e = entry_find(av, peer, ep);

	if (!e && peer->n_names)
		e = entry_find(av, peer, ep | BY_NAME);
	return e ? e->number : FI_ADDR_NOTAVAIL;
}

/* ---- inserting ---- */

static int av_make_room(struct ofi_av *av)
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
static void name_sources(const struct ofi_av *av, const struct entry *e)
{
	for (unsigned i = 0; i < OFI_EPS_MAX; i++) {
		struct ofi_ep *ep = av->domain->eps[i];
		struct ofi_arrived *a;

		for (unsigned tagged = 0; ep && ep->av == av && tagged < 2; tagged++)
			DL_FOREACH (ep->match.arrived[tagged], a) {
				const struct ofi_message *m = (const struct ofi_message *)a;

				if (m->peer == e->peer && m->wire.src_ep == (uint16_t)e->key.ep)
					a->source = e->number;
			}
	}
}

static bool entry_hash(struct ofi_av *av, struct entry *e)
{
	HASH_ADD(hh, av->by_key, key, sizeof(e->key), e);
	return e->hh.tbl;
}

static void entry_count(struct ofi_peer *peer, const struct entry *e, int by)
{
	peer->n_entries += (unsigned)by;
	if (e->key.ep & BY_NAME)
		peer->n_names += (unsigned)by;
	ofi_peer_changed(peer);
}

static struct entry *entry_add(struct ofi_av *av, struct ofi_peer *peer, uint64_t ep)
{
	struct entry *e = av_make_room(av) ? NULL : calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->key = (struct key){peer, ep};
	e->peer = peer;
	e->number = av->n;
	if (!entry_hash(av, e)) {
		free(e);
		return NULL;
	}
	av->entries[av->n++] = e;
	entry_count(peer, e, 1);
	name_sources(av, e);
	return e;
}

static struct ofi_peer *find_up(const struct ofi_domain *domain, const struct fare_address *name)
{
	struct ofi_peer *peer;

	HASH_FIND(hh_name, domain->peers.by_name, name, sizeof(*name), peer);
	return peer;
}

/* The peer that a name stands for now. NULL: no memory. */
static struct ofi_peer *peer_of_name(struct ofi_domain *domain, const struct fare_address *name)
{
	struct ofi_peer *peer = find_up(domain, name);
	struct fare_address own;

	if (peer)
		return peer;
	ofi_name_of(&domain->address, &own);
	return ofi_peer_get(domain, memcmp(&own, name, sizeof(own)) ? name : &domain->address);
}

static int insert_one(struct ofi_av *av, const struct ofi_address *address, fi_addr_t *out)
{
	uint64_t ep = address->ep | (ofi_name_is(address) ? BY_NAME : 0);
	struct peer_address at;
	struct ofi_peer *peer;
	struct entry *e;

	if (ofi_name_place(address, &at) || !at.port)
		return -FI_EINVAL;
	peer = ep & BY_NAME ? peer_of_name(av->domain, &address->process)
			    : ofi_peer_get(av->domain, &address->process);
	if (!peer)
		return -FI_ENOMEM;
	ofi_peer_changed(peer);
	e = entry_find(av, peer, ep);
	if (!e)
		e = entry_add(av, peer, ep);
	if (!e)
		return -FI_ENOMEM;
	*out = e->number;
	return 0;
}

/* What a call of the application inserts, and the result of each. */
struct insertion {
	struct ofi_av *av;
	fi_addr_t *fi_addr; /* may be NULL */
	int *errors;	    /* NULL without FI_SYNC_ERR */
	size_t i;
	int n; /* inserted */
};

static int insertion_begin(struct insertion *in, struct ofi_av *av, fi_addr_t *fi_addr,
			   uint64_t flags, void *context)
{
	if (flags & ~(uint64_t)(FI_MORE | FI_SYNC_ERR | FI_NUMERICHOST))
		return -FI_EBADFLAGS;
	*in = (struct insertion){
		.av = av, .fi_addr = fi_addr, .errors = flags & FI_SYNC_ERR ? context : NULL};
	return 0;
}

/* err: there is no such address */
static void insert_next(struct insertion *in, const struct ofi_address *address, int err)
{
	fi_addr_t number = FI_ADDR_NOTAVAIL;

	ofi_lock(in->av->domain);
	if (!err)
		err = insert_one(in->av, address, &number);
	ofi_unlock(in->av->domain);
	if (in->fi_addr)
		in->fi_addr[in->i] = number;
	if (in->errors)
		in->errors[in->i] = -err;
	in->i++;
	in->n += !err;
}

static int av_insert(struct fid_av *fid, const void *addr, size_t count_of, fi_addr_t *fi_addr,
		     uint64_t flags, void *context)
{
	uint32_t format = av_of(fid)->domain->format;
	size_t bytes = ofi_name_bytes(format);
	struct ofi_address address;
	struct insertion in;
	int err = insertion_begin(&in, av_of(fid), fi_addr, flags, context);

	if (err)
		return err;
	for (size_t i = 0; i < count_of; i++) {
		err = ofi_name_decode(format, (const uint8_t *)addr + i * bytes, bytes, &address);
		insert_next(&in, &address, err);
	}
	return in.n;
}

/* A place of the family that the domain's packets have. Without the lock: it may take long. */
static void insert_service(struct insertion *in, const char *node, const char *service,
			   uint64_t flags)
{
	struct peer_address own, at[OFI_NAME_PLACES];
	const struct ofi_address self = {.process = in->av->domain->address};
	struct ofi_address address;
	const char *why;
	int n = ofi_name_resolve(node, service, flags & FI_NUMERICHOST, at, &why), err = -FI_EINVAL;

	ofi_name_place(&self, &own);
	for (int i = 0; i < n && err; i++) {
		if (!IN6_IS_ADDR_V4MAPPED(&at[i].address) != !IN6_IS_ADDR_V4MAPPED(&own.address))
			continue;
		ofi_name_make(&at[i], &address);
		err = 0;
	}
	insert_next(in, &address, err);
}

static int av_insertsvc(struct fid_av *fid, const char *node, const char *service,
			fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	struct insertion in;
	int err = insertion_begin(&in, av_of(fid), fi_addr, flags, context);

	if (err)
		return err;
	if (!node || !service)
		return -FI_EINVAL;
	insert_service(&in, node, service, flags);
	return in.n;
}

static int av_insertsym(struct fid_av *fid, const char *node, size_t nodecnt, const char *service,
			size_t svccnt, fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	char node_i[NI_MAXHOST], service_j[NI_MAXSERV];
	struct insertion in;
	int err = insertion_begin(&in, av_of(fid), fi_addr, flags, context);

	if (err)
		return err;
	if (!node || !service || nodecnt > UINT32_MAX || svccnt > UINT16_MAX)
		return -FI_EINVAL;
	for (unsigned i = 0; i < nodecnt; i++)
		for (unsigned j = 0; j < svccnt; j++) {
			if (ofi_name_count_up(node, i, node_i, sizeof(node_i)) ||
			    ofi_name_count_up(service, j, service_j, sizeof(service_j)))
				insert_next(&in, NULL, -FI_EINVAL);
			else
				insert_service(&in, node_i, service_j, flags);
		}
	return in.n;
}

/* ---- removing ---- */

static void entry_drop(struct ofi_av *av, struct entry *e)
{
	if (e->hh.tbl)
		HASH_DEL(av->by_key, e);
	av->entries[e->number] = NULL;
	entry_count(e->peer, e, -1);
	free(e);
}

static int av_remove(struct fid_av *fid, fi_addr_t *fi_addr, size_t count, uint64_t flags)
{
	struct ofi_av *av = av_of(fid);
	int err = 0;

	if (flags)
		return -FI_EBADFLAGS;
	ofi_lock(av->domain);
	for (size_t i = 0; i < count; i++) {
		struct entry *e = entry_at(av, fi_addr[i]);

		if (e)
			entry_drop(av, e);
		else
			err = -FI_EINVAL;
	}
	ofi_unlock(av->domain);
	return err;
}

static int av_lookup(struct fid_av *fid, fi_addr_t fi_addr, void *addr, size_t *addrlen)
{
	struct ofi_address address = {0};
	uint8_t text[OFI_NAME_BYTES_MAX];
	struct ofi_av *av = av_of(fid);
	size_t bytes = ofi_name_bytes(av->domain->format);
	const struct entry *e;

	ofi_lock(av->domain);
	e = entry_at(av, fi_addr);
	if (e) {
		address.process = e->peer->address;
		if (e->key.ep & BY_NAME)
			ofi_name_of(&e->peer->address, &address.process);
		address.ep = (uint16_t)e->key.ep;
	}
	ofi_unlock(av->domain);
	if (!e)
		return -FI_EINVAL;
	ofi_name_encode(av->domain->format, &address, text);
	memcpy(addr, text, *addrlen < bytes ? *addrlen : bytes);
	*addrlen = bytes;
	return 0;
}

static const char *av_straddr(struct fid_av *fid, const void *addr, char *buf, size_t *len)
{
	uint32_t format = av_of(fid)->domain->format;
	struct ofi_address address;

	if (ofi_name_decode(format, addr, ofi_name_bytes(format), &address))
		return NULL;
	*len = ofi_name_print(format, &address, buf, *len);
	return buf;
}

/* ---- names that change hands ---- */

/* Without memory the entry stands for nobody. */
static void entry_move(struct ofi_av *av, struct entry *e, struct ofi_peer *to)
{
	HASH_DEL(av->by_key, e);
	entry_count(e->peer, e, -1);
	e->peer = to;
	e->key.peer = to;
	entry_count(to, e, 1);
	if (!entry_hash(av, e))
		entry_drop(av, e);
	else
		name_sources(av, e);
}

/* Names that stand for a peer stand for another from now on. */
static void move_names(struct ofi_peer *from, struct ofi_peer *to)
{
	struct ofi_av *av;

	DL_FOREACH (from->domain->avs, av)
		for (size_t i = 0; i < av->n && from->n_names; i++) {
			struct entry *e = av->entries[i];

			if (e && e->peer == from && e->key.ep & BY_NAME)
				entry_move(av, e, to);
		}
}

void ofi_av_name_down(struct ofi_peer *peer)
{
	struct ofi_peer *nobody;

	if (!peer->is_up)
		return;
	HASH_DELETE(hh_name, peer->domain->peers.by_name, peer);
	peer->is_up = false;
	nobody = peer->n_names ? ofi_peer_get(peer->domain, &peer->name) : NULL;
	if (nobody)
		move_names(peer, nobody);
}

void ofi_av_name_up(struct ofi_peer *peer)
{
	struct ofi_domain *domain = peer->domain;
	struct ofi_peer *other;

	if (peer->is_up)
		return;
	ofi_name_of(&peer->address, &peer->name);
	other = find_up(domain, &peer->name);
	if (other) /* it is gone, and its links do not know it yet */
		ofi_av_name_down(other);
	HASH_ADD(hh_name, domain->peers.by_name, name, sizeof(peer->name), peer);
	if (!peer->hh_name.tbl)
		return;
	peer->is_up = true;
	HASH_FIND(hh, domain->peers.by_address, &peer->name, sizeof(peer->name), other);
	if (!other)
		return;
	move_names(other, peer);
	ofi_queue_move(other, peer);
}

bool ofi_av_name_connected(struct ofi_link *link)
{
	struct ofi_peer *nobody = link->peer, *peer = NULL;
	const struct ofi_address named = {.process = nobody->address};
	struct fare_address address;

	if (!ofi_name_is(&named))
		return true;
	if (!fare_group_peer_address(link->group, &address))
		peer = ofi_peer_get(nobody->domain, &address);
	if (!peer)
		return false;
	DL_DELETE(nobody->links, link);
	if (nobody->tx == link)
		nobody->tx = NULL;
	link->peer = peer;
	peer->gpu = nobody->gpu;
	DL_APPEND(peer->links, link);
	if (!peer->tx)
		peer->tx = link;
	ofi_peer_changed(nobody);
	ofi_peer_changed(peer);
	ofi_av_name_up(peer);
	return true;
}

/* ---- opening and closing ---- */

int ofi_av_bind(struct ofi_ep *ep, struct fid *av)
{
	if (ep->av)
		return -FI_EINVAL;
	ep->av = container_of(av, struct ofi_av, fid.fid);
	ep->av->n_bound++;
	return 0;
}

void ofi_av_unbind(struct ofi_ep *ep)
{
	if (ep->av)
		ep->av->n_bound--;
}

static int av_close(struct fid *fid)
{
	struct ofi_av *av = container_of(fid, struct ofi_av, fid.fid);
	bool busy;

	ofi_lock(av->domain);
	busy = av->n_bound;
	for (size_t i = 0; i < av->n && !busy; i++)
		if (av->entries[i])
			entry_drop(av, av->entries[i]);
	av->domain->n_users -= !busy;
	if (!busy)
		DL_DELETE(av->domain->avs, av);
	ofi_unlock(av->domain);
	if (busy)
		return -FI_EBUSY;
	free(av->entries);
	free(av);
	return 0;
}

static struct fi_ops av_fi_ops = OFI_FI_OPS(av_close, ofi_no_bind, ofi_no_control);

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
	av->fid.fid = (struct fid){FI_CLASS_AV, context, &av_fi_ops};
	av->fid.ops = &av_ops;
	ofi_lock(av->domain);
	av->domain->n_users++;
	DL_APPEND(av->domain->avs, av);
	ofi_unlock(av->domain);
	*out = &av->fid;
	return 0;
}
