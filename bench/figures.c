/* SPDX-License-Identifier: BSD-2-Clause */
#include "figures.h"

#include <cyaml/cyaml.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIGURES_MAX 1000

static const cyaml_schema_field_t figures_fields[] = {
	CYAML_FIELD_STRING_PTR("id", CYAML_FLAG_POINTER, struct figure, id, 3, 100),
	CYAML_FIELD_STRING_PTR("what", CYAML_FLAG_POINTER, struct figure, what, 1, 500),
	CYAML_FIELD_STRING_PTR("command", CYAML_FLAG_POINTER, struct figure, command, 1, 1000),
	CYAML_FIELD_STRING_PTR("json", CYAML_FLAG_POINTER, struct figure, json, 1, 500),
	CYAML_FIELD_STRING_PTR("goal", CYAML_FLAG_POINTER, struct figure, goal, 3, 50),
	CYAML_FIELD_UINT("n", CYAML_FLAG_DEFAULT, struct figure, n),
	CYAML_FIELD_UINT("full_n", CYAML_FLAG_OPTIONAL, struct figure, full_n),
	CYAML_FIELD_BOOL("full", CYAML_FLAG_OPTIONAL, struct figure, full),
	CYAML_FIELD_UINT("duration_s", CYAML_FLAG_DEFAULT, struct figure, duration_s),
	CYAML_FIELD_BOOL("cheap", CYAML_FLAG_DEFAULT, struct figure, cheap),
	CYAML_FIELD_UINT("time_limit_s", CYAML_FLAG_OPTIONAL, struct figure, time_limit_s),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t figures_entry = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct figure, figures_fields),
};

static const cyaml_schema_field_t figures_root_fields[] = {
	CYAML_FIELD_SEQUENCE("figures", CYAML_FLAG_POINTER, struct figures, figures, &figures_entry,
			     1, FIGURES_MAX),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t figures_root = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct figures, figures_root_fields),
};

struct figures_reason {
	char *text;
	size_t size;
};

/* The first line that libcyaml says is the nearest to what is wrong; the others are its back-trace.
 */
__attribute__((format(printf, 3, 0))) static void figures_log(cyaml_log_t level, void *context,
							      const char *format, va_list ap)
{
	struct figures_reason *reason = context;

	if (level >= CYAML_LOG_ERROR && !reason->text[0])
		vsnprintf(reason->text, reason->size, format, ap);
}

static const cyaml_config_t *figures_config(cyaml_config_t *config, struct figures_reason *reason)
{
	*config = (cyaml_config_t){
		.log_fn = figures_log,
		.log_ctx = reason,
		.mem_fn = cyaml_mem,
		.log_level = CYAML_LOG_ERROR,
	};
	return config;
}

static int figures_check(const struct figures *list, char *reason, size_t size)
{
	for (unsigned i = 0; i < list->figures_count; i++) {
		const struct figure *figure = &list->figures[i];
		const char *slash = strchr(figure->id, '/');

		if (!slash || slash == figure->id || !slash[1]) {
			snprintf(reason, size, "%s: an id is group/name", figure->id);
			return -EBADMSG;
		}
		if (figures_goal_met(figure->goal, 0) < 0) {
			snprintf(reason, size,
				 "%s: goal \"%s\": an operator and a number are expected",
				 figure->id, figure->goal);
			return -EBADMSG;
		}
		if (figure->n == 0 || !strstr(figure->command, "{out}")) {
			snprintf(reason, size, "%s: %s", figure->id,
				 figure->n ? "the command has no {out}" : "n is 0");
			return -EBADMSG;
		}
		/* else it would be printed, whatever the command repeats */
		if ((figure->n > 1 || figure->full_n) && !strstr(figure->command, "{n}")) {
			snprintf(reason, size, "%s: n is %u, and the command has no {n} to be told",
				 figure->id, figure->n);
			return -EBADMSG;
		}
		if (figure->duration_s == 0) {
			snprintf(reason, size, "%s: duration_s: at least 1", figure->id);
			return -EBADMSG;
		}
		if (figure->time_limit_s > FIGURES_MAX_TIME_S) {
			snprintf(reason, size, "%s: time_limit_s: at most a day", figure->id);
			return -EBADMSG;
		}
		for (unsigned j = 0; j < i; j++) {
			if (strcmp(list->figures[j].id, figure->id) != 0)
				continue;
			snprintf(reason, size, "%s appears twice", figure->id);
			return -EBADMSG;
		}
	}
	return 0;
}

static void figures_make_full(struct figure *figure)
{
	if (!figure->full_n)
		return;
	figure->duration_s = (unsigned)((uint64_t)figure->duration_s * figure->full_n / figure->n);
	figure->n = figure->full_n;
}

int figures_load(struct figures **out, const char *path, bool full, char *reason,
		 size_t reason_size)
{
	struct figures_reason context = {reason, reason_size};
	struct figures *list = NULL;
	cyaml_config_t config;
	cyaml_err_t bad;
	int err;

	reason[0] = '\0';
	bad = cyaml_load_file(path, figures_config(&config, &context), &figures_root,
			      (cyaml_data_t **)&list, NULL);
	reason[strcspn(reason, "\n")] = '\0';
	if (bad != CYAML_OK || !list) {
		if (!reason[0])
			snprintf(reason, reason_size, "%s", bad ? cyaml_strerror(bad) : "empty");
		return bad == CYAML_ERR_FILE_OPEN ? -ENOENT : -EBADMSG;
	}
	err = figures_check(list, reason, reason_size);
	if (err) {
		figures_destroy(list);
		return err;
	}
	for (unsigned i = 0; full && i < list->figures_count; i++)
		figures_make_full(&list->figures[i]);
	*out = list;
	return 0;
}

void figures_destroy(struct figures *figures)
{
	char nothing[1] = "x"; /* nobody reads it: freeing reports nothing worth keeping */
	struct figures_reason context = {nothing, sizeof(nothing)};
	cyaml_config_t config;

	cyaml_free(figures_config(&config, &context), &figures_root, figures, 0);
}

int figures_goal_met(const char *goal, double value)
{
	static const char *const operators[] = {">=", "<=", "==", ">", "<"};
	const char *rest = NULL;
	unsigned kind = 0;
	double number;
	char *end;

	for (kind = 0; kind < 5; kind++) {
		size_t length = strlen(operators[kind]);

		if (strncmp(goal, operators[kind], length) == 0) {
			rest = goal + length;
			break;
		}
	}
	if (!rest)
		return -EBADMSG;
	number = strtod(rest, &end);
	if (end == rest || *end || !isfinite(number))
		return -EBADMSG;
	switch (kind) {
	case 0:
		return value >= number;
	case 1:
		return value <= number;
	case 2:
		return value == number;
	case 3:
		return value > number;
	default:
		return value < number;
	}
}

bool figures_selected(const struct figure *figure, const char *selection)
{
	size_t group = strcspn(figure->id, "/");

	return !selection || strcmp(selection, figure->id) == 0 ||
	       (strlen(selection) == group && strncmp(selection, figure->id, group) == 0);
}
