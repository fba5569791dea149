/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Entries lie in an array sorted by address. reach[i] is the largest end of entries 0 to i. A
 * search for entries that cover or overlap a range starts at the last entry that begins early
 * enough, and goes down as long as reach says that an earlier entry ends late enough. Insertion and
 * removal move the tail of the array. There are some thousand entries at most, and registering a
 * region costs far more.
 */
#include "qp/mr_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct mr_cache {
	const struct qp_provider *provider;
	struct qp_endpoint *ep;
	unsigned n_regions, max_regions;
	struct mr_cache_entry **entries; /* by addr */
	uintptr_t *reach;
	unsigned n;		       /* in the table; stale ones are not */
	struct mr_cache_entry *unused; /* longest unused first */
	struct mr_cache_entry *stale;
};

static uintptr_t end_of(const struct mr_cache_entry *e)
{
	return e->addr + e->length;
}

/* ---- the table ---- */

/* How many entries begin at addr or before. */
static unsigned count_up_to(const struct mr_cache *c, uintptr_t addr)
{
	unsigned low = 0, high = c->n;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (c->entries[middle]->addr <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void update_reach(struct mr_cache *c, unsigned from)
{
	for (unsigned i = from; i < c->n; i++) {
		uintptr_t before = i ? c->reach[i - 1] : 0, end = end_of(c->entries[i]);

		c->reach[i] = before > end ? before : end;
	}
}

static void insert(struct mr_cache *c, struct mr_cache_entry *e)
{
	unsigned at = count_up_to(c, e->addr);

	memmove(&c->entries[at + 1], &c->entries[at], (c->n - at) * sizeof(e));
	c->entries[at] = e;
	c->n++;
	update_reach(c, at);
}

static void take_out(struct mr_cache *c, unsigned at)
{
	c->n--;
	memmove(&c->entries[at], &c->entries[at + 1], (c->n - at) * sizeof(c->entries[0]));
	update_reach(c, at);
}

static unsigned index_of(const struct mr_cache *c, const struct mr_cache_entry *e)
{
	unsigned at = count_up_to(c, e->addr) - 1;

	while (c->entries[at] != e)
		at--;
	return at;
}

static struct mr_cache_entry *mr_cache_find(const struct mr_cache *c, uintptr_t addr, uintptr_t end,
					    unsigned access)
{
	for (unsigned i = count_up_to(c, addr); i && c->reach[i - 1] >= end; i--) {
		struct mr_cache_entry *e = c->entries[i - 1];

		if (end_of(e) >= end && !(access & ~e->access))
			return e;
	}
	return NULL;
}

/* ---- entries ---- */

static void mr_cache_end(struct mr_cache *c, struct mr_cache_entry *e)
{
	c->provider->mr_deregister(c->ep, &e->mr);
	c->n_regions--;
	free(e);
}

/* The one that is unused for longest. False: all are in use. */
static bool evict_one(struct mr_cache *c)
{
	struct mr_cache_entry *e = c->unused;

	if (!e)
		return false;
	DL_DELETE(c->unused, e);
	take_out(c, index_of(c, e));
	mr_cache_end(c, e);
	return true;
}

static int mr_cache_add(struct mr_cache *c, void *addr, size_t length, unsigned access,
			struct mr_cache_entry **out)
{
	struct mr_cache_entry *e;
	int err;

	if (c->n_regions == c->max_regions && !evict_one(c))
		return -ENOSPC;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->addr = (uintptr_t)addr;
	e->length = length;
	e->access = access;
	do
		err = c->provider->mr_register(c->ep, addr, length, access, &e->mr);
	while ((err == -ENOSPC || err == -ENOMEM) && evict_one(c));
	if (err) {
		free(e);
		return err;
	}
	c->n_regions++;
	insert(c, e);
	*out = e;
	return 0;
}

/* ---- the interface ---- */

int mr_cache_create(struct mr_cache **out, const struct qp_provider *provider,
		    struct qp_endpoint *ep, unsigned max_regions)
{
	struct mr_cache *c = calloc(1, sizeof(*c));

	*out = NULL;
	if (!c)
		return -ENOMEM;
	c->provider = provider;
	c->ep = ep;
	c->max_regions = max_regions;
	c->entries = calloc(max_regions, sizeof(*c->entries));
	c->reach = calloc(max_regions, sizeof(*c->reach));
	if (!c->entries || !c->reach) {
		mr_cache_destroy(c);
		return -ENOMEM;
	}
	*out = c;
	return 0;
}

void mr_cache_destroy(struct mr_cache *c)
{
	if (!c)
		return;
	while (c->n)
		mr_cache_end(c, c->entries[--c->n]);
	while (c->stale) {
		struct mr_cache_entry *e = c->stale;

		DL_DELETE(c->stale, e);
		mr_cache_end(c, e);
	}
	free(c->entries);
	free(c->reach);
	free(c);
}

int mr_cache_get(struct mr_cache *c, void *addr, size_t length, unsigned access,
		 struct mr_cache_entry **out)
{
	struct mr_cache_entry *e;
	int err;

	*out = NULL;
	if (!length || length > UINTPTR_MAX - (uintptr_t)addr)
		return -EINVAL;
	e = mr_cache_find(c, (uintptr_t)addr, (uintptr_t)addr + length, access);
	if (!e) {
		err = mr_cache_add(c, addr, length, access, &e);
		if (err)
			return err;
	} else if (!e->users) {
		DL_DELETE(c->unused, e);
	}
	e->users++;
	*out = e;
	return 0;
}

void mr_cache_put(struct mr_cache *c, struct mr_cache_entry *e)
{
	if (--e->users)
		return;
	if (!e->stale) {
		DL_APPEND(c->unused, e);
		return;
	}
	DL_DELETE(c->stale, e);
	mr_cache_end(c, e);
}

unsigned mr_cache_invalidate(struct mr_cache *c, const void *addr, size_t length)
{
	uintptr_t begin = (uintptr_t)addr;
	uintptr_t last = length > UINTPTR_MAX - begin ? UINTPTR_MAX : begin + length - 1;
	unsigned met = 0;

	if (!length)
		return 0;
	for (unsigned i = count_up_to(c, last); i && c->reach[i - 1] > begin; i--) {
		struct mr_cache_entry *e = c->entries[i - 1];

		if (end_of(e) <= begin)
			continue;
		met++;
		take_out(c, i - 1);
		if (e->users) {
			e->stale = true;
			DL_APPEND(c->stale, e);
			continue;
		}
		DL_DELETE(c->unused, e);
		mr_cache_end(c, e);
	}
	return met;
}
