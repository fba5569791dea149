/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kpis.h - KPIs and parameters that several tests declare, by their names of section 4 of the
 * methodology.
 */
#ifndef KPIS_H
#define KPIS_H

#include "suite/test.h"

#define DRAFT "draft-calabria-bmwg-ai-fabric-inference-bench-02, "
/* Of a test of that draft: its number is that of its clause. */
#define INFERENCE_CLAUSE(number) .id = number, .clause = DRAFT number

#define KPI_TTFT KPI("TTFT", "ms", "SUT-E", "from arrival to the first token", BETTER_LOWER, 1e-6)
/* All requests of all batches share a step: the tests name it as correlated. */
#define KPI_ITL KPI("ITL", "ms", "SUT-E", "between a request's tokens", BETTER_LOWER, 1e-6)
#define KPI_E2E                                                                                    \
	KPI("E2E_latency", "ms", "SUT-E", "from arrival to the last token", BETTER_LOWER, 1e-6)
#define KPI_T_PREFILL                                                                              \
	KPI("T_prefill", "ms", "SUT-E", "waiting for prefill, and its emulated compute",           \
	    BETTER_LOWER, 1e-6)
#define KPI_T_TRANSFER                                                                             \
	KPI("T_transfer", "ms", "DUT-PD",                                                          \
	    "from the end of prefill to the arrival of the whole cache", BETTER_LOWER, 1e-6)
#define KPI_T_DECODE_INIT                                                                          \
	KPI("T_decode_init", "ms", "SUT-E", "from the cache's arrival to the first token",         \
	    BETTER_LOWER, 1e-6)
#define KPI_FABRIC_FRACTION                                                                        \
	KPI("fabric_fraction", "", "DUT-PD", "T_transfer over TTFT, sums over the same requests",  \
	    BETTER_LOWER, 0)
#define KPI_KV_LATENCY                                                                             \
	KPI("KV_xfer_latency", "us", "DUT-N",                                                      \
	    "from when a block was due until its receiver was notified", BETTER_LOWER, 1e-3)
#define KPI_KV_BANDWIDTH                                                                           \
	KPI("KV_xfer_bandwidth", "MB/s", "DUT-N", "payload acknowledged", BETTER_HIGHER, 0)
#define KPI_OF_LINE                                                                                \
	KPI("of_line", "%", "DUT-F", "share of what the links can carry as payload",               \
	    BETTER_HIGHER, 0)
#define KPI_LINE KPI("line", "MB/s", "DUT-F", "what the links can carry as payload", BETTER_NONE, 0)
#define KPI_EP_LATENCY                                                                             \
	KPI("EP_alltoall_latency", "us", "DUT-F",                                                  \
	    "from the first GPU's first post to the last GPU's last arrival", BETTER_LOWER, 1e-3)
/* Of tests with PARAM_STRETCH. */
#define KPI_EP_LATENCY_STRETCHED                                                                   \
	KPI("EP_alltoall_latency", "us", "DUT-F",                                                  \
	    "from the first GPU's first post to the last GPU's last arrival, of `stretch` times "  \
	    "the bytes: divide it by `stretch` for the draft's dispatch where of_line is near "    \
	    "100%; where it is low, hosts bound it, and divided it is no time of the fabric",      \
	    BETTER_LOWER, 1e-3)
#define KPI_EP_BANDWIDTH                                                                           \
	KPI("EP_alltoall_bandwidth", "MB/s", "DUT-F", "payload of all GPUs", BETTER_HIGHER, 0)
/* Of section 7, as -05 of the draft asks; both of the scaled payload. */
#define KPI_VOLUME                                                                                 \
	KPI("T_egress", "KB", "DUT-PD", "payload of a dispatch that leaves a GPU, mean",           \
	    BETTER_NONE, 0),                                                                       \
		KPI("S_fabric", "KB", "DUT-F",                                                     \
		    "of these, what goes to other servers: by the seeded routing and the "         \
		    "placement "                                                                   \
		    "of GPUs, each byte once",                                                     \
		    BETTER_NONE, 0)
#define KPI_TPS_OUTPUT                                                                             \
	KPI("TPS_output", "tokens/s", "SUT-E", "output tokens of all workers", BETTER_HIGHER, 0)
#define KPI_TPS_PER_GPU                                                                            \
	KPI("TPS_per_GPU", "tokens/s", "SUT-E", "TPS_output over the GPUs that decode",            \
	    BETTER_HIGHER, 0)
#define KPI_TTFT_FABRIC                                                                            \
	KPI("TTFT_fabric", "ms", "DUT-PD", "the fabric's part of TTFT: T_transfer", BETTER_LOWER,  \
	    1e-6)
#define KPI_ITL_FABRIC                                                                             \
	KPI("ITL_fabric", "ms", "DUT-F",                                                           \
	    "the fabric's part of ITL: dispatch and combine of a decode step", BETTER_LOWER, 1e-6)
#define KPI_KV_BW                                                                                  \
	KPI("KV_BW", "MB/s", "DUT-PD",                                                             \
	    "payload of caches, both pools together: a part of fabric_bandwidth, in the same "     \
	    "time",                                                                                \
	    BETTER_NONE, 0)
#define KPI_UNFINISHED                                                                             \
	KPI("unfinished", "%", "SUT-E", "requests without a token when the trial ended",           \
	    BETTER_LOWER, 0)
