/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_mtu.h - what an endpoint's devices carry.
 *
 * Owns nothing. In: device names. Out: payload bytes of a packet. Any thread.
 */
#ifndef SOFT_MTU_H
#define SOFT_MTU_H

#include <stdbool.h>
#include <stdint.h>

#include "qp/provider.h"

/* The largest whose packets a device of device_mtu bytes carries; 0: none. */
uint32_t soft_mtu_fitting(uint32_t device_mtu, bool ipv6);
/* Asks the kernel, by any socket fd. True: a device carries more or less than *mtus said. */
bool soft_mtu_read(struct qp_mtus *mtus, const struct qp_endpoint_attr *attr, int fd);
/* What all devices carry, and the one that carries least; QP_MTU_UNKNOWN and "": none exists. */
uint32_t soft_mtu_least(const struct qp_mtus *mtus, const struct qp_endpoint_attr *attr,
			const char **dev);

#endif
