/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * drain_set.h - which paths and local sub-ports operators have taken out of use.
 *
 * Solely owns: what a drain covers, and how drains combine. In: rules, one per command. Out:
 * whether a path or a sub-port is drained. Thread: any. Pure.
 *
 * What is drained is what any rule covers. A rule stays until it is taken away by its own name: a
 * cable that was drained stays so when its plane is drained and undrained meanwhile.
 */
#ifndef DRAIN_SET_H
#define DRAIN_SET_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/* each path is compared with each rule when the set changes; the last place is for everything */
#define DRAIN_RULES_MAX 65

/* What is not given means: any. A sub-port needs a plane, and no peer: it is a local port. */
struct drain_rule {
	bool has_gpu, has_peer, has_plane, has_sub_port;
	uint32_t gpu;
	struct in6_addr peer;
	uint32_t plane;
	uint32_t sub_port;
};

struct drain_set {
	uint32_t n;
	struct drain_rule rules[DRAIN_RULES_MAX];
};

/* It names nothing in particular. */
bool drain_rule_is_everything(const struct drain_rule *rule);
/* 0, also if it is there already; -ENOSPC. */
int drain_set_add(struct drain_set *set, const struct drain_rule *rule);
/*
 * Takes that rule away, or all of them if it names nothing, and returns how many that were. -EBUSY:
 * there is none such, but another one (*other) that drains some of the same; nothing has changed.
 */
int drain_set_remove(struct drain_set *set, const struct drain_rule *rule,
		     const struct drain_rule **other);
bool drain_set_has_path(const struct drain_set *set, uint32_t gpu, const struct in6_addr *peer,
			uint32_t plane);
/* Toward every peer. */
bool drain_set_has_plane(const struct drain_set *set, uint32_t gpu, uint32_t plane);
/* Bit s: local sub-port s is drained. */
uint32_t drain_set_sub_ports(const struct drain_set *set, uint32_t gpu, uint32_t plane);
/* Whether a rule covers the path, which one of a sub-port does in part. */
bool drain_rule_concerns(const struct drain_rule *rule, uint32_t gpu, const struct in6_addr *peer,
			 uint32_t plane);

#endif
