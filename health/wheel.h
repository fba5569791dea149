/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wheel.h - which of many entries is due, without looking at the others.
 *
 * Solely owns: one due time per entry, in lists by tick. In: entries by number, times. Out: entries
 * that are due, each once. Thread: any, one at a time. Pure. Memory is taken when it is made, and
 * none afterwards.
 *
 * A hashed wheel: an entry further away than one turn waits in its slot and is passed over until
 * its turn comes.
 */
#ifndef WHEEL_H
#define WHEEL_H

#include <stdbool.h>
#include <stdint.h>

struct wheel;

/* Entries are 0..n-1, none of them set. 0 or -ENOMEM. */
int wheel_create(struct wheel **out, uint32_t n, uint64_t tick_ns, uint64_t now);
void wheel_destroy(struct wheel *w); /* NULL is fine */
/* Due at the end of that tick; an earlier setting is forgotten. */
void wheel_set(struct wheel *w, uint32_t entry, uint64_t due_ns);
void wheel_clear(struct wheel *w, uint32_t entry);
/* One that is due at `now`, and is then no longer set. false: none. */
bool wheel_take(struct wheel *w, uint64_t now, uint32_t *entry);
/* When wheel_take() is worth the next call, at the latest one turn from now; 0: nothing is set. */
uint64_t wheel_next_ns(const struct wheel *w);

#endif
