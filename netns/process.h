/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process.h - the programs that farelab starts: batches fed through a pipe, and daemons that
 * outlive it.
 *
 * Owns nothing after it returns but what the pid files say. In: command lines, namespaces, log
 * files. Out: pids. A pid file holds "PID STARTTIME", so that a pid which somebody else got since
 * is never taken for ours. Single-threaded programs only (it forks).
 */
#ifndef PROCESS_H
#define PROCESS_H

#include <stdio.h>
#include <sys/types.h>

struct process_batch {
	FILE *in; /* write lines here */
	pid_t pid;
};

/* Starts argv with its stdin on batch->in. It dies with us. 0 or -errno. */
int process_batch_start(struct process_batch *batch, const char *const argv[]);
/* Closes the input and waits. 0, or -EIO if the program failed (it has said why on stderr). */
int process_batch_end(struct process_batch *batch);

/*
 * Starts argv in the namespace as a daemon: own session, stdin /dev/null, stdout and stderr
 * appended to log_path, nothing else open. Writes pid_path. 0 or -errno; a program that cannot be
 * executed is seen only as a daemon that is not alive.
 */
int process_daemon_start(const char *netns, const char *log_path, const char *pid_path,
			 const char *const argv[]);
/* The pid if the daemon of that pid file is alive, 0 if not. */
pid_t process_daemon_pid(const char *pid_path);
/* SIGKILL, then waits until it is gone; removes the pid file. 0 also if it was not alive. */
int process_daemon_kill(const char *pid_path);

/* Clock ticks since boot at which a process started, 0 if there is none (or it is a zombie). */
unsigned long long process_start_time(pid_t pid);

#endif
