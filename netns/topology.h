/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topology.h - what a lab is made of, as its YAML file says.
 *
 * Owns the meaning of the keys: their defaults, their ranges, and how they bound one another. In:
 * the bytes of a file. Out: one struct of plain numbers, or one line that names the file, the line
 * and the key at fault. Pure: nothing is opened, nothing is kept. Any thread.
 *
 *	name: demo                 lab's name where --name is not given
 *	servers: 4                 GPU servers (required)
 *	gpus_per_server: 1
 *	planes: 4                  one leaf each (required)
 *	sub_ports: 2               sub-links from a GPU to one plane (required)
 *	rate_mbps: 200             shaped rate of a sub-link, both ways; 0 leaves it unshaped
 *	queue_bytes: 1048576       limit of the shaper's queue
 *	mtu: 4200
 *	ipv6: false                IPv6 beside IPv4: addresses, BGP, BMP
 *	bgp_timers: {keepalive_s: 1, hold_s: 3}
 *	probe_interval_ms: 10      fared's health.interval_ms; absent: fared's own default
 *	probe_multiplier: 5        fared's health.multiplier; absent: fared's own default
 *	graceful_restart_s: 20     how long a neighbour keeps the routes of a dead bgpd; 0: off
 */
#ifndef TOPOLOGY_H
#define TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>

#define TOPOLOGY_NAME_MAX  32
#define TOPOLOGY_FILE_MAX  65536
#define TOPOLOGY_ERROR_MAX 512

struct topology {
	char name[TOPOLOGY_NAME_MAX + 1]; /* "" where the file gives none */
	unsigned servers;
	unsigned gpus_per_server;
	unsigned planes;
	unsigned sub_ports;
	unsigned rate_mbps; /* 0: unshaped */
	unsigned queue_bytes;
	unsigned mtu; /* bytes */
	unsigned keepalive_s;
	unsigned hold_s;
	unsigned graceful_restart_s;		      /* 0: none */
	unsigned probe_interval_ms, probe_multiplier; /* 0: as fared has it */
	bool ipv6;
};

/*
 * Reads size bytes of YAML. file is only a name for the error line. 0, or -EBADMSG with "file:line:
 * key: why" in error (TOPOLOGY_ERROR_MAX bytes), or -ENOMEM. On error *out is untouched.
 */
int topology_parse(const char *file, const char *text, size_t size, struct topology *out,
		   char *error);

/* Reads the file at path (TOPOLOGY_FILE_MAX bytes at most) and parses it; -errno with error filled.
 */
int topology_load(const char *path, struct topology *out, char *error);

/* A lab's name: 1..TOPOLOGY_NAME_MAX of a-z, 0-9 and '-', first and last not '-'. */
bool topology_name_valid(const char *name);

#endif
