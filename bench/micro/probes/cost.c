/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cost.c - the CPU time of probing, and how long a plane that falls silent goes unnoticed.
 */
#include <errno.h>
#include <stdio.h>

#include "core/stats.h"
#include "micro/probes/probes.h"
#include "suite/trial.h"

static int load_of(const struct trial *t, struct probes_load *load)
{
	double peers = trial_number(t, "peers"), active = trial_number(t, "active");

	if (peers < 1 || peers > PROBES_MAX_PEERS || active < 0 || active > peers) {
		fprintf(stderr,
			"farebench: probes-cost: peers=%s active=%s: up to %u peers are expected, "
			"and no more active ones\n",
			trial_text(t, "peers"), trial_text(t, "active"), PROBES_MAX_PEERS);
		return -EINVAL;
	}
	*load = (struct probes_load){(uint32_t)peers, (uint32_t)active, t->seconds};
	return 0;
}

static int cost_run(struct trial *t)
{
	static struct probes_found found;
	struct probes_sample s;
	struct stats_summary ms;
	struct probes_load load;
	int err = load_of(t, &load);

	if (!err)
		err = probes_load_run(&load, &s, &found);
	if (!err)
		err = stats_summarise(found.ms, found.n_paths, &ms);
	if (err)
		return err;
	trial_value(t, "cpu", s.cpu_percent, 1);
	trial_value(t, "per_session", s.cpu_percent / (load.n_peers * PROBES_PLANES), 1);
	trial_value(t, "sent", s.sent_per_s, 1);
	trial_value(t, "answered", s.answered_per_s, 1);
	trial_value(t, "reflected", s.reflected_per_s, 1);
	trial_value(t, "lost", (double)s.lost, 1);
	trial_value(t, "late", (double)s.late, 1);
	trial_value(t, "downs", (double)s.downs, 1);
	trial_value(t, "found", found.n, found.n_paths);
	trial_value(t, "found_p50", ms.median, found.n_paths);
	trial_value(t, "found_max", ms.max, found.n_paths);
	return 0;
}

const struct test test_probes_cost = {
	.id = "probes-cost",
	.name = "CPU time of probing",
	.clause = "RFC 7880",
	.dut = "fared",
	.summary = "One process probes all peers over each plane and answers as many probes of "
		   "theirs. At the end the peers fall silent over one plane. " PROBES_REAL,
	.no_strategies = true,
	.no_fabric = true,
	.trials = {3, 5, 10},
	.seconds = {5, 5, 10},
	.params = PARAMS(PARAM("peers", PARAM_COUNT, "", "probed over each of 4 planes", "63,1023"),
			 PARAM("active", PARAM_COUNT, "",
			       "of them: probed every 10 ms, as those with traffic are; the others "
			       "once a second",
			       "63")),
	.kpis = KPIS(
		{"cpu", "%", "prober", "user and system time, of one core", BETTER_LOWER, 0},
		{"per_session", "%", "prober", "the same for each peer and plane", BETTER_LOWER, 0},
		{"sent", "/s", "prober", "probes", BETTER_NONE, 0},
		{"answered", "/s", "prober", "probes", BETTER_NONE, 0},
		{"reflected", "/s", "prober", "probes of the peers", BETTER_NONE, 0},
		{"lost", "", "prober", "probes", BETTER_LOWER, 0},
		{"late", "", "prober", "timers that were late", BETTER_LOWER, 0},
		{"downs", "", "prober", "paths that went down though nothing was broken",
		 BETTER_LOWER, 0},
		{"found", "", "prober",
		 "paths of a plane that fell silent that went down within 3 s", BETTER_HIGHER, 0},
		{"found_p50", "ms", "prober", "from the silence until half of them were down",
		 BETTER_LOWER, 0},
		{"found_max", "ms", "prober", "until all were; 3000: not all were", BETTER_LOWER,
		 0}),
	.views = VIEWS(VIEW(VIEW_BARS, "CPU time of probing", "peers", "active", NULL, "cpu"),
		       VIEW(VIEW_TABLE, "Probing", "peers", "active", NULL, "cpu", "per_session",
			    "sent", "answered", "reflected", "lost", "late", "downs"),
		       VIEW(VIEW_TABLE, "A plane falls silent", "peers", "active", NULL, "found",
			    "found_p50", "found_max")),
	.run = cost_run,
};
