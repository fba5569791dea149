/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * peers.h - how many bytes each GPU of a lab sends to each other one.
 *
 * Owns: a BPF map. In: the topology; packets that leave the servers' sub-ports, by both addresses
 * (IPv4), as a program at each device counts them: the kernel's routes let a GPU's packets leave by
 * another one's sub-ports. Out: a matrix, without what stays within a server. Thread: the
 * coordinator's. Needs Linux 6.6.
 */
#ifndef PEERS_H
#define PEERS_H

#include "fabric/topo.h"

struct peers {
	unsigned n;
	int map; /* cells[src * n + dst]; n is 0: there is none */
};

/* Of the first n GPUs, from now on. 0; -EOPNOTSUPP: this kernel has no programs at devices;
 * -E2BIG: too many GPUs for one. */
int peers_begin(struct peers *peers, const struct topo *topo, unsigned n);
/* Bytes on the wire so far, cells[src * n + dst]. */
int peers_read(const struct peers *peers, double *cells);
/* Takes the programs away as well. */
void peers_end(struct peers *peers, const struct topo *topo);

#endif
