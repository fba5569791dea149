/* SPDX-License-Identifier: BSD-2-Clause */
#include "config_diff.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct config_entry *)a)->key, ((const struct config_entry *)b)->key);
}

/* The value moves from the entry to the change. */
static char *take_value(struct config_entry *entry)
{
	char *value = entry ? entry->value : NULL;

	if (entry)
		entry->value = NULL;
	return value;
}

static void config_diff_add(struct config_diff *diff, struct config_entry *a,
			    struct config_entry *b)
{
	struct config_change *change = &diff->changes[diff->n++];
	const struct config_entry *either = a ? a : b;

	snprintf(change->key, sizeof(change->key), "%s", either->key);
	change->effect = either->effect;
	/* a sub-port that there is, or is not, is more than a change of its speed */
	if (!a || !b)
		change->effect = CONFIG_RESTART;
	change->before = take_value(a);
	change->after = take_value(b);
}

/* Both in the order of their keys. */
static void config_diff_compare(struct config_diff *diff, struct config_list *a,
				struct config_list *b)
{
	size_t i = 0, j = 0;

	while (i < a->n || j < b->n) {
		int order = i == a->n	? 1
			    : j == b->n ? -1
					: strcmp(a->entries[i].key, b->entries[j].key);

		if (order < 0)
			config_diff_add(diff, &a->entries[i++], NULL);
		else if (order > 0)
			config_diff_add(diff, NULL, &b->entries[j++]);
		else if (strcmp(a->entries[i++].value, b->entries[j++].value) != 0)
			config_diff_add(diff, &a->entries[i - 1], &b->entries[j - 1]);
	}
}

int config_diff_create(struct config_diff **out, const struct config *a, const struct config *b)
{
	struct config_list *x = NULL, *y = NULL;
	struct config_diff *diff = NULL;
	int rc = config_list_create(&x, a);

	*out = NULL;
	if (!rc)
		rc = config_list_create(&y, b);
	if (!rc)
		diff = calloc(1, sizeof(*diff));
	if (diff)
		diff->changes = calloc(x->n + y->n, sizeof(*diff->changes));
	if (!rc && (!diff || !diff->changes))
		rc = -ENOMEM;
	if (!rc) {
		qsort(x->entries, x->n, sizeof(*x->entries), by_key);
		qsort(y->entries, y->n, sizeof(*y->entries), by_key);
		config_diff_compare(diff, x, y);
		*out = diff;
	} else {
		config_diff_destroy(diff);
	}
	config_list_destroy(x);
	config_list_destroy(y);
	return rc;
}

void config_diff_destroy(struct config_diff *diff)
{
	if (!diff)
		return;
	for (size_t i = 0; i < diff->n; i++) {
		free(diff->changes[i].before);
		free(diff->changes[i].after);
	}
	free(diff->changes);
	free(diff);
}

bool config_diff_has(const struct config_diff *diff, enum config_effect effect)
{
	for (size_t i = 0; i < diff->n; i++)
		if (diff->changes[i].effect == effect)
			return true;
	return false;
}

const char *config_diff_keys(const struct config_diff *diff, enum config_effect effect, char *out,
			     size_t size)
{
	size_t length = 0;

	out[0] = '\0';
	for (size_t i = 0; i < diff->n; i++) {
		int n;

		if (diff->changes[i].effect != effect)
			continue;
		n = snprintf(out + length, size - length, "%s%s", length ? ", " : "",
			     diff->changes[i].key);
		if (n < 0 || (size_t)n >= size - length) {
			out[length] = '\0'; /* whole keys only */
			break;
		}
		length += (size_t)n;
	}
	return out;
}
