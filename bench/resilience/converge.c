/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * converge.c - how long a lab takes from nothing to converged.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/command.h"
#include "engine/cluster.h"
#include "suite/trial.h"

#define CONVERGE_MS 300000

/* One lab up, timed, and down again. Without fared: routes do not wait for it. */
static int converge_run(struct trial *t)
{
	char name[TOPO_NAME_MAX];
	uint64_t start;
	struct lab lab;
	int err, down;

	snprintf(name, sizeof(name), "cv%d", (int)getpid());
	lab_init(&lab, name);
	const char *up[] = {lab.farelab, "up", trial_text(t, "topology"), "--name", name, "--wait",
			    "240",	 NULL};

	start = clock_now_ns();
	err = command_check(up, CONVERGE_MS, NULL);
	trial_value(t, "converged", (double)(clock_now_ns() - start) / 1e9, 1);
	/* also after a failure: half a lab is nothing to leave behind */
	down = lab_do(&lab, "down", (const char *const[]){NULL});
	return err ? err : down;
}

const struct test test_converge = {
	.id = "converge",
	.name = "From nothing to converged",
	.clause = "draft-calabria-bmwg-ai-fabric-inference-bench-02, 12.1",
	.dut = "DUT-F",
	.summary = "Making the namespaces and starting FRR is inside, all on this one machine. "
		   "Real: FRR's bgpd and zebra, the kernel's routing. Emulated: links (veth), "
		   "switches and servers (namespaces). Not there: fared, traffic.",
	.no_strategies = true,
	.no_fabric = true,
	.trials = {3, 3, 10},
	.seconds = {10, 10, 10},
	.params = PARAMS(PARAM("topology", PARAM_TEXT, "", "of farelab(8), installed or a file",
			       "4x4x2.yaml", "4x4x2.yaml,64x4x2.yaml")),
	.kpis = KPIS({"converged", "s", "DUT-F",
		      "from nothing until every server's bgpd and kernel have routes toward every "
		      "GPU over every plane",
		      BETTER_LOWER, 0}),
	.views = VIEWS(
		VIEW(VIEW_BARS, "From nothing to converged", "topology", NULL, NULL, "converged"),
		VIEW(VIEW_TABLE, "Convergence", "topology", NULL, NULL, "converged")),
	.run = converge_run,
};
