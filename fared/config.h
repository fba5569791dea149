/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * config.h - fared.yaml, parsed whole and immutable afterwards.
 *
 * Solely owns: the file's meaning. In: bytes. Out: struct config, or one error that names file,
 * line, key and what to do about it. Thread: any. A reload parses a second one and swaps; nothing
 * is ever changed in place.
 */
#ifndef CONFIG_H
#define CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "bgp_source.h"
#include "fare_limits.h"

#define CONFIG_MAX_BYTES  (1u << 20)
#define CONFIG_UNNUMBERED "unnumbered" /* in place of a neighbour's address */

struct config_sub_port {
	char dev[FARE_DEV_NAME_MAX];
	unsigned line;	    /* of dev in the file */
	uint64_t speed_bps; /* 0: what the driver says */
};

struct config_plane {
	uint32_t n_sub_ports; /* 0: this server is not connected to it */
	unsigned entry;	      /* its place in the file's list */
	struct config_sub_port sub_ports[FARE_MAX_SUB_PORTS];
};

struct config_gpu {
	char name[32];
	struct in6_addr address[2]; /* [0] IPv4 as ::ffff:a.b.c.d, [1] IPv6; all zero: none */
	uint32_t n_planes;	    /* the largest number and 1 */
	struct config_plane planes[FARE_MAX_PLANES];
};

struct config_health {
	bool enabled;
	bool realtime; /* SCHED_RR, so that a busy machine is not taken for a dead plane */
	uint64_t interval_ns, slow_interval_ns;
	uint32_t max_probes_per_s;
	uint32_t multiplier;
	uint32_t max_routers; /* between two GPUs */
	uint8_t dscp;
	uint64_t queue_ns; /* what a full queue of a port takes; 0: probes pass before data */
	uint32_t recover_probes;
	uint32_t max_loss_ppm;
	uint64_t hold_ns, hold_max_ns, ramp_ns;
	char key_file[256];	   /* "": no capacity notices */
	char second_key_file[256]; /* "": none; accepted beside it while keys are rotated */
	unsigned key_file_line, second_key_file_line;
};

struct config {
	unsigned n_owners;
	char *text; /* it was parsed from */
	size_t text_bytes;
	char node[64];
	char run_dir[256];  /* absolute */
	int log_level;	    /* as in syslog.h */
	bool kernel_routes; /* zebra is given routes, for programs without libfare */
	char user[64], group[64], attach_group[64], operator_group[64];
	struct sockaddr_storage bmp_address;
	char bmp_text[64]; /* the same for people: "127.0.0.1:5001" */
	char bmp_user[64]; /* "" : frr, if there is one */
	uint64_t stale_ns;
	char zserv_path[108];	      /* "" : no cross-check */
	char frr_version[32];	      /* "" : find out */
	struct bgp_source_config bgp; /* its pointers point into this config */
	struct config_health health;
	uint32_t n_gpus;
	struct config_gpu *gpus;
};

struct config_error {
	char text[512];
};

/* Parses text (borrowed, length bytes). name is the file's, for errors. 0, -EBADMSG or -ENOMEM; on
 * error *out is NULL. */
int config_parse(struct config **out, const char *text, size_t length, const char *name,
		 struct config_error *error);
/* The same from a file; -errno if it cannot be read. */
int config_load(struct config **out, const char *path, struct config_error *error);
/* The same while the daemon runs: it waits for nothing, so the file is a regular one. */
int config_load_again(struct config **out, const char *path, struct config_error *error);
/* One more owner, who calls config_destroy() as well. */
struct config *config_take(struct config *config);
/* Which local GPU has that name; false: none. */
bool config_find_gpu(const struct config *config, const char *name, uint32_t *out);
void config_destroy(struct config *config); /* NULL is fine; frees it for the last owner */
/* --run-dir: overrides the file's, before the configuration is put to use. -EINVAL: not absolute,
 * or too long. */
int config_override_run_dir(struct config *config, const char *run_dir, struct config_error *error);
/* Likewise: the key files that from names. */
void config_override_keys(struct config *config, const struct config *from);

#endif
