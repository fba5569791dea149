/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * progress.h - one live line on a terminal, or a line per step where there is none.
 *
 * Owns: that line of stderr. Thread: one.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool terminal;
	uint64_t start_ns;
	unsigned done, total;
};

void progress_init(struct progress *progress, unsigned total);
/* Another step begins; shows it. */
void progress_step(struct progress *progress, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void progress_fini(struct progress *progress); /* takes the line away */
double progress_seconds(const struct progress *progress);

#endif
