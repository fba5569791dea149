/* SPDX-License-Identifier: BSD-2-Clause */
/* drill_plan.c - see drill_plan.h */
#include "drill_plan.h"

#include <cyaml/cyaml.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drill_random.h"

#define MAX_STEPS  10000u
#define MAX_TIME_S 86400.
#define MAX_NAMED  8 /* words of a step that are no options; rate has six */

struct step_yaml {
	double at_s;
	char *words;
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
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, DRILL_PLAN_WORDS_MAX - 1)};
static const cyaml_schema_field_t step_fields[] = {
	CYAML_FIELD_FLOAT("at_s", CYAML_FLAG_DEFAULT, struct step_yaml, at_s),
	CYAML_FIELD_STRING_PTR("do", CYAML_FLAG_POINTER, struct step_yaml, words, 1,
			       DRILL_PLAN_WORDS_MAX - 1),
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
static const cyaml_schema_value_t plan_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct plan_yaml, plan_fields)};

/* ---- undoing ---------------------------------------------------------------- */

/* A step as farelab reads it: what is named, and apart from that the options. */
struct words {
	char text[DRILL_PLAN_WORDS_MAX];
	const char *named[MAX_NAMED];
	unsigned n_named;
	double loss_percent;
};

/*
 * As getopt_long() has it: "--loss-percent 5" or "--loss-percent=5", and any beginning of it.
 * value: after '='.
 */
static bool is_option(const char *word, const char *option, const char **value)
{
	size_t n = strcspn(word, "=");

	*value = word[n] ? word + n + 1 : NULL;
	return n > 2 && !strncmp(word, option, n);
}

