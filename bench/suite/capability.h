/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * capability.h - what the emulated serving framework can do (appendix C of the inference
 * methodology, table 13).
 *
 * Owns: nothing. In: the fabric; out: a table of run.json. Thread: one.
 */
#ifndef CAPABILITY_H
#define CAPABILITY_H

#include <jansson.h>

#include "fabric/fabric.h"

/* {"title", "rows": [[category, value]]}, the caller's. NULL: no memory. */
json_t *capability_json(const struct fabric *fabric);

#endif
