/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_cookies.h - numbers for things that a peer answers by: an index and a generation, so that a
 * late or forged answer names nothing (pure).
 */
#ifndef OFI_COOKIES_H
#define OFI_COOKIES_H

#include <stdint.h>

/* a power of two: eight endpoints whose operations all wait (OFI_TX_SIZE) */
#define OFI_COOKIES_MAX (1u << 13)

struct ofi_cookies {
	struct ofi_cookie *slots;
	uint32_t n_slots, first_free;
};

void ofi_cookies_fini(struct ofi_cookies *c);
/* *out is not 0. 0, -ENOMEM, or -ENOSPC: OFI_COOKIES_MAX are in use. */
int ofi_cookies_add(struct ofi_cookies *c, void *what, uint32_t *out);
void *ofi_cookies_find(const struct ofi_cookies *c, uint32_t cookie); /* NULL: none */
void ofi_cookies_remove(struct ofi_cookies *c, uint32_t cookie);
/* The n-th of all slots: what is in it, or NULL; for n from 0 to n_slots - 1. */
void *ofi_cookies_at(const struct ofi_cookies *c, uint32_t n);

#endif
