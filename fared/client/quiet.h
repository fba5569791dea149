/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * quiet.h - whether what was drained still carries traffic.
 *
 * Owns nothing. In: snapshots; byte counts of devices, from sysfs. Out: sums, and what is not quiet
 * in words. Thread: any.
 *
 * Two things are looked at: QPs of attached applications on these paths carry not a byte; and,
 * where the drain is toward all peers, the devices of its sub-ports carry less than 1% of their
 * speed, either way: probes and BGP go on.
 */
#ifndef QUIET_H
#define QUIET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot.h"

#define QUIET_MAX_DEVICES (16 * 16 * 8) /* sub-ports of as many GPUs and planes as can be */

struct quiet_scope {
	const char *gpu, *peer; /* NULL: any, all; an address as the user wrote it */
	uint32_t planes;	/* bit p: plane p; 0: any */
	int sub_port;		/* -1: any */
};

struct quiet_reading {
	double at_s;
	double qp_bytes;
	struct quiet_device {
		char name[16];
		double speed_bps;
		uint64_t rx_bytes, tx_bytes;
		/* there is such a device here, or it is absent for the daemon, too */
		bool is_known;
	} devices[QUIET_MAX_DEVICES];
	size_t n_devices;
};

void quiet_reading(struct quiet_reading *out, const struct quiet_scope *scope,
		   const struct snapshot *s);
/* False: why says what was not. */
bool quiet_between(const struct quiet_reading *before, const struct quiet_reading *after, char *why,
		   size_t why_size);

#endif
