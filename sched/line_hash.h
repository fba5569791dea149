/*
 * line_hash.h - the home line of a key (private to sched/).
 *
 * Owns: nothing; pure; any thread. Keys are anything but random (consecutive QPNs, destinations in
 * the high bits), and whoever picks them must not be able to pick colliding ones: hence two
 * secrets. A key times a constant will not do: it maps evenly spaced keys to evenly spaced values,
 * and with some constants these fall together on few lines. So the key is multiplied with itself,
 * its halves exchanged, each under a secret, and the halves of the product are folded into one.
 */
#ifndef LINE_HASH_H
#define LINE_HASH_H

#include <stdint.h>

struct line_hash {
	uint64_t plain, turned;
};

static inline uint64_t line_hash_scramble(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static inline struct line_hash line_hash_from_seed(uint64_t seed)
{
	return (struct line_hash){
		.plain = line_hash_scramble(seed + UINT64_C(0x9e3779b97f4a7c15)),
		.turned = line_hash_scramble(~seed),
	};
}

/* 0 .. n_lines - 1; n_lines <= 2^32, not necessarily a power of two. */
static inline uint64_t line_hash(struct line_hash h, uint64_t key, uint64_t n_lines)
{
	uint64_t turned = ((key << 32 | key >> 32) ^ h.turned) + key;
	unsigned __int128 product = (unsigned __int128)(key + h.plain) * turned;

	return (uint32_t)(product ^ product >> 64) * n_lines >> 32;
}

#endif
