/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crew.h - threads that share the making up and the comparing of one block.
 *
 * Owns: the threads of a worker beyond its own. In: a function and how many parts it has been cut
 * into; out: it has run once for each. They sleep in between, and touch nothing but what the
 * function is given. Thread: crew_run() by one alone, which does a part itself.
 */
#ifndef CREW_H
#define CREW_H

#define CREW_MAX 64

struct crew;

/* threads: with the caller's, 1 to CREW_MAX; 1: no others. -ENOMEM, -EAGAIN. */
int crew_create(struct crew **out, unsigned threads);
void crew_destroy(struct crew *crew); /* NULL: nothing */
/* Of NULL: 1. */
unsigned crew_threads(const struct crew *crew);
/* part(arg, i) for each i of crew_threads(), all at once; returns when all have ended. */
void crew_run(struct crew *crew, void (*part)(void *arg, unsigned i), void *arg);

#endif
