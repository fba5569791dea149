/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * baseline.h - what libfare is compared with: QPs over the kernel's multipath, source ports left
 * to chance, and DCQCN. For benchmarks and tests, which pass it in fare_group_options.baseline; not
 * installed.
 *
 * In the library only group_shape.c (sizes, GROUP_OPEN), control_wire.c (its octets) and
 * placement.c (which QP) know of it. A group to another process at the own GPU's address, where no
 * plane leads, is made the same way.
 */
#ifndef QP_BASELINE_H
#define QP_BASELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "fare.h"
#include "qp/provider.h"

/* QPs bound to no device: the kernel's multipath hash decides (ECMP, WECMP). Soft provider only. */
#define FARE_MODE_KERNEL ((enum fare_mode)(FARE_MODE_PACKET + 1))

/* FARE_MODE_KERNEL: how messages use QPs, as applications over a kernel's multipath do. */
enum fare_kernel_placement {
	FARE_KERNEL_STRIPE, /* each message is cut evenly over all QPs, and waits for the slowest */
	FARE_KERNEL_HASH,   /* each message goes to one QP, by a hash: independent flows */
	FARE_KERNEL_LEAST,  /* each message goes to the QP with the least outstanding */
};

struct fare_baseline {
	/* FARE_MODE_KERNEL: how many QPs in all; 0: as many as another mode would have */
	uint32_t qps;
	enum fare_kernel_placement placement;
	bool random_ports; /* any mode: source ports are left to chance */
	/* soft; no effect by the kernel's routing. Counts for both ends */
	struct qp_dcqcn dcqcn;
};

#endif
