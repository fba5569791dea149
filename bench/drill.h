/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * drill.h - `farebench drill PLAN`: traffic through a drill, and what each of its faults cost.
 *
 * Owns: the order of things. In: a lab that is up, a plan for `farelab drill` (netns/drills/). Out:
 * a table, and in the document of result.h "drill" (sums), "drill_faults" (one for each) and
 * "drill_kinds". Thread: the process has one.
 *
 * Every GPU sends to every GPU of other servers all the time, half of the pairs by fare-flow, half
 * by fare-spray. Workers check each message, byte for byte, exactly once: what is lost, doubled or
 * wrong ends the drill with status 1.
 */
#ifndef DRILL_H
#define DRILL_H

/* `farebench drill ...` */
int drill_main(int argc, char **argv);

#endif
