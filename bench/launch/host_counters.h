/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host_counters.h - what the kernel and the NICs of this host count.
 *
 * Owns: nothing. In: devices; out: a JSON object of counters by name: "p0.rx_dropped" (statistics
 * of the interface), "p0.ethtool.NAME" (of its driver), "mlx5_0.1.NAME" (of a port of an RDMA
 * device that has one of these interfaces: counters and hw_counters). What a device does not have
 * is left out. Thread: any.
 */
#ifndef HOST_COUNTERS_H
#define HOST_COUNTERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* of a host: of what is more only what nic_counters.h knows, and how many were left out */
#define HOST_COUNTERS_MAX 8192

/* The caller's; NULL: no memory. sysfs: "/sys". */
json_t *host_counters_read(const char *sysfs, const char *const *dev, unsigned n);
/* What an interface is: "mlx5_core, firmware 22.39.1002, 400000 Mb/s"; "unknown": it cannot be
 * known. */
void host_device_describe(const char *dev, char *out, size_t size);
/* The device, no loopback, that has this IPv4 address; out has IFNAMSIZ bytes. False: none has. */
bool host_device_of(const char *ipv4, char *out);
/*
 * "p0.rx_dropped +3, p1.ethtool.x +1": counters that grew from before to after, by name, and how
 * many were left out; a new string, "" if none did. NULL: no memory. Pure.
 */
char *host_counters_grown(const json_t *before, const json_t *after);

#endif
