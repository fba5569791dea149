/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * common.h - what several tests of the methodology share: KPIs by their names of section 4, links
 * of the fabric, a service of the usual shape.
 *
 * Owns: nothing. Thread: the coordinator's.
 */
#ifndef COMMON_H
#define COMMON_H

#include "suite/derive.h"
#include "suite/trial.h"
#include "workload/serving.h"

#define DRAFT "draft-calabria-bmwg-ai-fabric-inference-bench-02, "

#define KPI_TTFT KPI("TTFT", "ms", "SUT-E", "from arrival to the first token", BETTER_LOWER, 1e-6)
#define KPI_ITL	 KPI("ITL", "ms", "SUT-E", "between a request's tokens", BETTER_LOWER, 1e-6)
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
	KPI("fabric_fraction", "", "DUT-PD", "mean T_transfer over mean TTFT", BETTER_LOWER, 0)
#define KPI_KV_LATENCY                                                                             \
	KPI("KV_xfer_latency", "us", "DUT-N",                                                      \
	    "from when a block was due until its receiver was told", BETTER_LOWER, 1e-3)
#define KPI_KV_BANDWIDTH                                                                           \
	KPI("KV_xfer_bandwidth", "MB/s", "DUT-N", "payload acknowledged", BETTER_HIGHER, 0)
#define KPI_OF_LINE                                                                                \
	KPI("of_line", "%", "DUT-F", "share of what the links can carry as payload",               \
	    BETTER_HIGHER, 0)
#define KPI_LINE KPI("line", "MB/s", "DUT-F", "what the links can carry as payload", BETTER_NONE, 0)
#define KPI_EP_LATENCY                                                                             \
	KPI("EP_alltoall_latency", "us", "DUT-F",                                                  \
	    "from the first GPU's first post to the last GPU's last arrival", BETTER_LOWER, 1e-3)
#define KPI_EP_BANDWIDTH                                                                           \
	KPI("EP_alltoall_bandwidth", "MB/s", "DUT-F", "payload of all GPUs", BETTER_HIGHER, 0)
#define KPI_TPS_OUTPUT                                                                             \
	KPI("TPS_output", "tokens/s", "SUT-E", "output tokens of all workers", BETTER_HIGHER, 0)
#define KPI_TPS_INPUT                                                                              \
	KPI("TPS_input", "tokens/s", "SUT-E", "prompt tokens of all workers", BETTER_HIGHER, 0)
#define KPI_GOODPUT                                                                                \
	KPI("Goodput", "tokens/s", "SUT-E",                                                        \
	    "output tokens of requests within TTFT 500 ms and ITL 50 ms", BETTER_HIGHER, 0)
#define KPI_FABRIC_BW                                                                              \
	KPI("fabric_bandwidth", "MB/s", "DUT-F", "payload of all traffic", BETTER_NONE, 0)
#define KPI_JFI KPI("JFI", "", "DUT-F", "Jain's fairness index, 1 is even", BETTER_HIGHER, 0)
#define KPI_DROPS                                                                                  \
	KPI("Packet_drop_rate", "ppm", "DUT-F", "dropped by the servers' interfaces",              \
	    BETTER_LOWER, 0)
#define KPI_NOT(name, unit, what) KPI(name, unit, "DUT-S", what, BETTER_NONE, 0)

/* Who moves a KV block: not to be confused with ecmp-pull, whose QPs pull chunks of a write. */
#define PARAM_VERB                                                                                 \
	PARAM("verb", PARAM_NAME, "",                                                              \
	      "write: the prefill GPU writes a block (push); read: the decode GPU reads it once "  \
	      "it is offered (pull)",                                                              \
	      "write", "write,read", "write")
/* Whether blocks are read; *can (true before): false after saying in the rows why not. */
bool verb_is_read(struct trial *t, bool *can);

/* How the sub-ports of all GPUs are used, of the window: shares of what they can carry. */
struct link_use {
	double max, min, mean, jfi; /* transmit side */
	double drop_ppm;
	unsigned n;
};

#define LINKS_OF_ALL (-1)

/*
 * only_busy: links that carry nothing at all (of GPUs that send nothing) do not count. server: of
 * that one, or LINKS_OF_ALL. n is 0 where no counter can be read.
 */
struct link_use link_use(const struct trial *t, const struct measured *m, bool only_busy,
			 int server);

/* Adds the load, with a stream from each prefill GPU to a decode GPU. Returns it. */
unsigned plan_pools(const struct trial *t, struct plan *plan, const struct traffic_load *load,
		    unsigned slots, uint64_t bytes);

/* Mean of n bins from number from on. */
double bins_mean(const double *bins, size_t from, size_t n);
/* Since when, after bin number at, means of smooth_ms stay within that share of steady; ms. NaN:
 * they do not. */
double bins_settled_ms(const double *bins, size_t n, size_t at, double steady, size_t smooth_ms,
		       double within);
/* Its row, or why there is none. */
void add_settled(struct trial *t, const char *kpi, double ms, size_t smooth_ms, double within);

/* Heals what is in force, and waits until all see it. */
int restore_fabric(struct trial *t);

/* The rows of those KPIs of a service that the test declares, by their names. */
void add_service(struct trial *t, const struct serving_result *r);
/* Runs it and adds them. meanwhile as of serving_run(). */
int run_service(struct trial *t, const struct serving_options *o,
		int (*meanwhile)(void *arg, uint64_t now_ns), void *arg);

/* A mid model, pools of the fabric's size, short outputs; the rates of tests differ. */
struct serving_options usual_service(const struct trial *t);
/* Requests a second that its prefill workers can compute at most. */
double service_capacity(const struct serving_options *o);
/* The rate that test 11.1 found for this strategy; else share of the capacity. */
double service_bound(const struct trial *t, const struct serving_options *o, double share);

#endif
