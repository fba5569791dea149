/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * worker.h - one GPU of the benchmark: a process that sends, receives, verifies and times.
 *
 * Owns: its attachment to the daemon, one domain, two arenas (sources, targets) and the groups of
 * the current run. In: the coordinator's requests, one JSON object a line. Out: events, one JSON
 * object a line. Thread: the process has one.
 *
 *	request				answer
 *	{"op":"arena","bytes":N,	{"event":"arena","address":A,"rkey":K,"source_address":A,
 *	  "source":KIND,		"source_rkey":K,"memory":TEXT}: of the targets, of the
 *	  "target":KIND}		sources; "lacks":WHY in place of "memory": there is no such
 *					memory, and these are of the host's
 *	{"op":"clock","offset_ns":N}	{"event":"clock"}: all times from now on are those of the
 *					coordinator's clock, which this host's is ahead of
 *	{"op":"open",...} (traffic.c)	{"event":"opened"}: all groups are connected
 *	{"op":"start","from_ns":A,	{"event":"started","t_ns":T}; latencies and bytes count from
 *	  "to_ns":B}			A to B (0, 0: always)
 *	{"op":"transfer","stream":S,	none; at the receiver, unasked, {"event":"delivered",...}
 *	  "id":I,"bytes":N}		when it has arrived (loads with arrivals by command)
 *	{"op":"join","load":L}		{"event":"joined"}: its groups are connected; the first
 *					message of each of its streams reports as if by command
 *	{"op":"leave","load":L}		{"event":"left"}: what was under way has arrived, its
 *					groups are closed
 *	{"op":"stop"}			{"event":"done"}; also sent unasked when all rounds are over
 *	{"op":"report"}			{"event":"report",...}: books and counters of the run
 *	{"op":"measured"}		{"event":"measured",...}: what lies in the window
 *	{"op":"bins","from":I}		{"event":"bins","from_ns":T,"bytes":[acknowledged per ms]}
 *	{"op":"close_tx"}		{"event":"closed"}
 *	{"op":"close_rx"}		{"event":"closed"}
 *	{"op":"paths","address":A}	{"event":"paths","path":[{"usable_bps","verdict"},...]}
 *	{"op":"quit"}			the process ends
 *
 * A load with "report" sends {"event":"round","load":L,"round":R,"t_ns":T} when everything of a
 * round has arrived here.
 *
 * Any error (a wrong byte, a message lost or received twice, a failed write) is reported as
 * {"event":"error","text":...} and ends the process with status 1: a run with an error gives no
 * figure.
 */
#ifndef WORKER_H
#define WORKER_H

#include <stddef.h>
#include <stdint.h>

#include "fabric/topo.h"

/* `farebench worker ...`: returns the exit status. */
int worker_main(int argc, char **argv);

#define WORKER_MAX_ARGS	  64
#define WORKER_ARGS_BYTES 8192

/* The command line that starts one; argv ends with NULL, its texts lie in bytes. */
struct worker_args {
	const char *argv[WORKER_MAX_ARGS + 1];
	unsigned n;
	char bytes[WORKER_ARGS_BYTES];
	size_t used;
};

/* What a worker needs wherever it runs. */
void worker_args_init(struct worker_args *args, const struct topo *topo, unsigned gpu,
		      uint32_t secret);
void worker_args_add(struct worker_args *args, const char *option, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
