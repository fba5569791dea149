/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/arrivals.h"

#include <errno.h>
#include <string.h>

#include "core/rng.h"

static const char *const arrival_names[ARRIVAL_COUNT] = {
	[ARRIVAL_CLOSED] = "closed", [ARRIVAL_EVEN] = "even",	    [ARRIVAL_POISSON] = "poisson",
	[ARRIVAL_BURST] = "burst",   [ARRIVAL_COMMAND] = "command",
};

const char *arrival_name(enum arrival_law law)
{
	return law < ARRIVAL_COUNT ? arrival_names[law] : "?";
}

int arrival_parse(const char *name)
{
	for (int i = 0; name && i < ARRIVAL_COUNT; i++)
		if (strcmp(arrival_names[i], name) == 0)
			return i;
	return -ENOENT;
}

bool arrival_is_open(enum arrival_law law)
{
	return law == ARRIVAL_EVEN || law == ARRIVAL_POISSON || law == ARRIVAL_BURST;
}

static double arrivals_distance(struct arrivals *a)
{
	if (a->law == ARRIVAL_EVEN)
		return a->mean_ns;
	return rng_exponential(&a->random) * a->mean_ns;
}

static void arrivals_burst(struct arrivals *a, double began_ns)
{
	a->burst_ns = began_ns;
	a->next_ns = began_ns + rng_uniform(&a->random) * a->spread_ns;
}

void arrivals_start(struct arrivals *a, uint64_t now_ns)
{
	a->next_ns = (double)now_ns;
	if (a->law == ARRIVAL_EVEN)
		a->next_ns += rng_uniform(&a->random) * a->mean_ns;
	else if (a->law == ARRIVAL_POISSON)
		a->next_ns += arrivals_distance(a);
	else if (a->law == ARRIVAL_BURST)
		arrivals_burst(a, (double)now_ns);
}

void arrivals_take(struct arrivals *a)
{
	if (a->law == ARRIVAL_EVEN || a->law == ARRIVAL_POISSON)
		a->next_ns += arrivals_distance(a);
	else if (a->law == ARRIVAL_BURST)
		arrivals_burst(a, a->burst_ns + a->mean_ns);
}
