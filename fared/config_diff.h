/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * config_diff.h - what differs between two configurations, key by key (pure).
 *
 * Owns: nothing. In: the configuration in force and the one just read. Out: each key whose value is
 * another, with both values and what it takes to put the new one in force. Thread: any.
 */
#ifndef CONFIG_DIFF_H
#define CONFIG_DIFF_H

#include <stdbool.h>
#include <stddef.h>

#include "config_list.h"

struct config;

struct config_change {
	char key[CONFIG_KEY_MAX];
	char *before, *after; /* NULL: there is no such key */
	enum config_effect effect;
};

struct config_diff {
	size_t n;
	struct config_change *changes; /* in the order of their keys */
};

/* From a to b. 0 or -ENOMEM. */
int config_diff_create(struct config_diff **out, const struct config *a, const struct config *b);
void config_diff_destroy(struct config_diff *diff); /* NULL is fine */
bool config_diff_has(const struct config_diff *diff, enum config_effect effect);
/* The keys of that effect, as "node, health.dscp"; as many as out has room for. out is returned. */
const char *config_diff_keys(const struct config_diff *diff, enum config_effect effect, char *out,
			     size_t size);

#endif
