/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counters.h - what the lab counted so far: its links, the queues of its shapers, its daemons.
 *
 * Owns nothing. In: a lab; the devices and qdiscs of every namespace, by rtnetlink, and the
 * daemons' /proc. Out: one JSON object, the contract of `farelab counters --json`. Counters begin
 * with the lab; those of a queue begin anew when its shaper comes or goes, those of marks as
 * farelab(8) says. Single-threaded programs only (it moves between namespaces).
 *
 * A GSO super-packet is one packet wherever it is not cut up, sent or dropped.
 */
#ifndef COUNTERS_H
#define COUNTERS_H

#include <jansson.h>
#include <stdio.h>

#include "lab.h"

/* 0, with an object that the caller owns, or -errno. */
int counters_read(const struct lab *lab, json_t **out);
/* The same for people: a line for each device, and for each daemon. */
void counters_print(const json_t *counters, FILE *out);

#endif
