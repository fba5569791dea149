/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topo.h - the fabric under test: what `farelab status NAME --json` says, as capacities.
 *
 * Owns: struct topo, immutable once parsed. In: JSON text (hostile: bounded, every index checked);
 * out: who sits where, what each GPU can send and receive per plane, and what of that can be
 * payload. Pure. Thread: any.
 */
#ifndef TOPO_H
#define TOPO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fare_limits.h"

#define TOPO_NAME_MAX	  64
#define TOPO_PATH_MAX	  256
#define TOPO_MAX_GPUS	  1024
#define TOPO_MAX_SWITCHES 256 /* leaves, and spines */

#define TOPO_RAMP_PARTS 8 /* of equal width; what is above them is one more */

/* What the leaf's end of a link sent since the threshold was set. */
struct topo_marks {
	uint64_t packets, marked;
	uint64_t onset_ns;	       /* from the first data packet to the first mark */
	uint64_t queue_at_onset_bytes; /* in the shaper's queue then */
	uint64_t queue_peak_bytes;     /* that a packet met there */
	/* by part of the ramp from ecn_threshold_bytes to ecn_max_bytes, and above it */
	uint64_t ramp_packets[TOPO_RAMP_PARTS + 1], ramp_marked[TOPO_RAMP_PARTS + 1];
	/* of the packets that were marked or not as one, summed: 1 of a packet by itself */
	uint64_t ramp_squares[TOPO_RAMP_PARTS + 1];
};

struct topo_sub_port {
	char dev[FARE_DEV_NAME_MAX];
	uint64_t rate_bps; /* what the shaper lets through, each direction */
	bool up;
	uint32_t gray_loss_ppm;
	struct topo_marks marks; /* zeros where nothing marks */
};

struct topo_plane {
	unsigned leaf; /* index in topo.leaves */
	unsigned n_sub_ports;
	struct topo_sub_port sub_port[FARE_MAX_SUB_PORTS];
};

struct topo_gpu {
	char name[TOPO_NAME_MAX];
	unsigned server; /* index in topo.servers */
	unsigned index;	 /* within the server */
	char ipv4[16];	 /* "" if none */
	char ipv6[46];
	struct topo_plane plane[FARE_MAX_PLANES];
};

struct topo_server {
	char name[TOPO_NAME_MAX];
	char netns[TOPO_NAME_MAX];
	char fared_run_dir[TOPO_PATH_MAX];
	int bgpd_pid, fared_pid; /* 0: not running */
};

struct topo_leaf {
	char name[TOPO_NAME_MAX];
	char netns[TOPO_NAME_MAX];
	unsigned plane;
	bool up;
	char lb[16]; /* how it spreads what it forwards; "": not said */
};

struct topo_spine {
	char name[TOPO_NAME_MAX];
	char netns[TOPO_NAME_MAX];
	bool up;
	int superspine; /* that it is linked to; < 0: there are none */
	char superspine_name[TOPO_NAME_MAX];
	uint64_t uplink_bps; /* of that link; 0: it, or the superspine, is down */
};

/* A link between a leaf and a spine of its plane. */
struct topo_uplink {
	unsigned leaf, spine; /* indices in topo.leaves and topo.spines */
	uint64_t rate_bps;
	bool up;
};

/* Queues of data pause who sends (emulated). */
struct topo_pfc {
	uint64_t xoff_bytes; /* 0: there is none */
	uint64_t xon_bytes, headroom_bytes, watchdog_ms;
};

struct topo {
	char lab[TOPO_NAME_MAX];
	bool converged;
	char why[256]; /* not converged because */
	unsigned n_planes, mtu_bytes;
	unsigned bucket_bytes;	      /* that a shaped link lets pass at once after a pause */
	uint64_t queue_bytes;	      /* of a shaped link, at most; 0: not known */
	struct topo_pfc pfc;	      /* of the lab's topology */
	uint64_t ecn_threshold_bytes; /* at which the leaves mark; 0: never */
	uint64_t ecn_max_bytes;	      /* from which they mark all; 0: there is no ramp */
	unsigned ecn_max_percent;     /* that they mark just below it */
	unsigned n_servers, n_gpus, n_leaves;
	struct topo_server *servers;
	struct topo_gpu *gpus; /* by global index */
	struct topo_leaf *leaves;
	unsigned n_spines, n_uplinks; /* 0: one tier */
	unsigned n_superspines;	      /* 0: two tiers at most */
	struct topo_spine *spines;
	struct topo_uplink *uplinks;
};

