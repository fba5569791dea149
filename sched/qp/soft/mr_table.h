/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mr_table.h - memory regions: the only memory that packets of a peer may be written to or answered
 * from.
 *
 * Owns the table of regions and their keys; zeroed: none. In: registrations, keys and addresses
 * from the wire. Out: bytes placed, or a refusal. The memory itself stays the caller's. Pure
 * (random bits come in); the endpoint's thread.
 *
 * The upper half of a key is the slot's index. The lower half of the local key counts how often the
 * slot was used, so a key of a region that is gone names no later one. The lower half of the remote
 * key is random, so that it is not guessed, and differs from the slot's last one.
 *
 * An address that is kept for later is kept with its local key, and mr_table_local_ok() is asked
 * again at each use: after mr_table_remove() nothing of the region is read or written.
 */
#ifndef MR_TABLE_H
#define MR_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "qp/provider.h"

#define MR_TABLE_MAX 65535

struct mr_table {
	struct mr_slot *slots;
	size_t n_slots;
	size_t next; /* where the search for a free slot starts, so that a freed one is used late */
};

void mr_table_fini(struct mr_table *table);

/*
 * Registers [addr, addr + length); the memory is borrowed until mr_table_remove(). random: fresh
 * random bits. -EINVAL: empty, wrapping, or unknown access bits. -ENOSPC, -ENOMEM.
 */
int mr_table_add(struct mr_table *table, void *addr, size_t length, unsigned access,
		 uint32_t random, struct qp_mr *out);
/* -ENOENT: no such region (any more). */
int mr_table_remove(struct mr_table *table, const struct qp_mr *keys);

/* True: [data, data + bytes) lies inside the region of lkey, or bytes is 0. */
bool mr_table_local_ok(const struct mr_table *table, uint32_t lkey, const void *data,
		       uint64_t bytes);
/*
 * True: a peer may access (QP_ACCESS_REMOTE_...) [addr, addr + bytes) with rkey, or bytes is 0, for
 * which no check is made (IBTA 9.7.4.1.5).
 */
bool mr_table_remote_ok(const struct mr_table *table, uint32_t rkey, unsigned access, uint64_t addr,
			uint64_t bytes);
/* Copies data to addr if a peer may write there, else -EACCES and nothing is written. */
int mr_table_place(const struct mr_table *table, uint32_t rkey, uint64_t addr, const void *data,
		   size_t bytes);
/* The same for the region of lkey, for a receive or a READ of this end. */
int mr_table_place_local(const struct mr_table *table, uint32_t lkey, void *to, const void *data,
			 size_t bytes);

#endif
