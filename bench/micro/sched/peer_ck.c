/* SPDX-License-Identifier: BSD-2-Clause */
/* peer_ck.c - Concurrency Kit's ck_ht: direct keys, one writer, twice the room, our mix as its
 * hash. */
#include <errno.h>
#include <stdlib.h>

#include <ck_ht.h>
#include <ck_malloc.h>

#include "micro/sched/lookup_peer.h"

static void *ck_allocate(size_t bytes)
{
	return malloc(bytes);
}

static void ck_release(void *p, size_t bytes, bool deferred)
{
	(void)bytes;
	(void)deferred;
	free(p);
}

static void ck_hash(ck_ht_hash_t *out, const void *key, size_t length, uint64_t seed)
{
	(void)length;
	/* direct mode passes a pointer to the key */
	out->value = (unsigned long)lookup_peer_mix(*(const uintptr_t *)key ^ seed);
}

static struct ck_malloc ck_memory = {.malloc = ck_allocate, .free = ck_release};

static int ck_create(void **out, const uint64_t *keys, size_t n)
{
	ck_ht_t *ht = calloc(1, sizeof(*ht));

	*out = ht;
	if (!ht || !ck_ht_init(ht, CK_HT_MODE_DIRECT | CK_HT_WORKLOAD_DELETE, ck_hash, &ck_memory,
			       n * 2, 1))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		ck_ht_entry_t entry;
		ck_ht_hash_t h;

		/* 0 and the largest value mean empty there; keys of 40 bits reach neither after + 1
		 */
		ck_ht_hash_direct(&h, ht, keys[i] + 1);
		ck_ht_entry_set_direct(&entry, h, keys[i] + 1, i & 0xffff);
		if (!ck_ht_put_spmc(ht, h, &entry))
			return -ENOSPC;
	}
	return 0;
}

static void ck_destroy(void *table)
{
	if (!table)
		return;
	ck_ht_destroy(table);
	free(table);
}

static uint64_t ck_lookup(void *table, const uint64_t *keys, size_t n)
{
	ck_ht_t *ht = table;
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		ck_ht_entry_t entry;
		ck_ht_hash_t h;

		ck_ht_hash_direct(&h, ht, keys[i] + 1);
		ck_ht_entry_key_set_direct(&entry, keys[i] + 1);
		sum += ck_ht_get_spmc(ht, h, &entry) ? ck_ht_entry_value_direct(&entry) : 1;
	}
	return sum;
}

const struct lookup_peer lookup_peer_ck = {"ck_ht", ck_create, ck_destroy, ck_lookup, NULL};
