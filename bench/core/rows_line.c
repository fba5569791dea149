/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/rows_line.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* What text stands for: "8", "0.5", "64K" (powers of 1,024); NaN: a name. */
static double row_number(const char *text)
{
	static const char suffixes[] = "KMGT";
	const char *suffix;
	double number;
	char *end;

	if (!*text || !strchr("0123456789.+-", *text) ||
	    strspn(text, "0123456789.+-eEKMGT") != strlen(text))
		return NAN;
	number = strtod(text, &end);
	if (end == text || !isfinite(number))
		return NAN;
	if (!*end)
		return number;
	suffix = strchr(suffixes, *end);
	return suffix && !end[1] ? ldexp(number, 10 * (int)(suffix - suffixes + 1)) : NAN;
}

static bool row_is_utf8(const char *text)
{
	while (*text) {
		const char *at = text;

		if (utf8_take(&text) == UTF8_INVALID && strncmp(at, "\xef\xbf\xbd", 3) != 0)
			return false;
	}
	return true;
}

/* -EINVAL: too long (empty only where it may be), or not UTF-8. */
static int row_name(char *to, size_t size, const char *from, bool may_be_empty)
{
	if ((!*from && !may_be_empty) || strlen(from) >= size || !row_is_utf8(from))
		return -EINVAL;
	strcpy(to, from);
	return 0;
}

int row_param_set(struct row_param *param, const char *name, const char *text)
{
	if (row_name(param->name, sizeof(param->name), name, false) ||
	    row_name(param->text, sizeof(param->text), text, false))
		return -EINVAL;
	param->number = row_number(param->text);
	return 0;
}

static int row_add_param(struct row *row, const char *name, const char *text)
{
	if (row->n_params == ROWS_MAX_PARAMS || row_param(row, name))
		return -EINVAL;
	if (row_param_set(&row->param[row->n_params], name, text))
		return -EINVAL;
	row->n_params++;
	return 0;
}

void row_fini(struct row *row)
{
	free(row->hist);
	free(row->text);
	free(row->missing);
}

static int row_keep_text(char **to, const char *from)
{
	if (!from)
		return 0;
	if (!row_is_utf8(from))
		return -EINVAL;
	*to = strdup(from);
	return *to ? 0 : -ENOMEM;
}

static int row_keep_hist(struct hist **to, const struct hist *from)
{
	if (!from)
		return 0;
	*to = calloc(1, sizeof(**to));
	if (!*to)
		return -ENOMEM;
	hist_merge(*to, from);
	return 0;
}

/* Everything but histogram and texts. */
static int row_copy_names(struct row *to, const struct row *from)
{
	int kinds = (from->hist != NULL) + (from->text != NULL) + (from->missing != NULL);
	int err = 0;

	if (kinds > 1 || (kinds == 0 && !isfinite(from->value)) ||
	    from->n_params > ROWS_MAX_PARAMS || from->n > INT64_MAX ||
	    row_name(to->test, sizeof(to->test), from->test, false) ||
	    row_name(to->strategy, sizeof(to->strategy), from->strategy, true) ||
	    row_name(to->kpi, sizeof(to->kpi), from->kpi, false))
		return -EINVAL;
	for (unsigned i = 0; !err && i < from->n_params; i++)
		err = row_add_param(to, from->param[i].name, from->param[i].text);
	to->trial = from->trial;
	to->value = kinds ? NAN : from->value;
	to->n = from->n;
	return err;
}

int row_copy(struct row *to, const struct row *from)
{
	int err;

	memset(to, 0, sizeof(*to));
	err = row_copy_names(to, from);
	err = err ? err : row_keep_hist(&to->hist, from->hist);
	err = err ? err : row_keep_text(&to->text, from->text);
	err = err ? err : row_keep_text(&to->missing, from->missing);
	if (err)
		row_fini(to);
	return err;
}

static json_t *row_params_json(const struct row *row)
{
	json_t *params = json_object();
	int err = params ? 0 : -1;

	for (unsigned i = 0; !err && i < row->n_params; i++) {
		const char *text = row->param[i].text;
		size_t digits = strspn(text, "0123456789");
		/* a number only if reading it back gives the same text */
		bool is_number = !text[digits] && digits <= 15 && (*text != '0' || digits == 1);

		err = json_object_set_new(params, row->param[i].name,
					  is_number ? json_integer(atoll(text))
						    : json_string(text));
	}
	if (err) {
		json_decref(params);
		return NULL;
	}
	return params;
}

static int row_set_content(json_t *json, const struct row *row)
{
	if (row->hist)
		return json_object_set_new(json, "hist", hist_json(row->hist));
	if (row->text)
		return json_object_set_new(json, "text", json_string(row->text));
	if (row->missing)
		return json_object_set_new(json, "missing", json_string(row->missing));
	return json_object_set_new(json, "value", json_real(row->value));
}

