/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bfdd.c - the CPU time of FRR's bfdd for as many sessions as probing 63 peers over 4 planes.
 */
#include <errno.h>

#include "micro/probes/probes.h"
#include "suite/trial.h"

#define SESSIONS (63 * PROBES_PLANES) /* as probes-cost has with 63 peers */

static void close_bfdd(void *state)
{
	probes_bfdd_close(state);
}

/* One daemon for all trials: it takes long to bring its sessions up. */
static int bfdd_run(struct trial *t)
{
	struct probes_bfdd_sample s;
	struct probes_bfdd *bfdd = *t->state;
	int err = 0;

	if (!bfdd)
		err = probes_bfdd_open(&bfdd, SESSIONS);
	if (err == -ENOENT) {
		trial_missing(t, NULL, "FRR's bfdd is not installed");
		return 0;
	}
	if (err)
		return err;
	*t->state = bfdd;
	probes_bfdd_measure(bfdd, t->seconds, &s);
	trial_value(t, "up", s.n_up, 1);
	if (s.n_up < SESSIONS) {
		trial_missing(t, "cpu", "bfdd holds only %u of them", s.n_up);
		return 0;
	}
	trial_value(t, "cpu", s.cpu_percent, 1);
	trial_value(t, "per_session", s.cpu_percent / SESSIONS, 1);
	trial_value(t, "sent", s.packets_per_s, 1);
	return 0;
}

const struct test test_probes_bfdd = {
	.id = "probes-bfdd",
	.name = "CPU time of FRR's bfdd",
	.clause = "RFC 5880",
	.dut = "bfdd",
	.summary =
		"252 multihop sessions at 10 ms, for comparison with 63 peers of probes-cost. The "
		"loop of FRR 8.4 spins while a timer is due within the millisecond: it takes "
		"nearly the whole core from some 30 sessions on, and at 500 no more. " PROBES_REAL,
	.no_strategies = true,
	.no_fabric = true,
	.trials = {3, 5, 10},
	.seconds = {5, 5, 10},
	.kpis = KPIS({"cpu", "%", "bfdd", "user and system time, of one core", BETTER_LOWER, 0},
		     {"per_session", "%", "bfdd", "the same for each session", BETTER_LOWER, 0},
		     {"sent", "/s", "bfdd", "packets", BETTER_NONE, 0},
		     {"up", "", "bfdd", "sessions, at the end", BETTER_HIGHER, 0}),
	.views = VIEWS(VIEW(VIEW_TABLE, "FRR's bfdd", NULL, NULL, NULL, "cpu", "per_session",
			    "sent", "up")),
	.run = bfdd_run,
	.close = close_bfdd,
};
