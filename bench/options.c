#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy.h"

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
		printf("  --%s%s%-*s %s\n", entries->name, entries->argument ? " " : "",
		       20 - (int)strlen(entries->name), entries->argument ? entries->argument : "",
		       entries->help);
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

int options_lab(const char *command, int argc, const char *lab_name)
{
	if (optind == argc && lab_name)
		return 0;
	if (optind != argc)
		fprintf(stderr, "%s: no arguments are taken\n", command);
	else
		fprintf(stderr, "%s: which --lab? (farelab run TOPOLOGY -- %s starts one)\n",
			command, command);
	return -EINVAL;
}

/* Calls one for each word between commas. */
static int options_list(const char *text, uint64_t *out, int max,
			int (*one)(const char *, uint64_t *))
{
	char word[64];
	int n = 0;

	for (;; text++) {
		size_t length = strcspn(text, ",");

		if (n == max || length >= sizeof(word)) {
			fprintf(stderr, "farebench: %s: more than can be taken\n", text);
			return -EINVAL;
		}
		memcpy(word, text, length);
		word[length] = '\0';
		if (one(word, &out[n]))
			return -EINVAL;
		n++;
		text += length;
		if (!*text)
			return n;
	}
}

static int options_size(const char *word, uint64_t *out)
{
	return options_number("size", word, 1, UINT64_C(1) << 30, out);
}

static int options_strategy(const char *word, uint64_t *out)
{
	int strategy = strategy_parse(word);

	if (strategy < 0) {
		fprintf(stderr, "farebench: no strategy is named %s\n", word);
		return -EINVAL;
	}
	*out = (uint64_t)strategy;
	return 0;
}

int options_sizes(const char *text, uint64_t *out, int max)
{
	return options_list(text, out, max, options_size);
}

int options_strategies(const char *text, uint64_t *out, int max)
{
	return options_list(text, out, max, options_strategy);
}
