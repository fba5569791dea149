/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * most.c - how many sessions one core carries.
 */
#include <stdio.h>

#include "micro/probes/probes.h"
#include "suite/trial.h"

#define FIRST_PEERS 126u
#define FULL	    97. /* a core that busy is full, and ... */
/* ... a prober that sends less than that part of what it should does not keep up */
#define KEEPS_UP 0.95

static bool keeps_up(uint32_t n_peers, const struct probes_sample *s)
{
	/* probes, were they a whole interval apart */
	double wanted_per_s = n_peers * PROBES_PLANES * 1000. / PROBES_INTERVAL_MS;

	return s->cpu_percent < FULL && s->answered_per_s >= KEEPS_UP * wanted_per_s &&
	       s->reflected_per_s >= KEEPS_UP * wanted_per_s;
}

static void add_step(struct trial *t, uint32_t n_peers, const struct probes_sample *s)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", n_peers * PROBES_PLANES);
	trial_with(t, "sessions", text);
	trial_value(t, "cpu", s->cpu_percent, 1);
	trial_value(t, "answered", s->answered_per_s, 1);
	trial_with(t, NULL, NULL);
}

/* Ever more, until the core is full or the prober falls behind: the last before that. */
static int most_run(struct trial *t)
{
	static struct probes_found found;
	uint32_t most = 0;

	for (uint32_t n = FIRST_PEERS; n <= PROBES_MAX_PEERS; n = n * 5 / 4) {
		const struct probes_load load = {n, n, t->seconds};
		struct probes_sample sample;
		int err = probes_load_run(&load, &sample, &found);

		if (err)
			return err;
		add_step(t, n, &sample);
		if (!keeps_up(n, &sample))
			break;
		most = n * PROBES_PLANES;
	}
	trial_value(t, "most", most, 1);
	return 0;
}

const struct test test_probes_most = {
	.id = "probes-most",
	.name = "Sessions that one core carries",
	.clause = "RFC 7880",
	.dut = "fared",
	.summary = "Ever more peers over 4 planes at 10 ms, a quarter more each time, until the "
		   "core is full or the prober falls behind. " PROBES_REAL,
	.no_strategies = true,
	.no_fabric = true,
	.trials = {1, 3, 5},
	.seconds = {5, 5, 10},
	.kpis = KPIS({"most", "", "prober", "sessions (peers x planes) at 10 ms", BETTER_HIGHER, 0},
		     {"cpu", "%", "prober", "user and system time, of one core", BETTER_NONE, 0},
		     {"answered", "/s", "prober", "probes", BETTER_NONE, 0}),
	.views = VIEWS(VIEW(VIEW_TABLE, "Sessions that one core carries", NULL, NULL, NULL, "most"),
		       VIEW(VIEW_LINES, "CPU time by sessions", "sessions", NULL, NULL, "cpu")),
	.run = most_run,
};
