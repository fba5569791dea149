/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sched_bench.h - `farebench sched`: the scheduler's hot path beside its peers, all in one run.
 *
 * Owns: the run. In: options; out: tables on the terminal, JSON {"sched": {...}, "environment":
 * {...}}. Thread: one, and those that a measurement is about.
 */
#ifndef SCHED_BENCH_H
#define SCHED_BENCH_H

/* 0; 1: a measurement failed; 2: usage. */
int sched_bench_run(int argc, char **argv);

#endif
