/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fluid_pattern.h - which GPU sends to which, over which plane, for fabrics of any size.
 *
 * Owns: nothing; pure. In: a fabric of equal GPUs, a test, and how a pair chooses planes; out:
 * links and flows, handed over one by one, and the time that no choice can beat. Thread: any.
 *
 * A GPU and a plane make two links: to the leaf (2k) and from it (2k + 1), k = GPU x planes +
 * plane. A link is all sub-ports of that plane: what a leaf's hash does between them is not
 * modelled. GPUs of one server exchange nothing. A pair's QPs on one plane share every link, so
 * they are one flow of as much weight.
 */
#ifndef FLUID_PATTERN_H
#define FLUID_PATTERN_H

#include <stdint.h>

#include "fare_limits.h"

#define FLUID_PATTERN_MAX_GPUS 65536
#define FLUID_PATTERN_MAX_QPS  64

enum fluid_pattern_test {
	FLUID_PATTERN_ALL_TO_ALL, /* every GPU to the `peers` GPUs that follow it */
	FLUID_PATTERN_KV,	  /* every GPU of the first half of servers to one of the second */
	FLUID_PATTERN_TESTS
};

enum fluid_pattern_choice {
	FLUID_PATTERN_FARE,	     /* QPs bound by libfare's flow tables */
	FLUID_PATTERN_HASH,	     /* a hash over the planes */
	FLUID_PATTERN_WEIGHTED_HASH, /* a hash over weighted planes */
	FLUID_PATTERN_SPRAY,	     /* bytes in proportion to the planes' bandwidth */
	FLUID_PATTERN_ALIKE,	     /* as FARE, but every pair's tables begin alike */
	FLUID_PATTERN_CHOICES
};

struct fluid_pattern {
	enum fluid_pattern_test test;
	enum fluid_pattern_choice choice;
	unsigned gpus, gpus_per_server; /* a server's GPUs divide gpus; at least two servers */
	unsigned planes, sub_ports;
	unsigned qps;	 /* a pair, 1..FLUID_PATTERN_MAX_QPS */
	unsigned peers;	 /* 0, or more than there are: every GPU of other servers */
	unsigned stride; /* between the addresses of GPUs; 0: 1 */
	uint64_t plane_bps[FARE_MAX_PLANES]; /* of each GPU, each way */
	const uint64_t *bound_bps; /* what it was when flow tables bound the QPs; NULL: the same */
	double bytes;		   /* a pair, on average */
	unsigned vary_percent;	   /* pairs differ by up to this, 0..99; always alike */
};

/* Where links and flows go. What they return ends the pattern if it is not 0. */
struct fluid_pattern_sink {
	int (*on_link)(void *context, double capacity_bps);
	int (*on_flow)(void *context, double weight, double bytes, int tx_link, int rx_link);
	void *context;
};

const char *fluid_pattern_test_name(enum fluid_pattern_test test);
const char *fluid_pattern_choice_name(enum fluid_pattern_choice choice);

/* -EINVAL: a number is out of its range, or no plane has bandwidth. */
int fluid_pattern_check(const struct fluid_pattern *pattern);
/* How many GPUs a GPU that sends sends to. */
unsigned fluid_pattern_peers(const struct fluid_pattern *pattern);
/* All planes of the busiest GPU busy until the end. -ENOMEM. The pattern has passed the check, also
 * below. */
int fluid_pattern_optimum_s(const struct fluid_pattern *pattern, double *seconds);
/* All links, then all flows. 0, the sink's error, or -ENOMEM. */
int fluid_pattern_run(const struct fluid_pattern *pattern, const struct fluid_pattern_sink *sink);

#endif
