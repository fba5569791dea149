/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * interrupt.h - Ctrl-C is kept until the program asks for it.
 *
 * Owns: this process's mask of SIGINT, SIGTERM and SIGHUP. In: signals. Out: whether one has come.
 * No handler, so nothing is interrupted half-way; what is to end asks often enough
 * (cluster_sleep_until() does). Programs that command.h starts get all signals as ever; other
 * children keep them held, and are ended by their parents. Thread: the process has one.
 */
#ifndef INTERRUPT_H
#define INTERRUPT_H

/* From now on they wait. One that this process was started to ignore (nohup) stays ignored. */
void interrupt_hold(void);

/* The number of one that has come, 0: none has. Always 0 without interrupt_hold(). */
int interrupt_pending(void);

#endif
