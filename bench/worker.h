/*
 * worker.h - one GPU of the benchmark: a process that sends, receives and verifies.
 *
 * Owns: its attachment to the daemon, one domain, two arenas (sources, targets) and the groups of
 * the run in force. In: the coordinator's requests, one JSON object a line; out: events, the same
 * way. Thread: the process has one.
 *
 *	request					answer
 *	{"op":"arena","bytes":N}		{"event":"arena","address":A,"rkey":K}
 *	{"op":"open",...} (see trial.c)		{"event":"opened"}		all groups are
 * connected
 *	{"op":"start"}				{"event":"started","t_ns":T}
 *	{"op":"stop"}				{"event":"done"} also by itself when all rounds are
 * over
 *	{"op":"report"}				{"event":"report",...}
 *	{"op":"bins","from":I}			{"event":"bins","from_ns":T,"bytes":[acknowledged per ms]}
 *	{"op":"close_tx"}, {"op":"close_rx"}	{"event":"closed"}
 * 	{"op":"paths","address":"..."}
 * {"event":"paths","path":[{"usable_bps","verdict"},...]}
 *	{"op":"quit"}				the process ends
 *
 * Whatever goes wrong (a wrong byte, a message lost or twice, a failed write) is
 * {"event":"error","text":...} and the end of the process with status 1: a figure from a run with
 * an
 * error must not exist.
 */
#ifndef WORKER_H
#define WORKER_H

/* `farebench worker ...`: returns the exit status. */
int worker_main(int argc, char **argv);

#endif
