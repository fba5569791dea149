/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_rule.h - the kernel's rules that lead to the table of fared's routes.
 *
 * Owns nothing. In: a table. Out: one rule of IPv4 and one of IPv6, just before the main table's.
 * Thread: any. Where the table has no route, the main one is asked; so a rule that is there without
 * fared's routes changes nothing.
 */
#ifndef KERNEL_RULE_H
#define KERNEL_RULE_H

#include <stdbool.h>
#include <stdint.h>

#define KERNEL_RULE_PRIORITY 32765u /* the main table's is 32766 */

/*
 * Adds the rules, or removes them if fared has added them. 0 also if a rule that is to be there is
 * there and may not be added; -errno. Adding and removing take CAP_NET_ADMIN.
 */
int kernel_rule_set(uint32_t table, bool on);

#endif
