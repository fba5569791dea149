/* SPDX-License-Identifier: BSD-2-Clause */
#include "config_yaml.h"

#include "roce_ports.h"

#define TEXT_MAX 255 /* of any string in the file */

#define MUST	CYAML_FLAG_POINTER
#define MAY	(CYAML_FLAG_POINTER_NULL_STR | CYAML_FLAG_OPTIONAL)
#define MAY_NUM (CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL)

static const cyaml_schema_value_t text_value = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, TEXT_MAX)};

static const cyaml_schema_field_t sub_port_fields[] = {
	CYAML_FIELD_STRING_PTR("dev", MUST, struct config_raw_sub_port, dev, 1, TEXT_MAX),
	CYAML_FIELD_INT_PTR("speed_mbps", MAY_NUM, struct config_raw_sub_port, speed_mbps),
	CYAML_FIELD_SEQUENCE_COUNT("neighbors", CYAML_FLAG_POINTER, struct config_raw_sub_port,
				   neighbors, n_neighbors, &text_value, 1, 8),
	CYAML_FIELD_END};
static const cyaml_schema_value_t sub_port_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct config_raw_sub_port, sub_port_fields)};
static const cyaml_schema_field_t plane_fields[] = {
	CYAML_FIELD_INT_PTR("plane", MAY_NUM, struct config_raw_plane, plane),
	CYAML_FIELD_SEQUENCE_COUNT("sub_ports", CYAML_FLAG_POINTER, struct config_raw_plane,
				   sub_ports, n_sub_ports, &sub_port_value, 1, FARE_MAX_SUB_PORTS),
	CYAML_FIELD_END};
static const cyaml_schema_value_t plane_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct config_raw_plane, plane_fields)};
static const cyaml_schema_field_t gpu_fields[] = {
	CYAML_FIELD_STRING_PTR("name", MUST, struct config_raw_gpu, name, 1, TEXT_MAX),
	CYAML_FIELD_SEQUENCE_COUNT("addresses", CYAML_FLAG_POINTER, struct config_raw_gpu,
				   addresses, n_addresses, &text_value, 1, 2),
	CYAML_FIELD_SEQUENCE_COUNT("planes", CYAML_FLAG_POINTER, struct config_raw_gpu, planes,
				   n_planes, &plane_value, 1, FARE_MAX_PLANES),
	CYAML_FIELD_END};
static const cyaml_schema_value_t gpu_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct config_raw_gpu, gpu_fields)};
static const cyaml_schema_field_t bgp_fields[] = {
	CYAML_FIELD_STRING_PTR("bmp_address", MAY, struct config_raw_bgp, bmp_address, 0, TEXT_MAX),
	CYAML_FIELD_INT_PTR("bmp_port", MAY_NUM, struct config_raw_bgp, bmp_port),
	CYAML_FIELD_STRING_PTR("bmp_user", MAY, struct config_raw_bgp, bmp_user, 0, TEXT_MAX),
	CYAML_FIELD_FLOAT_PTR("bandwidth_scale", MAY_NUM, struct config_raw_bgp, bandwidth_scale),
	CYAML_FIELD_INT_PTR("max_as_path", MAY_NUM, struct config_raw_bgp, max_as_path),
	CYAML_FIELD_INT_PTR("stale_s", MAY_NUM, struct config_raw_bgp, stale_s),
	CYAML_FIELD_STRING_PTR("zserv_path", MAY, struct config_raw_bgp, zserv_path, 0, TEXT_MAX),
	CYAML_FIELD_STRING_PTR("frr_version", MAY, struct config_raw_bgp, frr_version, 0, TEXT_MAX),
	CYAML_FIELD_SEQUENCE_COUNT("peer_prefixes", CYAML_FLAG_POINTER, struct config_raw_bgp,
				   peer_prefixes, n_peer_prefixes, &text_value, 1, 64),
	CYAML_FIELD_END};
