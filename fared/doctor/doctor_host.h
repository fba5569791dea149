/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doctor_host.h - doctor_facts.h's facts of the host: processes, FRR, devices, the kernel.
 *
 * Owns nothing. In: /proc, /sys, netlink, vty sockets, of the caller's network namespace. Out:
 * members of facts. Thread: any.
 */
#ifndef DOCTOR_HOST_H
#define DOCTOR_HOST_H

#include <jansson.h>

/* processes; and of FRR's the configuration that they run with */
void doctor_host_processes(json_t *facts);
void doctor_host_frr(json_t *facts);
/* devices (those that facts.config names), addresses, routes, sysctl, udp_7784,
 * clock_synchronized */
void doctor_host_network(json_t *facts);

#endif
