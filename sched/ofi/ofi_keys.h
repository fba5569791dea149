/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_keys.h - what the keys that a peer's application has chosen stand for (pure).
 *
 * With scalable registration (fi_mr(3)) the application chooses keys and counts offsets from 0;
 * libfare reaches memory by an rkey and an address of its own. The peer is asked once for each key
 * (OFI_FIND), its answer is kept here, and the peer tells when a region is closed (OFI_FORGET).
 *
 * Owns the answers of one peer: OFI_KEYS_MAX at most. The oldest is dropped for a new one, and is
 * asked for again when it is needed.
 */
#ifndef OFI_KEYS_H
#define OFI_KEYS_H

#include <stdint.h>

#include "ofi/ofi_hash.h"
#include "ofi/ofi_wire.h"

#define OFI_KEYS_MAX 4096u

enum ofi_key_state { OFI_KEY_ASKED, OFI_KEY_KNOWN, OFI_KEY_REFUSED };

struct ofi_key {
	UT_hash_handle hh;
	uint64_t key;
	enum ofi_key_state state;
	/* OFI_KEY_KNOWN: the region, as libfare names it */
	uint64_t address, length;
	uint32_t rkey;
};

struct ofi_keys {
	struct ofi_key *by_key; /* in the order in which they were asked for */
};

/* NULL: nothing is known of it. */
struct ofi_key *ofi_keys_find(const struct ofi_keys *keys, uint64_t key);
/* From now on OFI_KEY_ASKED. 0 or -ENOMEM. */
int ofi_keys_ask(struct ofi_keys *keys, uint64_t key);
/* The peer's answer (OFI_FOUND), if the key is OFI_KEY_ASKED. */
void ofi_keys_answer(struct ofi_keys *keys, uint64_t key, const struct ofi_wire *found);
/* There will be no answer: the key may be asked for again. */
void ofi_keys_unask(struct ofi_keys *keys, uint64_t key);
/* What is known of it holds no longer. An answer that is still to come does. */
void ofi_keys_forget(struct ofi_keys *keys, uint64_t key);
void ofi_keys_forget_all(struct ofi_keys *keys);
/* The address of length bytes at that offset of the region. 0, or -EACCES: not within it. */
int ofi_keys_place(const struct ofi_key *key, uint64_t offset, uint64_t length, uint64_t *address);
void ofi_keys_fini(struct ofi_keys *keys);

#endif
