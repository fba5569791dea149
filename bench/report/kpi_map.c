/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/kpi_map.h"

#include <stdio.h>
#include <string.h>

static const struct kpi_map kpi_map[] = {
	{"TTFT", "TTFT", "SUT-E"},
	{"ITL", "ITL", "SUT-E"},
	{"TPS_output", "TPS_output", "SUT-E"},
	{"TPS_input", "TPS_input", "SUT-E"},
	{"Goodput", "Inference_Goodput", "SUT-E"},
	{"KV_xfer_latency", "KV_xfer_latency", "DUT-N, DUT-PD"},
	{"KV_xfer_bandwidth", "KV_xfer_bandwidth", "DUT-N, DUT-PD"},
	{"EP_alltoall_latency", "EP_alltoall_latency", "DUT-F"},
	{"EP_alltoall_bandwidth", "EP_alltoall_bandwidth", "DUT-F"},
	{"Fabric_FCT", "Fabric_FCT", "DUT-F"},
	{"Buffer_utilization", "Buffer_utilization", "DUT-S"},
	{"ECN_marking_rate", "ECN_marking_rate", "DUT-S"},
	{"PFC_frame_count", "PFC_frame_count", "DUT-S"},
	{"Link_utilization", "Link_utilization", "DUT-F"},
	{"Packet_drop_rate", "Packet_drop_rate", "DUT-F"},
	{"Request_Rate", "Request_Rate", "SUT-E"},
	{"Prefix Cache Hit Rate", "Prefix_cache_hit_rate", "SUT-E"},
	{"JFI (Decode Worker)", "JFI_decode", "SUT-E"},
};

static const struct kpi_map kpi_map_of_training[] = {
	{"BusBW (AllReduce, AlltoAll, AllGather)", "BusBW", "DUT-F"},
	{"JCT", "JCT", "SUT-E"},
	{"JCT Ratio", "JCT_ratio", "SUT-E"},
	{"Link utilization", "Link_utilization", "DUT-F"},
	{"ECN marking ratio", "ECN_marking_ratio", "DUT-S"},
	{"PFC pauses", "PFC_pause_count", "DUT-S"},
	{"Packet loss", "Packets_lost", "DUT-F"},
};

const struct kpi_map *kpi_map_training(size_t *n)
{
	*n = sizeof(kpi_map_of_training) / sizeof(kpi_map_of_training[0]);
	return kpi_map_of_training;
}

const struct kpi_map *kpi_map_all(size_t *n)
{
	*n = sizeof(kpi_map) / sizeof(kpi_map[0]);
	return kpi_map;
}

bool kpi_map_measures(const struct kpi_map *entry, const struct test *test)
{
	size_t length = strlen(entry->name);

	for (const struct kpi *kpi = test->kpis; kpi->name; kpi++)
		if (strncmp(kpi->name, entry->name, length) == 0 &&
		    (!kpi->name[length] || kpi->name[length] == '_'))
			return true;
	return false;
}

void kpi_map_tests(const struct kpi_map *entry, const struct test *const *tests, size_t n,
		   char *out, size_t size)
{
	size_t used = 0;

	*out = '\0';
	for (size_t i = 0; i < n; i++)
		if (kpi_map_measures(entry, tests[i]) && used < size)
			used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "",
						 tests[i]->id);
}
