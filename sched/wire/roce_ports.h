/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * roce_ports.h - the UDP ports and the DSCP of everything that travels between GPUs' addresses: the
 * one place for these numbers.
 *
 * Owns nothing but the numbers. Daemon (health/) and library (sched/) both include it, and nothing
 * else of each other.
 */
#ifndef ROCE_PORTS_H
#define ROCE_PORTS_H

/* destination of RoCEv2 packets (IANA: roce) */
#define ROCE_UDP_PORT 4791u
/* control datagrams of endpoints whose devices have ROCE_UDP_PORT for themselves */
#define FARE_CONTROL_PORT 4798u
/* Ports from each of these two on that processes at one address share, one for each process. */
#define FARE_PROCESS_PORTS 64u

/*
 * Source ports of RoCEv2 carry entropy for the leaf's hash. They are of the dynamic range (IBTA
 * A17.9.2, RFC 6335), which is divided so that no user of a part binds a port of another's:
 *
 *   49152..49167  data of processes: FARE_SOURCE_PORTS for each sub-port
 *   49168..53247  the daemon's probes
 *   53248..65535  everybody else's
 */
#define ROCE_SOURCE_PORT_FIRST 49152u
#define ROCE_SOURCE_PORT_LAST  65535u

/*
 * Ports that an endpoint's QPs use where the caller asks for none in particular. There are as many
 * as a leaf needs to be spread over 8 sub-ports, and so few that the sockets, one for each port of
 * a sub-port, are a fixed number.
 */
#define FARE_SOURCE_PORT_FIRST ROCE_SOURCE_PORT_FIRST
#define FARE_SOURCE_PORTS      16
#define FARE_PROBE_PORT_FIRST  (FARE_SOURCE_PORT_FIRST + FARE_SOURCE_PORTS)
#define FARE_PROBE_PORT_LAST   53247u

#define FARE_DSCP 26 /* of data, unless configured otherwise */
/*
 * Of probes, unless configured otherwise: CS6, network control (RFC 4594), which switches queue
 * before data. So a late probe says that a path is dead, not that its queue is full.
 */
#define FARE_PROBE_DSCP 48
#define DSCP_MAX	63 /* RFC 2474: six bits */
/* IPv4's TOS, IPv6's traffic class: with ECT(0), as queues shall mark and not drop (RFC 3168) */
#define ROCE_TRAFFIC_CLASS(dscp) ((dscp) << 2 | 2)

#endif
