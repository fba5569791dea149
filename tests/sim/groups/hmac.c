/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In place of nettle's HMAC-SHA256, which would take half of a schedule's time: a fast keyed hash
 * under the same names. sched/qp/control_auth.c is the real one; tests/unit and tests/fuzz run it
 * with nettle.
 */
#include <nettle/hmac.h>
#include <string.h>

#include "prng.h"

/* The running hash lies in the context's first bytes. */
static void absorb(struct hmac_sha256_ctx *ctx, size_t length, const uint8_t *data)
{
	uint64_t h, word;

	memcpy(&h, ctx, sizeof(h));
	for (; length >= sizeof(word); length -= sizeof(word), data += sizeof(word)) {
		memcpy(&word, data, sizeof(word));
		h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 29;
	}
	word = length;
	memcpy(&word, data, length);
	h = prng_mix(h ^ word);
	memcpy(ctx, &h, sizeof(h));
}

void hmac_sha256_set_key(struct hmac_sha256_ctx *ctx, size_t length, const uint8_t *key)
{
	memset(ctx, 0, sizeof(uint64_t));
	absorb(ctx, length, key);
}

void hmac_sha256_update(struct hmac_sha256_ctx *ctx, size_t length, const uint8_t *data)
{
	absorb(ctx, length, data);
}

void hmac_sha256_digest(struct hmac_sha256_ctx *ctx, size_t length, uint8_t *digest)
{
	uint64_t h;

	memcpy(&h, ctx, sizeof(h));
	memset(digest, 0, length);
	memcpy(digest, &h, sizeof(h));
}
