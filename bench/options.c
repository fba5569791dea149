/* SPDX-License-Identifier: BSD-2-Clause */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/strategy.h"

void options_getopt(const struct options_entry *entries, struct option *table)
{
	int n = 0;

	for (; entries[n].name && n < OPTIONS_MAX - 2; n++)
		table[n] = (struct option){entries[n].name,
					   entries[n].argument ? required_argument : no_argument,
					   NULL, entries[n].letter};
	table[n] = (struct option){"help", no_argument, NULL, 'h'};
	table[n + 1] = (struct option){0};
}

void options_help(const char *command, const struct options_entry *entries)
{
	printf("usage: %s [OPTIONS]\n\n", command);
	for (; entries->name; entries++)
		printf("  --%s %-*s %s\n", entries->name, 20 - (int)strlen(entries->name),
		       entries->argument ? entries->argument : "", entries->help);
	puts("\nDefaults are in parentheses. farebench(1) has units, ranges and examples.");
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

int options_seconds(const char *name, const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	if (end != text && !*end && *out > 0 && *out <= 3600)
		return 0;
	fprintf(stderr, "farebench: --%s %s: seconds are expected, above 0 and up to 3600\n", name,
		text);
	return -EINVAL;
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

static void options_complain(const char *option, const char *word, const char *const *names,
			     unsigned n)
{
	fprintf(stderr, "farebench: --%s: nothing is named '%s'; there are", option, word);
	for (unsigned i = 0; i < n; i++)
		fprintf(stderr, "%s %s", i ? "," : "", names[i]);
	fputc('\n', stderr);
}

int options_name(const char *option, const char *word, const char *const *names, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (strcmp(word, names[i]) == 0)
			return (int)i;
	options_complain(option, word, names, n);
	return -EINVAL;
}

struct options_words {
	const char *option;
	const char *const *names; /* NULL: sizes are expected */
	unsigned n;
};

static int options_word(const struct options_words *words, const char *word, uint64_t *out)
{
	int index;

	if (!words->names)
		return options_number(words->option, word, 1, UINT64_C(1) << 30, out);
	index = options_name(words->option, word, words->names, words->n);
	*out = (uint64_t)index;
	return index < 0 ? index : 0;
}

/* Takes the words between commas. */
static int options_list(const struct options_words *words, const char *text, uint64_t *out, int max)
{
	char word[64];
	int n = 0;

	for (;; text++) {
		size_t length = strcspn(text, ",");

		if (n == max || length >= sizeof(word)) {
			fprintf(stderr, "farebench: --%s %s: more than can be taken\n",
				words->option, text);
			return -EINVAL;
		}
		memcpy(word, text, length);
		word[length] = '\0';
		if (options_word(words, word, &out[n]))
			return -EINVAL;
		n++;
		text += length;
		if (!*text)
			return n;
	}
}

int options_names(const char *option, const char *text, const char *const *names, unsigned n,
		  bool *chosen)
{
	const struct options_words words = {option, names, n};
	uint64_t index[OPTIONS_MAX];
	int listed = options_list(&words, text, index, OPTIONS_MAX);

	for (unsigned i = 0; chosen && i < n; i++)
		chosen[i] = false;
	for (int i = 0; chosen && i < listed; i++)
		chosen[index[i]] = true;
	return listed < 0 ? listed : 0;
}

int options_sizes(const char *text, uint64_t *out, int max)
{
	return options_list(&(struct options_words){.option = "size"}, text, out, max);
}

int options_strategies(const char *text, uint64_t *out, int max)
{
	const char *names[STRATEGY_COUNT];

	for (int i = 0; i < STRATEGY_COUNT; i++)
		names[i] = strategy_name((enum strategy)i);
	return options_list(&(struct options_words){"strategy", names, STRATEGY_COUNT}, text, out,
			    max);
}
