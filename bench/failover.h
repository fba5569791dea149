/*
 * failover.h - what a fault costs, from the moment it happens: decided, moved, restored.
 *
 * Owns: the order of things. In: a lab that is up; out: a table, and in the document of result.h
 *"failover" (an object for each trial) and "failover_summary" (one for each scenario). Thread: the
 *process has one.
 *
 *	decide    injection -> the new weights are there for applications (libfare, on the sender's
 *server) after kernel   the same, from the moment when the kernel told the server that lost a link
 *	move      injection -> goodput stays at 90% of what it settles at (shift.h: bins of 10 ms)
 *	restore   healed -> weights are back at what they were (BGP, hold-down and ramp inside)
 *	needless  weights of planes that nothing happened to, lowered meanwhile
 */
#ifndef FAILOVER_H
#define FAILOVER_H

/* `farebench failover ...` */
int failover_main(int argc, char **argv);

#endif
