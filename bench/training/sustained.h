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
/* The rows MMR and JFI, of the leaves' uplinks, between two answers of `farelab counters --json`
 * (NULL where there are no labs or no uplinks, which the rows say). -EBADMSG, -ENOMEM. */
int sustained_uplinks(struct trial *t, const char *from, const char *to);

/* What section 4 of the draft lists beside the series of 12.1. */
#define SUSTAINED_SECTION_4                                                                        \
	KPI("JCT", "ms", "SUT-E", "of an all-reduce, mean", BETTER_LOWER, 0),                      \
		KPI("JCT_alltoall", "ms", "SUT-E", "of an all-to-all, mean", BETTER_LOWER, 0),     \
		KPI("Aggregate_throughput", "Gb/s", "DUT-F",                                       \
		    "payload that all ranks sent in both collectives", BETTER_HIGHER, 0),          \
		KPI("Latency", "us", "DUT-F",                                                      \
		    "one way, of small packets beside the collectives, 8 flows by the kernel's "   \
		    "routes, until the receiver has read them",                                    \
		    BETTER_LOWER, 1e-3),                                                           \
		KPI("Queue_depth", "KiB", "DUT-S", "of each port, now and then", BETTER_LOWER,     \
		    1. / 1024),                                                                    \
		KPI("MMR", "", "DUT-F", "a leaf's busiest uplink over the leaf's mean, by bytes",  \
		    BETTER_LOWER, 0),                                                              \
		KPI("JFI", "", "DUT-F", "of a leaf's uplinks, by bytes, 1 is even", BETTER_HIGHER, \
		    0),                                                                            \
		KPI("Sub_port_MMR", "", "DUT-F",                                                   \
		    "busiest live sub-port of GPUs over the mean of all, bytes sent",              \
		    BETTER_LOWER, 0),                                                              \
		KPI("Sub_port_JFI", "", "DUT-F", "of the GPUs' live sub-ports, 1 is even",         \
		    BETTER_HIGHER, 0),                                                             \
		KPI("Load_share", "%", "",                                                         \
		    "of a sample: the collectives' iterations over the time from its first "       \
		    "counter to its last; between samples nothing is sent",                        \
		    BETTER_NONE, 0),                                                               \
		KPI("PFC_pause", "ms", "DUT-S", "of the port that was paused for longest",         \
		    BETTER_LOWER, 0),                                                              \
		KPI("Retransmissions", "1/s", "DUT-N", "of NICs", BETTER_LOWER, 0),                \
		KPI("Out_of_order", "1/s", "DUT-N", "packets", BETTER_LOWER, 0),                   \
		KPI("ACK_delay", "us", "DUT-N", "of control messages", BETTER_LOWER, 0),           \
		KPI("CC_convergence", "us", "DUT-F", "of congestion control", BETTER_LOWER, 0),    \
		KPI("Route_convergence", "ms", "DUT-F", "after a change of the topology",          \
		    BETTER_LOWER, 0),                                                              \
		KPI("CRC_errors", "1/s", "DUT-S", "of links", BETTER_LOWER, 0),                    \
		KPI("Power", "W", "DUT-S", "of a switch", BETTER_LOWER, 0)

#define SUSTAINED_KPIS                                                                             \
	KPI_AT_S,                                                                                  \
		KPI("JCT_ratio", "", "SUT-E",                                                      \
		    "both collectives' time over that of their bytes at line rate", BETTER_LOWER,  \
		    0),                                                                            \
		KPI("BusBW", "Gb/s", "DUT-F", "of the all-reduce", BETTER_HIGHER, 0),              \
		KPI("BusBW_alltoall", "Gb/s", "DUT-F", "of the all-to-all", BETTER_HIGHER, 0),     \
		KPI_MARKS, KPI_PAUSES, SUSTAINED_SECTION_4,                                        \
		KPI("CPU", "%", "DUT-S", "of a core, daemons of the busiest switch", BETTER_LOWER, \
		    0),                                                                            \
		KPI("Memory", "MiB", "DUT-S", "resident, daemons of the largest switch",           \
		    BETTER_LOWER, 0),                                                              \
		KPI("Link_transitions", "", "DUT-F",                                               \
		    "of the carrier of any sub-port, or link between switches; none is ordered",   \
		    BETTER_LOWER, 0),                                                              \
		KPI("Daemons_ended", "", "DUT-F", "of servers and switches, started anew or not",  \
		    BETTER_LOWER, 0),                                                              \
		KPI("Counter_wraps", "", "DUT-S", "counters of devices that became smaller",       \
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
