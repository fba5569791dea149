/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * traffic.h - one run of traffic among the workers: what all tests share.
 *
 * Owns: nothing between calls; the workers hold the state. In: streams (traffic_stream: from which
 * GPU to which), by which strategy; out: groups connected, then closed, and reports of what was
 * verified. Thread: the coordinator's.
 *
 * Every run opens groups anew: new QPs, new source ports, a new nonce in the pattern, so that runs
 * are independent draws and packets of an earlier run can only be found as wrong bytes, never
 * counted.
 */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/arrivals.h"
#include "engine/cluster.h"
#include "core/cpu.h"
#include "engine/moe.h"
#include "engine/strategy.h"
#include "fabric/topo.h"

#define TRAFFIC_TIMEOUT_MS 60000
#define TRAFFIC_BIN_NS	   UINT64_C(1000000)
#define TRAFFIC_ROUNDS	   INT64_MAX /* rounds follow each other until the run is stopped */

/* When a load's groups are open. */
enum traffic_member {
	TRAFFIC_STAYS,	/* all the time */
	TRAFFIC_JOINS,	/* from traffic_join() on */
	TRAFFIC_LEAVES, /* until traffic_leave() */
	TRAFFIC_MEMBERS
};

struct traffic_options {
	enum strategy strategy;
	unsigned qps;	      /* per pair, all planes together; 0: one per plane and sub-port */
	unsigned flows;	      /* FARE_MODE_FLOW stripes; 0: libfare's default */
	uint32_t chunk_bytes; /* 0: libfare's default, also below */
	uint32_t window_bytes;
	bool random_ports;     /* fare strategies too: show what learning ports gains */
	struct qp_dcqcn dcqcn; /* baseline.h */
};

/*
 * One kind of traffic: streams that share how they spread, when their messages are due, and what is
 * measured of them. Zeroes mean: closed loop, no rounds, every message verified whole.
 */
struct traffic_load {
	const char *name;		/* up to 15 bytes */
	struct traffic_options options; /* strategy .. window_bytes, random_ports */
	enum arrival_law law;
	double mean_s;	 /* between arrivals of each stream; EVEN, POISSON, BURST */
	double spread_s; /* BURST: of all streams within it; the first burst opens the window */
	uint64_t seed;
	unsigned verify_every; /* 0: 1; k: every k-th message whole, the others' header alone */
	/*
	 * rounds > 0: each stream carries one message a round, of slot_bytes or as moe says; a
	 * round begins at a GPU when all of round - overlap has arrived there, and not before
	 * period_s since the round before began or gap_s since it ended.
	 */
	uint64_t rounds;
	unsigned overlap; /* 0: 1 */
	double period_s, gap_s;
	double delay_s; /* nothing is due before */
	const struct moe *moe;
	bool report; /* every worker says when a round is whole there: cluster_next() */
	/* the receiver fetches each message by RDMA READ once the sender offers it, instead of the
	 * sender's RDMA WRITE; not with rounds */
	bool read;
	/* of one that joins or leaves, the first message of each stream is reported like those by
	 * command: cluster_next() brings "delivered" */
	enum traffic_member member;
};

struct traffic_stream {
	unsigned src, dst, slots;
	uint64_t slot_bytes;
	uint64_t tx_offset, rx_offset; /* in the arenas of src and dst */
	const char *strategy;	       /* NULL: that of traffic_options; else both are fare's */
	unsigned load;		       /* index */
};

/*
 * Figures of one repetition. Goodput is payload acknowledged in the time measured, all of it
 * verified at the receiver before the repetition counts (observation point: endpoint software).
 */
struct traffic_result {
	double goodput_bps, optimum_bps;
	struct cpu_idle idle;
	uint64_t posted;		 /* by senders */
	uint64_t messages, bytes;	 /* verified by receivers */
	uint64_t sent_bytes;		 /* by senders */
	uint64_t proof_sent, proof_seen; /* audit.h */
	uint64_t early;			 /* messages that arrived before they were sent */
	uint64_t retransmitted, replayed, path_deaths, path_rebuilds, needless_moves;
	uint64_t regions, region_bytes; /* registered by the workers */
	uint64_t out_of_order;		/* packets that came while one before them was missing */
};

/* QPs per pair that these options mean, and per sub-port; -EINVAL, after saying why, if they do not
 * divide. */
int traffic_qps(const struct topo *topo, const struct traffic_options *options, unsigned *qps,
		unsigned *per_sub_port);

/*
 * Opens the streams of these loads and waits until all are connected. bins: records what is
 * acknowledged in each millisecond, for traffic_bins().
 */
int traffic_open(struct cluster *cluster, const struct topo *topo, const struct traffic_load *loads,
		 unsigned n_loads, const struct traffic_stream *streams, unsigned n, bool bins);
/* All begin; what is due between the two times (monotonic) is measured: traffic_measured(). */
int traffic_start(struct cluster *cluster, uint64_t from_ns, uint64_t to_ns);
/* One message of n bytes on a stream whose arrivals are by command. */
int traffic_transfer(struct cluster *cluster, const struct traffic_stream *stream, unsigned index,
		     uint64_t id, uint64_t bytes);
/* Groups of a load that joins are opened: 0 once all of them are, and its messages begin. */
int traffic_join(struct cluster *cluster, unsigned load);
/* A load that leaves posts nothing more: 0 once what was under way has arrived and its groups are
 * closed. */
int traffic_leave(struct cluster *cluster, unsigned load);
/*
 * How long what these streams may have under way takes to arrive at most, and then some: never
 * below TRAFFIC_TIMEOUT_MS. Pure.
 */
int traffic_patience_ms(const struct topo *topo, const struct traffic_stream *streams, unsigned n);
/* All stop, and what is under way arrives; -ETIMEDOUT: not within that time. */
int traffic_stop(struct cluster *cluster, int patience_ms);
/* Closes everything at both ends. */
int traffic_close(struct cluster *cluster);

/* Asks gpu for its report, and adds its counters to result. */
int traffic_report(struct cluster *cluster, unsigned gpu, struct traffic_result *result);

/*
 * Adds what gpu sent of that load (below 0: of all) and had acknowledged to bytes[], a bin per
 * millisecond from from_ns on. Before traffic_close().
 */
int traffic_bins(struct cluster *cluster, unsigned gpu, int load, uint64_t from_ns, double *bytes,
		 size_t n);
/*
 * Of n bins from base_ns on, what lies between the two times; bins at the edges count in part.
 * Pure.
 */
double traffic_bins_bytes(const double *bytes, size_t n, uint64_t base_ns, uint64_t from_ns,
			  uint64_t to_ns);

#endif
