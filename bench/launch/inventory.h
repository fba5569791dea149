/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inventory.h - the hosts of a cluster, as the YAML file of its operator says.
 *
 * Owns: struct inventory, immutable once loaded. In: the bytes of a file; out: who is there, over
 * which devices at which rates, what a run may do, and which commands of a host make and heal
 * faults. Coordinator and agents read the same file: each trusts its own copy alone, and the digest
 * tells whether they agree. Pure but for inventory_load(). Thread: any.
 *
 *	name: pod7
 *	provider: soft			RoCEv2 in user space (soft, the default) or devices (verbs)
 *	mtu: 4200			of the links, bytes
 *	ranges: [10.20.0.0/16]		allowed beside 198.18.0.0/15 and 2001:db8::/32
 *	max_rate_mbps: 400000		payload that a GPU may send
 *	max_run_s: 120			one run of traffic
 *	max_total_s: 7200		an agent, from its start to its end
 *	hosts:
 *	  - name: h0
 *	    run_dir: /run/fared		of its fared
 *	    store: /mnt/nvme0		optional: where its workers have files (tier nvme)
 *	    gpus:
 *	      - address: 198.19.0.1
 *	        planes:
 *	          - sub_ports: [{dev: p0, rate_mbps: 200000}]
 *	    faults:			optional; commands for /bin/sh on that host
 *	      - {plane: 0, down: "ip link set p0 down", up: "ip link set p0 up"}
 *	    weights:			optional: equal weights of next hops, or BGP's
 *	      equal: "..."
 *	      bgp: "..."
 *	switches:			optional: commands that the coordinator runs
 *	  - {name: leaf0, counters: "ssh leaf0 show-counters"}
 */
#ifndef INVENTORY_H
#define INVENTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "launch/limits.h"
#include "fabric/topo.h"

#define INVENTORY_MAX_BYTES    (1u << 20)
#define INVENTORY_ERROR_MAX    512
#define INVENTORY_COMMAND      256
#define INVENTORY_MAX_FAULTS   64
#define INVENTORY_MAX_SWITCHES 256
#define INVENTORY_HOST_MAX     24 /* bytes of a host's name, with its end */

struct inventory_fault {
	unsigned gpu; /* within the host */
	unsigned plane;
	int sub_port; /* below 0: all of the plane */
	char down[INVENTORY_COMMAND], up[INVENTORY_COMMAND];
};

struct inventory_host {
	char equal[INVENTORY_COMMAND], bgp[INVENTORY_COMMAND]; /* "": no such command */
	struct inventory_fault fault[INVENTORY_MAX_FAULTS];
	unsigned n_faults;
	char store[TOPO_PATH_MAX]; /* where its workers have files; "": nowhere */
};

/* The coordinator runs its command, which prints counters (nic_counters.h). */
struct inventory_switch {
	char name[INVENTORY_HOST_MAX], counters[INVENTORY_COMMAND];
};

struct inventory {
	struct topo *topo; /* its servers are the hosts */
	struct inventory_host *host;
	struct inventory_switch *sw;
	unsigned n_switches;
	bool verbs;
	struct limits limits;
	unsigned max_run_s, max_total_s;
	char digest[65]; /* SHA-256 of the file, in hexadecimal */
};

/* -EBADMSG or -ENOMEM with "file:line: key: why" in error (INVENTORY_ERROR_MAX bytes). */
int inventory_parse(struct inventory **out, const char *file, const char *text, size_t length,
		    char *error);
/* The same from a file; -errno if it cannot be read. */
int inventory_load(struct inventory **out, const char *path, char *error);
void inventory_destroy(struct inventory *inventory); /* NULL is fine */

int inventory_find_host(const struct inventory *inventory, const char *name); /* or -ENOENT */
/*
 * "subport h0/g0 1 0" (plane, sub-port) or "plane h0/g0 1": the host, and which of its faults that
 * is. -EINVAL: another text; -ENOENT: the inventory has no command for it.
 */
int inventory_find_fault(const struct inventory *inventory, const char *spec, unsigned *host,
			 unsigned *fault);
bool inventory_has_faults(const struct inventory *inventory);

#endif
