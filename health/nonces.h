/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nonces.h - numbers that others cannot predict, whichever of them they have seen.
 *
 * Solely owns: a ChaCha20 key (RFC 8439) from the kernel, and what is left of its stream. In:
 * nothing. Out: 64 bits at a time. Thread: any, one at a time. No system call once it is set up: it
 * cannot fail in the middle of a burst of probes.
 */
#ifndef NONCES_H
#define NONCES_H

#include <nettle/chacha.h>
#include <stdint.h>

#define NONCES_AT_ONCE 32u /* four blocks of the stream */

struct nonces {
	struct chacha_ctx stream;
	uint32_t n_ready;
	uint64_t ready[NONCES_AT_ONCE];
};

/* 0 or -EIO: the kernel gives no random bytes. */
int nonces_init(struct nonces *n);
uint64_t nonces_next(struct nonces *n);

#endif
