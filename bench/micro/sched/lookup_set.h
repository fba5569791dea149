/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lookup_set.h - all hash tables over the same keys, side by side.
 *
 * Owns: the keys, the order in which they are looked up, and the tables, each filled when it is
 * first asked for. In: a table, a pattern, a way to look up; out: nanoseconds a lookup. What was
 * found is compared with what is right. Thread: one, and a second where asked for.
 */
#ifndef LOOKUP_SET_H
#define LOOKUP_SET_H

#include <stddef.h>
#include <stdint.h>

#include "conn_table.h"
#include "micro/sched/lookup_peer.h"

#define LOOKUP_SET_MAX_ENTRIES CONN_TABLE_MAX_ENTRIES
#define LOOKUP_SET_KEYS	       (1u << 20) /* looked up in one measurement */
/* "floor" is no table: one independent load a key (memory_floor.h). */
#define LOOKUP_SET_TABLES                                                                          \
	"floor,fare-conn,fare-flow-id,absl,rte_hash,ck_ht,cds_lfht,GHashTable,uthash"

enum lookup_pattern { LOOKUP_UNIFORM_HIT, LOOKUP_UNIFORM_MISS, LOOKUP_ZIPF_HIT, LOOKUP_PATTERNS };

struct lookup_way {
	size_t at_once;	  /* keys, 1 .. LOOKUP_PEER_BATCH */
	unsigned threads; /* 1 or 2, each with keys of its own */
};

struct lookup_set;

/* entries: 1 .. LOOKUP_SET_MAX_ENTRIES. -EINVAL, -ENOMEM. */
int lookup_set_create(struct lookup_set **out, uint64_t entries);
void lookup_set_destroy(struct lookup_set *set); /* NULL is fine */
uint64_t lookup_set_entries(const struct lookup_set *set);

/*
 * *ns: of one lookup, with two threads the slower one's. -ENOENT: no such table was built;
 * -EOPNOTSUPP: it looks up one key at a time; other -errno after saying why.
 */
int lookup_set_measure(struct lookup_set *set, const char *table, enum lookup_pattern pattern,
		       const struct lookup_way *way, unsigned repetition, double *ns);

#endif
