/* SPDX-License-Identifier: BSD-2-Clause */
#include "ofi/ofi_keys.h"

#include <errno.h>
#include <stdlib.h>

struct ofi_key *ofi_keys_find(const struct ofi_keys *keys, uint64_t key)
{
	struct ofi_key *k;

	HASH_FIND(hh, keys->by_key, &key, sizeof(key), k);
	return k;
}

static void drop(struct ofi_keys *keys, struct ofi_key *k)
{
	HASH_DEL(keys->by_key, k);
	free(k);
}

/* The oldest that no answer is waited for. */
static void drop_oldest(struct ofi_keys *keys)
{
	struct ofi_key *k, *next;

	HASH_ITER (hh, keys->by_key, k, next) {
		if (k->state == OFI_KEY_ASKED)
			continue;
		drop(keys, k);
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
		drop_oldest(keys);
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
		drop(keys, k);
}

void ofi_keys_forget(struct ofi_keys *keys, uint64_t key)
{
	struct ofi_key *k = ofi_keys_find(keys, key);

	if (k && k->state != OFI_KEY_ASKED)
		drop(keys, k);
}

void ofi_keys_forget_all(struct ofi_keys *keys)
{
	struct ofi_key *k, *next;

	HASH_ITER (hh, keys->by_key, k, next)
		if (k->state != OFI_KEY_ASKED)
			drop(keys, k);
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
		drop(keys, k);
}
