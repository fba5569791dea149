/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_mtu.h - the path MTU that an endpoint's devices allow.
 *
 * Owns nothing. In: device names. Out: payload bytes of a packet. Any thread.
 */
#ifndef SOFT_MTU_H
#define SOFT_MTU_H

#include <stdint.h>

#include "qp/provider.h"

/*
 * The largest that at least half of the devices of all planes allow (0: most allow none), as the
 * daemon reckons: it keeps the others out of use. -ENODEV: none of them exists now.
 */
int soft_mtu_of_devices(const struct qp_endpoint_attr *attr, uint32_t *out);

#endif
