/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dispatch.h - the all-to-all of section 7: one group of GPUs, round after round.
 *
 * Owns: nothing. Thread: the coordinator's.
 */
#ifndef DISPATCH_H
#define DISPATCH_H

#include "suite/trial.h"

struct dispatch {
	const char *config; /* M1 .. M4 */
	unsigned ep, batch;
	unsigned qps; /* of a pair; 0: one per sub-port */
	enum moe_routing routing;
	double skew;
	bool padded, combine;
	bool modelled;	  /* its bandwidth is what the trial's model is of */
	unsigned stretch; /* so many times the bytes that the scale gives; 0: 1 */
	double period_s;  /* a round begins so often; 0: when the one before has ended */
};

/* Why this fabric cannot, into reason; false: it can. */
bool dispatch_cannot(const struct trial *t, const struct dispatch *d, char *reason, size_t size);
/* Adds the load and its streams; moe stays in use until the plan has run. Returns the load. */
unsigned dispatch_plan(const struct trial *t, const struct dispatch *d, struct plan *plan,
		       struct moe *moe);
/* What its rounds carry, between servers and inside them. */
struct moe_spread dispatch_spread(const struct trial *t, const struct dispatch *d,
				  const struct moe *moe);
/*
 * Bytes a second of its rounds, one after the other, on an ideal fabric with hosts that cost no
 * time: of each round of a period the busiest cut over its rate, and the latency of an unloaded
 * fabric. NaN: no memory. Of topo, d and moe alone, whatever was measured.
 */
double dispatch_ideal_bytes_per_s(const struct topo *topo, const struct dispatch *d,
				  const struct moe *moe);
/*
 * Of rounds that are due a period apart: the share of those due within [from_ns, to_ns) that had
 * not ended by to_ns, from 0 to 1. Pure.
 */
double dispatch_unfinished(const struct measured_load *ep, double period_s, uint64_t from_ns,
			   uint64_t to_ns);
/* The rows T_egress and S_fabric of a test that declares them. */
void dispatch_add_volume(struct trial *t, const struct dispatch *d, const struct moe *moe);
/* The rows of those KPIs of a dispatch that the test declares; d->ep GPUs took part. */
void dispatch_add(struct trial *t, const struct dispatch *d, const struct moe *moe,
		  const struct measured_load *ep);
/* Runs it alone and adds latency, bandwidth and what GPUs wait; -errno. */
int dispatch_run(struct trial *t, const struct dispatch *d);

#endif
