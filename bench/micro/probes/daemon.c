/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * daemon.c - the CPU time of fared itself in a lab, at the probe interval that the lab has.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "core/cpu.h"
#include "demo/demo.h"
#include "suite/trial.h"

/* what had traffic is probed fast for a second yet (HEALTH_ACTIVE_NS) */
#define QUIET_MS 3000

/* All daemons of the lab, s. */
static double all_s(const struct topo *topo)
{
	double sum = 0;

	for (unsigned i = 0; i < topo->n_servers; i++)
		sum += cpu_of_process(topo->servers[i].fared_pid);
	return sum;
}

static int traffic(struct trial *t)
{
	struct ep_options ep = demo_ep(t->fabric->topo, STRATEGY_FARE_SPRAY);
	struct traffic_result result;

	ep.measure_s = t->seconds;
	return ep_run(t->fabric->cluster, t->fabric->topo, &ep, (unsigned)t->seed, &result);
}

static int daemon_settle(struct trial *t)
{
	fabric_no_cluster(t->fabric);
	return poll(NULL, 0, QUIET_MS) < 0 ? -EINTR : 0;
}

static int daemon_run(struct trial *t)
{
	bool with_traffic = strcmp(trial_text(t, "traffic"), "all") == 0;
	const struct topo *topo = t->fabric->topo;
	struct cpu_times before, after;
	struct cpu_idle idle;
	double used;
	int err;

	for (unsigned i = 0; i < topo->n_servers; i++)
		if (!topo->servers[i].fared_pid) {
			trial_missing(t, NULL, "fared of server %u does not run on this machine",
				      i);
			return 0;
		}
	err = with_traffic ? demo_cluster(t->fabric) : daemon_settle(t);
	if (!err)
		err = cpu_read(&before);
	used = all_s(topo);
	if (!err && with_traffic)
		err = traffic(t);
	else if (!err && poll(NULL, 0, (int)(t->seconds * 1e3)) < 0)
		err = -EINTR;
	used = all_s(topo) - used;
	if (!err)
		err = cpu_read(&after);
	if (!err)
		err = cpu_idle(&before, &after, &idle);
	if (err)
		return err;
	trial_value(t, "cpu", 100 * used / (after.at_s - before.at_s) / topo->n_servers, 1);
	trial_value(t, "idle", idle.mean_percent, 1);
	return 0;
}

const struct test test_probes_daemon = {
	.id = "probes-daemon",
	.name = "CPU time of fared",
	.clause = "RFC 7880",
	.dut = "fared",
	.summary = "What a daemon of the lab takes, with its peers, planes and probe interval: "
		   "with nothing attached, and while all send to all. Real: fared, FRR's bgpd and "
		   "zebra. Emulated: links, GPUs, switches.",
	.needs = NEED_TWO_SERVERS,
	.no_strategies = true,
	.trials = {3, 5, 10},
	.seconds = {5, 5, 10},
	.params = PARAMS(PARAM("traffic", PARAM_NAME, "", "from all to all, or none", "none,all")),
	.kpis = KPIS({"cpu", "%", "fared",
		      "user and system time of a daemon, of one core, mean of all", BETTER_LOWER,
		      0},
		     {"idle", "%", "machine", "meanwhile", BETTER_NONE, 0}),
	.views = VIEWS(VIEW(VIEW_TABLE, "CPU time of fared", "traffic", NULL, NULL, "cpu", "idle")),
	.run = daemon_run,
};
