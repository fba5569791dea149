/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inventory_yaml.h - the shape of an inventory, as libcyaml fills it: inventory.c gives it meaning.
 *
 * Owns: the schema. Pointers, so that an absent key and a zero are two things. Thread: any.
 */
#ifndef INVENTORY_YAML_H
#define INVENTORY_YAML_H

#include <stdint.h>

#include "base/yaml/strict_yaml.h"

struct inventory_yaml_sub_port {
	char *dev;
	uint64_t *rate_mbps;
};

struct inventory_yaml_plane {
	struct inventory_yaml_sub_port *sub_ports;
	unsigned n_sub_ports;
};

struct inventory_yaml_gpu {
	char *address;
	struct inventory_yaml_plane *planes;
	unsigned n_planes;
};

struct inventory_yaml_fault {
	uint32_t *gpu, *plane, *sub_port;
	char *down, *up;
};

struct inventory_yaml_weights {
	char *equal, *bgp;
};

struct inventory_yaml_host {
	char *name, *run_dir, *store;
	struct inventory_yaml_gpu *gpus;
	unsigned n_gpus;
	struct inventory_yaml_fault *faults;
	unsigned n_faults;
	struct inventory_yaml_weights *weights;
};

struct inventory_yaml_switch {
	char *name, *counters;
};

struct inventory_yaml {
	char *name, *provider;
	uint32_t *mtu, *max_run_s, *max_total_s;
	uint64_t *max_rate_mbps;
	char **ranges;
	unsigned n_ranges;
	struct inventory_yaml_host *hosts;
	unsigned n_hosts;
	struct inventory_yaml_switch *switches;
	unsigned n_switches;
};

extern const struct strict_yaml_schema inventory_yaml_schema;

#endif
