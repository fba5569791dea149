/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In place of nettle's HMAC-SHA256, which would take half of a schedule's time: a fast keyed hash
 * under the same names. sched/qp/control_seal.c is the real one; tests/unit and tests/fuzz run it
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
	for (size_t i = 0; i < length; i += sizeof(word)) {
		word = 0;
		memcpy(&word, data + i, length - i < sizeof(word) ? length - i : sizeof(word));
		h = prng_mix(h ^ word) + length;
	}
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
