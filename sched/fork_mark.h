/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fork_mark.h - whether this process made an object, or has a copy of it from fork() (private to
 * libfare).
 *
 * Owns: a page that the kernel clears in a child (MADV_WIPEONFORK). So the question is one load; it
 * needs no system call and no handler of fork(). A child that shares its parent's memory (vfork(),
 * posix_spawn()) does not count: it may call nothing before exec(). Thread: any.
 */
#ifndef FORK_MARK_H
#define FORK_MARK_H

#include <stdbool.h>
#include <stdint.h>

struct fork_mark {
	const uint8_t *page; /* NULL: none */
};

int fork_mark_init(struct fork_mark *mark); /* 0 or -errno */
void fork_mark_fini(struct fork_mark *mark);

static inline bool fork_mark_is_own(const struct fork_mark *mark)
{
	return *mark->page;
}

#endif
