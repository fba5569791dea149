/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * simulate.h - `farebench simulate`: collectives and incasts on a simulated fabric, as tables or
 * JSON in which every row says "simulated".
 *
 * Owns: nothing. In: the command line; out: stdout. Needs no lab and no privilege. Thread: one.
 */
#ifndef SIMULATE_H
#define SIMULATE_H

int simulate_main(int argc, char **argv);

#endif
