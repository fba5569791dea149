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
#include <stddef.h>
#include <stdint.h>

#define OPTIONS_MAX 32

enum options_kind { OPTIONS_IS_TEXT, OPTIONS_IS_FLAG, OPTIONS_IS_NUMBER, OPTIONS_IS_CALL };

struct options_entry {
	const char *name;     /* NULL ends the table */
	const char *argument; /* NULL: none */
	const char *help;     /* with the default in parentheses */
	enum options_kind kind;
	size_t offset, size; /* of the member that takes the value */
	uint64_t min, max;   /* of a number */
	/* takes the value by itself: 0, or -EINVAL after saying why */
	int (*take)(void *into, char *text);
};

/* What becomes of an option: a member of the struct that options_read() fills, or a call. */
#define OPTIONS_TEXT(type, member) .kind = OPTIONS_IS_TEXT, .offset = offsetof(type, member)
#define OPTIONS_FLAG(type, member) .kind = OPTIONS_IS_FLAG, .offset = offsetof(type, member)
/* The member is unsigned, or has 64 bits. */
#define OPTIONS_NUMBER(type, member, least, most)                                                  \
	.kind = OPTIONS_IS_NUMBER, .offset = offsetof(type, member),                               \
	.size = sizeof(((type *)0)->member), .min = (least), .max = (most)
#define OPTIONS_CALL(function) .kind = OPTIONS_IS_CALL, .take = (function)

/*
 * Fills *into as the command line says. note (NULL: none) gets each option first; text: its
 * argument. 0: optind is that of the first word that is no option. 1: --help, and it was printed.
 * -EINVAL.
 */
int options_read(const char *command, const struct options_entry *entries, int argc, char **argv,
		 void *into,
		 int (*note)(void *into, const struct options_entry *entry, const char *text));

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
