/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_cookies.h"

#include <errno.h>
#include <stdlib.h>

#define INDEX_MASK  (OFI_COOKIES_MAX - 1)
#define FIRST_SLOTS 64u
#define NO_SLOT	    UINT32_MAX

struct ofi_cookie {
	void *what;	 /* NULL: free */
	uint32_t number; /* generation above the index; never 0 */
	uint32_t next_free;
};

static uint32_t next_generation(uint32_t number)
{
	uint32_t next = number + OFI_COOKIES_MAX;

	return next & ~INDEX_MASK ? next : next + OFI_COOKIES_MAX;
}

static int grow(struct ofi_cookies *c)
{
	uint32_t n = c->n_slots ? 2 * c->n_slots : FIRST_SLOTS;
	struct ofi_cookie *slots;

	if (c->n_slots >= OFI_COOKIES_MAX)
		return -ENOSPC;
	slots = realloc(c->slots, n * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (uint32_t i = c->n_slots; i < n; i++)
		slots[i] = (struct ofi_cookie){.number = OFI_COOKIES_MAX | i,
					       .next_free = i + 1 < n ? i + 1 : NO_SLOT};
	c->first_free = c->n_slots;
	c->slots = slots;
	c->n_slots = n;
	return 0;
}

int ofi_cookies_add(struct ofi_cookies *c, void *what, uint32_t *out)
{
	struct ofi_cookie *slot;
	int err = 0;

	if (!c->n_slots || c->first_free == NO_SLOT)
		err = grow(c);
	if (err)
		return err;
	slot = &c->slots[c->first_free];
	c->first_free = slot->next_free;
	slot->what = what;
	*out = slot->number;
	return 0;
}

static struct ofi_cookie *find(const struct ofi_cookies *c, uint32_t cookie)
{
	uint32_t i = cookie & INDEX_MASK;

	return i < c->n_slots && c->slots[i].what && c->slots[i].number == cookie ? &c->slots[i]
										  : NULL;
}

void *ofi_cookies_find(const struct ofi_cookies *c, uint32_t cookie)
{
	struct ofi_cookie *slot = find(c, cookie);

	return slot ? slot->what : NULL;
}

void ofi_cookies_remove(struct ofi_cookies *c, uint32_t cookie)
{
	struct ofi_cookie *slot = find(c, cookie);

	if (!slot)
		return;
	slot->what = NULL;
	slot->number = next_generation(slot->number);
	slot->next_free = c->first_free;
	c->first_free = cookie & INDEX_MASK;
}

void *ofi_cookies_at(const struct ofi_cookies *c, uint32_t n)
{
	return c->slots[n].what;
}

void ofi_cookies_fini(struct ofi_cookies *c)
{
	free(c->slots);
	*c = (struct ofi_cookies){0};
}
