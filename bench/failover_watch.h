/*
 * failover_watch.h - what libfare says of one pair, and when, to a tenth of a millisecond.
 *
 * Owns: a child process that looks at the published word and records every change. In: a run
 * directory, a peer. Out: the record. Thread: the coordinator's.
 */
#ifndef FAILOVER_WATCH_H
#define FAILOVER_WATCH_H

#include <netinet/in.h>
#include <stdint.h>

#include "fare.h"

#define FAILOVER_MAX_SAMPLES 4096

struct failover_sample {
	uint64_t t_ns;
	struct fare_paths paths;
};

struct failover_record {
	_Atomic uint32_t n; /* samples written; the first is what was found */
	_Atomic int stop, rc;
	struct failover_sample sample[FAILOVER_MAX_SAMPLES];
};

struct failover_watch;

/* Returns once the first sample is there. 0 or -errno. */
int failover_watch_start(struct failover_watch **out, const char *run_dir, unsigned local_gpu,
			 const struct in6_addr *peer);
/* The record so far; grows until failover_watch_stop(). */
const struct failover_record *failover_watch_record(const struct failover_watch *watch);
void failover_watch_stop(struct failover_watch *watch); /* NULL is fine */

#endif
