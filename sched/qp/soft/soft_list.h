/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soft_list.h - intrusive rings: an object is on the list, or its link points to itself.
 *
 * Owns nothing. Pure; any thread that owns the list.
 */
#ifndef SOFT_LIST_H
#define SOFT_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct soft_link {
	struct soft_link *prev, *next;
};

static inline void soft_link_init(struct soft_link *link)
{
	link->prev = link->next = link;
}

static inline bool soft_link_is_alone(const struct soft_link *link)
{
	return link->next == link;
}

static inline void soft_link_remove(struct soft_link *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
	soft_link_init(link);
}

/* Puts link at the end of list, unless it is on it already. */
static inline void soft_link_append(struct soft_link *list, struct soft_link *link)
{
	if (!soft_link_is_alone(link))
		return;
	link->prev = list->prev;
	link->next = list;
	list->prev->next = link;
	list->prev = link;
}

#define soft_link_owner(link, type, member) ((type *)((char *)(link)-offsetof(type, member)))

#endif
