/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * agent.h - `farebench agent`: this host's part of a run that a coordinator elsewhere leads.
 *
 * Owns: the workers of this host's GPUs, the fault that is in force here, and the process that
 * heals it whatever happens. In: requests of a coordinator that has the key (agent_request.h), and
 * this host's own copy of the inventory, which alone says what may be done here. Out: answers,
 * workers that connect to the coordinator by themselves. Without the coordinator it heals and ends.
 * Thread: the process has one.
 */
#ifndef AGENT_H
#define AGENT_H

int agent_main(int argc, char **argv); /* `farebench agent ...`: the exit status */

#endif
