/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lab_files.h - the directory of each host of a lab, with the configuration of its daemons.
 *
 * Owns /run/farelab/NAME/HOST/, FRR's configuration and fared.yaml. In: a lab, and the rate that
 * each of its links is said to have. Out: files; a reader of one that is written anew sees the old
 * or the new. Errors are -errno. For lab_up.c and faults.c only; single-threaded programs
 * only.
 */
#ifndef LAB_FILES_H
#define LAB_FILES_H

#include "lab.h"

#define LAB_FILES_KEY "health.key" /* in the lab's directory; lab_up.c makes it */

/* The host's directory and all that is in it. announced_mbps: by a link's number (plan.h). */
int lab_files_make(const struct lab *lab, struct plan_host host, const unsigned *announced_mbps);
int lab_files_bgpd(const struct lab *lab, struct plan_host host, const unsigned *announced_mbps);
int lab_files_fared(const struct lab *lab, struct plan_host server, const unsigned *announced_mbps);

#endif
