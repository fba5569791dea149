/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shaped.h - `farebench transport --shaped`: what is left of a fabric of shaped planes when a
 * sub-port is lost at the far end.
 *
 * Owns: the fault, while it measures; it is healed again. In: a lab that is up, with its daemons.
 * Out: entries of {"shaped": [{method, strategy, flows, random_ports, n, ratio, ratio_min,
 * ratio_max, gbps}]}: goodput verified at the receiver over what the live sub-ports carry; and,
 * before the fault, {"sharing": [{method, senders, n, jfi_ratio, jfi_ratio_min, ratio...}]}: Jain's
 * index of two senders to one receiver, and what arrived over what the receiver's ports carry.
 * Thread: one.
 */
#ifndef TRANSPORT_SHAPED_H
#define TRANSPORT_SHAPED_H

#include <jansson.h>

/*
 * n repetitions of each way, with fresh QPs; adds to the object out. -errno after saying what
 * failed.
 */
int shaped_run(const char *lab_name, unsigned n, double seconds, json_t *out);

#endif
