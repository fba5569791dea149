/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * farectl_doctor.h - `farectl doctor`: a line for each check, and an exit status for scripts.
 *
 * Owns nothing. In: a run directory and a configuration's path. Out: lines or JSON on stdout.
 * Thread: the main one.
 */
#ifndef FARECTL_DOCTOR_H
#define FARECTL_DOCTOR_H

#include "farectl_options.h"

/* The exit status: 0 nothing is wrong; 1 something is; 3 it cannot be written. */
int farectl_doctor(const struct farectl_options *options);

#endif
