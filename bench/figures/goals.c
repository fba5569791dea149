/* SPDX-License-Identifier: BSD-2-Clause */
#include "figures/goals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/command.h"
#include "core/cpu.h"
#include "core/options.h"
#include "core/progress.h"
#include "figures/selector.h"
#include "report/results_json.h"
#include "core/stats.h"

#define GOALS_TIMEOUT_S	  1800
#define GOALS_MAX_NUMBERS 1024
#define GOALS_MAX_COMMAND 4096

struct goals {
	const char *path, *json_path, *html_path;
	const char *keep;	 /* where documents stay; NULL: they do not */
	const char **selections; /* none: everything */
	int n_selections;
	bool cheap, full, list;
	uint64_t timeout_s; /* 0: what each figure says */
	struct figures *figures;
	struct goals_outcome *outcomes; /* one per figure */
	struct progress progress;
	FILE *out; /* lines for people */
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

/* Runs a command to its end; why is filled if it did not end well. */
static int goals_run(const char *command, uint64_t timeout_s, char *why, size_t size)
{
	/*
	 * bash, because it becomes the one command it is given: a signal for the shell is one for
	 * that
	 */
	const char *argv[] = {"bash", "-c", command, NULL};
	struct command_result result;
	/* nothing to read: the terminal stays ours, and so does Ctrl-C */
	int err = command_feed(argv, "", 0, (int)timeout_s * 1000, &result);

	if (err == -ETIMEDOUT) {
		snprintf(why, size, "ended after %llu s: it took too long",
			 (unsigned long long)timeout_s);
	} else if (err) {
		snprintf(why, size, "%s", strerror(-err));
	} else if (result.status) {
		snprintf(why, size, "exit status %d: %s", result.status, result.err);
		err = -EREMOTEIO;
	}
	free(result.out); /* NULL if it could not be run */
	return err;
}

/* An empty file for what a command writes. -errno. */
static int goals_file(const struct goals *goals, const struct figure *figure, char *path,
		      size_t size)
{
	int fd;

	if (goals->keep) {
		if ((size_t)snprintf(path, size, "%s/%s.json", goals->keep, figure->id) >= size)
			return -ENAMETOOLONG;
		for (char *at = path + strlen(goals->keep) + 1; (at = strchr(at, '/'));)
			*at = '-';
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	} else {
		snprintf(path, size, "/tmp/farebench-check.XXXXXX");
		fd = mkostemp(path, O_CLOEXEC);
	}
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static uint64_t goals_time_s(const struct goals *goals, const struct figure *figure)
{
	if (goals->timeout_s)
		return goals->timeout_s;
	return figure->time_limit_s ? figure->time_limit_s : GOALS_TIMEOUT_S;
}

/* Runs a figure's command; its JSON, or NULL: why says what failed. */
static json_t *goals_measure(const struct goals *goals, const struct figure *figure, char *why,
			     size_t size)
{
	char path[1024], command[GOALS_MAX_COMMAND];
	int err = goals_file(goals, figure, path, sizeof(path));
	json_t *root = NULL;
	json_error_t error;

	if (err) {
		snprintf(why, size, "%.300s: %s", path, strerror(-err));
		return NULL;
	}
	if (goals_expand(figure, path, command, sizeof(command))) {
		snprintf(why, size, "the command is too long");
	} else if (goals_run(command, goals_time_s(goals, figure), why, size) == 0) {
		root = json_load_file(path, 0, &error);
		if (!root)
			snprintf(why, size, "what it wrote is no JSON: line %d: %s", error.line,
				 error.text);
	}
	if (!goals->keep)
		unlink(path);
	return root;
}

void goals_evaluate(const struct figure *figure, const json_t *root, struct goals_outcome *out)
{
	const char *goal = figure->goal;
	double numbers[GOALS_MAX_NUMBERS];
	struct stats_summary summary;
	int n = selector_numbers(figure->json, root, numbers, GOALS_MAX_NUMBERS, out->reason,
				 sizeof(out->reason));
	bool least;

	out->figure = figure;
	out->verdict = GOALS_FAILED;
	if (n < 1)
		return;
	if (stats_summarise(numbers, (size_t)n, &summary)) {
		snprintf(out->reason, sizeof(out->reason), "a number that is not finite");
		return;
	}
	out->reason[0] = '\0';
	out->low = summary.min;
	out->high = summary.max;
	out->n_numbers = n;
	/* the worst of them: the least for ">", the greatest for "<", for "==" one that differs */
	least = goal[0] == '>' || (goal[0] == '=' && figures_goal_met(goal, out->high) == 1);
	out->value = least ? out->low : out->high;
	out->verdict = figures_goal_met(goal, out->value) == 1 ? GOALS_MET : GOALS_MISSED;
	if (out->low < 0 && !strstr(figure->json, " - ")) {
		out->verdict = GOALS_MISSED;
		snprintf(out->reason, sizeof(out->reason),
			 "a negative number: what was to be seen was not, at least once; --keep "
			 "DIR keeps every trial");
	}
}

static bool goals_wants(const struct goals *goals, const struct figure *figure)
{
	bool selected = goals->n_selections == 0;

	for (int i = 0; i < goals->n_selections; i++)
		selected |= figures_selected(figure, goals->selections[i]);
	return selected && (!goals->cheap || figure->cheap) && (goals->full || !figure->full);
}

/*
 * Do both run the same? Of one run, figures may be about different parts, each with an n of its
 * own.
 */
static bool goals_same_command(const struct figure *a, const struct figure *b)
{
	char left[GOALS_MAX_COMMAND], right[GOALS_MAX_COMMAND];

	if (a == b)
		return true;
	return goals_expand(a, "", left, sizeof(left)) == 0 &&
	       goals_expand(b, "", right, sizeof(right)) == 0 && strcmp(left, right) == 0;
}

/* Does this figure's command still have to be run: is it wanted, and shared with none before it? */
static bool goals_is_first(const struct goals *goals, unsigned index)
{
	const struct figure *list = goals->figures->figures;

	if (!goals_wants(goals, &list[index]))
		return false;
	for (unsigned i = 0; i < index; i++)
		if (goals_wants(goals, &list[i]) && goals_same_command(&list[i], &list[index]))
			return false;
	return true;
}

/* One run, and all figures that are read from it. */
static void goals_command(struct goals *goals, unsigned first)
{
	struct cpu_times before;
	const struct figures *list = goals->figures;
	double begin = clock_now_s(), seconds, stolen;
	bool known = cpu_read(&before) == 0;
	char why[600] = "";
	json_t *root = goals_measure(goals, &list->figures[first], why, sizeof(why));

	seconds = clock_now_s() - begin;
	stolen = known ? cpu_stolen_percent(&before) : -1;
	progress_fini(&goals->progress);
	for (unsigned i = first; i < list->figures_count; i++) {
		const struct figure *figure = &list->figures[i];
		struct goals_outcome *out = &goals->outcomes[i];

		if (!goals_wants(goals, figure) ||
		    !goals_same_command(&list->figures[first], figure))
			continue;
		out->seconds = seconds;
		out->stolen_percent = stolen;
		if (root) {
			goals_evaluate(figure, root, out);
		} else {
			out->verdict = GOALS_FAILED;
			snprintf(out->reason, sizeof(out->reason), "%s", why);
		}
		goals_show_line(out, goals->out);
	}
	json_decref(root);
}

static void goals_all(struct goals *goals)
{
	unsigned commands = 0;

	for (unsigned i = 0; i < goals->figures->figures_count; i++)
		commands += goals_is_first(goals, i);
	progress_init(&goals->progress, commands);
	goals_show_heading(goals->out);
	for (unsigned i = 0; i < goals->figures->figures_count; i++) {
		if (!goals_is_first(goals, i))
			continue;
		progress_step(&goals->progress, "measuring %s", goals->figures->figures[i].id);
		goals_command(goals, i);
	}
	goals_show_sum(goals->outcomes, goals->figures->figures_count, goals->out);
}

static void goals_duration(unsigned seconds, char *out, size_t size)
{
	if (seconds < 120)
		snprintf(out, size, "%u s", seconds);
	else
		snprintf(out, size, "%u min", (seconds + 30) / 60);
}

static void goals_list_end(unsigned total_s, unsigned left_out)
{
	char text[32];

	goals_duration(total_s, text, sizeof(text));
	printf("about %s in all, as figures of one command share its run", text);
	if (left_out)
		printf("; %u more take long and need --full", left_out);
	putchar('\n');
}

/* Duration: of the figure's command, which it may share with others. */
static void goals_list(const struct goals *goals)
{
	unsigned total_s = 0, left_out = 0;

	for (unsigned i = 0; i < goals->figures->figures_count; i++) {
		const struct figure *figure = &goals->figures->figures[i];
		char text[32];

		left_out += figure->full && !goals->full;
		if (!goals_wants(goals, figure))
			continue;
		total_s += goals_is_first(goals, i) ? figure->duration_s : 0;
		goals_duration(figure->duration_s, text, sizeof(text));
		printf("%-32s %-10s %8s  %s\n    %s\n    %s\n", figure->id, figure->goal, text,
		       figure->what, figure->command, figure->json);
	}
	goals_list_end(total_s, left_out);
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

/* Measures, and writes what was asked for. The number of goals not met, or -errno. */
static int goals_check(struct goals *goals)
{
	unsigned n = goals->figures->figures_count;
	struct report *report = NULL;
	int err = goals->html_path ? report_create(&report, "The promised figures, measured again")
				   : 0,
	    unmet = 0;

	if (!err)
		err = goals_environment();
	if (!err)
		goals_all(goals);
	for (unsigned i = 0; i < n; i++)
		unmet += goals->outcomes[i].verdict == GOALS_MISSED ||
			 goals->outcomes[i].verdict == GOALS_FAILED;
	if (!err && goals->json_path)
		err = results_json_dump(goals_json(goals->outcomes, n), goals->json_path);
	if (!err && report)
		err = goals_page(goals->outcomes, n, report);
	if (!err && report)
		err = report_write(report, goals->html_path);
	report_destroy(report);
	return err ? err : unmet;
}

/* Commands name their files as plain words of a shell. */
static int goals_set_keep(void *into, char *dir)
{
	struct goals *goals = into;
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-";

	if (!dir[0] || dir[strspn(dir, plain)]) {
		fprintf(stderr,
			"farebench check: --keep %s: a directory named by letters, digits and / . "
			"_ + - is expected\n",
			dir);
		return -EINVAL;
	}
	if ((mkdir(dir, 0777) && errno != EEXIST) || access(dir, W_OK | X_OK)) {
		fprintf(stderr, "farebench check: --keep %s: %s\n", dir, strerror(errno));
		return -EINVAL;
	}
	goals->keep = dir;
	return 0;
}

static int goals_select(void *into, char *text)
{
	struct goals *goals = into;

	goals->selections[goals->n_selections++] = text;
	return 0;
}

static const struct options_entry goals_table[] = {
	{"figures", "FILE", "the registry (docs/figures.yaml)", OPTIONS_TEXT(struct goals, path)},
	{"group", "GROUP", "only these figures; may be said more than once, like the arguments",
	 OPTIONS_CALL(goals_select)},
	{"cheap", NULL, "only what is quick enough for every change",
	 OPTIONS_FLAG(struct goals, cheap)},
	{"full", NULL,
	 "also figures that take long, and as many repetitions as the registry promises (hours)",
	 OPTIONS_FLAG(struct goals, full)},
	{"list", NULL, "say what would be measured, and how; measure nothing",
	 OPTIONS_FLAG(struct goals, list)},
	{"timeout", "SECONDS", "how long a command may take (what its figure says, or 1800)",
	 OPTIONS_NUMBER(struct goals, timeout_s, 1, FIGURES_MAX_TIME_S)},
	{"keep", "DIR",
	 "keep there (made if it is not there) what each command wrote, as GROUP-NAME.json: every "
	 "trial behind a figure",
	 OPTIONS_CALL(goals_set_keep)},
	{"json", "FILE",
	 "write figures, goals, measurements and verdicts there ('-': standard output)",
	 OPTIONS_TEXT(struct goals, json_path)},
	{"html", "FILE", "write them there as a page", OPTIONS_TEXT(struct goals, html_path)},
	{.name = NULL},
};

/* Every word that selects must select something: a typing error is not "all met". */
static int goals_check_selections(const struct goals *goals)
{
	for (int s = 0; s < goals->n_selections; s++) {
		bool any = false;

		for (unsigned i = 0; i < goals->figures->figures_count; i++)
			any |= figures_selected(&goals->figures->figures[i], goals->selections[s]);
		if (!any) {
			fprintf(stderr,
				"farebench check: no figure or group is named %s (farebench check "
				"--list tells all)\n",
				goals->selections[s]);
			return -ENOENT;
		}
	}
	for (unsigned i = 0; i < goals->figures->figures_count; i++)
		if (goals_wants(goals, &goals->figures->figures[i]))
			return 0;
	fprintf(stderr, "farebench check: %s\n",
		goals->cheap ? "none of these figures is cheap"
			     : "these figures take long: add --full to measure them");
	return -ENOENT;
}

static int goals_open(struct goals *goals)
{
	struct figures *figures;
	char reason[512];
	int err = figures_load(&figures, goals->path, goals->full, reason, sizeof(reason));

	if (err) {
		fprintf(stderr, "farebench check: %s\n", reason);
		return err;
	}
	goals->figures = figures;
	goals->outcomes = calloc(figures->figures_count, sizeof(*goals->outcomes));
	if (!goals->outcomes || goals_check_selections(goals))
		return -ENOENT;
	for (unsigned i = 0; i < figures->figures_count; i++)
		goals->outcomes[i].figure = &figures->figures[i];
	if (goals->list) {
		goals_list(goals);
		return 0;
	}
	return goals_check(goals);
}

int goals_main(int argc, char **argv)
{
	struct goals goals = {.path = "docs/figures.yaml", .out = stdout};
	int err, rc;

	goals.selections = calloc((size_t)argc, sizeof(*goals.selections));
	if (!goals.selections)
		return 1;
	err = options_read("farebench check [GROUP|GROUP/NAME]...", goals_table, argc, argv, &goals,
			   NULL);
	for (; optind < argc; optind++)
		goals.selections[goals.n_selections++] = argv[optind];
	if (goals.json_path && strcmp(goals.json_path, "-") == 0)
		goals.out = stderr;
	if (err)
		rc = err > 0 ? 0 : 2;
	else
		rc = goals_open(&goals) == 0 ? 0 : 1;
	figures_destroy(goals.figures);
	free(goals.outcomes);
	free(goals.selections);
	return rc;
}
