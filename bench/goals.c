#include "goals.h"

#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "figures.h"
#include "options.h"
#include "selector.h"
#include "stats.h"

#define GOALS_COMMAND_MS  (30 * 60 * 1000)
#define GOALS_MAX_NUMBERS 1024

struct goals {
	const char *path, *selection;
	bool cheap, list;
	unsigned met, failed;
};

static const struct options_entry goals_table[] = {
	{"figures", 'f', "FILE", "the registry (docs/figures.yaml)"},
	{"cheap", 'c', NULL, "only what is quick enough for every change"},
	{"list", 'l', NULL, "say what would be measured, and how; measure nothing"},
	{NULL, 0, NULL, NULL},
};

/* command with {out} and {n} filled in; -E2BIG. */
static int goals_expand(const struct figure *figure, const char *path, char *out, size_t size)
{
	size_t used = 0;

	for (const char *at = figure->command; *at;) {
		char number[16], one[2] = {*at, '\0'};
		const char *text = one;
		size_t skip = 1;

		if (strncmp(at, "{out}", 5) == 0) {
			text = path;
			skip = 5;
		} else if (strncmp(at, "{n}", 3) == 0) {
			snprintf(number, sizeof(number), "%u", figure->n);
			text = number;
			skip = 3;
		}
		if (used + strlen(text) >= size)
			return -E2BIG;
		strcpy(out + used, text);
		used += strlen(text);
		at += skip;
	}
	return 0;
}

/* Runs a figure's command; its JSON, or NULL after saying what failed. */
static json_t *goals_measure(const struct figure *figure)
{
	char path[] = "/tmp/farebench-check.XXXXXX", command[4096];
	const char *argv[] = {"/bin/sh", "-c", command, NULL};
	json_t *root = NULL;
	json_error_t error;
	int fd = mkstemp(path);

	if (fd < 0) {
		fprintf(stderr, "farebench check: %s: %s\n", path, strerror(errno));
		return NULL;
	}
	close(fd);
	fprintf(stderr, "measuring: %s\n", figure->command);
	if (goals_expand(figure, path, command, sizeof(command))) {
		fprintf(stderr, "farebench check: %s: the command is too long\n", figure->id);
	} else if (command_check(argv, GOALS_COMMAND_MS, NULL) == 0) {
		root = json_load_file(path, 0, &error);
		if (!root)
			fprintf(stderr, "farebench check: %s: line %d: %s\n", figure->command,
				error.line, error.text);
	}
	unlink(path);
	return root;
}

/* What lies behind a fold: the same expression without it. */
static void goals_spread(const char *expression, const json_t *root, char *out, size_t size)
{
	double numbers[GOALS_MAX_NUMBERS];
	struct stats_summary summary;
	char inner[512], reason[128];
	const char *open = strchr(expression, '(');
	int n;

	snprintf(inner, sizeof(inner), "%s", open ? open + 1 : expression);
	if (open)
		inner[strlen(inner) - 1] = '\0';
	n = selector_numbers(inner, root, numbers, GOALS_MAX_NUMBERS, reason, sizeof(reason));
	if (n <= 1 || stats_summarise(numbers, (size_t)n, &summary))
		snprintf(out, size, "-");
	else
		snprintf(out, size, "%.4g..%.4g of %d", summary.min, summary.max, n);
}

static void goals_one(struct goals *goals, const struct figure *figure, const json_t *root)
{
	double numbers[GOALS_MAX_NUMBERS];
	char reason[256] = "the command failed", spread[64];
	int n = -EREMOTEIO;
	bool met;

	if (root)
		n = selector_numbers(figure->json, root, numbers, GOALS_MAX_NUMBERS, reason,
				     sizeof(reason));
	if (n != 1) {
		printf("%-32s %-10s %10s  %-24s FAIL  (%s)\n", figure->id, figure->goal, "-", "-",
		       n > 1 ? "more than one number: a fold is missing" : reason);
		goals->failed++;
		return;
	}
	met = figures_goal_met(figure->goal, numbers[0]) == 1;
	goals_spread(figure->json, root, spread, sizeof(spread));
	printf("%-32s %-10s %10.4g  %-24s %s\n", figure->id, figure->goal, numbers[0], spread,
	       met ? "pass" : "FAIL");
	fflush(stdout);
	goals->met += met;
	goals->failed += !met;
}

static bool goals_wants(const struct goals *goals, const struct figure *figure)
{
	return figures_selected(figure, goals->selection) && (!goals->cheap || figure->cheap);
}

static bool goals_same_command(const struct figure *a, const struct figure *b)
{
	return a->n == b->n && strcmp(a->command, b->command) == 0;
}

/* Figures that share a command share its run: the first of them measures, for all. */
static void goals_all(struct goals *goals, const struct figures *list)
{
	for (unsigned i = 0; i < list->figures_count; i++) {
		const struct figure *figure = &list->figures[i];
		bool earlier = false;
		json_t *root;

		if (!goals_wants(goals, figure))
			continue;
		if (goals->list) {
			printf("%-32s %-10s %s\n    %s\n    %s\n", figure->id, figure->goal,
			       figure->what, figure->command, figure->json);
			goals->met++;
			continue;
		}
		for (unsigned j = 0; j < i; j++)
			earlier |= goals_wants(goals, &list->figures[j]) &&
				   goals_same_command(&list->figures[j], figure);
		if (earlier)
			continue;
		root = goals_measure(figure);
		for (unsigned j = i; j < list->figures_count; j++)
			if (goals_wants(goals, &list->figures[j]) &&
			    goals_same_command(&list->figures[j], figure))
				goals_one(goals, &list->figures[j], root);
		json_decref(root);
	}
}

/* Commands in the registry name farelab, farebench and $FARE_BIN: those next to this program come
 * first. */
static int goals_environment(void)
{
	char self[4096], *slash, path[8192];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *old = getenv("PATH");

	if (n <= 0)
		return -errno;
	self[n] = '\0';
	slash = strrchr(self, '/');
	*slash = '\0';
	if ((size_t)snprintf(path, sizeof(path), "%s:%s", self, old ? old : "/usr/bin:/bin") >=
	    sizeof(path))
		return -E2BIG;
	return setenv("FARE_BIN", self, 1) || setenv("PATH", path, 1) ? -errno : 0;
}

int goals_main(int argc, char **argv)
{
	struct goals goals = {.path = "docs/figures.yaml"};
	struct option table[OPTIONS_MAX];
	struct figures *list;
	char reason[512];
	int option, err;

	options_getopt(goals_table, table);
	while ((option = getopt_long(argc, argv, "h", table, NULL)) != -1) {
		switch (option) {
		case 'f':
			goals.path = optarg;
			break;
		case 'c':
			goals.cheap = true;
			break;
		case 'l':
			goals.list = true;
			break;
		case 'h':
			options_help("farebench check [GROUP|GROUP/NAME]", goals_table);
			return 0;
		default:
			return 2;
		}
	}
	goals.selection = optind < argc ? argv[optind] : NULL;
	err = figures_load(&list, goals.path, reason, sizeof(reason));
	if (err) {
		fprintf(stderr, "farebench check: %s: %s\n", goals.path, reason);
		return 1;
	}
	err = goals_environment();
	if (!err)
		goals_all(&goals, list);
	figures_destroy(list);
	if (goals.met + goals.failed == 0) {
		fprintf(stderr, "farebench check: no figure is named so (farebench check --list "
				"tells all)\n");
		return 1;
	}
	if (!goals.list)
		printf("%u met, %u not\n", goals.met, goals.failed);
	return err || goals.failed ? 1 : 0;
}
