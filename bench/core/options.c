/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/strategy.h"

#define OPTIONS_FIRST 256 /* what getopt_long() returns of the first entry: no letter */

static void options_getopt(const struct options_entry *entries, struct option *table)
{
	int n = 0;

	for (; entries[n].name && n < OPTIONS_MAX - 2; n++)
		table[n] = (struct option){entries[n].name,
					   entries[n].argument ? required_argument : no_argument,
					   NULL, OPTIONS_FIRST + n};
	table[n] = (struct option){"help", no_argument, NULL, 'h'};
	table[n + 1] = (struct option){0};
}

static void options_help(const char *command, const struct options_entry *entries)
{
	printf("usage: %s [OPTIONS]\n\n", command);
	for (; entries->name; entries++)
		printf("  --%s %-*s %s\n", entries->name, 20 - (int)strlen(entries->name),
		       entries->argument ? entries->argument : "", entries->help);
	puts("\nDefaults are in parentheses. farebench(1) has units, ranges and examples.");
}

static int options_take(const struct options_entry *entry, void *into, char *text)
{
	char *at = (char *)into + entry->offset;
	const bool is_there = true;
	uint64_t number;

	if (entry->kind == OPTIONS_IS_CALL)
		return entry->take(into, text);
	if (entry->kind == OPTIONS_IS_TEXT)
		memcpy(at, &text, sizeof(text));
	else if (entry->kind == OPTIONS_IS_FLAG)
		memcpy(at, &is_there, sizeof(is_there));
	else if (options_number(entry->name, text, entry->min, entry->max, &number))
		return -EINVAL;
	else if (entry->size == sizeof(number))
		memcpy(at, &number, sizeof(number));
	else
		memcpy(at, &(unsigned){(unsigned)number}, sizeof(unsigned));
	return 0;
}

int options_read(const char *command, const struct options_entry *entries, int argc, char **argv,
		 void *into,
		 int (*note)(void *into, const struct options_entry *entry, const char *text))
{
	struct option table[OPTIONS_MAX];
	int which, err = 0;

	options_getopt(entries, table);
	optind = 0; /* a command line may be read twice */
	while (!err && (which = getopt_long(argc, argv, "h", table, NULL)) != -1) {
		const struct options_entry *entry;

		if (which == 'h') {
			options_help(command, entries);
			return 1;
		}
		if (which < OPTIONS_FIRST)
			return -EINVAL;
		entry = &entries[which - OPTIONS_FIRST];
		err = note ? note(into, entry, optarg) : 0;
		if (!err)
			err = options_take(entry, into, optarg);
	}
	return err;
}

int options_number(const char *name, const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	unsigned long long value;
	unsigned shift = 0;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (*end == 'K' || *end == 'M' || *end == 'G')
		shift = *end == 'K' ? 10 : *end == 'M' ? 20 : 30;
	end += shift != 0;
	if (text[0] < '0' || text[0] > '9' || *end || errno || value > UINT64_MAX >> shift ||
	    value << shift < min || value << shift > max) {
		fprintf(stderr, "farebench: --%s %s: a number from %llu to %llu is expected\n",
			name, text, (unsigned long long)min, (unsigned long long)max);
		return -EINVAL;
	}
	*out = value << shift;
	return 0;
}

int options_which_lab(const char *command)
{
	fprintf(stderr, "%s: which --lab? (farelab run TOPOLOGY --fared PATH -- %s starts one)\n",
		command, command);
	return -EINVAL;
}

int options_lab(const char *command, int argc, const char *lab_name)
{
	if (optind == argc && lab_name)
		return 0;
	if (optind == argc)
		return options_which_lab(command);
	fprintf(stderr, "%s: no arguments are taken\n", command);
	return -EINVAL;
}

static void options_complain(const char *option, const char *name, const char *const *names,
			     unsigned n)
{
	fprintf(stderr, "farebench: --%s: nothing is named '%s'; there are", option, name);
	for (unsigned i = 0; i < n; i++)
		fprintf(stderr, "%s %s", i ? "," : "", names[i]);
	fputc('\n', stderr);
}

int options_name(const char *option, const char *name, const char *const *names, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (strcmp(name, names[i]) == 0)
			return (int)i;
	options_complain(option, name, names, n);
	return -EINVAL;
}

int options_strategies(const char *text, uint64_t *out, int max)
{
	const char *names[STRATEGY_COUNT];
	char name[64];
	int n = 0, index;

	for (int i = 0; i < STRATEGY_COUNT; i++)
		names[i] = strategy_name((enum strategy)i);
	for (;; text++) {
		size_t length = strcspn(text, ",");

		if (n == max || length >= sizeof(name)) {
			fprintf(stderr, "farebench: --strategy %s: more than can be taken\n", text);
			return -EINVAL;
		}
		memcpy(name, text, length);
		name[length] = '\0';
		index = options_name("strategy", name, names, STRATEGY_COUNT);
		if (index < 0)
			return -EINVAL;
		out[n++] = (uint64_t)index;
		text += length;
		if (!*text)
			return n;
	}
}
