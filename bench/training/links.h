/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * links.h - how much of each live sub-port a collective used, and how often links lost or gained
 * their carrier, by the kernel's counters.
 *
 * Owns: the counters read first. In: a fabric, `ip -s -s link` in the namespaces of servers, leaves
 * and spines, or what the hosts' agents read, at two moments; out: shares of what the sub-ports
 * carry. Thread: the coordinator's.
 */
#ifndef LINKS_H
#define LINKS_H

#include <stdint.h>

#include "fabric/fabric.h"

struct links {
	uint64_t at_ns;
	uint64_t *tx_bytes; /* gpu x plane x sub-port; UINT64_MAX: not seen */
	/* of the carrier, sub-ports and switches' links to those above them together; 0 of hosts */
	uint64_t transitions;
};

struct links_use {
	double max, min, mean; /* shares, of the wire */
	double jfi;	       /* of the shares, 1 is even; NaN: nothing was sent */
	unsigned n, unused;    /* unused: less than a tenth of the mean */
};

/* Adds what `ip -j -s -s link` said of a server; of a switch: below 0. Pure. -EBADMSG. */
int links_parse(struct links *links, const struct topo *topo, int server, const char *text);
/* 0 or -errno, after saying why. */
int links_read(struct links *links, const struct fabric *fabric);
void links_fini(struct links *links);

/* Of the first n_gpus GPUs, between the two readings; n is 0 if there is no live sub-port. */
struct links_use links_use(const struct links *from, const struct links *to,
			   const struct topo *topo, unsigned n_gpus);

/* Whether the busiest link above leaves bounds what servers send, and their busiest sub-port does
 * not: shares of what each carries. Pure. */
bool links_are_bound_above(double uplink, double sub_port);

#endif
