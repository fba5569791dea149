/* SPDX-License-Identifier: BSD-2-Clause */
/* capability.c - what the emulated serving framework can do: appendix C of the inference
 * methodology, table 13 (describe.h) */
#include <stdio.h>

#include "suite/describe.h"

/* Table 13, in its order; what depends on the fabric is added. */
static const char *const capability_fixed[][2] = {
	{"Disaggregated Prefill/Decode", "yes: prefill and decode GPUs are on different servers"},
	{"KV Cache Transfer Protocol",
	 "one-sided RDMA WRITE with notification; RDMA READ where a test says verb=read; SEND/RECV "
	 "for messages of the control"},
	{"MoE Expert Parallelism", "yes: dispatch and combine of section 7; compute is emulated"},
	{"Continuous Batching", "yes; static batches in 11.2"},
	{"Prefix / KV Cache Sharing", "yes, in the tests of section 9 that have common prefixes"},
	{"GPU-Initiated Networking", "no: a process of the host posts"},
	{"Container Orchestration",
	 "none takes part in a test: 12.2 adds and removes workers by itself"},
};

json_t *capability_json(const struct fabric *fabric)
{
	bool verbs = fabric->hosts && hosts_inventory(fabric->hosts)->verbs;
	json_t *rows = json_array();
	char scale[96];

	for (size_t i = 0; i < sizeof(capability_fixed) / sizeof(capability_fixed[0]); i++)
		json_array_append_new(
			rows, json_pack("[s, s]", capability_fixed[i][0], capability_fixed[i][1]));
	json_array_append_new(rows, json_pack("[s, s]", "RDMA Transport",
					      verbs ? "RoCEv2, by the devices (verbs)"
						    : "RoCEv2, by libfare's soft provider"));
	snprintf(scale, sizeof(scale), "not validated beyond this fabric: %u GPUs on %u servers",
		 fabric->topo->n_gpus, fabric->topo->n_servers);
	json_array_append_new(rows, json_pack("[s, s]", "Maximum Reported Scale", scale));
	return json_pack("{s:s, s:o}", "title",
			 "Capabilities of the serving framework (appendix C)", "rows", rows);
}
