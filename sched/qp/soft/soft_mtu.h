/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_mtu.h - what an endpoint's devices carry.
 *
 * Owns nothing. In: device names. Out: payload bytes of a packet. Any thread.
 */
#ifndef SOFT_MTU_H
#define SOFT_MTU_H

#include <stdint.h>

#include "qp/provider.h"

/* Asks the kernel, by any socket fd. True: a device carries more or less than *mtus said. */
bool soft_mtu_read(struct qp_mtus *mtus, const struct qp_endpoint_attr *attr, int fd);
/*
 * What at least half of the devices of all planes carry (0: most carry none), as the daemon
 * reckons: it keeps the others out of use. *dev: one that carries no more; "" with QP_MTU_UNKNOWN:
 * no device exists now.
 */
uint32_t soft_mtu_of_most(const struct qp_mtus *mtus, const struct qp_endpoint_attr *attr,
			  const char **dev);
/* Reads again what the endpoint's devices carry, unless that is not interval_ns old. */
void soft_mtu_refresh(struct qp_endpoint *ep, uint64_t now_ns, uint64_t interval_ns);

#endif
