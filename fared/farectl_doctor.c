/* SPDX-License-Identifier: BSD-2-Clause */
/* farectl_doctor.c - `farectl doctor`: a line for each check, and an exit status for scripts. */
#include "farectl_tables.h"

#include <ctype.h>
#include <stdio.h>
#include <unistd.h>

#include "farectl_columns.h"
#include "doctor.h"
#include "doctor_facts.h"

static json_t *lines_json(const struct doctor_line *lines, size_t n, bool is_well)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(
			rows,
			json_pack("{s:s, s:s, s:s, s:s*}", "check", lines[i].name, "state",
				  doctor_state_name(lines[i].state), "found", lines[i].text,
				  "remedy", lines[i].state == DOCTOR_OK ? NULL : lines[i].remedy));
	return json_pack("{s:b, s:o}", "ok", is_well, "checks", rows);
}

static void print_line(const struct doctor_line *line)
{
	char state[16], first[64];

	snprintf(state, sizeof(state), "%s", doctor_state_name(line->state));
	for (char *c = state; line->state == DOCTOR_WRONG && *c; c++)
		*c = (char)toupper((unsigned char)*c);
	snprintf(first, sizeof(first), "%-7s %-15s ", state, line->name);
	columns_wrap(first, line->text);
	snprintf(first, sizeof(first), "%-7s %-15s -> ", "", "");
	if (line->state == DOCTOR_WRONG || line->state == DOCTOR_ADVICE)
		columns_wrap(first, line->remedy);
}

/* A line that a scheduler keeps as the reason why the server is not used. */
static void print_quietly(const struct doctor_line *line)
{
	if (line->state == DOCTOR_WRONG)
		printf("fare: %s: %s\n", line->name, line->text);
}

static void print_sums(const struct doctor_line *lines, size_t n)
{
	unsigned sums[DOCTOR_WRONG + 1] = {0};

	for (size_t i = 0; i < n; i++)
		sums[lines[i].state]++;
	printf("%u wrong, %u to advise, %u not looked at, %u ok\n", sums[DOCTOR_WRONG],
	       sums[DOCTOR_ADVICE], sums[DOCTOR_UNKNOWN], sums[DOCTOR_OK]);
	if (sums[DOCTOR_UNKNOWN] && geteuid() != 0)
		puts("root can look at more");
}

int farectl_doctor(const struct farectl_options *options)
{
	json_t *facts = doctor_facts(options->run_dir, options->config), *json;
	struct doctor_line lines[DOCTOR_MAX_LINES];
	size_t n = doctor_run(facts, lines);
	bool is_well = true;

	json_decref(facts);
	for (size_t i = 0; i < n; i++) {
		is_well &= lines[i].state != DOCTOR_WRONG;
		if (options->quiet)
			print_quietly(&lines[i]);
		else if (!options->json)
			print_line(&lines[i]);
	}
	if (options->json && !options->quiet) {
		json = lines_json(lines, n, is_well);
		json_dumpf(json, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(json);
	} else if (!options->quiet) {
		print_sums(lines, n);
	}
	return fflush(stdout) || ferror(stdout) ? 3 : !is_well;
}
