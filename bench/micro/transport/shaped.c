/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shaped.c - what is left of a fabric of shaped planes when a sub-port is lost at the far end, by
 * ways to spread a transfer over the others.
 */
#include <stdio.h>
#include <string.h>

#include "demo/demo.h"
#include "suite/trial.h"

#define MESSAGE_BYTES (1u << 20)
#define DEPTH	      8

struct shaped_method {
	const char *name;
	enum strategy strategy;
	bool by_period; /* as many flows as the weight period; else libfare's default */
	bool random_ports;
};

static const struct shaped_method methods[] = {
	{"spray", STRATEGY_FARE_SPRAY, false, false},
	{"spray-random-ports", STRATEGY_FARE_SPRAY, false, true},
	{"packet", STRATEGY_FARE_PACKET, false, false},
	{"flow-period", STRATEGY_FARE_FLOW, true, false},
	{"flow-period-random-ports", STRATEGY_FARE_FLOW, true, true},
	{"flow-many", STRATEGY_FARE_FLOW, false, false},
	{"kernel-wecmp", STRATEGY_WECMP_KERNEL, false, true},
	{"kernel-ecmp", STRATEGY_ECMP, false, true},
};

/* The state is the fabric while the fault is in force. */
static void close_fault(void *state)
{
	struct fabric *fabric = state;
	uint64_t at_ns;

	if (!fabric_heal(fabric, &at_ns))
		fabric_settle(fabric);
}

/* The receiver's last sub-port on the last plane goes down. */
static int open_fault(struct trial *t)
{
	const struct topo *topo = t->fabric->topo;
	char gpu[2 * TOPO_NAME_MAX], spec[96];
	uint64_t at_ns;
	int err;

	if (*t->state)
		return 0;
	*t->state = t->fabric;
	topo_gpu_label(topo, demo_victim(topo), gpu, sizeof(gpu));
	snprintf(spec, sizeof(spec), "subport %.60s %u %u", gpu, topo->n_planes - 1,
		 topo->gpus[demo_victim(topo)].plane[topo->n_planes - 1].n_sub_ports - 1);
	err = fabric_fail(t->fabric, spec, &at_ns);
	return err ? err : fabric_settle(t->fabric);
}

/*
 * Sub-ports that a pair can fill, and the flows that fill them evenly: one each, less common
 * factors.
 */
static unsigned weight_period(const struct topo *topo, unsigned dst)
{
	unsigned sum = 0, common = 0;

	for (unsigned p = 0; p < topo->n_planes; p++) {
		unsigned live = (unsigned)__builtin_popcount(topo_live_sub_ports(topo, dst, p)),
			 a = live, b = common;

		while (b) {
			unsigned rest = a % b;

			a = b;
			b = rest;
		}
		sum += live;
		common = a;
	}
	return common ? sum / common : 1;
}

static int shaped_measure(struct trial *t, const struct shaped_method *method)
{
	unsigned dst = demo_victim(t->fabric->topo);
	struct plan plan = {0};
	struct traffic_load load;
	struct measured m;
	int err;

	t->strategy = method->strategy;
	load = trial_load(t, "kv", 0);
	load.options.random_ports = method->random_ports;
	load.options.flows = method->by_period ? weight_period(t->fabric->topo, dst) : 0;
	plan_stream(&plan, plan_load(&plan, &load), 0, dst, DEPTH, MESSAGE_BYTES);
	err = trial_measure(t, &plan, NULL, NULL, &m);
	plan_fini(&plan);
	if (err)
		return err;
	trial_value(t, "goodput", m.load[0].bps / 1e9, m.load[0].messages);
	trial_value(t, "of_live", m.load[0].bps / fabric_pair_bps(t->fabric, 0, dst),
		    m.load[0].messages);
	measured_fini(&m);
	return 0;
}

static int shaped_run(struct trial *t)
{
	const struct topo *topo = t->fabric->topo;
	const struct shaped_method *method = methods;
	int err;

	if (topo->gpus[demo_victim(topo)].plane[topo->n_planes - 1].n_sub_ports < 2) {
		trial_missing(t, NULL, "the fabric has one sub-port a plane");
		return 0;
	}
	while (strcmp(method->name, trial_text(t, "method")) != 0)
		method++;
	err = open_fault(t);
	return err ? err : shaped_measure(t, method);
}

/* To change the kernel's weights takes longer than to measure: all trials of a way are in a row. */
const struct test test_transport_shaped = {
	.id = "transport-shaped",
	.name = "A transfer over what a lost sub-port leaves",
	.clause = "FARE-in-SUN 3.1",
	.dut = "DUT-F",
	.summary = "One transfer at a time, 8 messages of 1 MB under way; one sub-port of the "
		   "receiver is down. Real: FRR, daemons, kernel routes and hashes. Emulated: "
		   "links (shaped veth pairs), switches (namespaces).",
	.needs = NEED_TWO_SERVERS | NEED_FAULTS,
	.no_strategies = true,
	.trials = {5, 7, 20},
	.seconds = {1, 1, 2},
	.params = PARAMS(
		PARAM("method", PARAM_SLOW_NAME, "",
		      "spray, order-free packets, flows (as many as the weight period, or "
		      "libfare's default), each also by random source ports; the kernel's hash",
		      "spray,spray-random-ports,packet,flow-period,flow-period-random-ports,"
		      "flow-many,kernel-wecmp,kernel-ecmp")),
	.kpis = KPIS({"of_live", "", "DUT-F", "goodput over what the live sub-ports can carry",
		      BETTER_HIGHER, 0},
		     {"goodput", "Gb/s", "DUT-F", "payload acknowledged, all of it verified",
		      BETTER_HIGHER, 0}),
	.views = VIEWS(VIEW(VIEW_BARS, "Goodput over what the live sub-ports can carry", "method",
			    NULL, NULL, "of_live"),
		       VIEW(VIEW_TABLE, "Shaped planes, a sub-port lost at the far end", "method",
			    NULL, NULL, "of_live", "goodput")),
	.run = shaped_run,
	.close = close_fault,
};
