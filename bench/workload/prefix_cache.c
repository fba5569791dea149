/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload/prefix_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define PREFIX_CACHE_NONE UINT32_MAX

struct prefix_cache_entry {
	uint64_t id;
	uint32_t next; /* in its bucket */
	uint32_t newer, older;
};

int prefix_cache_init(struct prefix_cache *cache, uint32_t room)
{
	*cache = (struct prefix_cache){
		.room = room, .newest = PREFIX_CACHE_NONE, .oldest = PREFIX_CACHE_NONE};
	if (getrandom(&cache->factor, sizeof(cache->factor), 0) != sizeof(cache->factor))
		return -EIO;
	cache->factor |= 1;
	for (cache->n_buckets = 16; cache->n_buckets < room; cache->n_buckets *= 2)
		;
	cache->entry = calloc(room, sizeof(*cache->entry));
	cache->bucket = malloc(cache->n_buckets * sizeof(*cache->bucket));
	if (!cache->entry || !cache->bucket) {
		prefix_cache_fini(cache);
		return -ENOMEM;
	}
	memset(cache->bucket, 0xff, cache->n_buckets * sizeof(*cache->bucket));
	return 0;
}

void prefix_cache_fini(struct prefix_cache *cache)
{
	free(cache->entry);
	free(cache->bucket);
	*cache = (struct prefix_cache){0};
}

static uint32_t *prefix_cache_bucket(const struct prefix_cache *cache, uint64_t id)
{
	return &cache->bucket[(id * cache->factor >> 32) & (cache->n_buckets - 1)];
}

static uint32_t prefix_cache_find(const struct prefix_cache *cache, uint64_t id)
{
	uint32_t i = cache->n ? *prefix_cache_bucket(cache, id) : PREFIX_CACHE_NONE;

	while (i != PREFIX_CACHE_NONE && cache->entry[i].id != id)
		i = cache->entry[i].next;
	return i;
}

uint32_t prefix_cache_match(const struct prefix_cache *cache, const uint64_t *id, uint32_t n)
{
	uint32_t found = 0;

	while (found < n && prefix_cache_find(cache, id[found]) != PREFIX_CACHE_NONE)
		found++;
	return found;
}

static void prefix_cache_unlink(struct prefix_cache *cache, uint32_t i)
{
	const struct prefix_cache_entry *e = &cache->entry[i];

	*(e->newer == PREFIX_CACHE_NONE ? &cache->newest : &cache->entry[e->newer].older) =
		e->older;
	*(e->older == PREFIX_CACHE_NONE ? &cache->oldest : &cache->entry[e->older].newer) =
		e->newer;
}

static void prefix_cache_link(struct prefix_cache *cache, uint32_t i)
{
	cache->entry[i].newer = PREFIX_CACHE_NONE;
	cache->entry[i].older = cache->newest;
	*(cache->newest == PREFIX_CACHE_NONE ? &cache->oldest
					     : &cache->entry[cache->newest].newer) = i;
	cache->newest = i;
}

/* An entry for another id: one that was never used, or the oldest. */
static uint32_t prefix_cache_take(struct prefix_cache *cache)
{
	uint32_t i = cache->n < cache->room ? cache->n++ : cache->oldest, *at;

	if (i != cache->oldest)
		return i;
	at = prefix_cache_bucket(cache, cache->entry[i].id);
	while (*at != i)
		at = &cache->entry[*at].next;
	*at = cache->entry[i].next;
	prefix_cache_unlink(cache, i);
	return i;
}

void prefix_cache_use(struct prefix_cache *cache, const uint64_t *id, uint32_t n)
{
	for (uint32_t k = cache->room ? n : 0; k-- > 0;) {
		uint32_t i = prefix_cache_find(cache, id[k]);

		if (i == PREFIX_CACHE_NONE) {
			uint32_t *at = prefix_cache_bucket(cache, id[k]);

			i = prefix_cache_take(cache);
			cache->entry[i].id = id[k];
			cache->entry[i].next = *at;
			*at = i;
		} else {
			prefix_cache_unlink(cache, i);
		}
		prefix_cache_link(cache, i);
	}
}
