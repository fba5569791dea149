/* SPDX-License-Identifier: BSD-2-Clause */
#include "drain_set.h"

#include <errno.h>
#include <stddef.h>

static bool same_peer(const struct drain_rule *rule, const struct in6_addr *peer)
{
	return IN6_ARE_ADDR_EQUAL(&rule->peer, peer);
}

static bool same(const struct drain_rule *a, const struct drain_rule *b)
{
	return a->has_gpu == b->has_gpu && (!a->has_gpu || a->gpu == b->gpu) &&
	       a->has_peer == b->has_peer && (!a->has_peer || same_peer(a, &b->peer)) &&
	       a->has_plane == b->has_plane && (!a->has_plane || a->plane == b->plane) &&
	       a->has_sub_port == b->has_sub_port &&
	       (!a->has_sub_port || a->sub_port == b->sub_port);
}

bool drain_rule_is_everything(const struct drain_rule *rule)
{
	return !rule->has_gpu && !rule->has_peer && !rule->has_plane;
}

/* Whether there is something that both drain. */
static bool overlap(const struct drain_rule *a, const struct drain_rule *b)
{
	return (!a->has_gpu || !b->has_gpu || a->gpu == b->gpu) &&
	       (!a->has_peer || !b->has_peer || same_peer(a, &b->peer)) &&
	       (!a->has_plane || !b->has_plane || a->plane == b->plane) &&
	       (!a->has_sub_port || !b->has_sub_port || a->sub_port == b->sub_port);
}

int drain_set_add(struct drain_set *set, const struct drain_rule *rule)
{
	for (uint32_t i = 0; i < set->n; i++)
		if (same(&set->rules[i], rule))
			return 0;
	/* the last place: whatever there is, all can be drained */
	if (set->n >= (drain_rule_is_everything(rule) ? DRAIN_RULES_MAX : DRAIN_RULES_MAX - 1))
		return -ENOSPC;
	set->rules[set->n++] = *rule;
	return 0;
}

static int drain_set_drop(struct drain_set *set, const struct drain_rule *rule)
{
	uint32_t kept = 0, n = set->n;

	for (uint32_t i = 0; i < n; i++)
		if (!drain_rule_is_everything(rule) && !same(rule, &set->rules[i]))
			set->rules[kept++] = set->rules[i];
	set->n = kept;
	return (int)(n - kept);
}

int drain_set_remove(struct drain_set *set, const struct drain_rule *rule,
		     const struct drain_rule **other)
{
	int dropped = drain_set_drop(set, rule);

	*other = NULL;
	for (uint32_t i = 0; !dropped && i < set->n && !*other; i++)
		if (overlap(rule, &set->rules[i]))
			*other = &set->rules[i];
	return *other ? -EBUSY : dropped;
}

bool drain_rule_concerns(const struct drain_rule *rule, uint32_t gpu, const struct in6_addr *peer,
			 uint32_t plane)
{
	return (!rule->has_gpu || rule->gpu == gpu) && (!rule->has_peer || same_peer(rule, peer)) &&
	       (!rule->has_plane || rule->plane == plane);
}

bool drain_set_has_path(const struct drain_set *set, uint32_t gpu, const struct in6_addr *peer,
			uint32_t plane)
{
	for (uint32_t i = 0; i < set->n; i++)
		if (!set->rules[i].has_sub_port &&
		    drain_rule_concerns(&set->rules[i], gpu, peer, plane))
			return true;
	return false;
}

bool drain_set_has_plane(const struct drain_set *set, uint32_t gpu, uint32_t plane)
{
	for (uint32_t i = 0; i < set->n; i++) {
		const struct drain_rule *rule = &set->rules[i];

		if (!rule->has_peer && !rule->has_sub_port &&
		    (!rule->has_gpu || rule->gpu == gpu) &&
		    (!rule->has_plane || rule->plane == plane))
			return true;
	}
	return false;
}

uint32_t drain_set_sub_ports(const struct drain_set *set, uint32_t gpu, uint32_t plane)
{
	uint32_t mask = 0;

	for (uint32_t i = 0; i < set->n; i++) {
		const struct drain_rule *rule = &set->rules[i];

		if (rule->has_sub_port && rule->plane == plane &&
		    (!rule->has_gpu || rule->gpu == gpu))
			mask |= 1u << rule->sub_port;
	}
	return mask;
}
