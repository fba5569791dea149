/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * simulated.h - what a trial's collective would do at its number of ranks on a simulated fabric.
 *
 * Owns: the KPIs that begin with KPI_SIMULATED, and the fabric that is simulated: planes of two
 * tiers that do not block, 8 ranks at a leaf and 8 spines, each sub-port of the lab's GPU a plane
 * of its own, at its rate less headers. Measured KPIs have other names, so nothing averages both.
 * In: a trial; out: rows. Thread: the coordinator's.
 */
#ifndef SIMULATED_H
#define SIMULATED_H

#include "simfab/simfab.h"
#include "suite/trial.h"

#define SIMULATED_LEAF_RANKS 8

/* What a trial cannot measure is simulated all the same, where ranks are at more than one leaf.
 * compute_s: of an iteration, before the collective; NaN: it goes on meanwhile, and what the
 * iteration takes is not simulated. */
void simulated_add(struct trial *t, enum collective c, unsigned ranks, uint64_t bytes,
		   double compute_s);

/* The balance of uplinks, where a server of each leaf sends as much by each QP to one of the next
 * leaf, by a hash over as many spines as the lab's plane has. Of BALANCE_BASE alone: what fields
 * another mode of the leaves hashes changes no draw. */
void simulated_add_leaves(struct trial *t, unsigned leaves, unsigned qps, const char *mode);

#define SIMULATED_KPI(of, unit, means, better)                                                     \
	KPI(KPI_SIMULATED of, unit, "DUT-F", "simulated: " means, better, 0)
#define SIMULATED_KPIS                                                                             \
	SIMULATED_KPI("BusBW", "Gb/s", "ranks in their order at leaves", BETTER_HIGHER),           \
		SIMULATED_KPI("BusBW_scattered", "Gb/s", "ranks at leaves by chance",              \
			      BETTER_HIGHER),                                                      \
		SIMULATED_KPI("JCT_ratio", "", "time of an iteration over that at line rate",      \
			      BETTER_LOWER),                                                       \
		SIMULATED_KPI("JCT_ratio_scattered", "", "the same, ranks at leaves by chance",    \
			      BETTER_LOWER),                                                       \
		SIMULATED_KPI("uplinks_JFI", "", "of a leaf's uplinks, ranks at leaves by chance", \
			      BETTER_HIGHER),                                                      \
		SIMULATED_KPI("uplinks_MMR", "",                                                   \
			      "busiest uplink over the leaf's mean, ranks at leaves by chance",    \
			      BETTER_LOWER)
#define SIMULATED_VIEW(panel)                                                                      \
	VIEW(VIEW_TABLE, "Simulated, not measured: fluid, planes of two tiers, 8 ranks at a leaf", \
	     "ranks", "strategy", panel, KPI_SIMULATED "BusBW", KPI_SIMULATED "BusBW_scattered",   \
	     KPI_SIMULATED "JCT_ratio", KPI_SIMULATED "JCT_ratio_scattered",                       \
	     KPI_SIMULATED "uplinks_JFI", KPI_SIMULATED "uplinks_MMR")

#endif
