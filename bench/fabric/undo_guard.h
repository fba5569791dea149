/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * undo_guard.h - undoes what a process leaves behind, however that ends.
 *
 * Owns: a process in a session of its own, which neither Ctrl-C nor a kill of its creator's group
 * reaches, and a piece of memory that both see: what is to be undone. In: that something is about
 * to be done, and that it is undone. Out: if the creator says that it ends, or dies (also by
 * SIGKILL), what is in force then is undone. If the guard is killed, the creator undoes it itself.
 * Thread: the creator's.
 */
#ifndef UNDO_GUARD_H
#define UNDO_GUARD_H

#include <stddef.h>

struct undo_guard;

/*
 * undo is called with context (borrowed; the guard has it as it is now) and the memory (bytes,
 * zeroes at first). It returns 0, or -errno after saying on stderr what is left. who: before
 * messages.
 */
int undo_guard_create(struct undo_guard **out, const char *who,
		      int (*undo)(const void *context, const void *state), const void *context,
		      size_t bytes);
/* Written by the creator alone, before undo_guard_begin(). */
void *undo_guard_state(struct undo_guard *guard);
/* Before the first system call of what is to be undone. -EPIPE after saying so: the guard is gone,
 * do nothing. */
int undo_guard_begin(struct undo_guard *guard);
/* After the last that undoes it. */
void undo_guard_end(struct undo_guard *guard);
/* Returns when nothing is left: 0; or -EREMOTEIO after saying what is. NULL is fine. */
int undo_guard_destroy(struct undo_guard *guard);

#endif
