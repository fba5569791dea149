/* SPDX-License-Identifier: BSD-2-Clause */
#include "figures/figures.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/yaml/strict_yaml.h"
#include "base/text_file.h"

#define FIGURES_MAX	  1000
#define FIGURES_MAX_BYTES 1000000

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

struct figures_values {
	struct figure *figures;
	unsigned figures_count;
};

static const cyaml_schema_field_t figures_root_fields[] = {
	CYAML_FIELD_SEQUENCE("figures", CYAML_FLAG_POINTER, struct figures_values, figures,
			     &figures_entry, 1, FIGURES_MAX),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t figures_root = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct figures_values, figures_root_fields),
};

static const struct strict_yaml_range figures_ranges[] = {
	{"n", .min = 1, .max = 1000000},
	{"full_n", .min = 1, .max = 1000000},
	{"duration_s", .min = 1, .max = FIGURES_MAX_TIME_S},
	{"time_limit_s", .min = 1, .max = FIGURES_MAX_TIME_S},
	{.key = NULL},
};

static const struct strict_yaml_schema figures_schema = {&figures_root, figures_ranges};

static int figures_wrong(const struct figures *list, unsigned i, const char *key, const char *what)
{
	char path[64];

	snprintf(path, sizeof(path), "figures[%u].%s", i, key);
	return strict_yaml_wrong(list->file, path, "%s: %s", list->figures[i].id, what);
}

static int figures_check_one(const struct figures *list, unsigned i)
{
	const struct figure *figure = &list->figures[i];
	const char *slash = strchr(figure->id, '/');

	if (!slash || slash == figure->id || !slash[1])
		return figures_wrong(list, i, "id", "an id is group/name");
	if (figures_goal_met(figure->goal, 0) < 0)
		return figures_wrong(list, i, "goal", "an operator and a number are expected");
	if (!strstr(figure->command, "{out}"))
		return figures_wrong(list, i, "command", "the command has no {out}");
	/* else n would be printed, whatever the command repeats */
	if ((figure->n > 1 || figure->full_n) && !strstr(figure->command, "{n}"))
		return figures_wrong(list, i, "n", "the command has no {n}");
	for (unsigned j = 0; j < i; j++)
		if (strcmp(list->figures[j].id, figure->id) == 0)
			return figures_wrong(list, i, "id", "appears twice");
	return 0;
}

static int figures_parse(struct figures *list, const char *path, const char *text, size_t size,
			 char *reason, size_t reason_size)
{
	const struct figures_values *values;
	int rc = strict_yaml_load(&list->file, path, text, size, &figures_schema, reason,
				  reason_size);

	if (rc)
		return rc;
	values = strict_yaml_values(list->file);
	list->figures = values->figures;
	list->figures_count = values->figures_count;
	for (unsigned i = 0; !rc && i < list->figures_count; i++)
		rc = figures_check_one(list, i);
	return rc;
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
	struct figures *list = NULL;
	size_t size;
	char *text;
	int rc = text_file_read(path, FIGURES_MAX_BYTES, &text, &size);

	if (!rc) {
		list = calloc(1, sizeof(*list));
		rc = list ? 0 : -ENOMEM;
	}
	if (rc)
		snprintf(reason, reason_size, "%s: %s", path, strerror(-rc));
	else
		rc = figures_parse(list, path, text, size, reason, reason_size);
	free(text);
	if (rc) {
		figures_destroy(list);
		return rc;
	}
	for (unsigned i = 0; full && i < list->figures_count; i++)
		figures_make_full(&list->figures[i]);
	*out = list;
	return 0;
}

void figures_destroy(struct figures *figures)
{
	if (!figures)
		return;
	strict_yaml_destroy(figures->file);
	free(figures);
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
