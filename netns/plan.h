/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plan.h - the names, addresses and AS numbers of a lab.
 *
 * Owns the numbering of a lab and nothing else. In: a topology and indices. Out: names, addresses,
 * AS numbers, and indices from the names that an operator types. Pure; any thread.
 *
 *	server i    s<i>    AS 64513+i (4200000000+i where more than 500 servers would reach the
 *	                    leaves' range)
 *	leaf p      l<p>    AS 65101+p
 *	GPU         g<j>    within its server; numbered through the lab as
 *	                    global = i * gpus_per_server + j
 *	sub-link            number = (global * planes + plane) * sub_ports + sub:
 *	                    198.18.0.0 + 2 * number is the leaf's end, the next address the
 *	                    server's (/31); likewise 2001:db8:18:: (/127)
 *	loopback            198.19.0.1 + global, 2001:db8:19::1 + global
 *	devices             g<j>p<plane>s<sub> on the server, s<i>g<j>s<sub> on the leaf
 */
#ifndef PLAN_H
#define PLAN_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "topology.h"

struct plan_gpu {
	unsigned server;
	unsigned gpu; /* within the server */
};

struct plan_host {
	bool leaf;
	unsigned index; /* server i, or leaf = plane p */
};

#define PLAN_HOST_NAME_MAX  8
#define PLAN_NETNS_NAME_MAX (3 + TOPOLOGY_NAME_MAX + 1 + PLAN_HOST_NAME_MAX)

/* All there is to one sub-link, as text. */
struct plan_link {
	char server_dev[IFNAMSIZ];
	char leaf_dev[IFNAMSIZ];
	char server_v4[INET_ADDRSTRLEN];
	char leaf_v4[INET_ADDRSTRLEN];
	char server_v6[INET6_ADDRSTRLEN];
	char leaf_v6[INET6_ADDRSTRLEN];
};

unsigned plan_hosts(const struct topology *t); /* servers + leaves */
struct plan_host plan_host_at(const struct topology *t,
			      unsigned k); /* servers first, then leaves */
void plan_host_name(struct plan_host host, char name[PLAN_HOST_NAME_MAX]);
void plan_netns_name(const char *lab, struct plan_host host, char name[PLAN_NETNS_NAME_MAX]);

unsigned plan_global(const struct topology *t, struct plan_gpu gpu);
uint32_t plan_server_as(const struct topology *t, unsigned server);
uint32_t plan_leaf_as(const struct topology *t, unsigned plane);
void plan_loopback_v4(unsigned global, char text[INET_ADDRSTRLEN]);
void plan_loopback_v6(unsigned global, char text[INET6_ADDRSTRLEN]);
void plan_router_id(const struct topology *t, struct plan_host host, char text[INET_ADDRSTRLEN]);
unsigned plan_link_number(const struct topology *t, struct plan_gpu gpu, unsigned plane,
			  unsigned sub);
void plan_link_at(const struct topology *t, struct plan_gpu gpu, unsigned plane, unsigned sub,
		  struct plan_link *out);

/* "s3" or "l0"; -EINVAL unless it is a host of this topology. */
int plan_parse_host(const struct topology *t, const char *text, struct plan_host *out);
/* "s3" (its g0) or "s3/g1"; -EINVAL unless it is a GPU of this topology. */
int plan_parse_gpu(const struct topology *t, const char *text, struct plan_gpu *out);
/* A decimal number below limit, nothing else; -EINVAL otherwise. */
int plan_parse_index(const char *text, unsigned limit, unsigned *out);

#endif
