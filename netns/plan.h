/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plan.h - the names, addresses and AS numbers of a lab.
 *
 * Owns the numbering of a lab and nothing else. In: a topology and indices. Out: names, addresses,
 * AS numbers, and indices from the names that an operator types. Pure; any thread.
 *
 *	server i    s<i>    AS 64513+i (4200000000+i where more than 500 servers would reach the
 *	                    leaves' range); with ibgp all hosts are in AS 64512
 *	leaf        l<k>    AS 65101+k; k = plane * leaves_per_plane + leaf within the plane
 *	spine       sp<k>   AS 65401+plane, one for all of a plane, so that no route goes up twice;
 *	                    k = plane * spines_per_plane + spine within the plane
 *	            with pods AS 65401 + plane * pods + pod, one for all of a pod on a plane
 *	superspine  ss<k>   AS 65371+plane; k = plane * (spines of a pod) + superspine within the
 *	                    plane: it joins the spines of that number in each pod
 *	GPU         g<j>    within its server; numbered through the lab as
 *	                    global = i * gpus_per_server + j
 *	sub-link            number = (global * planes + plane) * sub_ports + sub:
 *	                    198.18.0.0 + 2 * number is the leaf's end, the next address the
 *	                    server's (/31); likewise 2001:db8:18:: (/127)
 *	            with unnumbered neither end has an address but its own link-local one, and every
 *	            leaf's end, without ibgp, the MAC address PLAN_LEAF_MAC, as a switch's ports may
 *	uplink              of leaf and spine: number = sub-links + leaf * (spines of a pod) + spine
 *	                    within the pod; of a spine, to its superspine: number = sub-links +
 *	                    leaves' uplinks + spine; 198.19.128.0 + 2 * (number - sub-links) is
 *	                    the lower end, likewise 2001:db8:1a::
 *	loopback            198.19.0.1 + global, 2001:db8:19::1 + global
 *	devices             g<j>p<plane>s<sub> on the server, s<i>g<j>s<sub> on the leaf; up<spine
 *	                    within the pod> on the leaf, l<k> on the spine; up0 on the spine,
 *	                    sp<k> on the superspine
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

enum plan_role { PLAN_SERVER, PLAN_LEAF, PLAN_SPINE, PLAN_SUPERSPINE };

struct plan_host {
	enum plan_role role;
	unsigned index; /* in the lab */
};

#define PLAN_LEAF_MAC	    "02:00:00:00:00:01"
#define PLAN_HOST_NAME_MAX  8
#define PLAN_NETNS_NAME_MAX (3 + TOPOLOGY_NAME_MAX + 1 + PLAN_HOST_NAME_MAX)

#define PLAN_SWITCHES_MAX 256 /* leaves of a lab, spines, superspines */
#define PLAN_TEXT_MAX	  48

/*
 * All there is to one link: a sub-link, or an uplink, between leaf and spine or spine and
 * superspine. The lower switch of an uplink is in the place of the leaf.
 */
struct plan_link {
	unsigned number;
	struct plan_host leaf, far; /* far: a server or the upper switch */
	unsigned plane;
	struct plan_gpu gpu; /* of a sub-link, with sub */
	unsigned sub;
	char far_dev[IFNAMSIZ];
	char leaf_dev[IFNAMSIZ];
	char far_v4[INET_ADDRSTRLEN];
	char leaf_v4[INET_ADDRSTRLEN];
	char far_v6[INET6_ADDRSTRLEN];
	char leaf_v6[INET6_ADDRSTRLEN];
};

unsigned plan_leaves(const struct topology *t);
unsigned plan_spines(const struct topology *t);
unsigned plan_superspines(const struct topology *t);
unsigned plan_hosts(const struct topology *t); /* servers and switches */
/* Servers first, then leaves, then spines, then superspines. */
struct plan_host plan_host_at(const struct topology *t, unsigned k);
/* "server", "leaf", "spine", "superspine" */
const char *plan_role_name(enum plan_role role);
void plan_host_name(struct plan_host host, char name[PLAN_HOST_NAME_MAX]);
void plan_netns_name(const char *lab, struct plan_host host, char name[PLAN_NETNS_NAME_MAX]);
/* The plane of a switch. */
unsigned plan_plane(const struct topology *t, struct plan_host host);
/* The pod of a leaf or spine; 0 without pods. */
unsigned plan_pod(const struct topology *t, struct plan_host host);
/* The leaf that a server has in that plane. */
struct plan_host plan_leaf_of(const struct topology *t, unsigned server, unsigned plane);

unsigned plan_global(const struct topology *t, struct plan_gpu gpu);
uint32_t plan_server_as(const struct topology *t, unsigned server);
uint32_t plan_switch_as(const struct topology *t, struct plan_host host);
void plan_loopback_v4(unsigned global, char text[INET_ADDRSTRLEN]);
void plan_loopback_v6(unsigned global, char text[INET6_ADDRSTRLEN]);
void plan_router_id(const struct topology *t, struct plan_host host, char text[INET_ADDRSTRLEN]);

unsigned plan_sub_links(const struct topology *t);
unsigned plan_links(const struct topology *t); /* sub-links + uplinks */
unsigned plan_link_number(const struct topology *t, struct plan_gpu gpu, unsigned plane,
			  unsigned sub);
/* spine: within the pod of leaf, which is an index in the lab. */
unsigned plan_uplink_number(const struct topology *t, unsigned leaf, unsigned spine);
/* Of that spine of the lab, to its superspine. */
unsigned plan_spine_uplink(const struct topology *t, unsigned spine);
/* The uplink from one switch to the other; -ENOENT: no link joins them. */
int plan_uplink_between(const struct topology *t, struct plan_host lower, struct plan_host upper,
			unsigned *number);
/* All of it but names and addresses, which take longer to write than to find out. */
void plan_link_ends(const struct topology *t, unsigned number, struct plan_link *out);
void plan_link_at(const struct topology *t, unsigned number, struct plan_link *out);
/* Is that host the leaf of the link, or of an uplink the lower switch? */
bool plan_at_leaf(const struct plan_link *link, struct plan_host host);
/* Its rate as the topology has it, Mbit/s; 0: unshaped. */
unsigned plan_link_mbps(const struct topology *t, unsigned number);
/* The first link from number on that ends at host; plan_links() if there is none. */
unsigned plan_link_next(const struct topology *t, struct plan_host host, unsigned number);
/* What an operator calls it: "subport s1/g0 2 0", "uplink l3 sp0", "uplink sp3 ss1". */
void plan_link_text(const struct topology *t, unsigned number, char text[PLAN_TEXT_MAX]);

/* For k of every link that ends at host. */
#define PLAN_EACH_LINK(t, host, k)                                                                 \
	for (unsigned k = plan_link_next(t, host, 0); k < plan_links(t);                           \
	     k = plan_link_next(t, host, k + 1))

/* "s3", "l0", "sp1" or "ss0"; -EINVAL unless it is a host of this topology. */
int plan_parse_host(const struct topology *t, const char *text, struct plan_host *out);
/* "s3" (its g0) or "s3/g1"; -EINVAL unless it is a GPU of this topology. */
int plan_parse_gpu(const struct topology *t, const char *text, struct plan_gpu *out);
/* A decimal number below limit, nothing else; -EINVAL otherwise. */
int plan_parse_index(const char *text, unsigned limit, unsigned *out);

#endif
