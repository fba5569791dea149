/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpu.h - how idle the machine is, and how much of it a hypervisor takes: /proc/stat between two
 * moments.
 *
 * Owns: nothing. In: the text of /proc/stat; out: shares. cpu_parse() and cpu_idle() are pure.
 * Thread: any.
 *
 * Shares are of the time that passed. The sum of a core's counters will not do: a kernel that
 * counts work by ticks counts idle time exactly, and misses most of what runs for less than a tick
 * while the tick is stopped. With fared's probes alone the counters of a core then add up to 82% of
 * the time, and a sum would call 99% of it idle.
 */
#ifndef CPU_H
#define CPU_H

#include <stddef.h>
#include <stdint.h>

#define CPU_MAX_CORES 1024

struct cpu_times {
	uint32_t n_cores;
	double at_s; /* CLOCK_MONOTONIC; 0 at both moments: the sum of the counters is the time */
	uint64_t idle[CPU_MAX_CORES];	/* ticks idle or waiting for disks, per core */
	uint64_t stolen[CPU_MAX_CORES]; /* runnable, and the hypervisor ran somebody else */
	uint64_t all[CPU_MAX_CORES];
};

struct cpu_idle {
	double mean_percent;	     /* of the whole machine */
	double busiest_core_percent; /* idle share of the least idle core */
	double stolen_percent;	     /* of the whole machine */
};

int cpu_parse(struct cpu_times *out, const char *text); /* -EBADMSG: no cores in it */
int cpu_read(struct cpu_times *out);			/* /proc/stat now; -errno */

/* -ERANGE: no time has passed, or the cores differ. */
int cpu_idle(const struct cpu_times *before, const struct cpu_times *after, struct cpu_idle *out);
/* The same until now. */
int cpu_idle_since(const struct cpu_times *before, struct cpu_idle *out);
/* Of the machine's time since before, which cpu_read() filled in; -1: unknown. */
double cpu_stolen_percent(const struct cpu_times *before);

/* User and system time of a process with all its threads, s; 0 if it is not there. */
double cpu_of_process(int pid);

#endif
