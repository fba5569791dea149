/* SPDX-License-Identifier: BSD-2-Clause */
// peer_absl.cc - absl::flat_hash_map, reserved at once, with its own hash.
#include <cerrno>

#include <absl/container/flat_hash_map.h>

#include "micro/sched/lookup_peer.h"

using Map = absl::flat_hash_map<uint64_t, uint32_t>;

static int absl_create(void **out, const uint64_t *keys, size_t n)
{
	Map *map = new (std::nothrow) Map();

	if (!map)
		return -ENOMEM;
	map->reserve(n);
	for (size_t i = 0; i < n; i++)
		map->emplace(keys[i], (uint32_t)(i & 0xffff));
	*out = map;
	return 0;
}

static void absl_destroy(void *table)
{
	delete static_cast<Map *>(table);
}

static uint64_t absl_lookup(void *table, const uint64_t *keys, size_t n)
{
	const Map &map = *static_cast<const Map *>(table);
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		auto it = map.find(keys[i]);

		sum += it == map.end() ? 1 : it->second;
	}
	return sum;
}

extern "C" const struct lookup_peer lookup_peer_absl = {"absl", absl_create, absl_destroy,
							absl_lookup};
