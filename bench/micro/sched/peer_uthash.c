/* SPDX-License-Identifier: BSD-2-Clause */
/* peer_uthash.c - uthash with our mix as its hash and its entries in one block. */
#include <errno.h>
#include <stdlib.h>

#include "micro/sched/lookup_peer.h"

#define HASH_FUNCTION(key, length, out)                                                            \
	do {                                                                                       \
		(out) = (unsigned)lookup_peer_mix(*(const uint64_t *)(const void *)(key));         \
	} while (0)
#define HASH_KEYCMP(a, b, length)                                                                  \
	(*(const uint64_t *)(const void *)(a) != *(const uint64_t *)(const void *)(b))
#include <uthash.h>

struct entry {
	uint64_t key;
	uint32_t value;
	UT_hash_handle hh;
};

struct table {
	struct entry *head, *entries;
};

static int uthash_create(void **out, const uint64_t *keys, size_t n)
{
	struct table *t = calloc(1, sizeof(*t));

	*out = t;
	if (!t)
		return -ENOMEM;
	t->entries = calloc(n, sizeof(*t->entries));
	if (!t->entries)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		t->entries[i].key = keys[i];
		t->entries[i].value = (uint32_t)(i & 0xffff);
		HASH_ADD(hh, t->head, key, sizeof(uint64_t), &t->entries[i]);
	}
	return 0;
}

static void uthash_destroy(void *table)
{
	struct table *t = table;

	if (!t)
		return;
	HASH_CLEAR(hh, t->head);
	free(t->entries);
	free(t);
}

static uint64_t uthash_lookup(void *table, const uint64_t *keys, size_t n)
{
	struct table *t = table;
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		struct entry *e;

		HASH_FIND(hh, t->head, &keys[i], sizeof(uint64_t), e);
		sum += e ? e->value : 1;
	}
	return sum;
}

const struct lookup_peer lookup_peer_uthash = {"uthash", uthash_create, uthash_destroy,
					       uthash_lookup, NULL};
