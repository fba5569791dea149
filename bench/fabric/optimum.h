/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * optimum.h - what no strategy can beat on a fabric, and what a proportional split would reach.
 *
 * Owns: nothing; pure, over an immutable topology. Results are bit/s of payload where they say
 * goodput: wire capacity x topo_goodput_factor(). Thread: any.
 */
#ifndef OPTIMUM_H
#define OPTIMUM_H

#include <stdint.h>

#include "fabric/topo.h"

/*
 * One pair: the sum over planes of min(what src can send there, what dst can receive there, what
 * spines carry between their leaves).
 */
uint64_t optimum_pair_bps(const struct topo *topo, unsigned src, unsigned dst);
/* The same over one plane. */
uint64_t optimum_path_bps(const struct topo *topo, unsigned src, unsigned dst, unsigned plane);
/*
 * What that path's usable bandwidth ought to be: min(what src can send, what BGP announces of dst).
 * The same but for spines: BGP announces what dst can receive, times the share of spines between
 * the two that work (docs/methodology.md).
 */
uint64_t optimum_usable_bps(const struct topo *topo, unsigned src, unsigned dst, unsigned plane);
uint64_t optimum_announced_bps(const struct topo *topo, unsigned src, unsigned dst, unsigned plane);

/*
 * All to all: bytes[src * n_gpus + dst] cannot be across sooner than this many seconds on the wire:
 * the maximum over GPUs and directions of bytes / live capacity (a cut around one GPU), over pairs
 * of bytes / pair capacity, and with spines over the servers that share leaves (a cut through those
 * leaves' links to spines). Infinite if a GPU with bytes has no capacity.
 */
double optimum_all_to_all_s(const struct topo *topo, const uint64_t *bytes);

/* Of these the cuts through links to spines alone; 0: there are none, or nothing crosses them. */
double optimum_uplinks_s(const struct topo *topo, const uint64_t *bytes);

/* Payload that a GPU's token buckets pass at once after a pause; 0: nothing shapes its links. */
double optimum_bucket_bytes(const struct topo *topo, unsigned gpu);
/*
 * Whether a transfer after a pause is shorter than ten of its buckets: then its time is not the
 * line's by more than a tenth (a topology with bucket_frames has smaller ones).
 */
bool optimum_short(const struct topo *topo, unsigned gpu, double bytes);

/* Payload per wire byte on this fabric between these two. */
double optimum_goodput_factor(const struct topo *topo);
/* The same of messages of so many bytes that are written, headers of each included. */
double optimum_write_factor(const struct topo *topo, double bytes);

#endif
