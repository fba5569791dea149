/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scenario.c - what the demonstration's tests share: faults and traffic (demo.h).
 */
#include <stdio.h>
#include <string.h>

#include "demo/demo.h"

/*
 * A round of the all-to-all takes as long at any rate: what a lower rate takes away is bytes. So
 * trials take as long, and hold as many rounds, as at the rate for which 256 tokens were chosen.
 */
#define DEMO_TOKENS	    256u
#define DEMO_TOKENS_AT_MBPS 160u

#define DEMO_KV_BYTES (128u << 10)
#define DEMO_KV_DEPTH 32

unsigned demo_victim(const struct topo *topo)
{
	unsigned gpu = 1;

	while (gpu + 1 < topo->n_gpus && topo->gpus[gpu].server == topo->gpus[0].server)
		gpu++;
	return gpu;
}

void demo_spec(const struct topo *topo, const char *scenario, char *out, size_t size)
{
	char gpu[2 * TOPO_NAME_MAX];

	topo_gpu_label(topo, demo_victim(topo), gpu, sizeof(gpu));
	out[0] = '\0';
	if (strcmp(scenario, "sub-port-lost") == 0)
		snprintf(out, size, "subport %.60s %d 0", gpu, DEMO_PLANE);
	if (strcmp(scenario, "plane-lost") == 0)
		snprintf(out, size, "plane %.60s %d", gpu, DEMO_PLANE);
	if (strcmp(scenario, "leaf-dead") == 0)
		snprintf(out, size, "leaf %.60s",
			 topo->leaves[topo->gpus[0].plane[DEMO_PLANE].leaf].name);
}

void demo_kv(const struct trial *t, struct plan *plan)
{
	struct traffic_load load = trial_load(t, "kv", 0);

	plan_stream(plan, plan_load(plan, &load), 0, demo_victim(t->fabric->topo), DEMO_KV_DEPTH,
		    DEMO_KV_BYTES);
}

struct ep_options demo_ep(const struct topo *topo, enum strategy strategy)
{
	unsigned mbps = (unsigned)(topo->gpus[0].plane[0].sub_port[0].rate_bps / 1000000);
	unsigned tokens = DEMO_TOKENS * mbps / DEMO_TOKENS_AT_MBPS;
	struct ep_options ep = {.moe = ep_default_moe(), .traffic = {.strategy = strategy}};

	ep.moe.tokens = tokens > DEMO_TOKENS ? DEMO_TOKENS : tokens ? tokens : 1;
	while (ep.moe.experts % topo->n_gpus && ep.moe.experts < MOE_MAX_EXPERTS)
		ep.moe.experts++;
	return ep;
}

int demo_cluster(struct fabric *fabric)
{
	struct ep_options ep = demo_ep(fabric->topo, STRATEGY_FARE_SPRAY);
	uint64_t of_kv = (uint64_t)DEMO_KV_BYTES * DEMO_KV_DEPTH, of_ep;

	ep.moe.tokens = DEMO_TOKENS; /* whatever the rate will be */
	of_ep = ep_arena_bytes(fabric->topo, &ep);
	return fabric_cluster(fabric, of_kv > of_ep ? of_kv : of_ep);
}
