/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topology.h - what a lab is made of, as its YAML file says.
 *
 * Owns the meaning of the keys: their defaults, their ranges, and how they bound one another. In:
 * the bytes of a file. Out: one struct of plain numbers, or one line that names the file, the line
 * and the key at fault. Pure: nothing is opened, nothing is kept. Any thread.
 * farelab(8), TOPOLOGY FILES, has the keys.
 */
#ifndef TOPOLOGY_H
#define TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>

#define TOPOLOGY_NAME_MAX      32
#define TOPOLOGY_FILE_MAX      65536
#define TOPOLOGY_ERROR_MAX     512
#define TOPOLOGY_RATES_MAX     64
#define TOPOLOGY_EVERY	       ~0u
#define TOPOLOGY_LB_GAP_MAX_US 1000000
/* Twice the largest super-packet, so that one is never late for want of a bucket. */
#define TOPOLOGY_BUCKET_BYTES 131072

/* An exception to rate_mbps. TOPOLOGY_EVERY: whatever the number is. */
struct topology_rate {
	unsigned server, gpu, plane, sub_port;
	unsigned rate_mbps; /* not 0 */
};

enum topology_lb_mode {
	TOPOLOGY_LB_KERNEL,
	TOPOLOGY_LB_ECMP,
	TOPOLOGY_LB_BTH,
	TOPOLOGY_LB_FLOWLET,
	TOPOLOGY_LB_SPRAY,
	TOPOLOGY_LB_ADAPTIVE
};

struct topology_lb {
	enum topology_lb_mode mode;
	unsigned seed; /* TOPOLOGY_EVERY: each leaf has its own */
	unsigned gap_us;
};

struct topology_pfc {
	unsigned xoff_bytes; /* 0: no PFC */
	unsigned xon_bytes, headroom_bytes, class, watchdog_ms;
};

struct topology {
	char name[TOPOLOGY_NAME_MAX + 1]; /* "" where the file gives none */
	unsigned servers;
	unsigned gpus_per_server;
	unsigned planes;
	unsigned sub_ports;
	unsigned rate_mbps; /* 0: unshaped */
	unsigned n_rates;
	struct topology_rate rates[TOPOLOGY_RATES_MAX];
	bool announce_rates;
	unsigned leaves_per_plane;
	unsigned spines_per_plane;	      /* 0: one tier */
	unsigned spine_rate_mbps;	      /* 0: unshaped */
	unsigned pods;			      /* 0 or 1: no superspines */
	unsigned superspine_rate_mbps;	      /* 0: unshaped */
	unsigned ecn_threshold_kb;	      /* KiB; 0: leaves mark nothing */
	unsigned ecn_max_kb, ecn_max_percent; /* 0 KiB: no ramp */
	struct topology_lb lb;
	struct topology_pfc pfc;
	unsigned queue_bytes;
	unsigned bucket_frames; /* 0: TOPOLOGY_BUCKET_BYTES */
	bool priority_band;
	unsigned mtu; /* bytes */
	unsigned keepalive_s;
	unsigned hold_s;
	unsigned graceful_restart_s;		      /* 0: none */
	unsigned probe_interval_ms, probe_multiplier; /* 0: as fared has it */
	bool ipv4, ipv6;			      /* one of them at least */
	bool unnumbered, ibgp;
};

/* What a sub-link is shaped to; 0: unshaped. gpu is its number within the server. */
unsigned topology_rate(const struct topology *t, unsigned server, unsigned gpu, unsigned plane,
		       unsigned sub_port);
/* What a shaper lets pass at once after a pause. */
unsigned topology_bucket_bytes(const struct topology *t);
/* The headroom_bytes that PFC needs on a link of that rate. */
unsigned topology_pfc_headroom(const struct topology *t, unsigned rate_mbps);
const char *topology_lb_name(enum topology_lb_mode mode);
/* -EINVAL: no mode. */
int topology_lb_parse(const char *text, enum topology_lb_mode *out);
/* The highest rate that BGP can carry for a sub-link with announce_rates; 1 is the lowest. */
unsigned topology_most_announced(const struct topology *t);
/* Spines of a pod on a plane; of a plane, where it is not divided. */
unsigned topology_pod_spines(const struct topology *t);
/* The leaf that a server has in every plane, 0 to leaves_per_plane - 1. */
unsigned topology_leaf(const struct topology *t, unsigned server);

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
