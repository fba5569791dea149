/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sustained.h - a sample of section 12: an all-reduce, then an all-to-all.
 *
 * Owns: nothing. In: a trial with "size" and "ranks"; out: its KPIs. Thread: the coordinator's.
 */
#ifndef SUSTAINED_H
#define SUSTAINED_H

#include "suite/kpis.h"
#include "suite/trial.h"
#include "training/common.h"

/* "at_s", and the KPIs below; half of the trial's seconds each. 1: this machine or lab cannot,
 * which the rows say; -errno. */
int sustained_sample(struct trial *t);

#define SUSTAINED_KPIS                                                                             \
	KPI_AT_S,                                                                                  \
		KPI("JCT_ratio", "", "SUT-E",                                                      \
		    "both collectives' time over that of their bytes at line rate", BETTER_LOWER,  \
		    0),                                                                            \
		KPI("BusBW", "Gb/s", "DUT-F", "of the all-reduce", BETTER_HIGHER, 0),              \
		KPI("BusBW_alltoall", "Gb/s", "DUT-F", "of the all-to-all", BETTER_HIGHER, 0),     \
		KPI_MARKS, KPI_PAUSES,                                                             \
		KPI("CPU", "%", "DUT-S", "of a core, daemons of the busiest switch", BETTER_LOWER, \
		    0),                                                                            \
		KPI("Memory", "MiB", "DUT-S", "resident, daemons of the largest switch",           \
		    BETTER_LOWER, 0),                                                              \
		KPI("Link_transitions", "", "DUT-F",                                               \
		    "of the carrier of any sub-port, or link between switches; none is ordered",   \
		    BETTER_LOWER, 0),                                                              \
		KPI("Links_unused", "", "DUT-F",                                                   \
		    "live sub-ports that sent less than a tenth of the mean of all", BETTER_LOWER, \
		    0),                                                                            \
		KPI_DROPS, TRAINING_LINKS

#define SUSTAINED_PARAMS                                                                           \
	PARAM("size", PARAM_BYTES, "bytes", "of each rank's vector", "1M", "8M", "1G"),            \
		PARAM("ranks", PARAM_COUNT, "accelerators", "a rank on each GPU", "4", "4",        \
		      "1024")

#endif
