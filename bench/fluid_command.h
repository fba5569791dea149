/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fluid_command.h - `farebench fluid`: how long a pattern takes on a fabric that need not exist.
 *
 * Owns: nothing that outlives a call. In: a topology file as farelab reads it, options; out: a
 * table and JSON, and on request the instances themselves, for another solver to check. Thread:
 * one.
 */
#ifndef FLUID_COMMAND_H
#define FLUID_COMMAND_H

int fluid_command_main(int argc, char **argv);

#endif
