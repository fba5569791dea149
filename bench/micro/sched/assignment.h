/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * assignment.h - how evenly sources that know nothing of each other fill the planes: an all-to-all,
 * as fluid.
 *
 * Owns: nothing. In: GPUs, QPs a pair, how a pair chooses; out: how long it takes over the optimum.
 * Pure; any thread.
 *
 * Every GPU sends the same to every other over four planes; one plane has half the bandwidth of the
 * others. The optimum is when all planes of all GPUs are busy until the end. Pairs really bind
 * their QPs, each by a flow table of its own.
 */
#ifndef ASSIGNMENT_H
#define ASSIGNMENT_H

enum assignment_choice {
	ASSIGNMENT_FARE,  /* flow tables, each pair beginning at its turn */
	ASSIGNMENT_ALIKE, /* flow tables, every pair beginning alike */
	ASSIGNMENT_WECMP, /* a hash over weighted planes */
	ASSIGNMENT_ECMP,  /* a hash over the planes */
	ASSIGNMENT_CHOICES
};

struct assignment {
	unsigned gpus;	 /* 2 .. 256 */
	unsigned qps;	 /* a pair, 1 .. 64 */
	unsigned stride; /* between the addresses of GPUs */
	enum assignment_choice choice;
	int halved_while_bound; /* flows are bound to four equal planes, then one is halved */
};

const char *assignment_choice_name(enum assignment_choice choice);
/* *over_optimum: 1 is perfect. 0; -EINVAL; -ENOMEM. */
int assignment_all_to_all(const struct assignment *a, double *over_optimum);

#endif
