/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_tables.h - what numbers and tags stand for: receives and messages that wait for each other,
 * cookies of this process's operations, keys of a peer's regions (pure).
 */
#ifndef OFI_TABLES_H
#define OFI_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash_table.h"
#include "ofi/ofi_wire.h"

/*
 * Matching: the first posted receive that accepts a message gets it, and a receive gets the first
 * message that it accepts (fi_tagged(3)). Tagged and untagged ones never meet. What the entries
 * hold besides is the caller's.
 */
#define OFI_ANY_SOURCE UINT64_MAX /* FI_ADDR_UNSPEC, FI_ADDR_NOTAVAIL */

/* first member of what the caller queues */
struct ofi_posted {
	struct ofi_posted *prev, *next;
	uint64_t source; /* OFI_ANY_SOURCE: any */
	uint64_t tag, ignore;
	bool tagged;
};

struct ofi_arrived {
	struct ofi_arrived *prev, *next;
	uint64_t source; /* OFI_ANY_SOURCE: not known to the receiver */
	uint64_t tag;
	bool tagged;
};

struct ofi_match {
	struct ofi_posted *posted[2];	/* untagged, tagged */
	struct ofi_arrived *arrived[2]; /* unexpected, in order of arrival */
	unsigned n_posted, n_arrived;
};

bool ofi_match_accepts(const struct ofi_posted *posted, const struct ofi_arrived *arrived);

void ofi_match_post(struct ofi_match *m, struct ofi_posted *posted);
void ofi_match_unpost(struct ofi_match *m, struct ofi_posted *posted);
void ofi_match_arrive(struct ofi_match *m, struct ofi_arrived *arrived);
void ofi_match_remove(struct ofi_match *m, struct ofi_arrived *arrived);
/* The posted receive for that message, still queued; NULL: none. */
struct ofi_posted *ofi_match_posted(const struct ofi_match *m, const struct ofi_arrived *arrived);
/* The message for that receive, still queued; NULL: none. */
struct ofi_arrived *ofi_match_arrived(const struct ofi_match *m, const struct ofi_posted *posted);

/*
 * Cookies: numbers that a peer answers by, an index and a generation, so that a late or spoofed
 * answer names nothing. OFI_COOKIES_MAX (ofi_wire.h) of a domain at most.
 */
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

/*
 * Keys that a peer's application has chosen. With scalable registration (fi_mr(3)) the application
 * chooses keys and counts offsets from 0; libfare reaches memory by an rkey and an address of its
 * own. The peer is asked once for each key (OFI_FIND), its answer is kept here, and the peer says
 * when a region is closed (OFI_FORGET). OFI_KEYS_MAX answers of a peer at most: the oldest is
 * dropped for a new one, and is asked for again when it is needed.
 */
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