char *row_line(const struct row *row, size_t *length)
{
	json_t *params = row_params_json(row);
	json_t *json =
		params ? json_pack("{ss so sI ss sI}", "test", row->test, "params", params, "trial",
				   (json_int_t)row->trial, "kpi", row->kpi, "n", (json_int_t)row->n)
		       : NULL;
	char *line = NULL, *text = NULL;
	int err = json ? row_set_content(json, row) : -1;

	if (!err && *row->strategy)
		err = json_object_set_new(json, "strategy", json_string(row->strategy));
	if (!err)
		text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	if (text) {
		*length = strlen(text) + 1;
		line = realloc(text, *length + 1);
		if (line)
			strcpy(line + *length - 1, "\n");
		else
			free(text);
	}
	return line;
}

/* "1M" and 8 alike. */
static int row_parse_param(struct row *row, const char *name, const json_t *value)
{
	char text[ROW_NAME_MAX];

	if (json_is_string(value))
		return row_add_param(row, name, json_string_value(value));
	if (json_is_integer(value))
		snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_real(value))
		snprintf(text, sizeof(text), "%.12g", json_real_value(value));
	else
		return -EINVAL;
	return row_add_param(row, name, text);
}

static int row_parse_hist(struct row *row, const json_t *json)
{
	if (!json)
		return 0;
	row->hist = calloc(1, sizeof(*row->hist));
	if (!row->hist)
		return -ENOMEM;
	return hist_read(row->hist, json);
}

/* A member that is there is the one that counts; with none there must be a value. */
static const char *row_parse_content(struct row *row, json_t *json)
{
	const char *text = NULL, *missing = NULL;
	json_t *value = json_object_get(json, "value"), *hist = json_object_get(json, "hist");
	int kinds;

	if (json_unpack(json, "{s?s s?s}", "text", &text, "missing", &missing))
		return "text or missing is no string";
	kinds = (value != NULL) + (hist != NULL) + (text != NULL) + (missing != NULL);
	if (kinds != 1)
		return "not exactly one of value, hist, text, missing";
	if (value && !json_is_number(value))
		return "value is no number";
	row->value = value ? json_number_value(value) : NAN;
	switch (row_parse_hist(row, hist)) {
	case -EBADMSG:
		return "hist contradicts itself";
	case -ENOMEM:
		return "no memory";
	}
	if (row_keep_text(&row->text, text) || row_keep_text(&row->missing, missing))
		return "no memory";
	return NULL;
}

static const char *row_parse_names(struct row *row, json_t *json)
{
	const char *test, *kpi, *strategy = "", *name;
	json_t *params = NULL, *value;
	json_int_t trial = 0, n = 0;

	if (json_unpack(json, "{ss ss s?s s?o s?I s?I s?o s?o s?o s?o!}", "test", &test, "kpi",
			&kpi, "strategy", &strategy, "params", &params, "trial", &trial, "n", &n,
			"value", &value, "hist", &value, "text", &value, "missing", &value))
		return "not a row: a member is missing, unknown or of another type";
	if (row_name(row->test, sizeof(row->test), test, false) ||
	    row_name(row->kpi, sizeof(row->kpi), kpi, false) ||
	    row_name(row->strategy, sizeof(row->strategy), strategy, true))
		return "a name is empty or too long";
	if (trial < 0 || trial > UINT_MAX || n < 0)
		return "trial or n out of range";
	row->trial = (unsigned)trial;
	row->n = (uint64_t)n;
	if (params && !json_is_object(params))
		return "params is no object";
	json_object_foreach (params, name, value)
		if (row_parse_param(row, name, value))
			return "a parameter has no name, no value, or one too many of them";
	return NULL;
}

int row_parse(struct row *row, const char *line, size_t length, const char **reason)
{
	json_error_t error;
	json_t *json;

	memset(row, 0, sizeof(*row));
	*reason = "longer than a line may be";
	if (length > ROW_LINE_MAX)
		return -EBADMSG;
	*reason = "not JSON";
	json = json_loadb(line, length, JSON_REJECT_DUPLICATES, &error);
	if (!json)
		return -EBADMSG;
	*reason = row_parse_names(row, json);
	if (!*reason)
		*reason = row_parse_content(row, json);
	json_decref(json);
	if (!*reason)
		return 0;
	row_fini(row);
	return strcmp(*reason, "no memory") == 0 ? -ENOMEM : -EBADMSG;
}

const struct row_param *row_param(const struct row *row, const char *name)
{
	for (unsigned i = 0; i < row->n_params; i++)
		if (strcmp(row->param[i].name, name) == 0)
			return &row->param[i];
	return NULL;
}

static bool row_has(const char *wanted, const char *is)
{
	return !wanted || !*wanted || strcmp(wanted, is) == 0;
}

bool row_matches(const struct row *row, const struct rows_filter *filter)
{
	if (!row_has(filter->test, row->test) || !row_has(filter->kpi, row->kpi) ||
	    !row_has(filter->strategy, row->strategy) ||
	    (filter->trial >= 0 && row->trial != (unsigned)filter->trial))
		return false;
	for (unsigned i = 0; i < filter->n_params; i++) {
		const struct row_param *param = row_param(row, filter->param[i].name);

		if (!param || strcmp(param->text, filter->param[i].text) != 0)
			return false;
	}
	return true;
}
