/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shm_pair.h - how a pair's paths are published and read, word by word (private to sched/; pure).
 *
 * Owns: nothing. One writer, any number of readers. Every access to what both sides touch is an
 * atomic one of 8 bytes, so that the protocol of shm_layout.h is one within the C memory model too,
 * and a race detector has nothing to excuse.
 */
#ifndef SHM_PAIR_H
#define SHM_PAIR_H

#include <errno.h>
#include <stdatomic.h>

#include "shm_layout.h"

#define SHM_PAIR_RETRIES 64
#define SHM_PAIR_WORDS	 (sizeof(struct shm_path) / 8)

typedef uint64_t __attribute__((may_alias)) shm_pair_word;

/* Writer: n paths become the ones in force. */
static inline void shm_pair_publish(struct shm_header *map, uint32_t pair,
				    const struct shm_path *paths, uint32_t n)
{
	uint64_t word = atomic_load_explicit(&map->words[pair], memory_order_relaxed);
	uint32_t copy = (uint32_t)(word & 1) ^ 1;
	shm_pair_word *to = (shm_pair_word *)(void *)map->pairs[pair].copies[copy];
	const shm_pair_word *from = (const shm_pair_word *)(const void *)paths;

	/*
	 * A reader may still be on that copy. If it sees a word of what follows, it must also see
	 * that the word in force moved away from it: the last store of that comes before these.
	 */
	atomic_thread_fence(memory_order_release);
	for (uint32_t i = 0; i < n * SHM_PAIR_WORDS; i++)
		__atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
	atomic_store_explicit(&map->words[pair], (((word >> 1) + 1) << 1) | copy,
			      memory_order_release);
}

/*
 * Reader: all FARE_MAX_PLANES paths of one publication, *word being what it was; they are not
 * looked into. *word == 0: never published, nothing is read. -EAGAIN: the writer was faster every
 * time.
 */
static inline int shm_pair_read(const struct shm_header *map, uint32_t pair, struct shm_path *paths,
				uint64_t *word)
{
	shm_pair_word *to = (shm_pair_word *)(void *)paths;

	for (unsigned retry = 0; retry < SHM_PAIR_RETRIES; retry++) {
		const shm_pair_word *from;

		*word = atomic_load_explicit(&map->words[pair], memory_order_acquire);
		if (*word == 0)
			return 0;
		from = (const shm_pair_word *)(const void *)map->pairs[pair].copies[*word & 1];
		for (uint32_t i = 0; i < FARE_MAX_PLANES * SHM_PAIR_WORDS; i++)
			to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
		atomic_thread_fence(memory_order_acquire);
		/*
		 * any publication meanwhile: the writer may already be filling this copy for the
		 * next one
		 */
		if (atomic_load_explicit(&map->words[pair], memory_order_relaxed) == *word)
			return 0;
	}
	return -EAGAIN;
}

#endif
