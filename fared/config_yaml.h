/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * config_yaml.h - the keys of fared.yaml, with their types and ranges.
 *
 * Solely owns: the schema of fared.yaml, for strict_yaml_load(), whose values are a struct
 * config_raw: as written in the file, each in its range, not yet checked against one another.
 */
#ifndef CONFIG_YAML_H
#define CONFIG_YAML_H

#include <stdbool.h>
#include <stdint.h>

#include "fare_limits.h"
#include "base/yaml/strict_yaml.h"

struct config_raw_sub_port {
	char *dev;
	int64_t *speed_mbps;
	char **neighbors;
	unsigned n_neighbors;
};

struct config_raw_plane {
	int64_t *plane;
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
	char *bmp_user;
	double *bandwidth_scale;
	int64_t *max_as_path;
	int64_t *stale_s;
	char *zserv_path;
	char *frr_version;
	char **peer_prefixes;
	unsigned n_peer_prefixes;
};

struct config_raw_health {
	bool *enabled, *realtime;
	double *interval_ms, *slow_interval_ms;
	int64_t *max_probes_per_s;
	int64_t *multiplier, *max_routers;
	int64_t *dscp, *queue_ms;
	int64_t *recover_probes;
	double *max_loss_percent;
	int64_t *hold_ms;
	int64_t *hold_max_ms;
	int64_t *ramp_ms;
	char *key_file, *second_key_file;
};

/* Absent optional values are NULL. */
struct config_raw {
	char *node, *run_dir, *log_level, *user, *group, *attach_group, *operator_group;
	char *kernel_routes;
	struct config_raw_bgp *bgp;
	struct config_raw_health *health;
	struct config_raw_gpu *gpus;
	unsigned n_gpus;
};

extern const struct strict_yaml_schema config_yaml_schema;

#endif
