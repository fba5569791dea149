/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/kpi_map.h"

#include <string.h>

static const struct kpi_map kpi_map[] = {
	{"TTFT", "TTFT", "SUT-E", NULL},
	{"ITL", "ITL", "SUT-E", NULL},
	{"TPS_output", "TPS_output", "SUT-E", NULL},
	{"TPS_input", "TPS_input", "SUT-E", NULL},
	{"Goodput", "Inference_Goodput", "SUT-E", NULL},
	{"KV_xfer_latency", "KV_xfer_latency", "DUT-N, DUT-PD", NULL},
	{"KV_xfer_bandwidth", "KV_xfer_bandwidth", "DUT-N, DUT-PD", NULL},
	{"EP_alltoall_latency", "EP_alltoall_latency", "DUT-F", NULL},
	{"EP_alltoall_bandwidth", "EP_alltoall_bandwidth", "DUT-F", NULL},
	{"Fabric_FCT", "Fabric_FCT", "DUT-F", NULL},
	{"Buffer_utilization", "Buffer_utilization", "DUT-S", NULL},
	{"ECN_marking_rate", "ECN_marking_rate", "DUT-S", NULL},
	{"PFC_frame_count", "PFC_frame_count", "DUT-S", NULL},
	{"Link_utilization", "Link_utilization", "DUT-F", NULL},
	{"Packet_drop_rate", "Packet_drop_rate", "DUT-F", NULL},
	{"Request_Rate", "Request_Rate", "SUT-E", NULL},
	{"Prefix Cache Hit Rate", "Prefix_cache_hit_rate", "SUT-E", NULL},
	{"JFI (Decode Worker)", "JFI_decode", "SUT-E", NULL},
};

/* Those that -05 adds. */
static const struct kpi_map kpi_map_newer[] = {
	{"TTFT_fabric", "TTFT_fabric", "DUT-PD", NULL},
	{"ITL_fabric", "ITL_fabric", "DUT-F", NULL},
	{"E2E_latency", "E2E_latency", "SUT-E", NULL},
	{"TPS_per_GPU", "TPS_per_GPU", "SUT-E", NULL},
};

/* Appendix A of the training draft: a KPI there is of one section alone. */
static const struct kpi_map kpi_map_of_training[] = {
	{"Throughput Rate", "Throughput", "DUT-F", "T5.1"},
	{"Latency (P99)", "Round_trip", "DUT-F", "T5.2"},
	{"Burst Absorption", "Burst", "DUT-F", "T5.3"},
	{"ECN Accuracy", "Deviation", "DUT-S", "T7.1"},
	{"PFC Behavior", "PFC_pause", "DUT-S", "T7.2"},
	{"DCQCN Convergence", "Convergence", "DUT-F", "T7.3"},
	{"PFC Deadlock", "Deadlock", "DUT-F", "T7.4"},
	{"ECMP Imbalance", "JFI", "DUT-F", "T8.1"},
	{"DLB Efficacy", "goodput_delta", "DUT-N", "T8.2"},
	{"Spray Efficacy", "JFI", "DUT-F", "T8.3"},
	{"AllReduce BusBW", "BusBW", "DUT-F", "T9.1"},
	{"AlltoAll JCT", "JCT", "SUT-E", "T9.2"},
	{"AllGather BusBW", "BusBW", "DUT-F", "T9.3"},
	{"Synthetic JCT Ratio", "JCT_ratio", "SUT-E", "T10.1"},
	{"MLPerf JCT", "Time_to_train", "SUT-E", "T10.2"},
	{"Multi-Tenant Impact", "Interference", "SUT-E", "T10.3"},
	{"Scale Limit", "Scale_limit", "SUT-E", "T11.1"},
	{"Failover Time", "Loss_duration", "DUT-F", "T11.2"},
	{"24h Stability", "JCT_ratio_std", "SUT-E", "T12.1"},
	{"UET Throughput (RUD)", "Throughput", "DUT-F", "T6.1"},
	{"UET First-Packet Latency", "Latency", "DUT-F", "T6.2"},
	{"UET Spray Efficacy", "JFI", "DUT-F", "T6.3"},
	{"UET PFC-Free Loss Rate", "Loss", "DUT-F", "T6.4"},
	{"LLR Retry Latency", "Retry_latency", "DUT-F", "T6.5"},
	{"Packet Trimming Savings", "Trimming_savings", "DUT-F", "T6.5"},
	{"CBFC vs PFC HOL Blocking", "HOL_blocking", "DUT-F", "T6.5"},
	{"UET Collective BusBW", "BusBW", "SUT-E", "T6.6"},
	{"PDC Establishment Rate", "Setup_rate", "DUT-F", "T6.7"},
	{"Max Concurrent PDCs", "Most_endpoints", "DUT-F", "T6.7"},
};

const struct kpi_map *kpi_map_training(size_t *n)
{
	*n = sizeof(kpi_map_of_training) / sizeof(kpi_map_of_training[0]);
	return kpi_map_of_training;
}

const struct kpi_map *kpi_map_added(size_t *n)
{
	*n = sizeof(kpi_map_newer) / sizeof(kpi_map_newer[0]);
	return kpi_map_newer;
}

const struct kpi_map *kpi_map_all(size_t *n)
{
	*n = sizeof(kpi_map) / sizeof(kpi_map[0]);
	return kpi_map;
}

bool kpi_map_is(const struct kpi_map *entry, const char *kpi)
{
	size_t length = strlen(entry->name);

	return strncmp(kpi, entry->name, length) == 0 && (!kpi[length] || kpi[length] == '_');
}

bool kpi_map_measures(const struct kpi_map *entry, const struct test *test)
{
	if (entry->test && strcmp(entry->test, test->id) != 0)
		return false;
	for (const struct kpi *kpi = test->kpis; kpi->name; kpi++)
		if (kpi_map_is(entry, kpi->name))
			return true;
	return false;
}
