/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dcqcn.h - the rate of a sender by DCQCN (Zhu et al., SIGCOMM 2015): its reaction point (RP).
 *
 * Owns the rate of one QP. In: time, bytes sent, CNPs of the notification point (NP), which is the
 * receiver. Out: bits per second. Pure: no clock; the endpoint's thread.
 *
 * A CNP cuts the rate by alpha / 2, alpha being the share of recent intervals that had one. Then
 * the rate rises at each expiry of a timer and of a byte counter: at first half the distance to the
 * rate before the cut (fast recovery), after F expiries of either the target itself rises by Rai,
 * and after more than F of both by multiples of Rhai. The first CNP starts all that; until then the
 * rate is the line's.
 */
#ifndef DCQCN_H
#define DCQCN_H

#include <stdbool.h>
#include <stdint.h>

struct qp_dcqcn;

struct dcqcn_config {
	double line_bps, min_bps;
	double rai_bps, rhai_bps; /* additive and hyper increase */
	double g;		  /* gain of alpha */
	uint64_t alpha_ns;	  /* without a CNP for so long alpha falls */
	uint64_t timer_ns, bytes; /* between increases */
	unsigned f;		  /* expiries until fast recovery ends */
	uint64_t cnp_ns;	  /* the notification point sends no CNP sooner after one */
};

struct dcqcn {
	struct dcqcn_config config;
	double rate_bps, target_bps, alpha;
	uint64_t alpha_from_ns, timer_from_ns, bytes; /* since when, or how many, to the next one */
	unsigned n_timer, n_bytes;		      /* expiries since the last CNP */
	bool is_started;			      /* by the first CNP */
};

/*
 * The published values for 40 Gb/s. Rates are in proportion to the line; intervals too, on slower
 * ones: as many packets pass in each.
 */
struct dcqcn_config dcqcn_published(double line_bps);
/* The same with what a group asks for instead (provider.h). */
struct dcqcn_config dcqcn_tuned(double line_bps, const struct qp_dcqcn *tuning);
/* The name of a field that is out of its range; NULL: none is. */
const char *dcqcn_wrong(const struct qp_dcqcn *tuning);
void dcqcn_init(struct dcqcn *d, const struct dcqcn_config *config);
/* It is now_ns; so many bytes were sent since the last call. */
void dcqcn_advance(struct dcqcn *d, uint64_t now_ns, uint64_t bytes);
/* A CNP arrived; dcqcn_advance() was called for that time. */
void dcqcn_cnp(struct dcqcn *d, uint64_t now_ns);

#endif
