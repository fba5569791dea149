/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * config_list.h - a configuration as a list of keys and values, in words.
 *
 * Owns nothing. In: a configuration. Out: every key of fared.yaml(5) with its value in force, those
 * that the file leaves out with their defaults, and what a reload does with it. Thread: any. Pure.
 */
#ifndef CONFIG_LIST_H
#define CONFIG_LIST_H

#include <stddef.h>

#define CONFIG_KEY_MAX 80

struct config;

/* What it takes to put another value in force. */
enum config_effect {
	CONFIG_AT_ONCE,
	CONFIG_SOURCES, /* BMP and zserv are connected anew */
	CONFIG_RESTART, /* of the daemon: a reload is refused */
	CONFIG_EFFECT_COUNT,
};

struct config_entry {
	char key[CONFIG_KEY_MAX]; /* "local_gpus[0].planes[1].sub_ports[0].dev" */
	char *value;
	enum config_effect effect;
};

struct config_list {
	size_t n, room;
	struct config_entry *entries; /* in the order of the manual */
};

/* 0 or -ENOMEM. */
int config_list_create(struct config_list **out, const struct config *config);
void config_list_destroy(struct config_list *list); /* NULL is fine */
/* "yes", "sources", "restart": the words of fared.yaml(5) after "reload:". */
const char *config_effect_name(enum config_effect effect);

#endif
