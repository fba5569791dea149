/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hosts.h - the hosts of an inventory, as the coordinator sees them: an agent on each.
 *
 * Owns: the listening socket, the connections to the agents, and what was started to bring them up.
 * In: an inventory, an address to listen on, a key; out: workers for a cluster, offsets of clocks
 * with their errors, counters, faults. Each function says on stderr which host failed, and how.
 * Thread: the coordinator's.
 */
#ifndef HOSTS_H
#define HOSTS_H

#include "engine/cluster.h"
#include "launch/inventory.h"
#include "launch/launch.h"
#include "launch/nic_counters.h"

struct hosts;

/* Waits until every host's agent is there. -ETIMEDOUT, -EINTR, -errno. */
int hosts_open(struct hosts **out, const struct launch_options *options);
void hosts_close(struct hosts *hosts); /* the agents end, and heal what is in force. NULL is fine */

const struct inventory *hosts_inventory(const struct hosts *hosts);
/* "kernel", "processor", "cores" and "devices" of a host, as its agent says: for people. */
const json_t *hosts_about(const struct hosts *hosts, unsigned host);

const struct launch_options *hosts_options(const struct hosts *hosts);
/* The device, no loopback, that has the GPU's IPv4 address, as its agent found it; NULL: none. */
const char *hosts_gpu_device(const struct hosts *hosts, unsigned gpu);

/* A worker for each GPU. */
int hosts_cluster(struct hosts *hosts, struct cluster **out, uint64_t arena_bytes);

/*
 * Before a run: estimates how far each host's clock is ahead, and tells the workers, whose
 * times are
 * the coordinator's from then on. After it: how far times of two hosts can be wrong against each
 * other, ns, at most.
 */
int hosts_clocks_begin(struct hosts *hosts, struct cluster *cluster);
int hosts_clocks_end(struct hosts *hosts, double *error_ns);
/* How far a host's clock is ahead of the coordinator's, since hosts_clocks_begin(). */
int64_t hosts_clock_ahead_ns(const struct hosts *hosts, unsigned host);
/* The worst of a host so far, ns. */
double hosts_clock_worst_ns(const struct hosts *hosts, unsigned host);

/* Words as of inventory_find_fault(). *at_ns: by the coordinator's clock, before the command
 * ran. */
int hosts_fail(struct hosts *hosts, const char *spec, uint64_t *at_ns);
/* All faults of all hosts; *at_ns: of the first. 0 as well if nothing is broken. */
int hosts_heal(struct hosts *hosts, uint64_t *at_ns);

/*
 * Gives the kernels' next hops equal weights or BGP's, where the inventory has commands for that;
 * then asks whether they are so; patient: without commands, too, what is not so yet is waited for.
 * -EOPNOTSUPP with *why (the caller's): they are not.
 */
int hosts_weights(struct hosts *hosts, bool equal, bool patient, char *why, size_t why_size);

/* "p0.tx_bytes" and so on (host_counters.h) of a host, as they are now; the caller's. */
int hosts_counters_read(struct hosts *hosts, unsigned host, json_t **out);
/* Counters before a trial, and after it. */
int hosts_counters_begin(struct hosts *hosts);
int hosts_counters_end(struct hosts *hosts);
/*
 * By how much each class (nic_counters.h) grew, of all hosts and of the inventory's switches: in
 * the trial, or since the hosts were opened.
 */
int hosts_nic_counts(const struct hosts *hosts, bool total, struct nic_counts *nics,
		     struct nic_counts *switches);
/* The same of a host, in words: the caller's; "": nothing grew. */
char *hosts_counters_grown(const struct hosts *hosts, unsigned host, bool total);

#endif
