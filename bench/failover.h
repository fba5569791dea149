/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * failover.h - what a fault costs, from the moment it happens: decided, moved, restored.
 *
 * Owns: the order of things. In: a lab that is up; out: tables, a page, and in the document of
 * result.h "failover" (an object for each trial) and "failover_summary" (one for each scenario,
 * traffic and strategy). failover_trial.h tells what each figure is. Thread: the process has one.
 */
#ifndef FAILOVER_H
#define FAILOVER_H

/* `farebench failover ...` */
int failover_main(int argc, char **argv);

#endif
