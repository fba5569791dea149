/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * forwarding.h - does a switch forward, as a whole and from each of its links.
 *
 * Owns nothing: the kernel does. In: a lab that is up, a leaf or spine of it. Out: what its sysctls
 * say, or sysctls that say yes again. No record says that a leaf forwards nothing:
 * farebench does so by one write, for farelab takes longer to start than what it measures. So
 * healing a leaf asks the kernel. Single-threaded programs only.
 */
#ifndef FORWARDING_H
#define FORWARDING_H

#include <net/if.h>

#include "lab.h"

/*
 * 0: it forwards all; 1: not, and what ("all", or a device of it) is the first that says no.
 * -errno.
 */
int forwarding_read(const struct lab *lab, struct plan_host host, char what[IFNAMSIZ]);

/* Lets it forward all again. 0 or -errno. */
int forwarding_restore(const struct lab *lab, struct plan_host host);

#endif
