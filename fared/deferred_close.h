/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * deferred_close.h - closes what others have passed to us, on a thread that may sleep over it.
 *
 * Solely owns: descriptors from deferred_close_take() on, and one thread. In: descriptors. Out:
 * nothing. Thread: the loop's; the closing one is made on first use, when the process has given up
 * its privileges, and is not real-time.
 *
 * close() does what the file likes: a TCP socket with unsent data and SO_LINGER sleeps for as long
 * as its former owner has said, a file of FUSE for as long as that one's server. So does a unix
 * socket's if such a one is still queued in it. What does not close makes the rest wait behind it:
 * the caller looks at deferred_close_is_full() before it hands over more.
 */
#ifndef DEFERRED_CLOSE_H
#define DEFERRED_CLOSE_H

#include <stdbool.h>

#define DEFERRED_CLOSE_FULL 128u

struct deferred_close;

int deferred_close_create(struct deferred_close **out);
/*
 * Never waits. What has been taken is closed still, in time; the thread ends after that. NULL is
 * fine.
 */
void deferred_close_destroy(struct deferred_close *c);
/* Takes fd (below 0: none), and never waits. */
void deferred_close_take(struct deferred_close *c, int fd);
/* So many wait to be closed that no more should be asked for. */
bool deferred_close_is_full(struct deferred_close *c);

#endif