/* Section 14: request arrival rate, number of concurrent requests. */
#define KPI_OFFERED                                                                                \
	KPI("Offered_rate", "req/s", "SUT-E", "at which requests came; 0: one at a time",          \
	    BETTER_NONE, 0),                                                                       \
		KPI("Concurrent_requests", "", "SUT-E",                                            \
		    "that had come and not ended, mean over the trial", BETTER_NONE, 0)
/* What must come out on an ideal fabric (procedure/ideal.h), and what did, over it. */
#define KPI_MODEL(of, in)                                                                          \
	KPI("model", in, "", of " on an ideal fabric, computed", BETTER_NONE, 0),                  \
		KPI("model_ratio", "", "", of ", measured over the model", BETTER_NONE, 0)
#define KPI_MARKS                                                                                  \
	KPI("ECN_marking_rate", "%", "DUT-S", "packets to GPUs that left their leaves with CE",    \
	    BETTER_NONE, 0)
/* Where the draft asks for events and not for a share. */
#define KPI_MARKED                                                                                 \
	KPI("ECN_marks", "packets", "DUT-S", "those of ECN_marking_rate, counted", BETTER_NONE, 0)
#define KPI_PAUSES                                                                                 \
	KPI("PFC_frame_count", "frames", "DUT-S",                                                  \
	    "pause frames of a lab's ports, or of switches and NICs that count them",              \
	    BETTER_LOWER, 0)
#define KPI_STORMS KPI("PFC_storms", "", "DUT-S", "pauses that the watchdog ended", BETTER_LOWER, 0)
#define KPI_TPS_INPUT                                                                              \
	KPI("TPS_input", "tokens/s", "SUT-E", "prompt tokens of all workers", BETTER_HIGHER, 0)
#define KPI_GOODPUT                                                                                \
	KPI("Inference_Goodput", "tokens/s", "SUT-E",                                              \
	    "output tokens of requests that were never preempted, evicted from or failed",         \
	    BETTER_HIGHER, 0)
#define KPI_FABRIC_BW                                                                              \
	KPI("fabric_bandwidth", "MB/s", "DUT-F",                                                   \
	    "Fabric_Goodput of the terminology: payload of all traffic, each byte once",           \
	    BETTER_NONE, 0)
#define KPI_LINK_USE                                                                               \
	KPI("Link_utilization", "%", "DUT-F", "payload of all traffic over all GPUs' lines",       \
	    BETTER_NONE, 0)
#define KPI_JFI KPI("JFI", "", "DUT-F", "Jain's fairness index, 1 is even", BETTER_HIGHER, 0)
#define KPI_DROPS                                                                                  \
	KPI("Packet_drop_rate", "ppm", "DUT-F", "dropped by any queue of the lab, or hosts' NICs", \
	    BETTER_LOWER, 0)
#define KPI_AT_S KPI("at_s", "s", "", "when the sample began", BETTER_NONE, 0)
#define KPI_SOAK_LENGTH                                                                            \
	KPI("soak_length", "s", "", "from the begin of the first sample to the end of the last",   \
	    BETTER_NONE, 0)
/* Of a load that is a share of a bound: is it one? */
#define KPI_OBJECTIVES                                                                             \
	KPI("Objectives", "", "SUT-E",                                                             \
	    "of 11.1, TTFT P99 500 ms and ITL P99 50 ms, judged as there, by the requests of a "   \
	    "sample",                                                                              \
	    BETTER_NONE, 0)
#define KPI_TTFT_JUDGED                                                                            \
	KPI("TTFT_judged", "ms", "SUT-E",                                                          \
	    "the P99 that is judged: of fewer than 300 requests next to the largest, between the " \
	    "two largest",                                                                         \
	    BETTER_LOWER, 0)
#define KPI_TTFT_P99                                                                               \
	KPI("TTFT_p99", "ms", "SUT-E", "P99 of a sample that carries one", BETTER_LOWER, 0)
#define KPI_TTFT_MEDIAN KPI("TTFT_median", "ms", "SUT-E", "median of a sample", BETTER_LOWER, 0)
#define KPI_FLAPS                                                                                  \
	KPI("flaps", "", "DUT-S", "BGP sessions of leaves that have ended", BETTER_LOWER, 0)
#define KPI_SWITCH_LOAD                                                                            \
	KPI("Switch_CPU", "%", "DUT-S", "of a core: daemons of the busiest switch, meanwhile",     \
	    BETTER_LOWER, 0),                                                                      \
		KPI("Switch_memory", "MiB", "DUT-S", "resident: daemons of the largest switch",    \
		    BETTER_LOWER, 0)
#define KPI_RETRANSMISSIONS                                                                        \
	KPI("retransmissions", "packets", "DUT-N", "by the sending QPs", BETTER_LOWER, 0)

/* A lab's hosts take longer for a message than its links for the bytes of a scaled dispatch. */
#define PARAM_STRETCH                                                                              \
	PARAM("stretch", PARAM_COUNT, "",                                                          \
	      "times the bytes of a dispatch that the scale gives: its times are so much longer",  \
	      "8", NULL, "1")

/* Who moves a KV block: not to be confused with ecmp-pull, whose QPs pull chunks of a write. */
#define PARAM_VERB                                                                                 \
	PARAM("verb", PARAM_NAME, "",                                                              \
	      "write: the prefill GPU writes a block (push); read: the decode GPU reads it once "  \
	      "it is offered (pull)",                                                              \
	      "write", "write,read", "write")

#endif
