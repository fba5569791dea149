/* SPDX-License-Identifier: BSD-2-Clause */
#include "drill_plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "drill_random.h"
#include "plan.h"
#include "base/yaml/strict_yaml.h"

#define MAX_STEPS  10000u
#define MAX_TIME_S 86400.
#define MAX_NAMED  8 /* words of a step that are no options; rate has six */

struct step_yaml {
	double at_s;
	char *text;
};

struct random_yaml {
	uint32_t faults;
	double every_s, hold_s;
	char **kinds;
	unsigned n_kinds;
};

struct plan_yaml {
	char *name;
	struct step_yaml *steps;
	unsigned n_steps;
	struct random_yaml *random;
};

static const cyaml_schema_value_t text_value = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, DRILL_PLAN_TEXT_MAX - 1)};
static const cyaml_schema_field_t step_fields[] = {
	CYAML_FIELD_FLOAT("at_s", CYAML_FLAG_DEFAULT, struct step_yaml, at_s),
	CYAML_FIELD_STRING_PTR("do", CYAML_FLAG_POINTER, struct step_yaml, text, 1,
			       DRILL_PLAN_TEXT_MAX - 1),
	CYAML_FIELD_END};
static const cyaml_schema_value_t step_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct step_yaml, step_fields)};
static const cyaml_schema_field_t random_fields[] = {
	CYAML_FIELD_UINT("faults", CYAML_FLAG_DEFAULT, struct random_yaml, faults),
	CYAML_FIELD_FLOAT("every_s", CYAML_FLAG_DEFAULT, struct random_yaml, every_s),
	CYAML_FIELD_FLOAT("hold_s", CYAML_FLAG_DEFAULT, struct random_yaml, hold_s),
	CYAML_FIELD_SEQUENCE_COUNT("kinds", CYAML_FLAG_POINTER, struct random_yaml, kinds, n_kinds,
				   &text_value, 1, 16),
	CYAML_FIELD_END};
static const cyaml_schema_field_t plan_fields[] = {
	CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct plan_yaml, name, 1, 63),
	CYAML_FIELD_SEQUENCE_COUNT("steps", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
				   struct plan_yaml, steps, n_steps, &step_value, 0, MAX_STEPS),
	CYAML_FIELD_MAPPING_PTR("random", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
				struct plan_yaml, random, random_fields),
	CYAML_FIELD_END};
static const cyaml_schema_value_t plan_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct plan_yaml, plan_fields)};
static const struct strict_yaml_range ranges[] = {
	{"at_s", .max = MAX_TIME_S},
	{"faults", .max = MAX_STEPS / 2},
	{"every_s", .max = MAX_TIME_S, .above_min = true},
	{"hold_s", .max = MAX_TIME_S},
	{.key = NULL},
};
static const struct strict_yaml_schema plan_schema = {&plan_value, ranges};

/* ---- undoing ---------------------------------------------------------------- */

/* A step as farelab reads it: what is named, and apart from that the options. */
struct parsed_step {
	char text[DRILL_PLAN_TEXT_MAX];
	const char *named[MAX_NAMED];
	unsigned n_named;
	double loss_percent;
	const char *no_number; /* what should be one; NULL: all are right */
};

/*
 * As getopt_long() has it: "--loss-percent 5" or "--loss-percent=5", and any beginning of it.
 * value: after '='.
 */
static bool is_option(const char *token, const char *option, const char **value)
{
	size_t n = strcspn(token, "=");

	*value = token[n] ? token + n + 1 : NULL;
	return n > 2 && !strncmp(token, option, n);
}

static void parse_step(const char *from, struct parsed_step *w)
{
	const char *value;
	char *save = NULL;
	double unused;

	*w = (struct parsed_step){.loss_percent = 100};
	snprintf(w->text, sizeof(w->text), "%s", from);
	for (char *token = strtok_r(w->text, " ", &save); token;
	     token = strtok_r(NULL, " ", &save)) {
		bool is_loss;

		if (strncmp(token, "--", 2)) {
			if (w->n_named < MAX_NAMED)
				w->named[w->n_named++] = token;
			continue;
		}
		is_loss = is_option(token, "--loss-percent", &value);
		if (!value)
			value = strtok_r(NULL, " ", &save);
		if (is_loss && value &&
		    !decimal_parse(value, strlen(value), false, &w->loss_percent))
			w->no_number = value;
	}
	/* a verb, a kind, a name (an uplink: two), then numbers: "rate subport s1 1 0 400" */
	for (unsigned i = w->n_named > 1 && !strcmp(w->named[1], "uplink") ? 4 : 3; i < w->n_named;
	     i++)
		if (!decimal_parse(w->named[i], strlen(w->named[i]), true, &unused))
			w->no_number = w->named[i];
}

