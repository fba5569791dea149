/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * measure.h - loads over a cluster for a while, and what came of them.
 *
 * Owns: the results. In: loads and streams; out: per load latencies, bytes and rounds, per stream
 * bytes, per interface counters; all of the window alone. Thread: the coordinator's.
 */
#ifndef MEASURE_H
#define MEASURE_H

#include "core/hist.h"
#include "core/cpu.h"
#include "engine/plan.h"

struct measured_load {
	/* ns since a message was due, of those due in the window: until handed to the transport,
	 * until complete at the sender, until its receiver was notified */
	struct hist posted, completed, delivered;
	double bps;		     /* payload acknowledged, or read */
	uint64_t messages, unposted; /* unposted: due in the window, never handed over; they count
					in `delivered` with the time that they waited */
	uint64_t late;		     /* due in the window, and acknowledged after its end */
	/* rounds that began and ended everywhere in the window: from the first GPU that posted to
	 * the last that had everything, ns; and each GPU's own part: from its first post until
	 * everything had arrived there */
	struct hist round, wait;
	uint64_t waited_ns; /* of the GPU that waited most, in the window */
	double *bin_bytes;  /* acknowledged per ms of the window; with measure.bins */
	/* when each began anywhere and was whole everywhere, also outside; n_rounds of them */
	uint64_t *round_start, *round_end;
	uint64_t n_rounds;
};

struct measured_stream {
	double bps; /* payload acknowledged */
	double plane_bps[FARE_MAX_PLANES];
	uint64_t messages; /* delivered */
};

/* An interface of a server's namespace: bytes and packets of the window. */
struct measured_link {
	unsigned server;
	char dev[FARE_DEV_NAME_MAX];
	double rx_bps, tx_bps; /* as the kernel counts: with headers */
	uint64_t rx_packets, tx_packets, rx_dropped, tx_dropped;
};

struct measured {
	uint64_t from_ns, to_ns;
	unsigned n_loads, n_streams, n_links;
	size_t n_bins;
	struct measured_load *load;
	struct measured_stream *stream;
	struct measured_link *link;
	struct cpu_idle idle; /* of the machine that had least idle time */
	bool held;	      /* a host's limit made messages wait */
	double *cpu;	      /* of each GPU's process: cores */
	uint64_t *stall_ns;   /* longest that each GPU's process stalled */
	struct traffic_result books;
	/* packets that servers sent while it ran, warm-up too, and that the fabric dropped; of
	 * labs: 0 sent is not known */
	uint64_t fabric_sent, fabric_dropped;
};

struct measure {
	struct cluster *cluster;
	const struct topo *topo;
	const struct plan *plan;
	double warm_s, seconds;
	bool bins;
	/* NULL, or called while it runs, with when the window begins; 0, or -errno: the run ends */
	int (*meanwhile)(void *arg, uint64_t from_ns, uint64_t to_ns);
	void *arg;
};

/*
 * Opens, runs, stops and closes. Every message that was posted has arrived and was verified when it
 * returns 0; measured_fini() frees what it found. -errno, after saying why.
 */
int measure_run(const struct measure *measure, struct measured *out);
void measured_fini(struct measured *m);

#endif
