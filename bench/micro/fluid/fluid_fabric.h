/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fluid_fabric.h - the numbers of a topology file that a pattern needs.
 *
 * Owns: nothing. In: the name of an installed topology, or a file; out: numbers. Thread: any. Its
 * source alone sees farelab's headers, whose names are also the benchmark's.
 */
#ifndef FLUID_FABRIC_H
#define FLUID_FABRIC_H

#include <stdint.h>

#include "fare_limits.h"

#define FLUID_FABRIC_WHY_MAX 512

struct fluid_fabric {
	unsigned servers, gpus_per_server, planes, sub_ports;
	uint64_t plane_bps[FARE_MAX_PLANES]; /* of a GPU, all its sub-ports, each way */
};

/* -EINVAL: why says what is wrong. */
int fluid_fabric_load(const char *name, struct fluid_fabric *out, char why[FLUID_FABRIC_WHY_MAX]);

#endif
