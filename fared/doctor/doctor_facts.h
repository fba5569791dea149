/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doctor_facts.h - what doctor.h looks at, of this server and now.
 *
 * Owns nothing after it returns. In: the daemon's control socket, what `fared --check-config` says
 * of the file, FRR's vty sockets, /proc, /sys and the kernel. Out: one JSON object, the caller's.
 * Thread: a process's only one (it starts fared and waits for it). What cannot be had is missing.
 *
 *   version planes paths events counters drains   replies of the daemon; fared_why: why not
 *   config {key: value}, trial                     in force; without the daemon, the file's
 *   check {status, text}, file {key: value}        fared --check-config
 *   processes [{name, pid, user, args}]            bgpd, zebra, fared of this network namespace;
 *                                                  fared's have realtime and locked, too
 *   bgpd, zebra (text); bgpd_why, zebra_why        their running configuration
 *   devices {name: {mtu, carrier, vrf, rp_filter, addresses}}, addresses [], routes []
 *   sysctl {name: text}, udp_7784 (uid; -1: free), clock_synchronized
 */
#ifndef DOCTOR_FACTS_H
#define DOCTOR_FACTS_H

#include <jansson.h>

/* config_path: NULL: the usual one, if it is there. NULL: out of memory. */
json_t *doctor_facts(const char *run_dir, const char *config_path);

#endif