/* The first n words that name something, and what is put after them. false: it is too long. */
static bool join(const struct parsed_step *w, unsigned n, const char *after,
		 char out[DRILL_PLAN_TEXT_MAX])
{
	size_t used = 0;

	for (unsigned i = 0; i < n && used < DRILL_PLAN_TEXT_MAX; i++)
		used += (size_t)snprintf(out + used, DRILL_PLAN_TEXT_MAX - used, "%s ",
					 w->named[i]);
	if (used < DRILL_PLAN_TEXT_MAX)
		used += (size_t)snprintf(out + used, DRILL_PLAN_TEXT_MAX - used, "%s", after);
	return used < DRILL_PLAN_TEXT_MAX;
}

double drill_plan_loss(const char *text)
{
	struct parsed_step w;

	parse_step(text, &w);
	return w.loss_percent;
}

/*
 * "rate subport GPU PLANE SUB MBPS", "rate all MBPS", and throttle: what the topology has in the
 * place of MBPS, which comes last. false: there is no such link.
 */
static bool planned_mbps(const struct parsed_step *w, const struct topology *t, unsigned *mbps)
{
	struct plan_host lower, upper;
	struct plan_gpu gpu;
	unsigned plane, sub, number;

	if (w->n_named == 3 && !strcmp(w->named[1], "all")) {
		*mbps = t->rate_mbps;
		return true;
	}
	if (w->n_named == 6 && !strcmp(w->named[1], "subport") &&
	    !plan_parse_gpu(t, w->named[2], &gpu) &&
	    !plan_parse_index(w->named[3], t->planes, &plane) &&
	    !plan_parse_index(w->named[4], t->sub_ports, &sub)) {
		*mbps = plan_link_mbps(t, plan_link_number(t, gpu, plane, sub));
		return true;
	}
	if (w->n_named == 5 && !strcmp(w->named[1], "uplink") &&
	    !plan_parse_host(t, w->named[2], &lower) && !plan_parse_host(t, w->named[3], &upper) &&
	    !plan_uplink_between(t, lower, upper, &number)) {
		*mbps = plan_link_mbps(t, number);
		return true;
	}
	return false;
}

bool drill_plan_undo(const char *text, const struct topology *t, char out[DRILL_PLAN_TEXT_MAX])
{
	char rate[16];
	struct parsed_step w;
	unsigned mbps;

	parse_step(text, &w);
	if (!strncmp(text, "fail ", 5))
		return snprintf(out, DRILL_PLAN_TEXT_MAX, "heal %s", text + 5) <
		       DRILL_PLAN_TEXT_MAX;
	if (!strncmp(text, "gray ", 5) && w.loss_percent > 0)
		return join(&w, w.n_named, "--loss-percent 0", out);
	if ((strncmp(text, "rate ", 5) && strncmp(text, "throttle ", 9)) ||
	    !planned_mbps(&w, t, &mbps) || strtoul(w.named[w.n_named - 1], NULL, 10) == mbps)
		return false;
	snprintf(rate, sizeof(rate), "%u", mbps);
	return join(&w, w.n_named - 1, rate, out);
}

/* ---- the plan --------------------------------------------------------------- */

static bool is_verb(const char *text)
{
	return !strncmp(text, "fail ", 5) || !strncmp(text, "heal ", 5) ||
	       !strncmp(text, "gray ", 5) || !strncmp(text, "rate ", 5) ||
	       !strncmp(text, "reload ", 7) || !strncmp(text, "throttle ", 9);
}

