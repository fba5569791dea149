/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_mtu.h - the path MTU that an endpoint's devices allow.
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
/*
 * The largest that all devices of all planes allow, 0 if one allows none. -ENODEV: none of them
 * exists now.
 */
int soft_mtu_of_devices(const struct qp_endpoint_attr *attr, uint32_t *out);

#endif
