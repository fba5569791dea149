/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * config_yaml.h - from YAML text to typed, still unchecked values.
 *
 * Solely owns: the schema of fared.yaml. In: bytes. Out: struct config_raw as written in the file,
 * and the line of any key in it. Thread: any. libcyaml's and libyaml's codes are translated here
 * and go no further.
 */
#ifndef CONFIG_YAML_H
#define CONFIG_YAML_H

#include <stddef.h>
#include <stdint.h>

#include "config.h"

struct config_raw_sub_port {
	char *dev;
	int64_t *speed_mbps;
	char **neighbors;
	unsigned n_neighbors;
};

struct config_raw_plane {
	struct config_raw_sub_port *sub_ports;
	unsigned n_sub_ports;
};

struct config_raw_gpu {
	char *name;
	char **addresses;
	unsigned n_addresses;
	struct config_raw_plane *planes;
	unsigned n_planes;
};

struct config_raw_bgp {
	char *bmp_address;
	int64_t *bmp_port;
	double *bandwidth_scale;
	int64_t *max_as_path;
	int64_t *stale_s;
	char *zserv_path;
	char *frr_version;
	char **peer_prefixes;
	unsigned n_peer_prefixes;
};

struct config_raw_health {
	int *enabled, *realtime; /* 0 or 1 */
	double *interval_ms, *slow_interval_ms;
	int64_t *max_probes_per_s;
	int64_t *multiplier;
	int64_t *dscp;
	int64_t *recover_probes;
	double *max_loss_percent;
	int64_t *hold_ms;
	int64_t *hold_max_ms;
	int64_t *ramp_ms;
	char *key_file;
};

/* Absent optional values are NULL. */
struct config_raw {
	char *node, *run_dir, *log_level, *user, *group;
	struct config_raw_bgp *bgp;
	struct config_raw_health *health;
	struct config_raw_gpu *gpus;
	unsigned n_gpus;
};

struct config_yaml; /* a parsed file: the values, and where each stood */

/* 0, -EINVAL with error filled in, or -ENOMEM. text need not outlive the call. */
int config_yaml_parse(struct config_yaml **out, const char *text, size_t length, const char *name,
		      struct config_error *error);
void config_yaml_destroy(struct config_yaml *y);
const struct config_raw *config_yaml_raw(const struct config_yaml *y);
/* The line of a key ("local_gpus[0].planes[1].sub_ports"), or of the nearest thing around it that
 * exists. */
unsigned config_yaml_line(const struct config_yaml *y, const char *key);

#endif
