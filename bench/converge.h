/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * converge.h - how long a lab takes from nothing until every server knows every GPU over every
 * plane.
 *
 * Owns: the labs it starts, and takes down again. In: a topology file; out: seconds. Thread: the
 * process has one.
 */
#ifndef CONVERGE_H
#define CONVERGE_H

/* `farebench converge --topology FILE ...` */
int converge_main(int argc, char **argv);

#endif
