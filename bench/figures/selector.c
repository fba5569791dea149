/* SPDX-License-Identifier: BSD-2-Clause */
#include "figures/selector.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SELECTOR_NAME_MAX    64
#define SELECTOR_MAX_FILTERS 8
#define SELECTOR_MAX_DEPTH   16

struct selector {
	const char *at;
	double *out;
	int n, max;
	int nulls; /* passed over */
	char *reason;
	size_t reason_size;
};

struct selector_filter {
	char name[SELECTOR_NAME_MAX], text[SELECTOR_NAME_MAX];
	bool equal;
};

static int __attribute__((format(printf, 3, 4)))
selector_fail(struct selector *s, int err, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(s->reason, s->reason_size, format, ap);
	va_end(ap);
	return err;
}

/* Takes bytes up to one of stop (or the end) into out. */
static int selector_term(struct selector *s, const char *stop, char *out)
{
	size_t length = strcspn(s->at, stop);

	if (length == 0 || length >= SELECTOR_NAME_MAX)
		return selector_fail(s, -EBADMSG, "a name is expected at '%.20s'", s->at);
	memcpy(out, s->at, length);
	out[length] = '\0';
	s->at += length;
	return 0;
}

static int selector_filters(struct selector *s, struct selector_filter *filter, int *n)
{
	for (*n = 0; *s->at != ']'; s->at += *s->at == ',') {
		struct selector_filter *f = &filter[*n];

		if (*n == SELECTOR_MAX_FILTERS)
			return selector_fail(s, -EBADMSG, "more than %d filters",
					     SELECTOR_MAX_FILTERS);
		if (selector_term(s, "=!], ", f->name))
			return -EBADMSG;
		f->equal = *s->at != '!';
		s->at += !f->equal;
		if (*s->at++ != '=')
			return selector_fail(s, -EBADMSG, "filter %s: '=' or '!=' is expected",
					     f->name);
		if (selector_term(s, ",]", f->text))
			return -EBADMSG;
		if (*s->at != ',' && *s->at != ']')
			return selector_fail(s, -EBADMSG, "filter %s: ']' is missing", f->name);
		(*n)++;
	}
	s->at++;
	return 0;
}

static bool selector_passes(const json_t *object, const struct selector_filter *filter, int n)
{
	for (int i = 0; i < n; i++) {
		json_t *value = json_object_get(object, filter[i].name);
		char *text = json_is_string(value) ? strdup(json_string_value(value))
						   : json_dumps(value, JSON_ENCODE_ANY);
		bool equal = text && strcmp(text, filter[i].text) == 0;

		free(text);
		if (equal != filter[i].equal)
			return false;
	}
	return true;
}

static int selector_step(struct selector *s, const json_t *value, int depth);

/* value is what a whole step picked: go on with the next one, or take it. s->at is where the path
 * goes on. */
static int selector_rest(struct selector *s, const json_t *value, int depth)
{
	if (*s->at == '.') {
		s->at++;
		return selector_step(s, value, depth + 1);
	}
	if (json_is_null(value)) {
		s->nulls++;
		return 0;
	}
	if (!json_is_number(value))
		return selector_fail(s, -EBADMSG, "the path ends at something that is no number");
	if (s->n == s->max)
		return selector_fail(s, -E2BIG, "more than %d matches", s->max);
	s->out[s->n++] = json_number_value(value);
	return 0;
}

static int selector_step(struct selector *s, const json_t *value, int depth)
{
	struct selector_filter filter[SELECTOR_MAX_FILTERS];
	char name[SELECTOR_NAME_MAX];
	const char *rest;
	int n = 0, err;

	if (depth > SELECTOR_MAX_DEPTH)
		return selector_fail(s, -EBADMSG, "more than %d steps", SELECTOR_MAX_DEPTH);
	if (*s->at == '"') {
		s->at++;
		if (selector_term(s, "\"", name))
			return -EBADMSG;
		if (*s->at++ != '"')
			return selector_fail(s, -EBADMSG, "a quotation mark is missing");
	} else if (selector_term(s, ".[] ", name)) {
		return -EBADMSG;
	}
	if (*s->at == '[') {
		s->at++;
		err = selector_filters(s, filter, &n);
		if (err)
			return err;
	}
	value = json_object_get(value, name);
	if (!value)
		return selector_fail(s, -ENOENT, "nothing is named %s", name);
	if (!json_is_array(value))
		return n ? selector_fail(s, -EBADMSG, "%s is no array to filter", name)
			 : selector_rest(s, value, depth);
	rest = s->at;
	for (size_t i = 0; i < json_array_size(value); i++) {
		const json_t *element = json_array_get(value, i);

		if (!selector_passes(element, filter, n))
			continue;
		s->at = rest;
		err = selector_rest(s, element, depth);
		if (err)
			return err;
	}
	s->at = rest + strcspn(rest, " "); /* also when nothing matched */
	return 0;
}

static int selector_path(struct selector *s, const json_t *root)
{
	int before = s->n, err = selector_step(s, root, 0);

	if (!err && s->n == before)
		err = selector_fail(s, -ENOENT, "nothing matches before '%.20s'", s->at);
	return err;
}

static int selector_list(struct selector *s, const json_t *root)
{
	int left, right, err = selector_path(s, root);
	char operator;

	if (err || (strncmp(s->at, " - ", 3) != 0 && strncmp(s->at, " / ", 3) != 0))
		return err;
	operator= s->at[1];
	s->at += 3;
	left = s->n;
	err = selector_path(s, root);
	if (err)
		return err;
	right = s->n - left;
	if (s->nulls)
		return selector_fail(s, -EBADMSG, "%d values are null: what belongs together?",
				     s->nulls);
	if (right != 1 && right != left)
		return selector_fail(s, -E2BIG, "%d numbers on the left, %d on the right", left,
				     right);
	s->n = left;
	for (int i = 0; i < left; i++) {
		double other = s->out[left + (right == 1 ? 0 : i)];

		if (operator== '/' && other == 0)
			return selector_fail(s, -EBADMSG, "division by 0");
		s->out[i] = operator== '/' ? s->out[i] / other : s->out[i] - other;
	}
	return 0;
}

int selector_numbers(const char *expression, const json_t *root, double *out, int max, char *reason,
		     size_t reason_size)
{
	struct selector s = {expression, out, 0, max, 0, reason, reason_size};
	int err = selector_list(&s, root);

	if (!err && *s.at)
		err = selector_fail(&s, -EBADMSG, "not understood: '%.20s'", s.at);
	return err ? err : s.n;
}
