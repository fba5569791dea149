/* SPDX-License-Identifier: BSD-2-Clause */
#include "nonces.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

int nonces_init(struct nonces *n)
{
	static const uint8_t first[CHACHA_NONCE_SIZE]; /* the key is used for one stream only */
	uint8_t key[CHACHA_KEY_SIZE];

	if (getrandom(key, sizeof(key), 0) != sizeof(key))
		return -EIO;
	chacha_set_key(&n->stream, key);
	chacha_set_nonce(&n->stream, first);
	explicit_bzero(key, sizeof(key));
	n->n_ready = 0;
	return 0;
}

uint64_t nonces_next(struct nonces *n)
{
	if (!n->n_ready) {
		memset(n->ready, 0, sizeof(n->ready));
		chacha_crypt(&n->stream, sizeof(n->ready), (uint8_t *)n->ready,
			     (const uint8_t *)n->ready);
		n->n_ready = NONCES_AT_ONCE;
	}
	return n->ready[--n->n_ready];
}
