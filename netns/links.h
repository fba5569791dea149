/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * links.h - the wires of a lab: veth pairs between namespaces, addresses, shapers.
 *
 * Owns nothing after it returns: the kernel does. In: a lab whose namespaces exist. Out: every
 * link up, numbered, shaped at both ends. Goes through iproute2's batch mode: one process per
 * namespace, not per link.
 */
#ifndef LINKS_H
#define LINKS_H

#include <stdbool.h>

#include "lab.h"

/* 0, or -errno after iproute2 or we have said why; what was made so far is for lab_down() to
 * remove. */
int links_make(const struct lab *lab);

/* Sets the administrative state of a device in a namespace. 0 or -errno. */
int links_set_up(const char *netns, const char *dev, bool up);

/*
 * Reshapes the egress of a device from one rate to another; 0 is no shaper. What waits in the queue
 * stays there, unless the shaper comes or goes.
 */
int links_shape(const char *netns, const char *dev, const struct topology *t, unsigned old_mbps,
		unsigned rate_mbps);
/* Both ends of every link, to the rate that lab->topology has. Empties the queues. */
int links_shape_all(const struct lab *lab);

/* Carrier of a device of the namespace that this thread is in, as the kernel says it now. */
bool links_carrier(int any_socket, const char *dev);

#endif
