/* SPDX-License-Identifier: BSD-2-Clause */
/* peer_rte.c - DPDK rte_hash: CRC hash, an 8-byte compare, no locks; its memory in huge pages where
 * the kernel gives them. */
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <rte_memory.h>

#include "micro/sched/lookup_peer.h"

_Static_assert(LOOKUP_PEER_BATCH == RTE_HASH_LOOKUP_BULK_MAX, "the largest bulk");

static int advise_huge(const struct rte_memseg_list *list, const struct rte_memseg *segment,
		       void *context)
{
	(void)list;
	(void)context;
	madvise(segment->addr, segment->len, MADV_HUGEPAGE);
	return 0;
}

/* Once in a process; it moves the thread to one core, which is undone. */
static int start(void)
{
	char *argv[] = {"sched",
			"--no-huge",
			"--no-shconf",
			"--no-pci",
			"--no-telemetry",
			"--log-level=1",
			"-m",
			"3000",
			"-l",
			"0",
			NULL};
	static bool started;
	cpu_set_t cpus;

	if (started)
		return 0;
	sched_getaffinity(0, sizeof(cpus), &cpus);
	if (rte_eal_init(10, argv) < 0)
		return -rte_errno;
	sched_setaffinity(0, sizeof(cpus), &cpus);
	rte_memseg_walk(advise_huge, NULL);
	started = true;
	return 0;
}

static int equal8(const void *a, const void *b, size_t length)
{
	uint64_t x, y;

	(void)length;
	memcpy(&x, a, 8);
	memcpy(&y, b, 8);
	return x != y;
}

static int rte_create(void **out, const uint64_t *keys, size_t n)
{
	/* a bucket holds 8; 16M in 2^21 buckets would be full, so room as its guide asks: a fifth
	 * more */
	struct rte_hash_parameters parameters = {.name = "sched",
						 .entries = (uint32_t)(n + n / 5),
						 .key_len = 8,
						 .hash_func = rte_hash_crc,
						 .socket_id = SOCKET_ID_ANY};
	struct rte_hash *hash;
	int err = start();

	if (err)
		return err;
	hash = rte_hash_create(&parameters);
	if (!hash)
		return -rte_errno;
	rte_hash_set_cmp_func(hash, equal8);
	for (size_t i = 0; !err && i < n; i++)
		err = rte_hash_add_key_data(hash, &keys[i], (void *)(uintptr_t)(i & 0xffff));
	*out = hash;
	return err;
}

static void rte_destroy(void *table)
{
	rte_hash_free(table);
}

static uint64_t rte_lookup(void *table, const uint64_t *keys, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		void *value;

		sum += rte_hash_lookup_data(table, &keys[i], &value) < 0 ? 1 : (uintptr_t)value;
	}
	return sum;
}

static uint64_t rte_batch(void *table, const uint64_t *keys, size_t n, size_t at_once)
{
	uint64_t sum = 0;

	for (size_t i = 0; i + at_once <= n; i += at_once) {
		const void *key[LOOKUP_PEER_BATCH];
		void *value[LOOKUP_PEER_BATCH];
		uint64_t hits = 0;

		for (size_t k = 0; k < at_once; k++)
			key[k] = &keys[i + k];
		rte_hash_lookup_bulk_data(table, key, (uint32_t)at_once, &hits, value);
		for (size_t k = 0; k < at_once; k++)
			sum += hits >> k & 1 ? (uintptr_t)value[k] : 1;
	}
	return sum;
}

const struct lookup_peer lookup_peer_rte = {"rte_hash", rte_create, rte_destroy, rte_lookup,
					    rte_batch};