static int take_steps(const struct strict_yaml *file, struct drill_plan *plan)
{
	const struct plan_yaml *y = strict_yaml_values(file);

	for (unsigned i = 0; i < y->n_steps; i++) {
		struct drill_step *s = &plan->steps[plan->n_steps];
		const char *text = y->steps[i].text;
		struct parsed_step w;
		char key[32];

		snprintf(key, sizeof(key), "steps[%u].do", i);
		parse_step(text, &w);
		if (!is_verb(text))
			return strict_yaml_wrong(file, key,
						 "\"%s\" does not begin with fail, heal, gray, "
						 "rate, throttle or reload",
						 text);
		if (w.no_number)
			return strict_yaml_wrong(
				file, key, "\"%s\" is not a number: a decimal number is expected",
				w.no_number);
		s->at_s = y->steps[i].at_s;
		snprintf(s->text, sizeof(s->text), "%s", text);
		plan->n_steps++;
	}
	return 0;
}

/* What undoes each random fault; what needs no healing (a reload) is done again. */
static void add_undos(const struct topology *t, uint32_t faults, struct drill_step *steps)
{
	for (; faults > 0; faults--, steps += 2)
		if (!drill_plan_undo(steps[0].text, t, steps[1].text))
			memcpy(steps[1].text, steps[0].text, sizeof(steps[1].text));
}

static int take_random(const struct strict_yaml *file, const struct topology *t, uint64_t seed,
		       uint32_t faults, struct drill_plan *plan)
{
	const struct random_yaml *y = ((const struct plan_yaml *)strict_yaml_values(file))->random;
	struct drill_random random = {.faults = faults,
				      .every_s = y->every_s,
				      .hold_s = y->hold_s,
				      .n_kinds = y->n_kinds,
				      .kinds = (const char *const *)y->kinds};
	const char *bad = "";
	int rc;

	if (y->every_s * faults > MAX_TIME_S)
		return strict_yaml_wrong(file, "random.every_s", "%u faults at %g s exceed a day",
					 faults, y->every_s);
	for (unsigned i = 0; i < plan->n_steps; i++)
		if (plan->steps[i].at_s > random.start_s)
			random.start_s = plan->steps[i].at_s;
	rc = drill_random_draw(&random, t, seed, plan->steps + plan->n_steps, &bad);
	if (rc == -EINVAL)
		return strict_yaml_wrong(file, "random.kinds", "there is no kind \"%s\"", bad);
	if (rc == -EDOM)
		return strict_yaml_wrong(file, "random",
					 "nothing is left to break; raise every_s or lower hold_s");
	if (rc)
		return rc;
	add_undos(t, faults, plan->steps + plan->n_steps);
	plan->n_steps += 2 * faults;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct drill_step *x = a, *y = b;

	return (x->at_s > y->at_s) - (x->at_s < y->at_s);
}

/* faults: of random, when not 0. */
static int drill_plan_take(const struct strict_yaml *file, const struct topology *t, uint64_t seed,
			   uint32_t faults, struct drill_plan *plan)
{
	const struct plan_yaml *y = strict_yaml_values(file);
	size_t most;
	int rc;

	if (!y->random || !faults)
		faults = y->random ? y->random->faults : 0;
	most = y->n_steps + 2 * (size_t)faults;
	if (faults > MAX_STEPS / 2)
		return strict_yaml_wrong(file, "random.faults", "%u at most", MAX_STEPS / 2);
	if (!most)
		return strict_yaml_wrong(file, "name", "\"%s\" has neither steps nor random faults",
					 y->name);
	plan->steps = calloc(most, sizeof(*plan->steps));
	if (!plan->steps)
		return -ENOMEM;
	snprintf(plan->name, sizeof(plan->name), "%s", y->name);
	rc = take_steps(file, plan);
	if (!rc && y->random)
		rc = take_random(file, t, seed, faults, plan);
	if (!rc)
		qsort(plan->steps, plan->n_steps, sizeof(*plan->steps), by_time);
	return rc;
}

int drill_plan_parse(const char *file, const char *text, size_t size, const struct topology *t,
		     uint64_t seed, uint32_t faults, struct drill_plan *out, char *error)
{
	struct drill_plan plan = {.n_steps = 0};
	struct strict_yaml *yaml;
	int rc = strict_yaml_load(&yaml, file, text, size, &plan_schema, error,
				  DRILL_PLAN_ERROR_MAX);

	if (rc)
		return rc;
	rc = drill_plan_take(yaml, t, seed, faults, &plan);
	strict_yaml_destroy(yaml);
	if (rc)
		drill_plan_fini(&plan);
	else
		*out = plan;
	return rc;
}

void drill_plan_fini(struct drill_plan *plan)
{
	free(plan->steps);
	*plan = (struct drill_plan){.n_steps = 0};
}
