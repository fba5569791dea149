/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.h - one table of options per command: parsing and --help come from the same lines.
 *
 * Owns: nothing. Values are checked here, and what is wrong is said on stderr. Thread: any.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#define OPTIONS_MAX 32

struct options_entry {
	const char *name;     /* NULL ends the table */
	int letter;	      /* what getopt_long() returns */
	const char *argument; /* NULL: none */
	const char *help;     /* with the default in parentheses */
};

/*
 * Gives each option of the command line to take, which returns 0 or -EINVAL after saying why; text:
 * its argument. 0: optind is that of the first word that is no option. 1: --help, and it was
 * printed. -EINVAL.
 */
int options_read(const char *command, const struct options_entry *entries, int argc, char **argv,
		 int (*take)(void *arg, int letter, char *text), void *arg);

/* A whole number within [min, max]; suffixes K, M, G are powers of 1,024. -EINVAL. */
int options_number(const char *name, const char *text, uint64_t min, uint64_t max, uint64_t *out);
/* Asks which lab, and says how to get one. -EINVAL. */
int options_which_lab(const char *command);
/* After the last option: nothing else may be there, and the lab must be named. -EINVAL. */
int options_lab(const char *command, int argc, const char *lab_name);
/*
 * The index of name among n names; -EINVAL, after saying which there are. option: without its
 * dashes.
 */
int options_name(const char *option, const char *name, const char *const *names, unsigned n);
/* "ecmp-flow,fare-spray": how many (1..max), or -EINVAL. */
int options_strategies(const char *text, uint64_t *out, int max);

#endif
