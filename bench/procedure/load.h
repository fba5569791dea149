/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * load.h - what tests load a fabric with; how its links were used and what was dropped meanwhile.
 *
 * Owns: nothing. In: a trial, what was measured; out: streams of a plan, shares of links, rows.
 * Thread: the coordinator's.
 */
#ifndef LOAD_H
#define LOAD_H

#include "suite/trial.h"

/* Whether blocks are read; *can (true before): false after saying in the rows why not. */
bool load_is_read(struct trial *t, bool *can);

/* Of a GPU, all planes together. */
unsigned load_sub_ports(const struct topo *topo);
/* Whether so many QPs can be spread as the trial's strategy does; false after saying in the rows
 * why not. */
bool load_divides(struct trial *t, unsigned qps);

/* How the sub-ports of GPUs are used, of the window: shares of what they can carry. */
struct load_links {
	double max, min, mean; /* transmit side */
	double jfi;	       /* between the links of a server, mean of servers */
	double max_over_mean;  /* of a server's links, of the worst server */
	double drop_ppm; /* by any queue of a lab; by the servers' interfaces where it is none */
	unsigned n;
};

/* GPUs that the plan has send payload (of a READ: that answer it). Others' links carry
 * acknowledgements and probes. Pure. */
void load_senders(const struct plan *plan, bool senders[TOPO_MAX_GPUS]);
/* gpus: of those alone; NULL: of all. n is 0 where no counter can be read. */
struct load_links load_links(const struct trial *t, const struct measured *m, const bool *gpus);

/*
 * Whether a median is a tenth shorter than what its bytes take over the line: then most of them
 * passed token buckets at once, and it is no time of the line. False: one of both is not known.
 * Pure.
 */
bool load_beat_line(double median, double line);

/* Share of what was due in the window that had not ended by its end, from 0 to 1; NaN: nothing was
 * due. Pure. */
double load_unfinished(const struct measured_load *load);

/*
 * Whether the window's acknowledgements kept pace with what was offered: to 1%, and a message of
 * each stream, which may be under way at the end and not have been at the beginning. False: a
 * backlog grows. Pure.
 */
bool load_keeps_pace(double offered_bps, double bps, double window_s, unsigned streams,
		     double message_bytes);

/*
 * Of shares of n links, server[] of each: JFI between the links of a server, the mean of servers.
 * NaN: there are none. Pure.
 */
double load_evenness(const double *share, const unsigned *server, unsigned n);
/* The busiest link of a server over the mean of its links, of the worst server. NaN: none is used.
 * Pure. */
double load_max_over_mean(const double *share, const unsigned *server, unsigned n);
/* The two ends of pair i, such that no GPU has two while another of its side has none, and pairs
 * repeat only when all were met. Pure. */
void load_pair(unsigned i, unsigned sources, unsigned sinks, unsigned *source, unsigned *sink);
/* What leaves counted toward GPUs first to end - 1, of the sub-ports of each. Pure. */
struct load_marks {
	double packets, marked;
	double rate_percent; /* NaN: no packet */
	double onset_ms;     /* of the first mark anywhere; NaN: there is none */
	double onset_bytes;  /* in that queue then */
	double peak_bytes;   /* in any queue, at most */
	/* of those packets, what met a queue in that part of the ramp (topo.h) */
	double ramp_packets[TOPO_RAMP_PARTS + 1], ramp_marked[TOPO_RAMP_PARTS + 1];
	double ramp_squares[TOPO_RAMP_PARTS + 1];
};

struct load_marks load_marks(const struct topo *topo, unsigned first, unsigned end);
/* The rows ECN_marking_rate, ECN_marks and PFC_frame_count: of the leaves' counters since
 * load_marks_begin(), or why there are none. Nothing on hosts: there the whole trial's count. */
int load_marks_begin(struct trial *t);
int load_add_marks(struct trial *t);

/*
 * The parameter's `senders` write blocks to one GPU, whose leaves mark from its `threshold` on (0:
 * the fabric's own); counters begin with that, so that the warm-up counts, in which queues fill.
 * Adds Packet_drop_rate. 1: the rows say why not.
 */
int load_marked_incast(struct trial *t, const char *name, unsigned to, uint64_t block_bytes,
		       struct measured *m);

/* Adds the load, with a stream from each prefill GPU to a decode GPU. Returns it. */
unsigned load_pools(const struct trial *t, struct plan *plan, const struct traffic_load *load,
		    unsigned slots, uint64_t bytes);

/* Its row, or why there is none. */
void load_add_settled(struct trial *t, const char *kpi, double ms, size_t smooth_ms, double within);

/* Goodput of all streams at which, shared evenly, links to spines are full; infinite: none is
 * crossed. NaN: no memory. */
double load_uplinks_bps(const struct topo *topo, const struct plan *plan);

#endif