static void take_words(const char *from, struct words *w)
{
	const char *value;
	char *save = NULL;

	*w = (struct words){.loss_percent = 100};
	snprintf(w->text, sizeof(w->text), "%s", from);
	for (char *word = strtok_r(w->text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		bool is_loss;

		if (strncmp(word, "--", 2)) {
			if (w->n_named < MAX_NAMED)
				w->named[w->n_named++] = word;
			continue;
		}
		is_loss = is_option(word, "--loss-percent", &value);
		if (!value)
			value = strtok_r(NULL, " ", &save);
		if (is_loss && value)
			w->loss_percent = strtod(value, NULL);
	}
}

/* The first n words that name something, and what is put after them. false: it is too long. */
static bool join(const struct words *w, unsigned n, const char *after,
		 char out[DRILL_PLAN_WORDS_MAX])
{
	size_t used = 0;

	for (unsigned i = 0; i < n && used < DRILL_PLAN_WORDS_MAX; i++)
		used += (size_t)snprintf(out + used, DRILL_PLAN_WORDS_MAX - used, "%s ",
					 w->named[i]);
	if (used < DRILL_PLAN_WORDS_MAX)
		used += (size_t)snprintf(out + used, DRILL_PLAN_WORDS_MAX - used, "%s", after);
	return used < DRILL_PLAN_WORDS_MAX;
}

double drill_plan_loss(const char *words)
{
	struct words w;

	take_words(words, &w);
	return w.loss_percent;
}

bool drill_plan_undo(const char *words, const struct topology *t, char out[DRILL_PLAN_WORDS_MAX])
{
	char rate[16];
	struct words w;

	take_words(words, &w);
	snprintf(rate, sizeof(rate), "%u", t->rate_mbps);
	if (!strncmp(words, "fail ", 5))
		return snprintf(out, DRILL_PLAN_WORDS_MAX, "heal %s", words + 5) <
		       DRILL_PLAN_WORDS_MAX;
	if (!strncmp(words, "gray ", 5) && w.loss_percent > 0)
		return join(&w, w.n_named, "--loss-percent 0", out);
	/* rate subport GPU PLANE SUB MBPS */
	if (!strncmp(words, "rate ", 5) && w.n_named == 6 &&
	    strtoul(w.named[5], NULL, 10) != t->rate_mbps)
		return join(&w, 5, rate, out);
	return false;
}

/* ---- the plan --------------------------------------------------------------- */

static int refuse(char *error, const char *why, const char *what)
{
	snprintf(error, DRILL_PLAN_ERROR_MAX, "%s: %.100s", why, what);
	return -EBADMSG;
}

static bool is_time(double s)
{
	return s >= 0 && s <= MAX_TIME_S;
}

static bool is_verb(const char *words)
{
	return !strncmp(words, "fail ", 5) || !strncmp(words, "heal ", 5) ||
	       !strncmp(words, "gray ", 5) || !strncmp(words, "rate ", 5);
}

static int take_steps(const struct plan_yaml *y, struct drill_plan *plan, char *error)
{
	for (unsigned i = 0; i < y->n_steps; i++) {
		struct drill_step *s = &plan->steps[plan->n_steps];

		if (!is_time(y->steps[i].at_s))
			return refuse(error, "steps: at_s is not within a day", y->steps[i].words);
		if (!is_verb(y->steps[i].words))
			return refuse(error, "steps: begin with fail, heal, gray or rate",
				      y->steps[i].words);
		s->at_s = y->steps[i].at_s;
		snprintf(s->words, sizeof(s->words), "%s", y->steps[i].words);
		plan->n_steps++;
	}
	return 0;
}

static int take_random(const struct random_yaml *y, const struct topology *t, uint64_t seed,
		       struct drill_plan *plan, char *error)
{
	struct drill_random random = {.faults = y->faults,
				      .every_s = y->every_s,
				      .hold_s = y->hold_s,
				      .n_kinds = y->n_kinds,
				      .kinds = (const char *const *)y->kinds};
	const char *bad = "";
	int rc;

	if (!is_time(y->every_s * y->faults) || !is_time(y->hold_s) || !(y->every_s > 0))
		return refuse(error, "random", "every_s and hold_s have to fit a day");
	for (unsigned i = 0; i < plan->n_steps; i++)
		if (plan->steps[i].at_s > random.start_s)
			random.start_s = plan->steps[i].at_s;
	rc = drill_random_draw(&random, t, seed, plan->steps + plan->n_steps, &bad);
	if (rc == -EINVAL)
		return refuse(error, "random: there is no such kind", bad);
	if (rc == -EDOM)
		return refuse(error, "random",
			      "nothing is left to break; raise every_s or lower hold_s");
	plan->n_steps += rc ? 0 : 2 * y->faults;
	return rc;
}

static int by_time(const void *a, const void *b)
{
	const struct drill_step *x = a, *y = b;

	return (x->at_s > y->at_s) - (x->at_s < y->at_s);
}

static int take(const struct plan_yaml *y, const struct topology *t, uint64_t seed,
		struct drill_plan *plan, char *error)
{
	size_t most = y->n_steps;
	int rc;

	if (y->random && y->random->faults > MAX_STEPS / 2)
		return refuse(error, "random: faults", "5000 at most");
	most += y->random ? 2 * (size_t)y->random->faults : 0;
	if (!most)
		return refuse(error, y->name, "neither steps nor random");
	plan->steps = calloc(most, sizeof(*plan->steps));
	if (!plan->steps)
		return -ENOMEM;
	snprintf(plan->name, sizeof(plan->name), "%s", y->name);
	rc = take_steps(y, plan, error);
	if (!rc && y->random)
		rc = take_random(y->random, t, seed, plan, error);
	if (!rc)
		qsort(plan->steps, plan->n_steps, sizeof(*plan->steps), by_time);
	return rc;
}

/* The first thing that libcyaml has to say is what is wrong. */
__attribute__((format(printf, 3, 0))) static void on_cyaml_log(cyaml_log_t level, void *arg,
							       const char *format, va_list args)
{
	char *error = arg;

	if (level >= CYAML_LOG_ERROR && !*error)
		vsnprintf(error, DRILL_PLAN_ERROR_MAX, format, args);
}

int drill_plan_parse(const char *text, size_t size, const struct topology *t, uint64_t seed,
		     uint32_t faults, struct drill_plan *out, char *error)
{
	const cyaml_config_t config = {
		.log_fn = on_cyaml_log,
		.log_ctx = error,
		.log_level = CYAML_LOG_ERROR,
		.mem_fn = cyaml_mem,
		.flags = CYAML_CFG_NO_ALIAS,
	};
	struct drill_plan plan = {.n_steps = 0};
	struct plan_yaml *yaml = NULL;
	cyaml_err_t e;
	int rc;

	*error = '\0';
	if (!size || memchr(text, '\0', size))
		return refuse(error, "the plan is", size ? "not text" : "empty");
	e = cyaml_load_data((const uint8_t *)text, size, &config, &plan_schema,
			    (cyaml_data_t **)&yaml, NULL);
	if (e != CYAML_OK || !yaml) {
		error[strcspn(error, "\n")] = '\0';
		return e == CYAML_ERR_OOM ? -ENOMEM : -EBADMSG;
	}
	if (yaml->random && faults)
		yaml->random->faults = faults;
	rc = take(yaml, t, seed, &plan, error);
	cyaml_free(&config, &plan_schema, yaml, 0);
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
