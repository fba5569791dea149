/* SPDX-License-Identifier: BSD-2-Clause */
#include "launch/inventory_yaml.h"

#include "launch/inventory.h"

#define MUST CYAML_FLAG_POINTER
#define MAY  (CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL)

static const cyaml_schema_value_t text_value = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, 64)};

static const cyaml_schema_field_t sub_port_fields[] = {
	CYAML_FIELD_STRING_PTR("dev", MUST, struct inventory_yaml_sub_port, dev, 1,
			       FARE_DEV_NAME_MAX - 1),
	CYAML_FIELD_UINT_PTR("rate_mbps", MUST, struct inventory_yaml_sub_port, rate_mbps),
	CYAML_FIELD_END};
static const cyaml_schema_value_t sub_port_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct inventory_yaml_sub_port, sub_port_fields)};
static const cyaml_schema_field_t plane_fields[] = {
	CYAML_FIELD_SEQUENCE_COUNT("sub_ports", MUST, struct inventory_yaml_plane, sub_ports,
				   n_sub_ports, &sub_port_value, 1, FARE_MAX_SUB_PORTS),
	CYAML_FIELD_END};
static const cyaml_schema_value_t plane_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct inventory_yaml_plane, plane_fields)};
static const cyaml_schema_field_t gpu_fields[] = {
	CYAML_FIELD_STRING_PTR("address", MUST, struct inventory_yaml_gpu, address, 1, 45),
	CYAML_FIELD_SEQUENCE_COUNT("planes", MUST, struct inventory_yaml_gpu, planes, n_planes,
				   &plane_value, 1, FARE_MAX_PLANES),
	CYAML_FIELD_END};
static const cyaml_schema_value_t gpu_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct inventory_yaml_gpu, gpu_fields)};
static const cyaml_schema_field_t fault_fields[] = {
	CYAML_FIELD_UINT_PTR("gpu", MAY, struct inventory_yaml_fault, gpu),
	CYAML_FIELD_UINT_PTR("plane", MUST, struct inventory_yaml_fault, plane),
	CYAML_FIELD_UINT_PTR("sub_port", MAY, struct inventory_yaml_fault, sub_port),
	CYAML_FIELD_STRING_PTR("down", MUST, struct inventory_yaml_fault, down, 1,
			       INVENTORY_COMMAND - 1),
	CYAML_FIELD_STRING_PTR("up", MUST, struct inventory_yaml_fault, up, 1,
			       INVENTORY_COMMAND - 1),
	CYAML_FIELD_END};
static const cyaml_schema_value_t fault_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct inventory_yaml_fault, fault_fields)};
static const cyaml_schema_field_t weights_fields[] = {
	CYAML_FIELD_STRING_PTR("equal", MUST, struct inventory_yaml_weights, equal, 1,
			       INVENTORY_COMMAND - 1),
	CYAML_FIELD_STRING_PTR("bgp", MUST, struct inventory_yaml_weights, bgp, 1,
			       INVENTORY_COMMAND - 1),
	CYAML_FIELD_END};
static const cyaml_schema_field_t host_fields[] = {
	CYAML_FIELD_STRING_PTR("name", MUST, struct inventory_yaml_host, name, 1,
			       INVENTORY_HOST_MAX - 1),
	CYAML_FIELD_STRING_PTR("run_dir", MUST, struct inventory_yaml_host, run_dir, 1,
			       TOPO_PATH_MAX - 1),
	CYAML_FIELD_STRING_PTR("store", MAY, struct inventory_yaml_host, store, 1,
			       TOPO_PATH_MAX - 1),
	CYAML_FIELD_SEQUENCE_COUNT("gpus", MUST, struct inventory_yaml_host, gpus, n_gpus,
				   &gpu_value, 1, FARE_MAX_LOCAL_GPUS),
	CYAML_FIELD_SEQUENCE_COUNT("faults", MAY, struct inventory_yaml_host, faults, n_faults,
				   &fault_value, 0, INVENTORY_MAX_FAULTS),
	CYAML_FIELD_MAPPING_PTR("weights", MAY, struct inventory_yaml_host, weights,
				weights_fields),
	CYAML_FIELD_END};
static const cyaml_schema_value_t host_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct inventory_yaml_host, host_fields)};
static const cyaml_schema_field_t switch_fields[] = {
	CYAML_FIELD_STRING_PTR("name", MUST, struct inventory_yaml_switch, name, 1,
			       INVENTORY_HOST_MAX - 1),
	CYAML_FIELD_STRING_PTR("counters", MUST, struct inventory_yaml_switch, counters, 1,
			       INVENTORY_COMMAND - 1),
	CYAML_FIELD_END};
static const cyaml_schema_value_t switch_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct inventory_yaml_switch, switch_fields)};
static const cyaml_schema_field_t top_fields[] = {
	CYAML_FIELD_STRING_PTR("name", MUST, struct inventory_yaml, name, 1, TOPO_NAME_MAX - 1),
	CYAML_FIELD_STRING_PTR("provider", MAY, struct inventory_yaml, provider, 1, 15),
	CYAML_FIELD_UINT_PTR("mtu", MUST, struct inventory_yaml, mtu),
	CYAML_FIELD_SEQUENCE_COUNT("ranges", MAY, struct inventory_yaml, ranges, n_ranges,
				   &text_value, 0, LIMITS_MAX_RANGES),
	CYAML_FIELD_UINT_PTR("max_rate_mbps", MUST, struct inventory_yaml, max_rate_mbps),
	CYAML_FIELD_UINT_PTR("max_run_s", MUST, struct inventory_yaml, max_run_s),
	CYAML_FIELD_UINT_PTR("max_total_s", MUST, struct inventory_yaml, max_total_s),
	CYAML_FIELD_SEQUENCE_COUNT("hosts", MUST, struct inventory_yaml, hosts, n_hosts,
				   &host_value, 1, TOPO_MAX_GPUS),
	CYAML_FIELD_SEQUENCE_COUNT("switches", MAY, struct inventory_yaml, switches, n_switches,
				   &switch_value, 0, INVENTORY_MAX_SWITCHES),
	CYAML_FIELD_END};
static const cyaml_schema_value_t top_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct inventory_yaml, top_fields)};

static const struct strict_yaml_range ranges[] = {
	{"mtu", .min = 576, .max = 9216},
	{"rate_mbps", .min = 1, .max = 10000000},
	{"max_rate_mbps", .min = 1, .max = 10000000},
	{"max_run_s", .min = 1, .max = 86400},
	{"max_total_s", .min = 1, .max = 7 * 86400},
	{"gpu", .max = FARE_MAX_LOCAL_GPUS - 1},
	{"plane", .max = FARE_MAX_PLANES - 1},
	{"sub_port", .max = FARE_MAX_SUB_PORTS - 1},
	{.key = NULL},
};

const struct strict_yaml_schema inventory_yaml_schema = {&top_value, ranges};