/* -EBADMSG: *reason (static size, caller's) says what and where. -ENOMEM. Free with topo_destroy().
 */
int topo_parse(struct topo **out, const char *text, size_t length, char *reason,
	       size_t reason_size);
void topo_destroy(struct topo *topo); /* NULL is fine */

/* "s2" (its GPU 0), "s2/g1", or a global index; -ENOENT. */
int topo_find_gpu(const struct topo *topo, const char *name);

/* The sub-port that a server's device is: its GPU, its plane, its number; -ENOENT. */
int topo_find_sub_port(const struct topo *topo, unsigned server, const char *dev, unsigned *plane,
		       unsigned *sub_port);

/* Index of a leaf, or of a spine; -ENOENT. */
int topo_find_leaf(const struct topo *topo, const char *name);
int topo_find_spine(const struct topo *topo, const char *name);

/* "s2/g1" into out. */
void topo_gpu_label(const struct topo *topo, unsigned gpu, char *out, size_t size);

/* The address benchmarks use: IPv4, or IPv6 if the GPU has no IPv4. */
const char *topo_gpu_address(const struct topo *topo, unsigned gpu);

/* Live capacity of a GPU toward one plane, bit/s on the wire; 0 if the leaf is down. The same both
 * ways. */
uint64_t topo_capacity_bps(const struct topo *topo, unsigned gpu, unsigned plane);

/* Whether two GPUs have the same leaf on that plane: no spine is between them. */
bool topo_same_leaf(const struct topo *topo, unsigned src, unsigned dst, unsigned plane);

/*
 * What spines carry from one leaf to another, bit/s: the smaller of up and down link, summed.
 * Leaves of two pods: by two spines and the superspine that both are linked to.
 */
uint64_t topo_spines_bps(const struct topo *topo, unsigned from_leaf, unsigned to_leaf);

/* The share of a plane's spines that join two leaves, 0 to 1. */
double topo_spines_share(const struct topo *topo, unsigned from_leaf, unsigned to_leaf);

/* What the links of a leaf to its spines carry, bit/s, each way. */
uint64_t topo_uplinks_bps(const struct topo *topo, unsigned leaf);
/* What its servers send into a leaf over that, of the worst leaf; 0: there are no spines. */
double topo_oversubscription(const struct topo *topo);

/* Bit s set: sub-port s toward that plane has carrier. */
uint32_t topo_live_sub_ports(const struct topo *topo, unsigned gpu, unsigned plane);

/* Largest RoCE path MTU (256..4096) that fits the link MTU with the longest headers. 0: none does.
 */
unsigned topo_path_mtu(unsigned link_mtu_bytes, bool ipv6);

/*
 * Payload per byte that the shaper counts, at best: path_mtu / (path_mtu + Ethernet 14 + IP 20 or
 * 40 + UDP 8 + BTH 12 + ICRC 4). RETH, AETH and acknowledgements are left out: they depend on who
 * sends, and leaving them out makes the optimum higher, never lower. htb counts qdisc_pkt_len,
 * which holds the Ethernet header and, for a GSO super-packet, one set of headers per segment
 * (measured: two super-packets of 15 x 4,128 B count as thirty frames of 4,170 B; 42 B of headers
 * each).
 */
double topo_goodput_factor(unsigned path_mtu, bool ipv6);
/* The same of a message of so many bytes that is written: each of its packets has those headers,
 * the first a RETH, too. */
double topo_write_factor(unsigned path_mtu, bool ipv6, double bytes);

#endif
