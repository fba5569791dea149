/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pfc_lab.h - PFC of a lab as a whole: its programs, its agent, its counters.
 *
 * Owns the PID file and the log of the agent. In: a lab whose links exist. Out: programs at every
 * port (pfc_program.h), an agent that runs until the lab goes down (pfc_agent.h); one JSON object,
 * the contract of `farelab pfc --json`. Emulated: labelled so. 0 or -errno; -EOPNOTSUPP after
 * saying so. Single-threaded programs only.
 */
#ifndef PFC_LAB_H
#define PFC_LAB_H

#include <jansson.h>
#include <stdio.h>

#include "lab.h"
#include "pfc_program.h"

int pfc_lab_attach(const struct lab *lab);
/* Of a lab that is up. */
int pfc_lab_start(const struct lab *lab);
/* Whether headroom holds at that rate; -EINVAL after saying why not. */
int pfc_lab_check(const struct lab *lab, unsigned rate_mbps);
/*
 * Another headroom, watchdog (ms, 0: none), or XOFF (XON in proportion; headroom as it is, peaks
 * begin anew), until the lab goes down, at all ports. -EINVAL after saying so: the headroom is less
 * than a link needs, and not 0.
 */
int pfc_lab_set_headroom(const struct lab *lab, unsigned bytes);
int pfc_lab_set_watchdog(const struct lab *lab, unsigned ms);
int pfc_lab_set_xoff(const struct lab *lab, unsigned bytes);

/* The slots of all ports, by number (pfc_agent_slot()), for the caller to free. */
int pfc_lab_slots(const struct lab *lab, struct pfc_slot **out);
/* -EINVAL after saying so: the lab has no PFC. */
int pfc_lab_read(const struct lab *lab, json_t **out);
/* The same for people: a line for each port. */
void pfc_lab_print(const json_t *pfc, FILE *out);

#endif
