/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * coll_table.h - the tables of programs that measure collectives: nccl-tests (rccl-tests prints the
 * same) and the OSU micro-benchmarks.
 *
 * Owns: nothing; pure. In: a line that such a program printed; out: what it says. Thread: any.
 */
#ifndef COLL_TABLE_H
#define COLL_TABLE_H

#include <stdint.h>

/* NaN: the table does not have it. */
struct coll_line {
	uint64_t bytes;	   /* as the program counts them */
	double time_us[2]; /* mean, out of place and in place */
	double min_us, max_us;
	double wrong; /* numbers that were; 1 if the program says no more than that */
};

/* 1: a line of the table; 0: none, as headers and comments; -EBADMSG: it begins like one. */
int coll_table_line(const char *line, struct coll_line *out);

#endif
