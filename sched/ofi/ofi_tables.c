/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

/* ---- receives and messages ---- */

bool ofi_match_accepts(const struct ofi_posted *posted, const struct ofi_arrived *arrived)
{
	if (posted->tagged != arrived->tagged)
		return false;
	if (posted->source != OFI_ANY_SOURCE && posted->source != arrived->source)
		return false;
	return !posted->tagged || ((posted->tag ^ arrived->tag) & ~posted->ignore) == 0;
}

void ofi_match_post(struct ofi_match *m, struct ofi_posted *posted)
{
	DL_APPEND(m->posted[posted->tagged], posted);
	m->n_posted++;
}

void ofi_match_unpost(struct ofi_match *m, struct ofi_posted *posted)
{
	DL_DELETE(m->posted[posted->tagged], posted);
	m->n_posted--;
}

void ofi_match_arrive(struct ofi_match *m, struct ofi_arrived *arrived)
{
	DL_APPEND(m->arrived[arrived->tagged], arrived);
	m->n_arrived++;
}

void ofi_match_remove(struct ofi_match *m, struct ofi_arrived *arrived)
{
	DL_DELETE(m->arrived[arrived->tagged], arrived);
	m->n_arrived--;
}

struct ofi_posted *ofi_match_posted(const struct ofi_match *m, const struct ofi_arrived *arrived)
{
	struct ofi_posted *p;

	DL_FOREACH (m->posted[arrived->tagged], p)
		if (ofi_match_accepts(p, arrived))
			return p;
	return NULL;
}

struct ofi_arrived *ofi_match_arrived(const struct ofi_match *m, const struct ofi_posted *posted)
{
	struct ofi_arrived *a;

	DL_FOREACH (m->arrived[posted->tagged], a)
		if (ofi_match_accepts(posted, a))
			return a;
	return NULL;
}

/* ---- cookies ---- */

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

static int cookies_grow(struct ofi_cookies *c)
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
		err = cookies_grow(c);
	if (err)
		return err;
	slot = &c->slots[c->first_free];
	c->first_free = slot->next_free;
	slot->what = what;
	*out = slot->number;
	return 0;
}

static struct ofi_cookie *cookie_find(const struct ofi_cookies *c, uint32_t cookie)
{
	uint32_t i = cookie & INDEX_MASK;

	return i < c->n_slots && c->slots[i].what && c->slots[i].number == cookie ? &c->slots[i]
										  : NULL;
}

void *ofi_cookies_find(const struct ofi_cookies *c, uint32_t cookie)
{
	struct ofi_cookie *slot = cookie_find(c, cookie);

	return slot ? slot->what : NULL;
}

void ofi_cookies_remove(struct ofi_cookies *c, uint32_t cookie)
{
	struct ofi_cookie *slot = cookie_find(c, cookie);

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

/* ---- keys ---- */

struct ofi_key *ofi_keys_find(const struct ofi_keys *keys, uint64_t key)
{
	struct ofi_key *k;

	HASH_FIND(hh, keys->by_key, &key, sizeof(key), k);
	return k;
}

static void key_drop(struct ofi_keys *keys, struct ofi_key *k)
{
	HASH_DEL(keys->by_key, k);
	free(k);
}

/* The oldest that no answer is waited for. */
static void key_drop_oldest(struct ofi_keys *keys)
{
	struct ofi_key *k, *next;

	HASH_ITER (hh, keys->by_key, k, next) {
		if (k->state == OFI_KEY_ASKED)
			continue;
		key_drop(keys, k);
		return;
	}
}

int ofi_keys_ask(struct ofi_keys *keys, uint64_t key)
{
	struct ofi_key *k = ofi_keys_find(keys, key);

	if (k) {
		k->state = OFI_KEY_ASKED;
		return 0;
	}
	if (HASH_COUNT(keys->by_key) >= OFI_KEYS_MAX)
		key_drop_oldest(keys);
	k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->key = key;
	k->state = OFI_KEY_ASKED;
	HASH_ADD(hh, keys->by_key, key, sizeof(k->key), k);
	if (k->hh.tbl)
		return 0;
	free(k);
	return -ENOMEM;
}

void ofi_keys_answer(struct ofi_keys *keys, uint64_t key, const struct ofi_wire *found)
{
	struct ofi_key *k = ofi_keys_find(keys, key);

	if (!k || k->state != OFI_KEY_ASKED)
		return;
	k->state = found->status ? OFI_KEY_REFUSED : OFI_KEY_KNOWN;
	k->address = found->address;
	k->length = found->length;
	k->rkey = found->rkey;
}

void ofi_keys_unask(struct ofi_keys *keys, uint64_t key)
{
	struct ofi_key *k = ofi_keys_find(keys, key);

	if (k && k->state == OFI_KEY_ASKED)
		key_drop(keys, k);
}

void ofi_keys_forget(struct ofi_keys *keys, uint64_t key)
{
	struct ofi_key *k = ofi_keys_find(keys, key);

	if (k && k->state != OFI_KEY_ASKED)
		key_drop(keys, k);
}

void ofi_keys_forget_all(struct ofi_keys *keys)
{
	struct ofi_key *k, *next;

	HASH_ITER (hh, keys->by_key, k, next)
		if (k->state != OFI_KEY_ASKED)
			key_drop(keys, k);
}

int ofi_keys_place(const struct ofi_key *key, uint64_t offset, uint64_t length, uint64_t *address)
{
	if (length > key->length || offset > key->length - length)
		return -EACCES;
	*address = key->address + offset;
	return 0;
}

void ofi_keys_fini(struct ofi_keys *keys)
{
	struct ofi_key *k, *next;

	HASH_ITER (hh, keys->by_key, k, next)
		key_drop(keys, k);
}
