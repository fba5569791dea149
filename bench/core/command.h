/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * command.h - runs another program and keeps what it said.
 *
 * Owns: the child until it has ended. When time is up, or this process dies, it gets SIGTERM; if
 * that does not end it in time, SIGKILL. What the child left behind to clean up after it (what
 * holds its output open) is then waited for, within bounds. No shell is involved unless the caller
 * names one. Thread: one at a time per process (it waits for its own child only).
 */
#ifndef COMMAND_H
#define COMMAND_H

#include <stddef.h>

#define COMMAND_MAX_OUTPUT (16u << 20)

struct command_result {
	int status; /* exit status; 128 + n when signal n ended it */
	char *out;  /* stdout, terminated; free() it */
	size_t out_bytes;
	char err[512]; /* the end of stderr, one line */
};

/*
 * Runs argv[0] (looked up in PATH) to its end. 0: it ran, whatever its status. -ETIMEDOUT: killed;
 * -E2BIG: said too much, killed; or -errno of starting it. result is only valid with 0.
 */
int command_run(const char *const *argv, int timeout_ms, struct command_result *result);

/* The same for a program that reads its stdin: input (borrowed), then the end. -errno of keeping
 * it. */
int command_feed(const char *const *argv, const char *input, size_t input_bytes, int timeout_ms,
		 struct command_result *result);

/*
 * The same as command_run(), and each line of stdout is given to on_line as soon as it is whole
 * (without its newline, terminated, borrowed). What on_line returns, if not 0, ends the child and
 * is returned.
 */
int command_watch(const char *const *argv, int timeout_ms,
		  int (*on_line)(void *arg, const char *line), void *arg,
		  struct command_result *result);

/*
 * command_run(), and a status other than 0 is -EREMOTEIO after saying on stderr what failed. out
 * may be NULL.
 */
int command_check(const char *const *argv, int timeout_ms, char **out);

/* "DIR/name" next to the running program if it is there, else "name" for PATH. */
void command_sibling(const char *name, char *out, size_t size);

#endif