static const cyaml_schema_field_t health_fields[] = {
	CYAML_FIELD_BOOL_PTR("enabled", MAY_NUM, struct config_raw_health, enabled),
	CYAML_FIELD_BOOL_PTR("realtime", MAY_NUM, struct config_raw_health, realtime),
	CYAML_FIELD_FLOAT_PTR("interval_ms", MAY_NUM, struct config_raw_health, interval_ms),
	CYAML_FIELD_FLOAT_PTR("slow_interval_ms", MAY_NUM, struct config_raw_health,
			      slow_interval_ms),
	CYAML_FIELD_UINT_PTR("max_probes_per_s", MAY_NUM, struct config_raw_health,
			     max_probes_per_s),
	CYAML_FIELD_INT_PTR("multiplier", MAY_NUM, struct config_raw_health, multiplier),
	CYAML_FIELD_INT_PTR("max_routers", MAY_NUM, struct config_raw_health, max_routers),
	CYAML_FIELD_INT_PTR("dscp", MAY_NUM, struct config_raw_health, dscp),
	CYAML_FIELD_INT_PTR("queue_ms", MAY_NUM, struct config_raw_health, queue_ms),
	CYAML_FIELD_INT_PTR("recover_probes", MAY_NUM, struct config_raw_health, recover_probes),
	CYAML_FIELD_FLOAT_PTR("max_loss_percent", MAY_NUM, struct config_raw_health,
			      max_loss_percent),
	CYAML_FIELD_INT_PTR("hold_ms", MAY_NUM, struct config_raw_health, hold_ms),
	CYAML_FIELD_INT_PTR("hold_max_ms", MAY_NUM, struct config_raw_health, hold_max_ms),
	CYAML_FIELD_INT_PTR("ramp_ms", MAY_NUM, struct config_raw_health, ramp_ms),
	CYAML_FIELD_STRING_PTR("key_file", MAY, struct config_raw_health, key_file, 0, TEXT_MAX),
	CYAML_FIELD_STRING_PTR("second_key_file", MAY, struct config_raw_health, second_key_file, 0,
			       TEXT_MAX),
	CYAML_FIELD_END};
static const cyaml_schema_field_t top_fields[] = {
	CYAML_FIELD_STRING_PTR("node", MUST, struct config_raw, node, 1, TEXT_MAX),
	CYAML_FIELD_STRING_PTR("run_dir", MAY, struct config_raw, run_dir, 0, TEXT_MAX),
	CYAML_FIELD_STRING_PTR("log_level", MAY, struct config_raw, log_level, 0, TEXT_MAX),
	CYAML_FIELD_STRING_PTR("user", MAY, struct config_raw, user, 0, TEXT_MAX),
	CYAML_FIELD_STRING_PTR("group", MAY, struct config_raw, group, 0, TEXT_MAX),
	CYAML_FIELD_STRING_PTR("attach_group", MAY, struct config_raw, attach_group, 0, TEXT_MAX),
	CYAML_FIELD_STRING_PTR("operator_group", MAY, struct config_raw, operator_group, 0,
			       TEXT_MAX),
	CYAML_FIELD_STRING_PTR("kernel_routes", MAY, struct config_raw, kernel_routes, 0, TEXT_MAX),
	CYAML_FIELD_MAPPING_PTR("bgp", CYAML_FLAG_POINTER, struct config_raw, bgp, bgp_fields),
	CYAML_FIELD_MAPPING_PTR("health", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
				struct config_raw, health, health_fields),
	CYAML_FIELD_SEQUENCE_COUNT("local_gpus", CYAML_FLAG_POINTER, struct config_raw, gpus,
				   n_gpus, &gpu_value, 1, FARE_MAX_LOCAL_GPUS),
	CYAML_FIELD_END};
static const cyaml_schema_value_t top_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct config_raw, top_fields)};

static const struct strict_yaml_range ranges[] = {
	{"speed_mbps", .max = 10000000}, /* 10 Tb/s a sub-port: more is a slip of the pen */
	{"plane", .max = FARE_MAX_PLANES - 1},
	{"bmp_port", .min = 1, .max = 65535},
	{"bandwidth_scale", .max = 1e9, .above_min = true},
	{"max_as_path", .max = 255},
	{"stale_s", .max = 86400},
	{"interval_ms", .min = 1, .max = 10000},
	{"slow_interval_ms", .min = 1, .max = 10000},
	{"max_probes_per_s", .min = 100, .max = 1000000},
	{"multiplier", .min = 2, .max = 50},
	{"max_routers", .min = 1, .max = 16},
	{"dscp", .max = DSCP_MAX},
	{"queue_ms", .max = 1000},
	{"recover_probes", .min = 1, .max = 1000},
	{"max_loss_percent", .max = 100, .above_min = true},
	{"hold_ms", .max = 60000},
	{"hold_max_ms", .max = 3600000},
	{"ramp_ms", .max = 60000},
	{.key = NULL},
};

const struct strict_yaml_schema config_yaml_schema = {&top_value, ranges};
