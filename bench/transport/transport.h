/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * transport.h - `farebench transport`: the soft provider and the QP group beside other ways to move
 * bytes.
 *
 * Owns: the run. In: options; out: tables on the terminal, JSON {"transport": {...}, "environment":
 * {...}}. Thread: one; every end that is measured is a process of its own.
 */
#ifndef TRANSPORT_H
#define TRANSPORT_H

int transport_main(int argc, char **argv); /* 0; 1: a measurement failed; 2: usage */

#endif
