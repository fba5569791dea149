/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pfc_agent.h - the process that does PFC for the ports of a lab.
 *
 * Owns the second part of every slot (pfc_program.h), and the rate of the queue of data at every
 * port: that is a tbf (links.c) far too fast to shape, or so slow that it stalls. In: slots
 * that reach XOFF and XON; PFC frames, by a packet socket in each namespace. Out: PFC frames, over
 * the link; queues stopped and started by rtnetlink. It opens no namespace but those of one lab.
 */
#ifndef PFC_AGENT_H
#define PFC_AGENT_H

#include "lab.h"

#define PFC_QUEUE_BYTES (1 << 28) /* the tbf's limit: what a switch holds is up to headroom */
#define PFC_QUEUE_GBIT	30	  /* and its rate, when it sends */

/* The slot of one end of a link. */
unsigned pfc_agent_slot(unsigned link, bool leaf_end);
/* Until it is killed; an exit status, after saying why. */
int pfc_agent_run(const struct lab *lab);

#endif
